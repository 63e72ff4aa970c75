"""Fewer events per stream, and none of them says anything else."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.agents.event_merging import MOST_BYTES, EventMerger

Told = tuple[str, str, str]
"""One event: its name, what it says but for its text, and its text."""

TEXTS = st.text(min_size=1, max_size=5)


def chat(text: str, **more: object) -> bytes:
    return _event({"id": "c1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}], **more})


def thought(text: str) -> bytes:
    return _event({"id": "c1", "choices": [{"index": 0, "delta": {"reasoning_content": text}}]})


def message(text: str, index: int = 0) -> bytes:
    data = {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}
    return b"event: content_block_delta\n" + _event(data)


def response(text: str, number: int = 1) -> bytes:
    kind = "response.output_text.delta"
    data = {"type": kind, "item_id": "m1", "delta": text, "sequence_number": number, "obfuscation": "x" * number}
    return f"event: {kind}\n".encode() + _event(data)


def _event(data: object) -> bytes:
    return b"data: " + json.dumps(data).encode()


OTHERS = (
    b": keep-alive",
    b"data: [DONE]",
    b"data: {not json",
    b'data: {"choices": []}',
    b'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}',
    b'data: {"choices": [{"delta": {"content": "a", "reasoning": "b"}}]}',
    b'data: {"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]}',
    b'event: ping\ndata: {"type": "ping"}',
    b'id: 7\ndata: {"choices": [{"delta": {"content": "a"}}]}',
    b'data: {"choices": [\ndata: ]}',
)

EVENTS = st.one_of(
    TEXTS.map(chat),
    TEXTS.map(lambda text: chat(text, usage={"total_tokens": 1})),
    TEXTS.map(thought),
    st.builds(message, TEXTS, st.integers(0, 1)),
    st.builds(response, TEXTS, st.integers(1, 9)),
    st.sampled_from(OTHERS),
)


def told(stream: bytes) -> list[Told]:
    """What a stream says, with neighbours that differ in their text alone taken for one."""
    said: list[Told] = []
    for event in stream.replace(b"\r\n", b"\n").split(b"\n\n"):
        name, rest, text = _read(event)
        if text and said and said[-1][:2] == (name, rest) and said[-1][2]:
            said[-1] = (name, rest, said[-1][2] + text)
        else:
            said.append((name, rest, text))
    return [one for one in said if one != ("", "", "")]


def _read(event: bytes) -> Told:
    *names, line = event.decode().split("\n")
    try:
        data = json.loads(line.removeprefix("data: "))
    except ValueError:
        return "", event.decode(), ""
    text = ""
    for place, key in _places(data):
        if isinstance(place.get(key), str):
            text += str(place.pop(key))
    for key in ("sequence_number", "obfuscation"):
        data.pop(key, None)
    return "\n".join(names), json.dumps(data, sort_keys=True), text


def _places(data: dict[str, object]) -> list[tuple[dict[str, object], str]]:
    if isinstance(data.get("delta"), str):
        return [(data, "delta")]
    if isinstance(delta := data.get("delta"), dict):
        return [(delta, "text")]
    choices = data.get("choices")
    if not isinstance(choices, list) or len(choices) != 1:
        return []
    delta = choices[0]["delta"]
    found = [key for key in ("content", "reasoning_content", "reasoning") if delta.get(key)]
    return [(delta, found[0])] if len(found) == 1 else []


def merged(pieces: Sequence[bytes]) -> list[bytes]:
    merger = EventMerger()
    return [*(merger.take(piece) for piece in pieces), merger.end()]


@settings(max_examples=50)
@given(st.lists(EVENTS, max_size=12), st.sampled_from([b"\n\n", b"\r\n\r\n"]), st.data())
def test_a_stream_says_the_same_however_it_comes(events: list[bytes], between: bytes, data: st.DataObject) -> None:
    stream = b"".join(event.replace(b"\n", between[: len(between) // 2]) + between for event in events)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert told(b"".join(merged(pieces))) == told(stream)


@pytest.mark.parametrize("one", [chat, thought, message, response])
def test_what_comes_together_is_one_event(one: object) -> None:
    assert callable(one)
    stream = b"".join(one(text) + b"\n\n" for text in ("The ", "quick ", "\ud83e", "\udd8a"))
    [event] = b"".join(merged([stream])).split(b"\n\n")[:-1]
    [(_, _, text)] = told(event)
    assert text == "The quick 🦊"


def test_one_delta_goes_on_as_it_came() -> None:
    event = b'data:  {"choices":[{"delta":{"content":"a"}}],  "x": 1.0e-7}'
    assert b"".join(merged([event + b"\n\n"])) == event + b"\n\n"


def test_what_can_not_wait_does_not_and_keeps_its_place() -> None:
    merger = EventMerger()
    assert merger.take(chat("a") + b"\n\n") == b""
    assert merger.holds
    assert merger.take(b"data: [DONE]\n\n") == chat("a") + b"\n\ndata: [DONE]\n\n"
    assert not merger.holds


def test_events_that_differ_in_more_than_their_text_stay_apart() -> None:
    stream = [chat("a") + b"\n\n", chat("b", usage={}) + b"\n\n", thought("c") + b"\n\n"]
    assert b"".join(merged(stream)) == b"".join(stream)


def test_an_event_without_end_is_not_kept() -> None:
    merger = EventMerger()
    long = b"data: " + b"x" * MOST_BYTES
    assert merger.take(chat("a") + b"\n\n" + long) == chat("a") + b"\n\n" + long
    assert merger.take(b"y\n\n") == b"y\n\n"
    assert merger.end() == b""


def test_a_stream_that_is_cut_keeps_all_that_came() -> None:
    assert b"".join(merged([chat("a") + b"\n\n" + b"data: {"])) == chat("a") + b"\n\n" + b"data: {"
