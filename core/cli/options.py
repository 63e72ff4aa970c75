"""The options that every verb takes, before or after its name."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from config.load import Loaded

ConfigOption: TypeAlias = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="The config file.")]
StateOption: TypeAlias = Annotated[Path | None, typer.Option("--state", metavar="DIR", help="The state directory.")]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Which desk is meant, as far as the command line says."""

    config: Path | None = None
    state: Path | None = None

    def load(self) -> Loaded:
        """Read the config. Raises `ConfigFaults`."""
        from config.load import load, name_home  # pydantic: only for verbs that need it

        loaded = load(config=self.config, state=self.state)
        name_home(loaded.state_dir)
        return loaded

    def command(self, verb: str) -> str:
        """How to type a verb so that it is about this desk."""
        given = {"--config": self.config, "--state": self.state}
        options = [f"{name} {shlex.quote(str(path.absolute()))}" for name, path in given.items() if path is not None]
        return " ".join(["frontdesk", verb, *options])

    def state_directory(self) -> Path:
        """Where the desk is, without a look at the config. Raises `ConfigFaults`."""
        from config.load import state_directory_of

        return state_directory_of(self.state)


def place_of(context: typer.Context, config: Path | None, state: Path | None) -> Place:
    """What stands at the verb, completed by what stands before it. Raises `typer.BadParameter` for an empty name."""
    for option, value in (("--config", config), ("--state", state)):
        if value is not None and value == Path():
            raise typer.BadParameter("the name is empty; a variable may be unset", param_hint=option)
    before = context.find_object(Place) or Place()
    return Place(config=config or before.config, state=state or before.state)
