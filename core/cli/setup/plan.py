"""Where `init` writes, and what."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from config.document import Document
from config.draft import settings_of
from config.faults import ConfigFaults
from config.load import Surroundings, state_directory_of, surroundings
from core.cli.setup.placing import File, place
from core.clock import SystemClock
from core.errors import VerbFailed
from core.probing.unit import Unit

if TYPE_CHECKING:
    from core.cli.options import Place
    from core.cli.setup.choices import Choices
    from core.cli.setup.seat import Seat

SECRETS: Final = "secrets"
USUAL: Final = "frontdesk.toml"
_READ_BY_SERVICE: Final = 0o644
"""The service runs as a user of its own, and nothing secret is in it."""
_OWN: Final = 0o600
_COUNT_EMPTY: Final = frozenset({"agents", "bots", "listen"})
"""Tables that say something by being there."""
_LOAD: Final = "LoadCredential="


@dataclass(frozen=True, kw_only=True)
class Written:
    """All that is to be written; the config last."""

    files: Sequence[File]
    config: File
    secrets: Sequence[File]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """`for_service`: the config is the installed service's, and systemd hands its secrets over."""

    around: Surroundings
    state: Path
    place: Place
    unit: Unit
    for_service: bool

    @classmethod
    def here(cls, place: Place, unit: Unit | None = None) -> Self:
        """As the command line and this machine have it. Raises `ConfigFaults`."""
        around, unit = surroundings(place.config), unit or Unit()
        for_service = os.geteuid() == 0 and unit.serves(around.config)
        state = state_directory_of(place.state)
        return cls(around=around, state=state, place=place, unit=unit, for_service=for_service)

    @property
    def config(self) -> Path:
        return self.around.config

    def check(self, *, replaces: bool) -> None:
        """Raises `VerbFailed` if the config can't be written, or, unless it `replaces`, sets something already."""
        folder = next(one for one in self.config.parents if one.exists())
        if not os.access(folder, os.W_OK | os.X_OK):
            do = "use sudo, or name another file with --config"
            raise VerbFailed(f"{self.config} may not be written by this user; {do}")
        if not replaces and self.sets_something:
            do = f"change it by hand and try it with `{self.command('check')}`"
            raise VerbFailed(
                f"{self.config} sets something already and is left as it is; {do}, or start anew with --force: a dated "
                "copy of it stays beside it"
            )

    @property
    def sets_something(self) -> bool:
        """Whether there is a config that is more than comments and empty tables."""
        if not self.config.exists():
            return False
        try:
            return _sets(Document.read(self.config).tables)
        except ConfigFaults:  # whatever it is, somebody wrote it
            return True

    def written(self, choices: Choices) -> Written:
        """Raises `ConfigError` and `ConfigFaults` if it would be no good."""
        from core.assembly import agents_of

        agents_of(settings_of(choices.drafted())).check()
        secrets = [File(path=self._secrets / name, text=f"{value}\n") for name, value in choices.secrets().items()]
        mode = _READ_BY_SERVICE if self.for_service else _OWN
        config = File(path=self.config, text=choices.text(self._reference), mode=mode, kept=self.sets_something)
        handing = [self._handing_over(secrets)] if self.for_service and secrets else []
        return Written(files=[*secrets, *handing, config], config=config, secrets=secrets)

    @property
    def _secrets(self) -> Path:
        return self.unit.secrets if self.for_service else self.config.parent / self._folder

    def _reference(self, name: str) -> str:
        return f"credential:{name}" if self.for_service else f"file:{self._folder}/{name}"

    @property
    def _folder(self) -> str:
        """Of the config's own secrets: another config beside it may have others under the same names."""
        return SECRETS if self.config.name == USUAL else f"{self.config.stem}.{SECRETS}"

    def _handing_over(self, secrets: Sequence[File]) -> File:
        """The unit's drop-in; what it hands over besides stays."""
        path = self.unit.credentials_file
        ours = {file.path.name: f"{_LOAD}{file.path.name}:{self._inside(file.path)}" for file in secrets}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ["[Service]"]
        others = [line for line in lines if line.removeprefix(_LOAD).partition(":")[0] not in ours]
        return File(path=path, text="\n".join([*others, *ours.values()]) + "\n", mode=_READ_BY_SERVICE, kept=False)

    def _inside(self, path: Path) -> str:
        """As the unit sees it."""
        return f"/{path.relative_to(self.unit.root)}"

    def is_there(self, written: Written) -> bool:
        """Whether all of it is so already."""
        return all(file.is_there for file in written.files)

    def show(self, written: Written, seat: Seat) -> None:
        """Let somebody see it first. Raises `VerbFailed` if they don't want it."""
        if not seat.asks:
            return
        seat.say("", f"This will be {self.config}:", "")
        seat.say(*(f"    {line}" if line else "" for line in written.config.text.splitlines()))
        others = [file for file in written.files if file is not written.config]
        seat.say("", *(f"and {file.path}, {_about(file, written)}" for file in others))
        if not seat.confirm("Write it?", default=True):
            raise VerbFailed("nothing was written")

    def write(self, written: Written, seat: Seat) -> None:
        """Raises `VerbFailed` if it can't be done; then nothing has changed."""
        changed = [file.path for file in written.files if not file.is_there]
        try:
            replaced = place(written.files, self._prove, stamp=f"{SystemClock().now():%Y-%m-%dT%H%M%SZ}")
        except OSError as error:
            words = f"{error.filename} can't be written ({error.strerror}); nothing was changed"
            raise VerbFailed(f"{words}. Make room there, or use sudo") from error
        if written.secrets:
            self._secrets.chmod(0o700)  # it may have been there
        seat.say("", *(f"Wrote {path}" for path in changed), *(f"Kept  {path}, as it was before" for path in replaced))

    def _prove(self, config: Path) -> None:
        """Raises `ConfigFaults`."""
        credentials = self.unit.secrets if self.for_service else None
        self.around.load(config=config, state=self.place.state, credentials=credentials)

    def command(self, verb: str) -> str:
        """How to type it so that it is about this desk."""
        return f"{'sudo ' if self.for_service else ''}{self.place.command(verb)}"


def _sets(tables: Mapping[str, object]) -> bool:
    return any(not isinstance(value, dict) or name in _COUNT_EMPTY or _sets(value) for name, value in tables.items())


def _about(file: File, written: Written) -> str:
    return "a secret that only you can read" if file in written.secrets else "by which systemd hands them over"
