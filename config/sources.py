"""Where values come from that a config file only names: the environment, files, systemd's credentials, the machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from config.lines import KeyPath
from config.reading import content_of

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CREDENTIAL: Final = re.compile(r"[A-Za-z0-9_.-]{1,255}\Z")
_OPAQUE: Final = re.compile(r"[A-Za-z0-9_+/=-]{20,}")
_SECRET_LIMIT_BYTES: Final = 65_536


def wrong(message: str, hint: str = "") -> PydanticCustomError:
    """A fault found while validating: what is wrong and what to write instead. Neither may hold a secret."""
    # The braces keep pydantic from reading the texts as templates.
    return PydanticCustomError("frontdesk", "{message}", {"message": message, "hint": hint})


class Misplaced(NamedTuple):
    """A fault of an option inside the table that is validated."""

    path: KeyPath
    """From that table."""
    message: str
    hint: str


def misplaced(faults: Iterable[Misplaced]) -> ValidationError:
    """Faults found while validating a table, each at its own option."""
    return ValidationError.from_exception_data(
        "", [InitErrorDetails(type=wrong(message, hint), loc=path, input=None) for path, message, hint in faults]
    )


def shown(text: str) -> str:
    """`text` in quotes for a fault: short, printable, and without what could be a secret put in the wrong place."""
    visible = "".join(char if char.isprintable() else "?" for char in text[:60])
    return f'"{_OPAQUE.sub("...", visible)}"'


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What validation may read. Without it (`Settings()` in a test) nothing outside the values themselves is read."""

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    directory: Path = Path("/")
    """Where relative `file:` paths start: the config file's directory."""
    config: Path | None = None
    """The config file."""
    state: Path | None = None
    """The state directory; it may not be there yet."""
    zone: str = "UTC"
    """The IANA name that "local" stands for."""
    agents: frozenset[str] | None = None
    """The agents that the file names; None leaves the check to `Settings`."""

    def fetch(self, reference: str) -> str:
        """The secret that `env:NAME`, `file:PATH` or `credential:NAME` names, without white space around it.

        Raises a fault that names the source and what to do, never a part of a value.
        """
        scheme, name = _parts(reference)
        match scheme:
            case "env":
                return self._from_environ(name)
            case "file":
                return self._from_file(name)
            case _:
                return self._from_credential(name)

    def file_of(self, reference: str) -> Path | None:
        """The file that a reference which could be fetched leads to; None for a variable."""
        match _parts(reference):
            case "file", name:
                return self.path(name)
            case "credential", name:
                return Path(self.environ.get("CREDENTIALS_DIRECTORY", "")) / name
            case _:
                return None

    def path(self, written: str) -> Path:
        """Where a path of the config leads: `~/` is $HOME, and a relative one starts at `directory`."""
        home = self.environ.get("HOME", "")
        return self.directory / (home + written[1:] if written.startswith("~/") and home else written)

    def _from_environ(self, name: str) -> str:
        if not _NAME.match(name):
            raise wrong("names no environment variable", 'write "env:NAME"')
        if name not in self.environ:
            raise wrong(f"the environment variable {name} is not set", f"set {name}, or name another source")
        value = self.environ[name].strip()
        if not value:
            raise wrong(f"the environment variable {name} is empty", f"set {name}, or name another source")
        return value

    def _from_file(self, name: str) -> str:
        if not name or "\0" in name:
            raise wrong("names no file", 'write "file:/PATH/TO/SECRET"')
        return _read(self.path(name), f"write the secret into it, readable by {ACCOUNT}")

    def _from_credential(self, name: str) -> str:
        if not _CREDENTIAL.match(name) or name in {".", ".."}:
            raise wrong("names no credential", 'write "credential:NAME"')
        directory = self.environ.get("CREDENTIALS_DIRECTORY", "")
        if not directory:
            raise wrong(
                "there are no credentials: $CREDENTIALS_DIRECTORY is not set",
                f"add LoadCredential={name}:/PATH/TO/SECRET to the systemd unit and start it by systemctl",
            )
        return _read(Path(directory) / name, f"add LoadCredential={name}:/PATH/TO/SECRET to the systemd unit")


def _parts(reference: str) -> tuple[str, str]:
    scheme, _, name = reference.partition(":")
    return scheme.lower(), name.strip()


ACCOUNT: Final = "the account that runs frontdesk"


def _read(path: Path, hint: str) -> str:
    try:
        _, content = content_of(path, _SECRET_LIMIT_BYTES)
    except OSError as error:
        raise wrong(f"{path} cannot be read: {error.strerror or 'no such file'}", hint) from None
    if len(content) > _SECRET_LIMIT_BYTES:
        raise wrong(f"{path} is no secret: it is larger than 64 KiB", hint)
    try:
        value = content.decode().strip()
    except UnicodeDecodeError:
        value = ""
        problem = f"{path} is not UTF-8 text"
    else:
        problem = f"{path} is empty"
    if not value:
        raise wrong(problem, hint)
    return value
