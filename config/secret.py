"""Values that nobody may see: they are written by reference in the config and never appear in repr, str or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Self
from urllib.parse import quote, unquote, urlsplit

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from config.lines import KeyPath
from config.sources import Sources, wrong

_REFERENCE: Final = re.compile(r"(env|file|credential):", re.IGNORECASE)
_SHELL: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?\Z")
_UNFIT: Final = re.compile(r"[\s\x00-\x1f\x7f]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# GIT_AUTHOR_NAME holds no secret, Authorization does.
_SECRETIVE: Final = re.compile(r"key|token|secret|passw|passphrase|credential|auth(?!or(?!iz))|cookie", re.IGNORECASE)
_SCHEME: Final = re.compile(r"(?:bearer|basic|token)\s+(?=\S)", re.IGNORECASE)
_MASK: Final = "**********"


class Secret:
    """A token or key. Only `reveal` shows it."""

    __slots__ = ("_value", "file", "origin")

    origin: str
    """Where it was found: `env:NAME`, `file:PATH`, `credential:NAME` or `literal`."""
    file: Path | None
    """The file that holds it; None: it came from elsewhere."""

    def __init__(self, value: str, origin: str = "literal", file: Path | None = None) -> None:
        self._value = value
        self.origin = origin
        self.file = file

    def reveal(self) -> str:
        """The value itself, for the one call that needs it."""
        return self._value

    def forms(self) -> frozenset[str]:
        """Every text that must not reach a log: the value, plain and as it stands in a URL."""
        return frozenset({self._value, quote(self._value), quote(self._value, safe="")})

    @property
    def exposed(self) -> bool:
        """Whether the secret itself stands in the config file."""
        return self.origin == "literal"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __str__(self) -> str:
        return _MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and type(other) is type(self) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    @classmethod
    def parse(cls, given: object, sources: Sources) -> Self:
        """A secret as written in the config. Raises a fault without any part of the value."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, str):
            raise wrong("must be text", 'write "env:NAME", "file:PATH" or "credential:NAME"')
        written = given.strip()
        if not written:
            raise wrong("is empty", 'write "env:NAME", "file:PATH" or "credential:NAME", or leave the option out')
        if shell := _SHELL.match(written):
            raise wrong("a config file knows no $ variables", f'write "env:{shell[1]}"')
        secret = cls._fetched(written, sources) if _REFERENCE.match(written) else cls(written)
        if _UNFIT.search(secret.reveal()):
            source = "" if secret.exposed else f"{written} "
            raise wrong(f"{source}holds white space or control characters inside", "copy it again, alone on one line")
        return secret

    @classmethod
    def _fetched(cls, reference: str, sources: Sources) -> Self:
        return cls(sources.fetch(reference), reference, sources.file_of(reference))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(
            cls._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(str, when_used="json"),
        )

    @classmethod
    def _validate(cls, given: object, info: core_schema.ValidationInfo[object]) -> Self:
        return cls.parse(given, info.context if isinstance(info.context, Sources) else Sources())


class PrivateUrl(Secret):
    """An address that may hold a password: only the password is hidden."""

    __slots__ = ()

    def forms(self) -> frozenset[str]:
        """The password, plain and as it stands in the URL, and the whole URL; nothing if it holds no password."""
        password = _password(self._value)
        if not password:
            return frozenset()
        return frozenset({self._value, password, unquote(password)})

    @property
    def exposed(self) -> bool:
        """Whether a password stands in the config file."""
        return self.origin == "literal" and bool(_password(self._value))

    def __str__(self) -> str:
        password = _password(self._value)
        return self._value.replace(f":{password}@", ":***@") if password else self._value


class ServerUrl(PrivateUrl):
    """The address of a server that may know its clients by it: a password, a query, or all of a referenced one."""

    __slots__ = ()

    def forms(self) -> frozenset[str]:
        """The whole address and what of it is hidden; nothing if nothing is."""
        found = super().forms()
        query = self._value.partition("?")[2]
        if found or query or self.origin != "literal":
            found |= {self._value, *([query] if query else [])}
        return found

    @property
    def exposed(self) -> bool:
        """Whether what is hidden stands in the config file."""
        return self.origin == "literal" and bool(self.forms())

    def __str__(self) -> str:
        if self.origin != "literal":
            return _MASK
        address, mark, _ = super().__str__().partition("?")
        return f"{address}{mark}***" if mark else address


class Handed(Secret):
    """What a program or a server is handed under a name: a secret, or a plain text. Either may hold spaces."""

    __slots__ = ("_plain",)

    def __init__(self, value: str, origin: str = "literal", file: Path | None = None, *, plain: bool = False) -> None:
        super().__init__(value, origin, file)
        self._plain = plain

    def under(self, name: str) -> Handed:
        """The same, known by its name: what stands in the file and is not called like a secret is a plain text."""
        plain = self.origin == "literal" and not _SECRETIVE.search(name)
        return Handed(self._value, self.origin, self.file, plain=plain)

    def forms(self) -> frozenset[str]:
        """As of a secret, without `Bearer` too; nothing of a plain text: logs without any "1" could not be read."""
        if self._plain or not self._value:
            return frozenset()
        return super().forms() | {_SCHEME.sub("", self._value, count=1)}

    @property
    def exposed(self) -> bool:
        """Whether it is a secret that stands in the config file."""
        return not self._plain and super().exposed and bool(self._value)

    @classmethod
    def parse(cls, given: object, sources: Sources) -> Self:
        """A text or a reference as written in the config. Raises a fault without any part of the value."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, str):
            raise wrong("must be text", "write it in quotes")
        written = given.strip()
        if shell := _SHELL.match(written):
            raise wrong("a config file knows no $ variables", f'write "env:{shell[1]}"')
        handed = cls._fetched(written, sources) if _REFERENCE.match(written) else cls(given)
        if _CONTROL.search(handed.reveal()):
            raise wrong("holds control characters inside", "copy it again, alone on one line")
        return handed


def secrets_in(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Secret]]:
    """Each secret in settings, with the path of its option."""
    if isinstance(value, Secret):
        yield path, value
    for name, item in _members(value):
        yield from secrets_in(item, (*path, name))


def _members(value: object) -> Iterable[tuple[str | int, object]]:
    if isinstance(value, BaseModel):
        # What validation found by itself (keys in the environment) is in private attributes.
        found = value.__pydantic_private__ or {}
        return [*((name, getattr(value, name)) for name in type(value).model_fields), *found.items()]
    if isinstance(value, dict):
        return [(str(name), item) for name, item in value.items()]
    return enumerate(value) if isinstance(value, list | tuple) else ()


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""
