"""Where the config file and the state directory are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from config.faults import ConfigFaults, Fault


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """One version of a file. `at_s`: when it was written, in seconds since the epoch."""

    at_s: float
    size: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Written | None:
        """The version that is there; None where none can be seen."""
        try:
            found = path.stat()
        except OSError:
            return None
        return cls(at_s=found.st_mtime, size=found.st_size, inode=found.st_ino)


SYSTEM_FOLDERS: Final = (Path("/proc"), Path("/sys"), Path("/dev"))
"""What lies there are no files that anybody made."""
_SYSTEM_WIDE: Final = Path("/etc/frontdesk/frontdesk.toml")


def config_file(given: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The config file: `--config`, $FRONTDESK_CONFIG, the user's, the machine's; None if there is none.

    The first two are taken at their word, whether the file exists or not. So is a file that is there, or may be there,
    but cannot be read: something else in its place would be a silent default.
    """
    if given is not None:
        return given.absolute()
    if named := environ.get("FRONTDESK_CONFIG"):
        return Path(named).absolute()
    home = _xdg(environ, "XDG_CONFIG_HOME", ".config")
    candidates = [home / "frontdesk/frontdesk.toml"] if home else []
    return next((path for path in [*candidates, _SYSTEM_WIDE] if _may_exist(path)), None)


def own_config_file(environ: Mapping[str, str]) -> Path:
    """Where a user's own config file belongs. Raises `ConfigFaults` if that can't be told."""
    home = _xdg(environ, "XDG_CONFIG_HOME", ".config")
    if home is None:
        message = "there is no place for a config: neither $XDG_CONFIG_HOME nor $HOME is set"
        raise ConfigFaults(
            [Fault(file="environment", line=None, option="--config", message=message, hint="write --config FILE")]
        )
    return home / "frontdesk/frontdesk.toml"


def state_directory(given: Path | None, environ: Mapping[str, str]) -> Path:
    """The state directory, absolute: `--state`, $STATE_DIRECTORY (the first of several), the user's.

    It may not exist yet. Raises `ConfigFaults` if there is nowhere to put it, or if it is no directory.
    """
    path = given
    if path is None and (named := environ.get("STATE_DIRECTORY", "").partition(":")[0]):
        path = Path(named)
    if path is None and (home := _xdg(environ, "XDG_DATA_HOME", ".local/share")):
        path = home / "frontdesk"
    if path is None:
        raise ConfigFaults([_state_fault("there is no state directory: neither $STATE_DIRECTORY nor $HOME is set")])
    path = path.absolute()
    if _may_exist(path) and not _is_directory(path):
        raise ConfigFaults([_state_fault(f"{path} is no directory that can be entered")])
    return path


def _state_fault(message: str) -> Fault:
    return Fault(file="environment", line=None, option="--state", message=message, hint="write --state DIR")


def _xdg(environ: Mapping[str, str], variable: str, default: str) -> Path | None:
    # Relative paths are to be ignored: https://specifications.freedesktop.org/basedir-spec/latest/
    named = Path(environ.get(variable, ""))
    if named.is_absolute():
        return named
    home = Path(environ.get("HOME", ""))
    return home / default if home.is_absolute() else None


def _may_exist(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
