"""The options that every verb takes, before or after its name."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from config.faults import ConfigFaults
from core.cli.rights import owner_of, step_down, stepped_down

if TYPE_CHECKING:
    from config.load import Loaded

ConfigOption: TypeAlias = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="The config file.")]
StateOption: TypeAlias = Annotated[Path | None, typer.Option("--state", metavar="DIR", help="The state directory.")]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Which desk is meant, as far as the command line says.

    Whoever asks for its state directory goes on as the owner of that directory (`core.cli.rights`). The config is read
    before, since its secrets may be for root alone.
    """

    config: Path | None = None
    state: Path | None = None

    def load(self) -> Loaded:
        """The config as it is, for work in the state directory. Raises `ConfigFaults`."""
        from config.load import name_home

        loaded = self.read()
        step_down(loaded.state_dir)
        name_home(loaded.state_dir)
        return loaded

    def read(self) -> Loaded:
        """The config, and nothing else changes: for what root alone may look at. Raises `ConfigFaults`."""
        if isinstance(self._found, ConfigFaults):
            raise self._found
        return self._found

    @cached_property
    def _found(self) -> Loaded | ConfigFaults:
        from config.load import load  # pydantic: only for verbs that need it

        try:
            return load(config=self.config, state=self.state)
        except ConfigFaults as faults:
            return faults

    def command(self, verb: str) -> str:
        """How to type a verb so that it is about this desk."""
        given = {"--config": self.config, "--state": self.state}
        options = [f"{name} {shlex.quote(str(path.absolute()))}" for name, path in given.items() if path is not None]
        return " ".join(["frontdesk", verb, *options])

    def state_directory(self) -> Path:
        """Where the desk is, whatever is wrong with the config. Raises `ConfigFaults`."""
        directory = self._directory()
        step_down(directory)
        return directory

    def owns(self, folder: Path) -> bool:
        """Whether the folder is, like the state directory, somebody's to whom root's rights must not be lent."""
        owner = owner_of(self._directory())
        return owner is not None and owner == owner_of(folder)

    @contextlib.contextmanager
    def stepped_down(self) -> Iterator[None]:
        """Within the block as the state directory's owner, after it as before: for what is written elsewhere."""
        with stepped_down(self._directory()):
            yield

    def _directory(self) -> Path:
        from config.load import state_directory_of

        directory = state_directory_of(self.state)
        if owner_of(directory) is not None:
            _ = self._found  # while it can be read
        return directory


def place_of(context: typer.Context, config: Path | None, state: Path | None) -> Place:
    """What stands at the verb, completed by what stands before it. Raises `typer.BadParameter` for an empty name."""
    for option, value in (("--config", config), ("--state", state)):
        if value is not None and value == Path():
            raise typer.BadParameter("the name is empty; a variable may be unset", param_hint=option)
    before = context.find_object(Place) or Place()
    return Place(config=config or before.config, state=state or before.state)
