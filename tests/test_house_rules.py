"""The habits that can be counted: sizes, names, who reads time, chance and the environment, who catches everything."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.style

ROOT: Final = Path(__file__).parent.parent
PRODUCT: Final = ("bots", "core", "config")
EVERYTHING: Final = (*PRODUCT, "tests")
OTHER_TEXT: Final = (".ci", "systemd")

MOST_MODULE_LINES: Final = 500
MOST_FUNCTION_LINES: Final = 60
MOST_NESTING: Final = 3
MOST_PARAMETERS: Final = 6

BOUNDARIES: Final = {
    "mailbox loop": ("core/desk/mailbox.py", "Mailbox._guarded"),
    "sweep": ("core/service/schedule.py", "_guarded"),
    "bot supervisor": ("core/service/supervisor.py", "Supervisor._keep"),
    "group commit": ("core/store/engine.py", "_Worker._commit"),
    "group commit, undone": ("core/store/engine.py", "_Worker._undo"),
    "group commit, connection let go": ("core/store/engine.py", "_Worker._drop"),
    "delivery lane": ("core/delivery/handover.py", "hand_over"),
    "delivery lane, asked first": ("core/delivery/handover.py", "accepts"),
    "delivery, parts": ("core/delivery/outbox.py", "Outbox.parts"),
    "agent": ("core/desk/turn.py", "RunningTurn._consume"),
    "agent, made": ("core/desk/recall.py", "recall"),
    "agent with a model": ("core/agents/asking.py", "Asking.answer"),
    "agent with a model, loaded": ("core/agents/backend.py", "ModelBackend._live"),
    "agent with a model, loaded anew": ("core/agents/backend.py", "ModelBackend.adopt"),
    "agent with a model, summary": ("core/agents/compaction.py", "sum_up"),
    "tool server": ("core/agents/tool_server.py", "ToolServer._live"),
    "reload": ("core/main.py", "Daemon._reload_when_told"),
    "work aside": ("core/aside.py", "_do"),
    "instant command": ("core/desk/instants.py", "Instants._answer"),
    "porter": ("core/desk/porter.py", "Porter._fetch"),
    "porter, voices": ("core/desk/porter.py", "Porter._hear"),
    "sign": ("core/desk/manners.py", "_shown"),
}
"""Where everything may be caught, each with its reason at the line. A handler that ends in `raise` needs none."""

VAGUE_MODULES: Final = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "base", "misc"}
VAGUE_FUNCTIONS: Final = {"handle", "process"}

READS_OF_TIME: Final = {
    *(f"time.{name}" for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "localtime")),
    *(f"datetime.{name}" for name in ("now", "utcnow", "today")),
    "datetime.datetime.now",
    "date.today",
}
STOPWATCHES: Final = {f"time.{name}" for name in ("monotonic", "perf_counter", "process_time", "thread_time")}
CHANCE: Final = {"random", "secrets", "uuid"}
MODEL_SDKS: Final = {"pydantic_ai", "openai", "anthropic", "mcp", "fastmcp", "httpx2"}

COMPOUND: Final = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Module:
    """One source file. `name` is its path below the root."""

    name: str
    text: str
    tree: ast.Module

    def at(self, node: ast.AST | int, words: str) -> str:
        line = node if isinstance(node, int) else getattr(node, "lineno", 1)
        return f"{self.name}:{line}: {words}"


@lru_cache
def _modules(*packages: str) -> tuple[Module, ...]:
    found = []
    for path in sorted(path for package in packages for path in (ROOT / package).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found.append(Module(name=path.relative_to(ROOT).as_posix(), text=text, tree=ast.parse(text)))
    return tuple(found)


def _breaches(rule: Callable[[Module], Iterable[str]], *packages: str, spared: Iterable[str] = ()) -> str:
    """What `rule` finds in these packages, as text: one line each."""
    spare = set(spared)
    return "\n".join(found for module in _modules(*packages) if module.name not in spare for found in rule(module))


def _functions(tree: ast.AST, within: str = "") -> Iterator[tuple[str, Function]]:
    """Every function with its qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield f"{within}{node.name}", node
        inner = f"{within}{node.name}." if isinstance(node, ast.ClassDef | Function) else within
        yield from _functions(node, inner)


def _dotted(node: ast.AST) -> str:
    """`a.b.c` of a name or attribute; else nothing."""
    if isinstance(node, ast.Name):
        return node.id
    head = _dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{head}.{node.attr}" if head and isinstance(node, ast.Attribute) else ""


