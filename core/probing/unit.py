"""The installed systemd service, by its files: systemd.service(5), systemd.exec(5), systemd.time(7)."""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from config.settings import Settings
from core.ports import Finding, State

NAME: Final = "frontdesk.service"
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
_UNITS_S: Final = {"": 1, "us": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hr": 3600}
_WHAT: Final = "service"


class Unit(Struct, frozen=True, kw_only=True):
    """Where `make install-service` puts it; `root` is the machine's."""

    root: Path = Path("/")

    @property
    def file(self) -> Path:
        return self.root / "etc/systemd/system" / NAME

    @property
    def settings(self) -> Path:
        """Where its config and secrets are."""
        return self.root / "etc/frontdesk"

    @property
    def config(self) -> Path:
        return self.settings / "frontdesk.toml"

    @property
    def secrets(self) -> Path:
        return self.settings / "secrets"

    @property
    def credentials_file(self) -> Path:
        """The drop-in that hands secrets over."""
        return self.file.with_name(f"{NAME}.d") / "credentials.conf"

    @property
    def installed(self) -> bool:
        return self.file.is_file()

    def serves(self, config: Path | None) -> bool:
        """Whether the service is there and reads this config."""
        return self.installed and config is not None and config == self.config

    def values(self, name: str) -> list[str]:
        """What stands under a name in the unit and its drop-ins, in their order. Raises `OSError`."""
        dropins = sorted(self.file.with_name(f"{NAME}.d").glob("*.conf"))
        lines = [line for path in (self.file, *dropins) for line in path.read_text(encoding="utf-8").splitlines()]
        pairs = (line.partition("=") for line in lines if not line.lstrip().startswith(("#", ";")))
        return [value.strip() for key, _, value in pairs if key.strip() == name]

    def credentials(self) -> Mapping[str, Path]:
        """Where each credential is read from. Raises `OSError`."""
        pairs = (value.partition(":") for value in self.values("LoadCredential"))
        return {name: self.root / path.lstrip("/") for name, _, path in pairs if path}

    def stop_s(self) -> float | None:
        """How long it may take to stop, where that is said in a way that is understood. Raises `OSError`."""
        return span_s(next(reversed(self.values("TimeoutStopSec")), ""))


def span_s(text: str) -> float | None:
    """A time span in seconds, as in "60" or "1min 30s"."""
    if text == "infinity":
        return math.inf
    parts = _SPAN.findall(text)
    if not parts or any(unit not in _UNITS_S for _, unit in parts):
        return None
    return float(sum(float(number) * _UNITS_S[unit] for number, unit in parts))


def look_at_unit(unit: Unit, settings: Settings, config: Path | None) -> list[Finding]:
    """Nothing where it is not installed. Blocking."""
    if not unit.installed:
        return []
    if not unit.serves(config):
        return [_found("ok", f"is installed, and reads another config: {unit.config}")]
    try:
        return [*(_stopping(unit, settings.desk.drain_s)), *_handing_over(unit, settings)] or [
            _found("ok", "the installed unit fits this config")
        ]
    except OSError as error:
        return [_found("fault", f"{error.filename} can't be read ({error.strerror})", "use sudo")]


def _stopping(unit: Unit, drain_s: float) -> Iterator[Finding]:
    stop_s = unit.stop_s()
    if stop_s is not None and stop_s <= drain_s:
        detail = f"TimeoutStopSec is {stop_s:g} s, and [desk] drain_s {drain_s:g} s: systemd may kill it as it drains"
        yield _found("warning", detail, f"systemctl edit frontdesk, and set TimeoutStopSec={drain_s + 30:g}")


def _handing_over(unit: Unit, settings: Settings) -> Iterator[Finding]:
    """The secrets that the config names must come with the unit."""
    known = unit.credentials()
    origins = sorted(
        {secret.origin for _, secret in settings.walk_secrets() if secret.origin.startswith("credential:")}
    )
    for name in (origin.partition(":")[2].strip() for origin in origins):
        path = known.get(name)
        if path is None:
            do = f"add LoadCredential={name}:{unit.secrets / name} to {unit.credentials_file}, and daemon-reload"
            yield _found("fault", f"the unit hands over no credential {name}", do)
        elif not path.is_file():
            yield _found("fault", f"{path}, the credential {name}, is not there", "write the secret into it")
        elif stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield _found("warning", f"{path}, the credential {name}, may be read by others", f"chmod 600 {path}")


def _found(state: State, detail: str, do: str = "") -> Finding:
    return Finding(what=_WHAT, state=state, detail=detail, do=do)
