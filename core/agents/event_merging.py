"""A stream as SDKs take it: fewer events, inline thinking in pieces of its own, errors where SDKs look for them.

Text deltas that come one right after the other become one, before any SDK sees them.

A provider's SDK and pydantic-ai take about 0.4 ms of CPU for each event, however short its text is. What is merged here
is what the provider itself could have sent: only events that are equal but for one piece of text. Everything else
passes as it came, and in its place, but for what servers of one's own send and no SDK reads: an error as a field or an
object of its own (llama.cpp until 2025, vLLM until 2025), numbers of calls, and events without data.

https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from core.agents.call_deltas import CallNumbers
from core.agents.inline_thinking import CLOSE, OPEN, ThoughtSplitter, literal

MOST_BYTES = 1024 * 1024
"""Of one event. A stream with a longer one passes as it is from there on."""

_BETWEEN = re.compile(rb"\r?\n\r?\n")
_EVENT = re.compile(rb"(?:event: ?([^\r\n]+)\r?\n)?data: ?(\{[^\r\n]*\})")
_TEXT = "content"
_CHAT = (_TEXT, "reasoning_content", "reasoning")
"""Where a chunk of chat completions has its text; servers differ in the name of a thought."""
_MESSAGES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Anthropic's messages."""
_RESPONSES = frozenset(
    {
        "response.output_text.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_text.delta",
        "response.function_call_arguments.delta",
    }
)
_BEGINS = re.compile(rb'"choices" ?:|"type" ?: ?"(?:message_start|response\.created)"')
_ENDS = re.compile(
    rb'"finish_reason" ?: ?"|^data: ?\[DONE\]|"error" ?: ?(?!null)[^ ]|'
    rb'"type" ?: ?"(?:message_stop|response\.(?:completed|incomplete|failed)|error)"',
    re.MULTILINE,
)
"""What a response begins with, and what says that it is whole, or why it is not; text within would be escaped."""
_CALLS = re.compile(rb'"tool_calls" ?: ?\[ ?\{')
_ERROR = re.compile(rb"error: ?(\{.*\})", re.DOTALL)
_BARE_ERROR = re.compile(rb'data: ?(\{ ?"object" ?: ?"error".*\})', re.DOTALL)
_NOTHING = re.compile(rb"(?:event: ?[^\r\n]*\r?\n)?data: ?")
_DIFFERS = ("obfuscation", "sequence_number")
"""What OpenAI puts into every event anew, and what says nothing of its text."""

Object = dict[str, object]


@dataclass(slots=True)
class _Delta:
    """`data` is the event without its text, which goes to `name` in `place`, an object within."""

    raw: bytes
    event: bytes | None
    data: Object
    place: Object
    name: str
    own: Object
    texts: list[str] = field(default_factory=list)
    is_tag: bool = False
    """It stands alone, see `inline_thinking`."""

    def saying(self, text: str) -> _Delta:
        """The same with another text, or with a tag."""
        return replace(self, raw=b"", texts=[text], is_tag=text in (OPEN, CLOSE))

    def takes(self, other: _Delta) -> bool:
        if self.is_tag or other.is_tag:
            return False
        return self.event == other.event and self.name == other.name and self.data == other.data

    def written(self) -> bytes:
        if len(self.texts) == 1 and self.raw:
            return self.raw
        text = "".join(self.texts)
        pieces = (text,) if self.is_tag or self.name != _TEXT else literal(text)
        return b"\n\n".join(map(self._event, pieces))

    def _event(self, text: str) -> bytes:
        self.place[self.name] = text
        data = json.dumps({**self.data, **self.own}, separators=(",", ":")).encode()
        del self.place[self.name]
        return b"data: " + data if self.event is None else b"event: " + self.event + b"\ndata: " + data


