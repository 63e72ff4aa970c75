"""Which setting needs which extra, and what is said while it is not there."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from importlib import import_module, metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pydantic_ai import providers

from config import extras
from config.draft import settings_of
from config.extras import ALL, MODULES, command, main, needs
from config.faults import ConfigFaults
from config.load import load
from config.providers import DEFAULT_MODELS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ANTHROPIC = DEFAULT_MODELS["ANTHROPIC_API_KEY"]
WITHOUT_MODELS = {"voyageai", "sentence-transformers"}
"""Providers that turn text into vectors only."""


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without any extra."""
    monkeypatch.setattr(extras, "find_spec", lambda name: None)


@pytest.mark.parametrize(
    ("config", "needed"),
    [
        ("", []),
        ('[agents.default]\nbackend = "offline"', []),
        ('[agents.default]\nmodel = "openai:a"\nfallbacks = ["deepseek:b", "ollama:c", "azure:d"]', []),
        ('[agents.default]\nmodel = "anthropic:a"', [("anthropic", ("agents", "default", "model"))]),
        ('[agents.a]\nfallbacks = ["openai:a", "groq:b"]', [("groq", ("agents", "a", "fallbacks", 1))]),
        ('[agents.a]\nmodels = ["google-cloud:a"]', [("google", ("agents", "a", "models", 0))]),
        ('[agents.a.models]\nfast = "gateway/anthropic:a"', [("anthropic", ("agents", "a", "models", "fast"))]),
        ('[agents.a]\nmodel = "mcp:a"', []),
        ('[[agents.a.mcp]]\nname = "x"\ncommand = ["x"]', [("mcp", ("agents", "a", "mcp"))]),
        ('[store]\nurl = "postgresql://x@y/z"', [("postgres", ("store", "url"))]),
        ('[store]\nurl = "env:SERVER"', [("postgres", ("store", "url"))]),
        ('[store]\nurl = "env:FILE"', []),
        ('[store]\nurl = "file:store.url"', [("postgres", ("store", "url"))]),
        ('[store]\nurl = "sqlite:///x.db"', []),
        ("[agents]\ndefault = 3\na = {model = 4, models = [5], mcp = 0}\n[store]\nurl = 6", []),
        ("store = 1\nagents = 2", []),
    ],
)
def test_a_setting_needs_its_extra(config: str, needed: list[tuple[str, tuple[object, ...]]]) -> None:
    environ = {"SERVER": "postgresql://x@y/z", "FILE": "sqlite:///x.db"}
    assert [(need.extra, need.path) for need in needs(tomllib.loads(config), environ)] == needed


