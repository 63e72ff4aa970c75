"""Values that nobody may see: they are written by reference in the config and never appear in repr, str or JSON."""

from __future__ import annotations

import re
from typing import Final, Self
from urllib.parse import quote, unquote, urlsplit

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from config.sources import Sources, wrong

_REFERENCE: Final = re.compile(r"(env|file|credential):", re.IGNORECASE)
_SHELL: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?\Z")
_UNFIT: Final = re.compile(r"[\s\x00-\x1f\x7f]")
_MASK: Final = "**********"


class Secret:
    """A token or key. Only `reveal` shows it."""

    __slots__ = ("_value", "origin")

    origin: str
    """Where it was found: `env:NAME`, `file:PATH`, `credential:NAME` or `literal`."""

    def __init__(self, value: str, origin: str = "literal") -> None:
        self._value = value
        self.origin = origin

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
        secret = cls(sources.fetch(written), written) if _REFERENCE.match(written) else cls(written)
        if _UNFIT.search(secret.reveal()):
            raise wrong("holds white space or control characters inside", "copy it again, alone on one line")
        return secret

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


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""
