"""What the double saw: one frozen record per request."""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tests.fakes.models.payload import JsonObject

Api: TypeAlias = Literal["chat", "responses", "messages", "models"]
Outcome: TypeAlias = Literal["open", "answered", "refused", "cut", "disconnected"]


_NEXT = re.compile(r"\n\n(?=\[[^\]\n]*\d{4}-\d\d-\d\d )")
"""Between what people said one right after the other, as the desk joins it."""


@dataclass(frozen=True)
class Shown:
    """One message that the model was shown, whatever the API.

    `role`: system (also "developer", and Anthropic's system parameter), user, assistant, or tool (one per result).
    `text`: the text blocks joined by line breaks, other blocks as [their type]. `calls`: name and arguments as sent.
    """

    role: str
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    call_id: str = ""
    thinking: str = ""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One call of a model, as it stands now.

    `number` counts from 1 and is unique on this server. `headers` have lower-case names. `tokens`: see `count_tokens`.
    `status` is 0 until something was sent. `error` is the provider's message, also of an error in a stream. `deltas` is
    known when the answer ends, breaks off or hangs. `outcome` is "open" until the answer is complete.
    disconnected: the client went first. cut: the double closed the connection. refused: `status` is not 200.
    `dropped`: the places of Anthropic's thinking blocks that the model was not shown, as the request had asked.
    """

    number: int
    api: Api
    model: str
    stream: bool
    body: JsonObject
    headers: dict[str, str]
    messages: tuple[Shown, ...] = ()
    tokens: int = 0
    status: int = 0
    error: str = ""
    outcome: Outcome = "open"
    deltas: int = 0
    tools: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def talk(self) -> tuple[tuple[str, str], ...]:
        """Every message as (role, text); calls follow the text as name(arguments), each on a line of its own."""
        return tuple(
            (
                message.role,
                "\n".join([*filter(None, [message.text]), *(f"{call[0]}({call[1]})" for call in message.calls)]),
            )
            for message in self.messages
        )

    @property
    def last_user(self) -> str:
        """What the user said last, without what was said right before it; "" if there is nothing."""
        return _NEXT.split(next((message.text for message in reversed(self.messages) if message.role == "user"), ""))[
            -1
        ]

    @property
    def system(self) -> str:
        """The instructions, joined by line breaks."""
        return "\n".join(message.text for message in self.messages if message.role == "system")

    @property
    def since_user(self) -> tuple[Shown, ...]:
        """What came after the last user message."""
        last = max((index for index, message in enumerate(self.messages) if message.role == "user"), default=-1)
        return self.messages[last + 1 :]

    @property
    def step(self) -> int:
        """How often the model has answered since the user spoke."""
        return sum(message.role == "assistant" for message in self.since_user)

    @property
    def tool_results(self) -> tuple[str, ...]:
        """What tools returned since the user spoke."""
        return tuple(message.text for message in self.since_user if message.role == "tool")

    @property
    def disconnected(self) -> bool:
        return self.outcome == "disconnected"
