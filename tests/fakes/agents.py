"""An agent that does what a test says: `backend = "tests.fakes.agents:make"`, with the test's stage as an option."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from core.agents.agent import Agent, AgentEvent, AgentSpec, TurnContext
from core.store.conversations import SessionId
from core.store.entries import Entry
from core.vocabulary import CallClosed, CallOpened, TextDelta, TurnId

Script = Callable[[TurnContext], AsyncIterator[AgentEvent]]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One turn, as the agent was asked."""

    turn: TurnId
    session: SessionId
    number: int
    history: tuple[tuple[str, str], ...]
    """(kind, text) of each entry."""
    text: str
    seq: int
    """Of the entry that holds the text."""
    line: str
    agent: int
    """Which of the stage's agents was asked, by order of making."""


def told(entries: Sequence[Entry]) -> tuple[tuple[str, str], ...]:
    return tuple((str(entry.kind), entry.text) for entry in entries)


async def echo(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    yield TextDelta(text=f"re: {turn.message.text}")


def says(*deltas: str) -> Script:
    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        for delta in deltas:
            yield TextDelta(text=delta)

    return script


async def count_history(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    yield TextDelta(text=f"{len(turn.history)} before")


def nothing(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    return says()(turn)


def raises(error: BaseException, *deltas: str) -> Script:
    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        for delta in deltas:
            yield TextDelta(text=delta)
        raise error

    return script


async def call(turn: TurnContext, name: str, result: str, *, read_only: bool) -> None:
    """A tool that is called and gives its result."""
    await turn.opened([CallOpened(call=name, tool="tool", arguments="{}", read_only=read_only)])
    await turn.closed(CallClosed(call=name, result=result, failed=False))


class Stage:
    """What the agents of one test do. `on` decides by the message's text; what nothing fits is echoed."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.steered: list[str] = []
        self.paid: list[str] = []
        """Calls that somebody allowed, as they were made."""
        self.made = 0
        self._scripts: list[tuple[str, Script]] = []
        self._gates: dict[str, asyncio.Event] = {}

    def on(self, part: str, script: Script) -> None:
        """Messages that hold `part` are answered so; the latest rule that fits wins."""
        self._scripts.insert(0, (part, script))

    def script(self, turn: TurnContext) -> Script:
        return next((script for part, script in self._scripts if part in turn.message.text), echo)

    def gate(self, name: str = "gate") -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    def waits(self, name: str = "gate", before: Sequence[str] = (), after: Sequence[str] = ("done",)) -> Script:
        """Says `before`, then waits until the gate is open, takes steering, then says `after`."""

        async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
            for delta in before:
                yield TextDelta(text=delta)
            await self.gate(name).wait()
            for entry in await turn.steering():
                self.steered.append(entry.text)
                yield TextDelta(text=f"[{entry.text}]")
            for delta in after:
                yield TextDelta(text=delta)

        return script

    def clings(self, name: str = "gate") -> Script:
        """Says something, then waits for the gate and does not let itself be cancelled."""

        async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
            yield TextDelta(text="clinging")
            for _ in range(20):
                if self.gate(name).is_set():
                    break
                try:
                    await self.gate(name).wait()
                except asyncio.CancelledError:
                    continue
            yield TextDelta(text=" too late")
            await call(turn, "late", "late", read_only=False)

        return script

    @property
    def texts(self) -> list[str]:
        """What was asked, in order."""
        return [asked.text for asked in self.asked]


class ScriptedAgent:
    def __init__(self, stage: Stage, number: int) -> None:
        self._stage = stage
        self._number = number

    def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        self._stage.asked.append(
            Asked(
                turn=turn.id,
                session=turn.session,
                number=turn.number,
                history=told(turn.history),
                text=turn.message.text,
                seq=turn.message.seq,
                line=str(turn.message.data.get("line", "")),
                agent=self._number,
            )
        )
        return self._stage.script(turn)(turn)


STAGES: dict[str, Stage] = {}


def make(spec: AgentSpec) -> Agent:
    stage = STAGES[str(spec.options["stage"])]
    stage.made += 1
    return ScriptedAgent(stage, stage.made)


def broken(spec: AgentSpec) -> Agent:
    raise RuntimeError("this agent can't be made")
