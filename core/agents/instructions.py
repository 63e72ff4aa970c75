"""Instructions from a file, which is read again when it changes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import structlog
from msgspec import Struct

from config.reading import content_of
from core.errors import ConfigError

log = structlog.get_logger("frontdesk.agents")

LIMIT_BYTES = 1024 * 1024
"""As the config takes it."""

_Version = tuple[int, int, int]
"""Time of the last change in ns, size, and which file it is: an editor may put another one in its place."""


class _NoText(Exception):
    """What is there can't be instructions."""


class _Found(Struct, frozen=True):
    """What a file holds now; with `fault` nothing that could be used. `version` is None where there is no file."""

    version: _Version | None
    text: str = ""
    fault: str = ""


class Instructions:
    """The text of one agent's file. Lives on the main loop; a thread reads."""

    def __init__(self, agent: str, path: Path) -> None:
        """Reads it, before any turn waits. Raises `ConfigError`."""
        self._agent = agent
        self._path = path
        self._warned: _Found | None = None
        found = _look(path, None)
        if found is None or found.fault:
            why = found.fault if found is not None else "not read"
            raise ConfigError(f'[agents.{agent}] instructions_file = "{path}": {why}')
        self._version, self.text = found.version, found.text

    async def look(self) -> None:
        """Take the text that is there now. A file that is gone or can't be read leaves the last one, and is warned of
        once for each change."""
        found = await asyncio.to_thread(_look, self._path, self._version)
        if found is not None and found.fault:
            if found != self._warned:
                log.warning("instructions_not_read", agent=self._agent, file=str(self._path), why=found.fault)
            self._warned = found
            return
        self._warned = None
        if found is not None:
            self._version, self.text = found.version, found.text
            log.info("instructions_read", agent=self._agent, file=str(self._path))


def _look(path: Path, known: _Version | None) -> _Found | None:
    """None: it is the version that is known."""
    version = None
    try:
        version = _version(path.stat())
        if version == known:
            return None
        return _read(path)
    except OSError as error:
        return _Found(version, fault=error.strerror or type(error).__name__)
    except UnicodeDecodeError:
        return _Found(version, fault="not UTF-8 text")
    except _NoText as error:
        return _Found(version, fault=str(error))


def _read(path: Path) -> _Found:
    """The version is from before the reading: what is written meanwhile makes another one."""
    found, content = content_of(path, LIMIT_BYTES)
    version = _version(found)
    if len(content) > LIMIT_BYTES:
        raise _NoText("larger than 1 MiB")
    text = content.decode("utf-8-sig")
    if not text.strip():
        raise _NoText("empty")
    return _Found(version, text=text)


def _version(found: os.stat_result) -> _Version:
    return found.st_mtime_ns, found.st_size, found.st_ino