class EventMerger:
    """Of one stream. What comes out of `take` and `flush`, joined, says the same as what went in."""

    def __init__(self) -> None:
        self._rest = b""
        self._held: _Delta | None = None
        self._gave_up = False
        self._thoughts = ThoughtSplitter()
        self._calls = CallNumbers()
        self._last: _Delta | None = None
        """The last delta of a chat's text."""
        self._began = self._ended = False

    @property
    def holds(self) -> bool:
        """A delta waits for those that may follow it."""
        return self._held is not None

    @property
    def is_cut(self) -> bool:
        """A response has begun whose end did not come."""
        return self._began and not self._ended and not self._gave_up

    def take(self, received: bytes) -> bytes:
        """What can go on now; the last delta is held back."""
        if self._gave_up:
            return received
        *events, self._rest = _BETWEEN.split(self._rest + received)
        written: list[bytes] = []
        for event in map(self._readable, events):
            self._look(event)
            delta = _delta(event)
            if delta is not None and delta.name == _TEXT:
                self._speak(delta, written, whole=_ENDS.search(event) is not None)
                continue
            if delta is not None or _ENDS.search(event) or _CALLS.search(event):
                self._fall_silent(written, of_text=_CALLS.search(event) is not None)
            self._add(delta, written)
            if delta is None and event:
                written.append(event)
        out = b"".join(event + b"\n\n" for event in written)
        if len(self._rest) > MOST_BYTES:
            self._gave_up = True
            out += self.flush() + self._rest
            self._rest = b""
        return out

    def _readable(self, event: bytes) -> bytes:
        """As SDKs read it; b"" for what says nothing."""
        if _NOTHING.fullmatch(event):
            return b""
        if _CALLS.search(event):
            return self._calls.renumbered(event)
        found = _ERROR.fullmatch(event) or _BARE_ERROR.fullmatch(event)
        return event if found is None else b'data: {"error": ' + found[1] + b"}"

    def _look(self, event: bytes) -> None:
        self._began = self._began or _BEGINS.search(event) is not None
        self._ended = self._ended or _ENDS.search(event) is not None

    def _speak(self, delta: _Delta, written: list[bytes], *, whole: bool) -> None:
        self._last, [text] = delta, delta.texts
        pieces = self._thoughts.take(text)
        if pieces == [text] and not self._thoughts.holds and text not in (OPEN, CLOSE):
            self._add(delta, written)
        else:
            self._say(pieces, written)
        if whole:
            self._fall_silent(written)

    def _fall_silent(self, written: list[bytes], *, of_text: bool = False) -> None:
        """No more text comes, or not at once."""
        if self._thoughts.holds:
            self._say(self._thoughts.end(of_text=of_text), written)

    def _say(self, pieces: Iterable[str], written: list[bytes]) -> None:
        for piece in pieces:
            if self._last is not None:
                self._add(self._last.saying(piece), written)

    def _add(self, delta: _Delta | None, written: list[bytes]) -> None:
        if delta is not None and self._held is not None and self._held.takes(delta):
            self._held.texts += delta.texts
            self._held.own = delta.own
            return
        self._release(written)
        self._held = delta

    def _release(self, written: list[bytes]) -> None:
        if self._held is not None:
            written.append(self._held.written())
            self._held = None

    def flush(self) -> bytes:
        """What is held back."""
        written: list[bytes] = []
        self._release(written)
        return b"".join(event + b"\n\n" for event in written)

    def end(self) -> bytes:
        """The stream has ended: all that is left."""
        written: list[bytes] = []
        self._look(self._rest)
        self._fall_silent(written)
        self._release(written)
        left = b"".join(event + b"\n\n" for event in written) + self._rest
        self._rest = b""
        return left


def _delta(event: bytes) -> _Delta | None:
    """None: nothing that could be merged."""
    found = _EVENT.fullmatch(event)
    if found is None:
        return None
    try:
        data = json.loads(found[2])
    except ValueError:
        return None
    where = _text_in(data)
    if where is None:
        return None
    place, name = where
    text = place.pop(name)
    own = {key: data.pop(key) for key in _DIFFERS if key in data}
    return _Delta(event, found[1], data, place, name, own, [str(text)])


def _text_in(data: Object) -> tuple[Object, str] | None:
    """The only text of a delta: the object that holds it, and by what name."""
    match data:
        case {"choices": [{"delta": dict() as delta}]}:
            names = [name for name in _CHAT if isinstance(delta.get(name), str) and delta[name]]
            return (delta, names[0]) if len(names) == 1 else None
        case {"type": "content_block_delta", "delta": dict() as delta}:
            name = _MESSAGES.get(str(delta.get("type")), "")
            return (delta, name) if isinstance(delta.get(name), str) else None
        case {"type": str() as kind, "delta": str()} if kind in _RESPONSES:
            return data, "delta"
        case _:
            return None