def _imported(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """The dotted name of every import; `from a import b` is `a.b`."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node, f"{node.module or ''}.{alias.name}") for alias in node.names)


# sizes


def test_no_module_is_too_long() -> None:
    def rule(module: Module) -> Iterator[str]:
        lines = len(module.text.splitlines())
        if lines > MOST_MODULE_LINES:
            yield module.at(lines, f"{lines} lines, {MOST_MODULE_LINES} at most: split it along its nouns")

    assert not (found := _breaches(rule, *EVERYTHING)), found


def test_no_function_is_too_long() -> None:
    def rule(module: Module) -> Iterator[str]:
        for name, function in _functions(module.tree):
            lines = (function.end_lineno or function.lineno) - function.lineno + 1
            if lines > MOST_FUNCTION_LINES:
                yield module.at(function, f"{name} has {lines} lines, {MOST_FUNCTION_LINES} at most")

    assert not (found := _breaches(rule, *EVERYTHING)), found


def test_no_function_is_nested_too_deeply() -> None:
    def rule(module: Module) -> Iterator[str]:
        for name, function in _functions(module.tree):
            depth = _depth(function)
            if depth > MOST_NESTING:
                yield module.at(function, f"{name} nests {depth} deep, {MOST_NESTING} at most")

    assert not (found := _breaches(rule, *EVERYTHING)), found


def _depth(node: ast.AST) -> int:
    """Compound statements around the deepest statement; `elif` adds none, an inner function counts for itself."""
    deepest = 0
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        is_elif = field == "orelse" and isinstance(node, ast.If) and len(children) == 1
        for child in children:
            if isinstance(child, ast.AST) and not isinstance(child, Function | ast.ClassDef | ast.Lambda):
                adds = isinstance(child, COMPOUND) and not (is_elif and isinstance(child, ast.If))
                deepest = max(deepest, _depth(child) + adds)
    return deepest


def test_no_function_takes_too_much() -> None:
    def rule(module: Module) -> Iterator[str]:
        for name, function in _functions(module.tree):
            taken = function.args
            every = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg]
            count = sum(1 for one in every if one is not None and one.arg not in ("self", "cls"))
            if count > MOST_PARAMETERS:
                yield module.at(function, f"{name} takes {count} parameters, {MOST_PARAMETERS} at most")

    assert not (found := _breaches(rule, *PRODUCT)), found


# errors


def test_everything_is_caught_only_at_the_named_boundaries() -> None:
    known = set(BOUNDARIES.values())

    def rule(module: Module) -> Iterator[str]:
        for name, function in _functions(module.tree):
            for node in _own_nodes(function):
                if _catches_everything(node) and (module.name, name) not in known:
                    yield module.at(node, f"{name} catches everything; only BOUNDARIES may")

    assert not (found := _breaches(rule, *PRODUCT)), found


def test_every_named_boundary_is_there() -> None:
    there = {
        (module.name, name)
        for module in _modules(*PRODUCT)
        for name, function in _functions(module.tree)
        if any(_catches_everything(node) for node in _own_nodes(function))
    }
    gone = [f"{what}: {place}" for what, place in BOUNDARIES.items() if place not in there]
    assert not gone, gone


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """All nodes of a function but those of functions in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, Function)]


def _catches_everything(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and _dotted(node.func) in ("suppress", "contextlib.suppress"):
        return any(_dotted(one) in ("Exception", "BaseException") for one in node.args)
    if not isinstance(node, ast.ExceptHandler):
        return False
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    broad = any(kind is None or _dotted(kind) in ("Exception", "BaseException") for kind in kinds)
    return broad and not isinstance(node.body[-1], ast.Raise)


def test_no_handler_is_silent() -> None:
    def rule(module: Module) -> Iterator[str]:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ExceptHandler) and all(_does_nothing(one) for one in node.body):
                yield module.at(node, "an error vanishes here; say so with contextlib.suppress, or act on it")

    assert not (found := _breaches(rule, *EVERYTHING)), found


def _does_nothing(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


# what comes in through a door


def test_only_the_clock_reads_time() -> None:
    def rule(module: Module) -> Iterator[str]:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and _dotted(node) in READS_OF_TIME:
                yield module.at(node, f"{_dotted(node)}: ask the Clock")
        for node, name in _imported(module):
            if name in READS_OF_TIME and name.startswith("time."):
                yield module.at(node, f"{name}: ask the Clock")

    assert not (found := _breaches(rule, *PRODUCT, spared=["core/clock.py"])), found


def test_no_test_measures_how_long_something_took() -> None:
    """A busy machine takes longer. What real time a test needs is a deadline, which is added to; the bench measures."""

    def rule(module: Module) -> Iterator[str]:
        for node in ast.walk(module.tree):
            since = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Call)
            if since and _dotted(node.left.func) in STOPWATCHES:  # type: ignore[attr-defined]  # since says what it is
                yield module.at(node, "the time since something, in a test")

    # A ratio of two; a platform's clock; what is printed.
    timers = ["tests/unit/test_split.py", "tests/contract/platforms.py", "tests/wire/test_daemon_burst.py"]
    bench = [module.name for module in _modules("tests") if module.name.startswith("tests/bench/")]
    assert not (found := _breaches(rule, "tests", spared=[*timers, *bench])), found


def test_only_chance_draws_lots() -> None:
    def rule(module: Module) -> Iterator[str]:
        for node, name in _imported(module):
            if name.partition(".")[0] in CHANCE:
                yield module.at(node, f"imports {name}: ask Random")
        for node in ast.walk(module.tree):
            if _dotted(node) == "os.urandom":
                yield module.at(node, "os.urandom: ask Random")

    assert not (found := _breaches(rule, *PRODUCT, spared=["core/chance.py"])), found


