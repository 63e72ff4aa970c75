"""`[[agents.NAME.mcp]]`: a server of tools, by https://modelcontextprotocol.io, and which of its tools may be used."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Annotated, Final, Self

from pydantic import AfterValidator, BeforeValidator, model_validator

from config.part import Part
from config.secret import Handed, ServerUrl
from config.sources import Misplaced, misplaced, wrong
from config.values import Directory, Seconds, listed, web_address

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# A token: https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
_LIST: Final = 'command = ["PROGRAM", "ARGUMENT"]'


def _name(name: str) -> str:
    if not _NAME.match(name):
        raise wrong("is no name", "write letters, digits, _ and -, at most 64: tools are called NAME_TOOL")
    return name


def _words(given: object) -> object:
    if not isinstance(given, str):
        return listed(given)
    try:
        return tuple(shlex.split(given))
    except ValueError:
        raise wrong("holds a quote or backslash without its other half", f"write it as a list: {_LIST}") from None


def _command(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words or not words[0].strip():
        raise wrong("names no program", f"write {_LIST}")
    if any("\0" in word for word in words):
        raise wrong("holds a NUL, which no argument may", "take it out")
    return words


def _address(url: ServerUrl) -> ServerUrl:
    if web_address(url.reveal()) is None:
        raise wrong("is no address of a server", 'write it as in "https://tools.example.com/mcp", or "env:NAME"')
    return url


def _pattern(pattern: str) -> str:
    if not pattern or re.search(r"\s", pattern):
        raise wrong("is no pattern of tools' names", 'write it as in "read_*"')
    return pattern


def _variable(name: str) -> str:
    if not _VARIABLE.match(name):
        raise wrong("is no name of an environment variable", "write letters, digits and _")
    return name


def _header(name: str) -> str:
    if not _HEADER.match(name):
        raise wrong("is no name of an HTTP header", "write letters, digits and -")
    return name


def _named(texts: Mapping[str, Handed]) -> Mapping[str, Handed]:
    return {name: text.under(name) for name, text in texts.items()}


Patterns = Annotated[tuple[Annotated[str, AfterValidator(_pattern)], ...], BeforeValidator(listed)]


class McpSettings(Part):
    """One server of tools: a program that is started, or an address."""

    name: Annotated[str, AfterValidator(_name)]
    """Unique in the agent; what its tools' names begin with."""
    command: Annotated[tuple[str, ...], BeforeValidator(_words), AfterValidator(_command)] | None = None
    """The program and its arguments; one text is split like a shell does, and no shell runs. Either this or `url`."""
    url: Annotated[ServerUrl, AfterValidator(_address)] | None = None
    env: Annotated[Mapping[Annotated[str, AfterValidator(_variable)], Handed], AfterValidator(_named)] = {}
    """Variables of the program, each as text or as the reference of a secret."""
    headers: Annotated[Mapping[Annotated[str, AfterValidator(_header)], Handed], AfterValidator(_named)] = {}
    """HTTP headers for `url`, each as text or as the reference of a secret."""
    cwd: Directory | None = None
    """Where the program runs, absolute; None: where frontdesk does."""
    allow: Patterns = ()
    """Glob patterns of the tools' own names, as all below; none: every tool may be used."""
    deny: Patterns = ()
    """Not these, even if `allow` has them."""
    read_only: Patterns = ()
    """These change nothing, whatever the server says of them."""
    consent: Patterns = ()
    """A person is asked before one of these runs."""
    per_session: bool = False
    """Whether each session has a server of its own; else all share one."""
    timeout_s: Seconds = 60
    """How long the server may take to start, or to answer anything but a call of a tool."""

    @model_validator(mode="after")
    def _either_a_program_or_an_address(self) -> Self:
        if self.command is None and self.url is None:
            raise wrong("has neither command nor url", 'write command = ["PROGRAM"] or url = "https://HOST/mcp"')
        if self.command is not None and self.url is not None:
            raise misplaced([Misplaced(("url",), "stands beside command", "keep one of the two")])
        idle = ("headers",) if self.url is None else ("env", "cwd")
        way = "command" if self.url is None else "url"
        faults = [
            Misplaced((name,), f"means nothing with {way}", "leave it out") for name in idle if getattr(self, name)
        ]
        if faults:
            raise misplaced(faults)
        return self


def _unique(servers: tuple[McpSettings, ...]) -> tuple[McpSettings, ...]:
    names = [server.name for server in servers]
    twice = [index for index, name in enumerate(names) if name in names[:index]]
    if twice:
        raise misplaced(
            [Misplaced((index, "name"), "is the name of another server above", "choose another") for index in twice]
        )
    return servers


McpServers = Annotated[tuple[McpSettings, ...], BeforeValidator(listed), AfterValidator(_unique)]
