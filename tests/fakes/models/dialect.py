"""What each API has to offer to the HTTP side: how it reads requests, writes answers, and words errors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from tests.fakes.models.payload import JsonObject
from tests.fakes.models.record import Api, Request, Shown
from tests.fakes.models.replies import Call, Fail

Finish: TypeAlias = Literal["stop", "length", "filter"]


class ApiError(Exception):
    """An answer other than 200. `body` goes out as JSON, or as it is if it is text (then as HTML)."""

    def __init__(self, status: int, body: JsonObject | str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body
        self.headers = dict(headers or {})

    @property
    def words(self) -> str:
        """The provider's message to the developer."""
        error = self.body.get("error") if isinstance(self.body, dict) else None
        message = error.get("message") if isinstance(error, dict) else None
        return message if isinstance(message, str) else str(self.body)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A request that kept all the rules."""

    messages: tuple[Shown, ...]
    tools: tuple[str, ...]
    dropped: tuple[str, ...] = ()


class Wire(Protocol):
    """Writes one answer. What it yields is ready for the socket; every yield is one delta.

    The same calls are made for an answer that is not streamed; the bytes are then thrown away and `body` is sent.
    """

    def begin(self) -> bytes:
        """What comes before the first token."""

    def say(self, pieces: Sequence[str]) -> Iterator[bytes]: ...

    def think(self, pieces: Sequence[str]) -> Iterator[bytes]: ...

    def call(self, call: Call) -> Iterator[bytes]: ...

    def end(self, finish: Finish) -> bytes: ...

    def body(self, finish: Finish) -> JsonObject: ...

    def error(self, error: ApiError) -> bytes:
        """An error after the stream has begun; nothing follows."""

    def ping(self) -> bytes: ...

    def garbage(self) -> bytes:
        """An event whose JSON is broken."""


class Dialect(Protocol):
    """One API of one provider."""

    @property
    def api(self) -> Api: ...

    def check_key(self, headers: Mapping[str, str], key: str) -> None:
        """Raises `ApiError` if the key is missing or wrong. Header names are lower case."""

    def broken_json(self) -> ApiError: ...

    def read(self, body: JsonObject, headers: Mapping[str, str]) -> Reading:
        """Raises `ApiError` if the request breaks a rule."""

    def unknown_model(self, model: str) -> ApiError: ...

    def too_long(self, tokens: int, limit: int) -> ApiError: ...

    def failure(self, fail: Fail, request: Request) -> ApiError: ...

    def wire(self, request: Request) -> Wire: ...
