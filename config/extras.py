"""Which settings need an extra of pyproject.toml, whether it is installed, and the command that installs it.

Only the standard library is imported, here and in what this imports: `python -m config.extras` tells an install what to
fetch, before anything else is there.
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from config.document import Document
from config.faults import ConfigFaults
from config.lines import KeyPath
from config.places import config_file
from config.providers import DEFAULT_MODELS, default_variables, provider_of

MODULES: Final[Mapping[str, str]] = {
    "anthropic": "anthropic",
    "bedrock": "boto3",
    "bedrock-mantle": "botocore",
    "cohere": "cohere",
    "google": "google.genai",
    "groq": "groq",
    "huggingface": "huggingface_hub",
    "mcp": "fastmcp",
    "mistral": "mistralai",
    "postgres": "psycopg",
    "typesafe": "typesafe_sdk",
    "xai": "xai_sdk",
}
"""By extra, a module that it brings and the default install does not."""
ALL: Final = ("anthropic", "mcp", "postgres")
"""What the extra "all" brings: all but other providers' libraries."""
_ALSO: Final[Mapping[str, str]] = {"google-cloud": "google", "google-decisions": "google", "converse": "bedrock"}
"""Providers that are not called like their extra. One that is neither here nor in `MODULES` needs none."""
_SOURCES: Final = Path(__file__).parents[1]
_SERVICE: Final = Path("/opt/frontdesk")
"""Where `make install-service` installs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """An extra that a setting needs. `path`: the option; `what`: its value, where that is fit to be shown."""

    extra: str
    path: KeyPath
    what: str = ""

    @property
    def message(self) -> str:
        """What is wrong while it is not installed; `hint` is what to do."""
        return f'{self.what}{" " if self.what else ""}needs the extra "{self.extra}", which is not installed'

    @property
    def hint(self) -> str:
        return f"type: {command(self.extra)}"


def needs(tables: Mapping[str, object], environ: Mapping[str, str]) -> list[Need]:
    """What a config needs that holds these tables, sound or not. `environ` gives an agent where there is none."""
    found = [need for name, agent in _table(tables.get("agents")).items() for need in _agent(name, _table(agent))]
    if "agents" not in tables and (variables := default_variables(environ)):
        agent = _agent("default", {"model": DEFAULT_MODELS[variables[0]]})
        found += [replace(need, what=f"{variables[0]} is set, and {need.what}") for need in agent]
    if _is_postgres(_table(tables.get("store")).get("url"), environ):
        found.append(Need(extra="postgres", path=("store", "url")))
    return found


def missing(tables: Mapping[str, object], environ: Mapping[str, str]) -> list[Need]:
    """The needs that are not met."""
    return [need for need in needs(tables, environ) if not is_installed(need.extra)]


def is_installed(extra: str) -> bool:
    """Whether the module that the extra brings can be found."""
    try:
        return find_spec(MODULES[extra]) is not None
    except ModuleNotFoundError:  # a package around it
        return False


def command(extra: str) -> str:
    """What to type, on this installation."""
    if Path(sys.prefix) == _SOURCES / ".venv" and (_SOURCES / "Makefile").exists():
        place = "" if Path.cwd() == _SOURCES else f" -C {shlex.quote(str(_SOURCES))}"
        return f"make{place} extras EXTRAS={extra}"
    if Path(sys.prefix).is_relative_to(_SERVICE):
        return f"sudo make install-service EXTRAS={extra}"
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(f'frontdesk[{extra}]')}"


def _agent(name: str, agent: Mapping[str, object]) -> Iterator[Need]:
    path: KeyPath = ("agents", name)
    for option in ("model", "fallbacks", "models"):
        for place, model in _models(agent.get(option)):
            if extra := _extra_of(model):
                yield Need(extra=extra, path=(*path, option, *place), what=model)
    if agent.get("mcp"):
        yield Need(extra="mcp", path=(*path, "mcp"))


def _models(given: object) -> Iterator[tuple[KeyPath, str]]:
    """Each model of an option that may hold one, a list, or a table."""
    if isinstance(given, str):
        yield (), given
    elif isinstance(given, Mapping):
        yield from (((str(name),), model) for name, model in given.items() if isinstance(model, str))
    elif isinstance(given, list | tuple):
        yield from (((index,), model) for index, model in enumerate(given) if isinstance(model, str))


def _extra_of(model: str) -> str | None:
    provider = provider_of(model).removeprefix("gateway/")
    extra = _ALSO.get(provider, provider)
    return extra if extra in MODULES and extra not in ("mcp", "postgres") else None


def _is_postgres(url: object, environ: Mapping[str, str]) -> bool:
    """An address that is kept in a file holds a password, so it is a server's."""
    if not isinstance(url, str):
        return False
    scheme, _, name = url.strip().partition(":")
    address = environ.get(name.strip(), "") if scheme.lower() == "env" else url
    return scheme.lower() in ("file", "credential") or address.strip().lower().startswith("postgres")


def _table(given: object) -> Mapping[str, object]:
    return given if isinstance(given, Mapping) else {}


def main(arguments: Iterable[str], environ: Mapping[str, str]) -> None:
    """Print extras, with commas between: those that are asked for, by a config, the environment or by name, and those
    that are installed; with --missing only those that are asked for and not installed."""
    parser = ArgumentParser(prog="python -m config.extras", allow_abbrev=False, add_help=False)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--extras", default="", help="names that are asked for, with commas or spaces between")
    given, _ = parser.parse_known_args(list(arguments))
    try:
        path = config_file(given.config, environ)
        tables = Document.read(path).tables if path else {}
    except ConfigFaults:  # the start will tell what is wrong with it
        tables = {"agents": {}}
    asked = {need.extra for need in needs(tables, environ)} | set(given.extras.replace(",", " ").split())
    if "all" in asked:
        asked = asked - {"all"} | set(ALL)
    if unknown := asked - MODULES.keys() - {"dev"}:
        parser.error(f"there is no extra {', '.join(sorted(unknown))}; there are: all, {', '.join(sorted(MODULES))}")
    if given.missing:
        chosen = {extra for extra in asked if extra not in MODULES or not is_installed(extra)}
    else:
        chosen = asked | {extra for extra in MODULES if is_installed(extra)}
    print(",".join(sorted(chosen)))  # noqa: T201  # this is its answer


if __name__ == "__main__":
    main(sys.argv[1:], os.environ)