@pytest.mark.parametrize(
    ("config", "environ", "needed"),
    [
        ("", {"ANTHROPIC_API_KEY": "k"}, ["anthropic"]),
        ("", {"ANTHROPIC_API_KEY": " "}, []),
        ("", {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, []),
        ("[desk]", {"ANTHROPIC_API_KEY": "k"}, ["anthropic"]),
        ('[agents.default]\nbackend = "offline"', {"ANTHROPIC_API_KEY": "k"}, []),
    ],
)
def test_a_variable_needs_the_extra_of_the_agent_that_it_switches_on(
    config: str, environ: dict[str, str], needed: list[str]
) -> None:
    assert [need.extra for need in needs(tomllib.loads(config), environ)] == needed


def test_every_provider_that_pydantic_ai_knows_is_had_by_the_extra_that_it_names() -> None:
    source = inspect.getsource(providers.infer_provider_class)
    cases = re.findall(r"case ((?:'[a-z-]+'(?: \| )?)+):\s+from \.(\w+) import", source)
    assert len(cases) > 20
    for names, module in cases:
        text = (Path(providers.__file__).parent / f"{module}.py").read_text()
        told = re.search(r"pydantic-ai-slim\[([a-z-]+)\]", text)
        for name in set(re.findall(r"'([a-z-]+)'", names)) - WITHOUT_MODELS:
            expected = [told[1]] if told and brings(told[1]) - {"openai", "tiktoken"} else []
            assert [one.extra for one in needs({"agents": {"a": {"model": f"{name}:x"}}}, {})] == expected, name


def brings(extra: str) -> set[str]:
    """What the extra of pydantic-ai-slim installs."""
    told = metadata.requires("pydantic-ai-slim") or []
    return {re.split(r"[^A-Za-z0-9_-]", one)[0] for one in told if one.endswith(f"extra == '{extra}'")}


def test_the_project_declares_the_extras_that_settings_need() -> None:
    declared = PROJECT["optional-dependencies"]
    assert set(declared) == {*MODULES, "all", "dev"}
    assert declared["all"] == [f"frontdesk[{','.join(ALL)}]"]
    for extra in MODULES.keys() - {"postgres"}:
        assert f"pydantic-ai-slim[{extra}]" in declared[extra]


@pytest.mark.parametrize("extra", ALL)
def test_the_tests_run_with_what_extras_bring(extra: str) -> None:
    assert extras.is_installed(extra)
    import_module(MODULES[extra])


def test_constraints_pin_all_that_an_installation_of_everything_brings() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {canonicalize_name(line.partition("==")[0]) for line in lines if "==" in line}
    needed, seen = {("frontdesk", "all"), ("frontdesk", "dev")}, set[tuple[str, str]]()
    while needed:
        name, extra = one = needed.pop()
        seen.add(one)
        for told in map(Requirement, metadata.requires(name) or []):
            if told.marker is None or told.marker.evaluate({"extra": extra}):
                needed |= {(canonicalize_name(told.name), also) for also in ("", *told.extras)} - seen
    assert {name for name, _ in seen} - pins == {"frontdesk"}


def test_before_anything_is_installed_it_is_known_what_to_install(tmp_path: Path) -> None:
    """Without site-packages: only the standard library is there."""
    config = tmp_path / "frontdesk.toml"
    config.write_text(
        '[agents.default]\nmodel = "anthropic:a"\n[[agents.default.mcp]]\n[store]\nurl = "postgres://x"\n'
    )
    base = str(Path(sys.base_prefix) / "bin" / "python3")
    words = [base, "-S", "-m", "config.extras", "--extras", "xai", "--state", "x", "-k", "--help", f"--config={config}"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env={"HOME": "/"}, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("anthropic,mcp,postgres,xai\n", "", 0)


def test_of_a_config_that_cannot_be_read_nothing_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "frontdesk.toml"
    config.write_text("[agents")
    main([f"--config={config}", "--missing"], {"ANTHROPIC_API_KEY": "k"})
    assert capsys.readouterr().out == "\n"


def test_what_is_installed_stays_and_only_what_is_missing_is_told_as_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {"psycopg": object()}
    monkeypatch.setattr(extras, "find_spec", there.get)
    main([], {"ANTHROPIC_API_KEY": "k"})
    main(["--missing", "--extras", "all"], {})
    main(["--missing", "--extras", "postgres"], {})
    main(["--extras", "dev all"], {})
    assert capsys.readouterr().out.split("\n")[:4] == [
        "anthropic,postgres", "anthropic,mcp", "", "anthropic,dev,mcp,postgres",
    ]  # fmt: skip


def test_a_name_that_is_no_extra_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--extras", "antropic"], {})
    assert "there is no extra antropic; there are: all, anthropic, bedrock" in capsys.readouterr().err


@pytest.mark.usefixtures("bare")
def test_a_start_and_a_check_are_told_file_and_line_and_the_command(tmp_path: Path) -> None:
    config = tmp_path / "frontdesk.toml"
    config.write_text(
        '[agents.default]\nmodel = "anthropic:a"\napi_key = "k"\n\n[store]\nurl = "postgresql://u:p@y/z"\n'
    )
    loaded = load(config=config, state=tmp_path, environ={})
    with pytest.raises(ConfigFaults) as refused:
        loaded.complete()
    assert str(refused.value).splitlines() == [
        f'{config}:2: [agents.default] model: anthropic:a needs the extra "anthropic", which is not installed; '
        f"type: {command('anthropic')}",
        f'{config}:6: [store] url: needs the extra "postgres", which is not installed; type: {command("postgres")}',
    ]


@pytest.mark.usefixtures("bare")
def test_a_variable_that_switches_on_an_agent_is_named(tmp_path: Path) -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "HOME": str(tmp_path)}
    loaded = load(config=None, state=tmp_path, environ=environ)
    assert [str(fault) for fault in loaded.missing] == [
        f"environment: [agents.default] model: ANTHROPIC_API_KEY is set, and {ANTHROPIC} needs the extra "
        f'"anthropic", which is not installed; type: {command("anthropic")}'
    ]


@pytest.mark.usefixtures("bare")
def test_a_store_of_which_only_the_reference_is_written_is_what_it_refers_to(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("sqlite:///x.db")
    config = tmp_path / "frontdesk.toml"
    config.write_text('[store]\nurl = "file:url"\n')
    assert load(config=config, state=tmp_path, environ={}).complete().missing == ()


@pytest.mark.usefixtures("bare")
def test_init_is_told_before_it_tries_the_model() -> None:
    with pytest.raises(ConfigFaults, match='model: anthropic:a needs the extra "anthropic"'):
        settings_of({"agents": {"default": {"model": "anthropic:a", "api_key": "k"}}})


def test_the_command_fits_the_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(ROOT / ".venv"))
    monkeypatch.chdir(ROOT)
    assert command("mcp") == "make extras EXTRAS=mcp"
    monkeypatch.chdir(tmp_path)
    assert command("mcp") == f"make -C {ROOT} extras EXTRAS=mcp"
    monkeypatch.setattr(sys, "prefix", "/opt/frontdesk/venvs/1.0.0-1")
    assert command("mcp") == "sudo make install-service EXTRAS=mcp"
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert command("mcp") == f"{sys.executable} -m pip install 'frontdesk[mcp]'"
