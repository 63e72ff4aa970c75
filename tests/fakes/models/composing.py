"""What an answer consists of so far; the wires write it down."""

import math
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.fakes.models.payload import CHARACTERS_PER_TOKEN

ARGUMENT_PIECES = 3  # enough that a client has to put arguments together


@dataclass
class Text:
    """Visible text."""

    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass
class Thought:
    """Reasoning."""

    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass
class ToolCall:
    """A call; `text` is its arguments as JSON."""

    id: str
    name: str
    text: str


Block: TypeAlias = Text | Thought | ToolCall


class Composition:
    """The blocks of an answer, in order. Text that follows text belongs to the same block."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def thought(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, Thought))

    @property
    def calls(self) -> list[ToolCall]:
        return [block for block in self.blocks if isinstance(block, ToolCall)]

    @property
    def thought_tokens(self) -> int:
        return _tokens(self.thought)

    @property
    def tokens(self) -> int:
        """At least one: both providers count the end of the answer."""
        return max(1, sum(_tokens(block.text) for block in self.blocks))


def _tokens(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)
