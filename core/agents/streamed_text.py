"""What one request to a model says, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)

from core.agents.agent import Silent, Unsaid
from core.agents.crossing import Crossing
from core.agents.providers import Habits
from core.vocabulary import TextDelta, ThinkingDelta

_INLINE = "content"
"""The id of a thought that pydantic-ai found in the text."""


class StreamedText:
    """`said`: something was told, so that the request can't be made again without being noticed. The text of a model
    that is known to close thoughts which it never opens is told once it is certain that it was none."""

    def __init__(self, crossing: Crossing, habits: Habits, *, shows_thoughts: bool, silence: str = "") -> None:
        """`silence`: text that means that there is nothing to say, if it is all that is said."""
        self.said = False
        self._crossing = crossing
        self._habits = habits
        self._shows = shows_thoughts
        self._spoke = self._thought = False
        self._silence = silence
        self._waiting: list[str] = []

    def hear(self, event: object) -> None:
        """An event of the run."""
        match event:
            case PartStartEvent(part=ThinkingPart(id=part_id)) if part_id == _INLINE and self._spoke:
                self._was_thought()
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                if text:
                    self._say(text)
            case (
                PartStartEvent(part=ThinkingPart(content=text))
                | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text)))
            ):
                if text and self._shows:
                    self._crossing.say(ThinkingDelta(text=text))
            case _:
                pass

    def _say(self, text: str) -> None:
        self._spoke = True
        self._waiting.append(text)
        if not (self._habits.thinks_first and not self._thought) and not self._may_be_silence:
            self._tell()

    @property
    def _may_be_silence(self) -> bool:
        """What waits may become the word for nothing."""
        said = "".join(self._waiting).strip()
        return bool(self._silence) and not self.said and self._silence.startswith(said)

    def _tell(self) -> None:
        self.said = True
        self._crossing.say(TextDelta(text="".join(self._waiting)))
        self._waiting.clear()

    def _was_thought(self) -> None:
        """What was said so far."""
        if self.said:
            self._crossing.say(Unsaid(shown=self._shows))
        elif self._shows:
            self._crossing.say(ThinkingDelta(text="".join(self._waiting)))
        self._waiting.clear()
        self._thought = self._habits.thinks_first = True

    def end(self) -> None:
        """The response is whole."""
        if self._waiting and self._silence and "".join(self._waiting).strip() == self._silence:
            self._crossing.say(Silent(text=self._silence))
        elif self._waiting:
            self._tell()

    def mend(self, response: ModelResponse) -> None:
        """Let the response say of its parts what they are."""
        if self._thought:
            response.parts = _mended(response.parts)


def _mended(parts: Sequence[ModelResponsePart]) -> list[ModelResponsePart]:
    """The text before the empty thought was the thought."""
    mark = next(i for i, one in enumerate(parts) if isinstance(one, ThinkingPart) and one.id == _INLINE)
    empty = parts[mark]
    thoughts: list[ModelResponsePart] = [
        ThinkingPart(one.content, id=_INLINE, provider_name=getattr(empty, "provider_name", None))
        if isinstance(one, TextPart)
        else one
        for one in parts[:mark]
    ]
    return [*thoughts, *parts[mark + 1 :]]
