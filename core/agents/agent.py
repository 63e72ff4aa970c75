"""What an agent is: it answers one turn at a time, and never writes to a session. The turn does.

A minimal agent, usable as `backend = "my_module:make"`:

    class Echo:
        async def run(self, turn):
            yield TextDelta(text=turn.message.text)

    def make(spec):
        return Echo()
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.store.conversations import SessionId
from core.store.entries import Entry
from core.vocabulary import CallClosed, CallOpened, TextDelta, ThinkingDelta, TurnId


@dataclass(frozen=True, kw_only=True, slots=True)
class Used:
    """What a model request used: counts by name ("input_tokens", "output_tokens"), added up over the turn."""

    counts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspend:
    """The turn ends here and waits for somebody to answer its open calls."""


AgentEvent = TextDelta | ThinkingDelta | Used | Suspend


class TurnContext(Protocol):
    """What an agent has while it answers. All calls come from the task that runs it."""

    @property
    def id(self) -> TurnId: ...

    @property
    def session(self) -> SessionId: ...

    @property
    def number(self) -> int:
        """Which message of its session this is, from 1."""

    @property
    def history(self) -> Sequence[Entry]:
        """What the model is shown, before this turn's message."""

    @property
    def message(self) -> Entry:
        """What the person said: the user entry of this turn."""

    async def opened(self, call: CallOpened, *, read_only: bool) -> None:
        """Commit what was said so far and this call. A tool starts only after this returned."""

    async def closed(self, call: CallClosed) -> None:
        """Commit a call's result. The model sees it only after this returned."""

    async def steering(self) -> Sequence[Entry]:
        """What people said to the running turn since the last time; stored when this returns. Ask it between model
        requests, never between a call and its result."""


class Agent(Protocol):
    """Ready to answer in one session."""

    def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        """Answer one turn. Cancelled when the turn is stopped. Raises `AgentError` for what it can name; anything else
        is taken for a fault of the agent and fails this turn only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSpec:
    """From what an agent is made. `digest` covers everything in it that changes answers."""

    name: str
    backend: str
    options: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    instructions: str = ""
    model: str = ""
    digest: str = ""


class AgentFactory(Protocol):
    def __call__(self, spec: AgentSpec) -> Agent:
        """A new agent for one session. Cheap: what is expensive is shared by all agents of one spec."""
