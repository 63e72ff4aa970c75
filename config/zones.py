"""Time zones: which names exist, and which one this machine keeps."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from config.sources import wrong

LOCAL = "local"


def zone_exists(name: str) -> bool:
    """Whether `name` is an IANA zone that can be loaded here."""
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        # KeyError: unknown; OSError: a directory or too long; ValueError: a path out of the data.
        return False
    return bool(name)


def checked_zone(name: str) -> str:
    """`name`, if it is an IANA zone. Raises a fault with the nearest name."""
    if zone_exists(name):
        return name
    known = {zone.lower(): zone for zone in available_timezones()}
    tails = {zone.rpartition("/")[2].lower(): zone for zone in known.values()}
    wanted = name.lower().replace(" ", "_")
    near = get_close_matches(wanted, [*known, *tails], n=1, cutoff=0.75)
    if near:
        hint = f'did you mean "{known.get(near[0]) or tails[near[0]]}"?'
    else:
        hint = 'write an IANA name as in "Europe/Berlin", "UTC" or "local"'
    raise wrong("is no time zone", hint)


def machine_zone(environ: Mapping[str, str], root: Path = Path("/")) -> str | None:
    """The IANA name of the machine's zone; "UTC" where none is set, None where one is set but has no name.

    The order is glibc's: $TZ, then /etc/localtime; /etc/timezone only names what a copied localtime cannot.
    """
    written = environ.get("TZ", "").strip().removeprefix(":")
    if written:
        written = written.partition("zoneinfo/")[2] or written
        return written if zone_exists(written) else None
    localtime = root / "etc/localtime"
    if not localtime.exists() and not localtime.is_symlink():
        return "UTC"
    for name in (_linked(localtime), _noted(root / "etc/timezone")):
        if name and zone_exists(name):
            return name
    return None


def _linked(localtime: Path) -> str:
    if not localtime.is_symlink():
        return ""
    name = str(localtime.readlink()).partition("zoneinfo/")[2]
    return name.removeprefix("posix/").removeprefix("right/")


def _noted(timezone: Path) -> str:
    try:
        return timezone.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
