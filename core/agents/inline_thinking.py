"""What models think aloud in the middle of their text: `<think>...</think>`, however a stream cuts it.

pydantic-ai takes a tag for one where a piece of the text is the tag and nothing else, and takes it anywhere. Here the
text is cut so that tags stand alone, and only those that are meant: an opening tag counts before anything was said, so
that an answer may speak of tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

OPEN, CLOSE = "<think>", "</think>"
"""As pydantic-ai knows them (`ModelProfile.thinking_tags`)."""
_PAIRS = {OPEN: CLOSE, "<thinking>": "</thinking>", "<thought>": "</thought>", "[THINK]": "[/THINK]"}
"""As models write them: DeepSeek, Qwen and most others; some tunes; Gemma; Mistral."""


class _Where(Enum):
    BEFORE = auto()
    """Nothing but blanks and thoughts so far."""
    THINKING = auto()
    ANSWER = auto()


class ThoughtSplitter:
    """Of one response. Each piece that comes out is `OPEN`, `CLOSE`, or text between them.

    `OPEN` and right after it `CLOSE`, behind text: that text was thought, for its closing tag came without an opening
    one, as from templates that write the opening tag themselves.
    """

    def __init__(self) -> None:
        self._held = ""
        self._where = _Where.BEFORE
        self._closer = CLOSE
        self._thought = False
        """A tag was seen; from then on blanks before the answer say nothing."""
        self._literal = False
        """The answer speaks of tags: none counts any more."""

    @property
    def holds(self) -> bool:
        """Something waits for what may follow it."""
        return self._held != ""

    def take(self, text: str) -> list[str]:
        """The pieces that are certain now."""
        self._held += text
        return list(self._pieces())

    def end(self, *, of_text: bool = False) -> list[str]:
        """The pieces that are left. `of_text`: the response goes on with something else, such as a call."""
        held, self._held = self._held, ""
        if self._where is _Where.BEFORE and self._thought and not held.strip():
            return []
        if self._where is _Where.ANSWER and of_text and held.rstrip() == CLOSE:
            self._thought, self._where = True, _Where.BEFORE
            return [OPEN, CLOSE]
        return list(literal(held))

    def _pieces(self) -> Iterator[str]:
        before = None
        while self._held and (now := (self._held, self._where, self._literal)) != before:
            before = now
            match self._where:
                case _Where.BEFORE:
                    yield from self._begin()
                case _Where.THINKING:
                    yield from self._think()
                case _Where.ANSWER:
                    yield from self._answer()

    def _begin(self) -> Iterator[str]:
        said = self._held.lstrip()
        opener = next((one for one in _PAIRS if said.startswith(one)), None)
        if opener is not None:
            self._where, self._closer, self._thought = _Where.THINKING, _PAIRS[opener], True
            self._held = said[len(opener) :]
            yield OPEN
        elif said.startswith(CLOSE):
            self._thought, self._held = True, said[len(CLOSE) :]
        elif said and not any(tag.startswith(said) for tag in (*_PAIRS, CLOSE)):
            self._where = _Where.ANSWER
            self._held = said if self._thought else self._held

    def _think(self) -> Iterator[str]:
        thought, closer, rest = self._held.partition(self._closer)
        if closer:
            self._where, self._held = _Where.BEFORE, rest
            yield from (*literal(thought), CLOSE)
        else:
            yield from self._give_all_but(self._closer)

    def _answer(self) -> Iterator[str]:
        """Looks for a closing tag at the end of a line; any other says something of tags."""
        if self._thought or self._literal:
            yield from literal(self._held)
            self._held = ""
            return
        said, closer, rest = self._held.partition(CLOSE)
        behind = rest.lstrip(" \t")
        if OPEN in said or (closer and behind and behind[0] not in "\r\n"):
            self._literal = True
        elif closer and behind:
            self._where, self._thought, self._held = _Where.BEFORE, True, behind
            yield from (*literal(said), OPEN, CLOSE)
        elif closer:
            self._held = closer + rest
            yield from literal(said)
        else:
            yield from self._give_all_but(CLOSE, OPEN)

    def _give_all_but(self, *tags: str) -> Iterator[str]:
        """All but an end that may be the beginning of a tag."""
        kept = max(
            (n for tag in tags for n in range(1, len(tag)) if self._held.endswith(tag[:n])),
            default=0,
        )
        cut = len(self._held) - kept
        given, self._held = self._held[:cut], self._held[cut:]
        yield from literal(given)


def literal(text: str) -> tuple[str, ...]:
    """A text as pieces, at most two, that nobody takes for a tag; none for nothing."""
    return (text[:1], text[1:]) if text in (OPEN, CLOSE) else (text,) if text else ()


def answer_in(text: str) -> str:
    """A whole response without what was thought aloud."""
    splitter = ThoughtSplitter()
    said, thinks = list[str](), False
    for piece in (*splitter.take(text), *splitter.end()):
        if piece == OPEN:
            thinks = True
        elif piece == CLOSE and thinks:
            thinks = False
            said = []
        elif not thinks:
            said.append(piece)
    return "".join(said)
