"""What a script lets the model answer: small frozen values, put one after the other.

One answer is a row of parts, played in order: `Think("hm"), Say("Let me look."), Call("search", {"q": "x"})`. Text
before and after a `Gate` is one text. What breaks an answer off (`Cut`, `Hang`, `Garbage`, `Fail`) does so where it
stands in the row, or after so many deltas. An answer without any content says what the default would.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from tests.fakes.models.payload import JsonObject, JsonValue, compact
from tests.secrets import keep

if TYPE_CHECKING:
    from tests.fakes.models.record import Request

FailKind: TypeAlias = Literal[
    "auth",
    "rate_limit",
    "quota",
    "overloaded",
    "server_error",
    "not_found",
    "content_filter",
    "context_length",
    "bad_request",
]
HangPlace: TypeAlias = Literal["connect", "headers", "first_token", "mid_stream"]

PLANTED_KEY = keep("sk-proj-PLANTEDplantedPLANTEDplanted0123456789")
PLANTED_PATH = "/srv/inference/secrets/upstream-credentials.json"


@dataclass(frozen=True)
class Say:
    """Text. `deltas`: into how many pieces it is cut when it is streamed (0: one per word), or the pieces."""

    text: str
    deltas: int | tuple[str, ...] = 0

    @property
    def pieces(self) -> tuple[str, ...]:
        return self.deltas if isinstance(self.deltas, tuple) else cut_text(self.text, self.deltas)


@dataclass(frozen=True)
class Think:
    """Reasoning before the answer: `reasoning_content` (chat), a thinking block, or a reasoning summary."""

    text: str
    deltas: int | tuple[str, ...] = 0

    @property
    def pieces(self) -> tuple[str, ...]:
        return self.deltas if isinstance(self.deltas, tuple) else cut_text(self.text, self.deltas)


@dataclass(frozen=True)
class Call:
    """A call of a tool. Without an id it gets one like the provider's. `arguments` as text goes out as it is."""

    name: str
    arguments: Mapping[str, JsonValue] | str = field(default_factory=dict)
    id: str | None = None

    @property
    def arguments_text(self) -> str:
        """Without blanks, as models write it."""
        return self.arguments if isinstance(self.arguments, str) else compact(dict(self.arguments))


@dataclass(frozen=True)
class Paced:
    """`tokens` deltas at `per_s` a second, on a schedule that does not drift; the text is repeated as needed."""

    text: str = "The quick brown fox jumps over the lazy dog."
    per_s: float = 15.0
    tokens: int = 90

    @property
    def pieces(self) -> tuple[str, ...]:
        words = cut_text(f"{self.text} ", 0)
        return tuple(words[index % len(words)] for index in range(self.tokens))


@dataclass(frozen=True)
class Delayed:
    """Nothing for so many real seconds, then the text at once."""

    seconds: float
    text: str


@dataclass(frozen=True)
class Empty:
    """A completion without any content."""


@dataclass(frozen=True)
class Truncated:
    """The answer ends at the token limit: finish_reason length, stop_reason max_tokens, status incomplete."""


@dataclass(frozen=True)
class Filtered:
    """The answer ends by the content filter: finish_reason content_filter, stop_reason refusal, incomplete."""


@dataclass(frozen=True)
class Gate:
    """Goes on when `server.gate(name).set()` was called."""

    name: str


@dataclass(frozen=True)
class Cut:
    """The TCP connection is closed: here, or after so many deltas of the answer.

    `clean`: the HTTP answer is ended as it should be, but the events that end it never came, as behind a proxy that
    lost its upstream. SDKs take that for a complete answer.
    """

    after_deltas: int | None = None
    clean: bool = False


@dataclass(frozen=True)
class Hang:
    """No further byte until the client goes or the server stops.

    connect: not even a status line. headers: a status line and part of the headers. first_token: all headers and what
    comes before the first token. mid_stream: here, or after so many deltas. With `ping_s` the stream shows signs of
    life every so many real seconds: Anthropic's ping event, else an SSE comment as proxies send.
    """

    where: HangPlace = "mid_stream"
    after_deltas: int | None = None
    ping_s: float | None = None


@dataclass(frozen=True)
class Garbage:
    """As the first part: 200 with an HTML page. Later, or after so many deltas: an event whose JSON is broken."""

    after_deltas: int | None = None


@dataclass(frozen=True)
class Raw:
    """The whole body of a stream, as it is: what another server than the provider's sends. Ends the answer."""

    body: bytes


@dataclass(frozen=True)
class Fail:
    """An error in the provider's shape: as the HTTP answer if nothing was sent yet, else as an event in the stream.

    `what`: a kind, or a bare status. `message` replaces the provider's words, `body` the whole body (text: as HTML).
    `retry_after_s` becomes the retry-after header. `planted` adds a key and a path that no user may ever see.
    """

    what: FailKind | int
    message: str = ""
    body: str | JsonObject | None = None
    retry_after_s: float | None = None
    planted: bool = False


Part: TypeAlias = (
    Say | Think | Call | Paced | Delayed | Empty | Truncated | Filtered | Gate | Cut | Hang | Garbage | Fail | Raw
)
Answer: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, init=False)
class Steps:
    """A tool loop: the n-th reply answers when the model has spoken n times since the user did. The last one stays."""

    replies: tuple["Reply", ...]

    def __init__(self, *replies: "Reply") -> None:
        object.__setattr__(self, "replies", replies)


@dataclass(frozen=True, init=False)
class Attempts:
    """The n-th reply answers the n-th request that comes here. The last one stays."""

    replies: tuple["Reply", ...]

    def __init__(self, *replies: "Reply") -> None:
        object.__setattr__(self, "replies", replies)


Reply: TypeAlias = Part | Answer | Steps | Attempts | Callable[["Request"], "Reply"]


def cut_text(text: str, pieces: int) -> tuple[str, ...]:
    """The text in so many pieces of about one length, or (0) word by word, each with the blanks after it."""
    if not text:
        return ()
    if pieces <= 0:
        return tuple(_words(text))
    count = min(pieces, len(text))
    edges = [len(text) * index // count for index in range(count + 1)]
    return tuple(text[start:end] for start, end in itertools.pairwise(edges))


def _words(text: str) -> list[str]:
    *all_but_last, last = text.split(" ")
    return [word for word in (*(f"{word} " for word in all_but_last), last) if word]