def test_only_config_reads_the_environment() -> None:
    def rule(module: Module) -> Iterator[str]:
        for node in ast.walk(module.tree):
            if _dotted(node) in ("os.environ", "os.environb", "os.getenv", "os.putenv"):
                yield module.at(node, f"{_dotted(node)}: it is a setting, and config/load.py reads those")

    assert not (found := _breaches(rule, *PRODUCT, spared=["config/load.py", "config/extras.py"])), found


def test_only_who_speaks_to_a_person_prints() -> None:
    def rule(module: Module) -> Iterator[str]:
        if module.name.startswith(("core/cli/", "bots/terminal/", "config/extras.py")):
            return
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and _dotted(node.func) == "print":
                yield module.at(node, "prints; log it")

    assert not (found := _breaches(rule, *PRODUCT)), found


# types, names, imports


def test_the_core_has_no_any() -> None:
    def rule(module: Module) -> Iterator[str]:
        for node, name in _imported(module):
            if name == "typing.Any":
                yield module.at(node, "imports Any; say what it is")
        for node in ast.walk(module.tree):
            if _dotted(node) == "typing.Any":
                yield module.at(node, "typing.Any; say what it is")

    assert not (found := _breaches(rule, "core")), found


def test_no_import_is_relative() -> None:
    def rule(module: Module) -> Iterator[str]:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                yield module.at(node, "a relative import")

    assert not (found := _breaches(rule, *EVERYTHING)), found


def test_a_name_says_what_it_names() -> None:
    def rule(module: Module) -> Iterator[str]:
        for part in Path(module.name).with_suffix("").parts:
            if part in VAGUE_MODULES:
                yield module.at(1, f"{part} is no noun of ours")
        for name, function in _functions(module.tree):
            if function.name in VAGUE_FUNCTIONS:
                yield module.at(function, f"{name}: a verb needs its object")

    assert not (found := _breaches(rule, *EVERYTHING)), found


def test_the_core_names_no_platform() -> None:
    def rule(module: Module) -> Iterator[str]:
        for number, line in enumerate(module.text.splitlines(), start=1):
            if match := re.search(r"telegram|discord|slack", line, re.IGNORECASE):
                yield module.at(number, f"{match[0]}: platforms differ by Capabilities, never by name")

    assert not (found := _breaches(rule, "core")), found


def test_slacks_listeners_take_nothing_from_bolt_that_speaks() -> None:
    """It goes past our pacing, and past our words for errors."""
    names = {"say", "say_stream", "respond", "complete", "fail", "set_status", "set_title", "set_suggested_prompts"}
    of_context = {f"context.{name}" for name in (*names, "client")}

    def rule(module: Module) -> Iterator[str]:
        given = names | ({"client"} if module.name == "bots/slack/listening.py" else set())
        for node in ast.walk(module.tree):
            if (isinstance(node, ast.arg) and node.arg in given) or _dotted(node) in of_context:
                yield module.at(node, "takes from Bolt what speaks: the Line does that")

    assert not (found := _breaches(rule, "bots/slack")), found


def test_model_sdks_are_imported_by_agents_only() -> None:
    def rule(module: Module) -> Iterator[str]:
        for node, name in _imported(module):
            if name.partition(".")[0] in MODEL_SDKS and not module.name.startswith("core/agents/"):
                yield module.at(node, f"imports {name}")

    assert not (found := _breaches(rule, *PRODUCT)), found


# words


def test_what_crosses_a_port_is_documented() -> None:
    def rule(module: Module) -> Iterator[str]:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef | Function) and not _says_what_it_is(node):
                yield module.at(node, f"{node.name} has no words")

    ports = [module for module in _modules("core") if module.name in ("core/ports.py", "core/vocabulary.py")]
    assert len(ports) == 2
    found = "\n".join(line for module in ports for line in rule(module))
    assert not found, found


def _says_what_it_is(node: ast.ClassDef | Function) -> bool:
    """A class whose members all say it needs no words of its own, nor does a private one."""
    if node.name.startswith("_") or ast.get_docstring(node) is not None:
        return True
    members = node.body if isinstance(node, ast.ClassDef) else []
    return bool(members) and all(isinstance(one, Function) and _says_what_it_is(one) for one in members)


# what is in the repository


def test_constraints_are_exact_versions_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    wrong = [line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", line)]
    assert pins
    assert not wrong, wrong


def test_no_file_names_a_package_registry_or_this_machine() -> None:
    hosts = [".".join(parts) for parts in (("pypi", "org"), ("python" + "hosted", "org"), ("npmjs", "org"))]
    paths = ["/".join(("", place, "")) for place in ("work", "opt/wheels", "opt/pypi")]
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in _tracked()
        for word in (*hosts, *paths)
        if word in path.read_text(encoding="utf-8", errors="replace")
    ]
    assert not found, found


def _tracked() -> Iterator[Path]:
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.name != ".git")
    for folder in (*EVERYTHING, *OTHER_TEXT):
        yield from (path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc")
