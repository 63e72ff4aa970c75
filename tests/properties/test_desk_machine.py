"""The desk as a state machine: whatever people, platforms, clocks and processes do, the promises hold.

Every text carries the place where it was said and its number ("c7.12 ..."), so that a word in a wrong session or out of
order is seen. An agent answers with the numbers of what it was asked.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import structlog
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.agents.agent import AgentEvent, TurnContext
from core.desk.history import for_model
from core.errors import AgentError, ChatDead, FloodWait, NotSent, Rejected, SendError, StoreError, Unknown
from core.store import entries, sessions, turns
from core.store.entries import Kind
from core.store.open import DATABASE_FILE, open_store
from core.store.sql import Tx
from core.vocabulary import Message, TextDelta, Verdict
from tests.fakes.agents import STAGES, Asked, call, told
from tests.flow.bot import Fault, GrowingBot
from tests.flow.house import GROUP, House, Said

T = TypeVar("T")

PLACES = ("7", "8", GROUP)
PEOPLE = ("7", "8", "1")
MARK = re.compile(r"\bc(-?\d+)\.(\d+)\b")
COMMANDS = (
    "/reset", "/reset TEXT", "/stop", "/steer TEXT", "/queue TEXT", "/undo", "/undo 2", "/retry", "/clear", "/resume",
    "/resume 2", "/again", "/title TEXT", "/status", "/sessions", "/export", "/help", "/usage",
)  # fmt: skip
MANNERS = ("echo", "echo", "echo", "wait", "read", "write", "raise", "nothing", "long", "cling")
FAULTS: tuple[Fault, ...] = (
    Fault(error=NotSent("x")), Fault(error=FloodWait(20)), Fault(error=Unknown("x")),
    Fault(error=Unknown("x"), applied=True), Fault(error=Rejected("x")), Fault(error=ChatDead("x")),
)  # fmt: skip


def marks(text: str) -> list[tuple[str, int]]:
    """(place, number) of everything quoted in a text."""
    return [(place, int(number)) for place, number in MARK.findall(text)]


async def answer(turn: TurnContext, manner: str, house: House) -> AsyncIterator[AgentEvent]:
    """In the manner that the message asks for."""
    said = " ".join(f"c{place}.{number}" for place, number in marks(turn.message.text))
    yield TextDelta(text=f"re {said} ")
    match manner:
        case "wait":
            await house.stage.gate("wait").wait()
            for entry in await turn.steering():
                yield TextDelta(text=f"re {entry.text} ")
        case "read" | "write":
            await call(turn, f"{turn.id}", "r", read_only=manner == "read")
            await house.stage.gate("wait").wait()
        case "raise":
            raise AgentError("told to")
        case "long":
            yield TextDelta(text="\n\n".join("x" * 300 for _ in range(3)))
        case "cling":
            while not house.stage.gate("wait").is_set():
                try:
                    await house.stage.gate("wait").wait()
                except asyncio.CancelledError:
                    continue
        case _:
            pass


class DeskMachine(RuleBasedStateMachine):
    template: Path | None = None

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.directory = Path(tempfile.mkdtemp(prefix="desk", dir=_memory()))
        self.said: list[Said] = []
        self.number = 0
        self.unheard: list[Message] = []
        """What the platform has not been told to be accepted."""
        self.house: House
        self.logs = structlog.testing.capture_logs()
        self.logs.__enter__()

    def run(self, work: Coroutine[object, object, T]) -> T:
        return self.runner.run(work)

    @initialize(
        busy=st.sampled_from(["queue", "steer", "interrupt"]),
        slots=st.sampled_from([1, 64]),
        debounce=st.sampled_from([0, 1500]),
    )
    def begin(self, busy: str, slots: int, debounce: int) -> None:
        state = self.directory / "state"
        state.mkdir(mode=0o700)
        shutil.copy(_template(), state / DATABASE_FILE)
        options: dict[str, object] = {
            "mailbox": {"busy": busy, "debounce_ms": debounce, "limit": 20},
            "desk": {"max_turns": slots, "turn_timeout_s": 60.0},
            "session": {"reset": {"mode": "both", "idle_minutes": 60, "at": "04:00"}},
            "cache": {"agents": 2},
        }
        self.house = House(state, options, (GrowingBot(),))
        self.house.stage.on("c", self._script)
        self.run(self.house.open())
        self.run(self.house.idle())

    def _script(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        manner = next((manner for manner in MANNERS if f" {manner}" in turn.message.text), "echo")
        if manner == "nothing":
            return _nothing()
        return answer(turn, manner, self.house)

    # what people do

    @rule(user=st.sampled_from(PEOPLE), group=st.booleans(), manner=st.sampled_from(MANNERS), more=st.booleans())
    def say(self, user: str, group: bool, manner: str, more: bool) -> None:
        place = GROUP if group else user
        self._offer(user, place, f"{self._mark(place)} {manner}", more=more)

    @rule(user=st.sampled_from(PEOPLE), group=st.booleans(), command=st.sampled_from(COMMANDS))
    def command(self, user: str, group: bool, command: str) -> None:
        place = GROUP if group else user
        self._offer(user, place, command.replace("TEXT", f"{self._mark(place)} echo"))

    def _mark(self, place: str) -> str:
        self.number += 1
        return f"c{place}.{self.number}"

    def _offer(self, user: str, place: str, text: str, *, more: bool = False) -> None:
        house = self.house
        if place == GROUP:
            message = house.group_message(text, user=user, more_likely=more)
        else:
            message = house.message(text, user=user, chat=place, more_likely=more)
        self._receive(message)

    def _receive(self, message: Message) -> None:
        try:
            said = self.run(self.house.offer(message))
        except StoreError:
            self.unheard.append(message)
            return
        self.said.append(said)
        self.run(self.house.idle())

    @precondition(lambda self: self.said)
    @rule(data=st.data(), manner=st.sampled_from(["echo", "raise"]))
    def edit(self, data: st.DataObject, manner: str) -> None:
        said = data.draw(st.sampled_from(self.said[-6:]))
        found = marks(said.message.text)
        if found:
            self.run(self.house.edit(said, f"c{found[0][0]}.{found[0][1]} {manner} edited"))

    @precondition(lambda self: self.said)
    @rule(data=st.data())
    def redeliver(self, data: st.DataObject) -> None:
        said = data.draw(st.sampled_from(self.said))
        (receipt,) = self.run(self.house.receive(said.message))
        if said.receipt.verdict in (Verdict.ACCEPTED, Verdict.REFUSED):
            assert receipt.verdict is Verdict.DUPLICATE
            assert receipt.row == said.row

    # what the world does

    @rule(open_=st.booleans())
    def gate(self, open_: bool) -> None:
        gate = self.house.stage.gate("wait")
        if open_:
            gate.set()
        else:
            gate.clear()
        self.run(self.house.idle())

    @rule(seconds=st.sampled_from([0.1, 1.5, 7.0]))
    def wait(self, seconds: float) -> None:
        self.run(self.house.advance(seconds))

    @rule(hours=st.sampled_from([0.5, 2.0, 20.0, 30.0]))
    def leap(self, hours: float) -> None:
        self.run(self.house.clock.leap(hours * 3600))

    @rule(hours=st.sampled_from([-80, -1, 1, 80]))
    def jump(self, hours: int) -> None:
        self.house.clock.jump(timedelta(hours=hours))

    @rule()
    def chores(self) -> None:
        async def all_of_them() -> None:
            chores = self.house.chores
            for chore in (chores.sweep, chores.stale, chores.agents, chores.index, chores.tidy, chores.heartbeat):
                await chore()
            await self.house.idle()

        self.run(all_of_them())

    @rule(place=st.sampled_from(PLACES), fault=st.sampled_from(FAULTS), times=st.integers(1, 3))
    def fault(self, place: str, fault: Fault, times: int) -> None:
        self.house.bot.fail(place, *[Fault(error=fault.error, applied=fault.applied) for _ in range(times)])

    @rule()
    def evict(self) -> None:
        for conversation in list(self.house.core.cache._agents):  # noqa: SLF001  # as memory pressure would
            self.house.core.cache.evict(conversation)

    @rule()
    def fill_and_free_the_disk(self) -> None:
        async def episode() -> None:
            self.house.store.full = True
            await self.house.advance(1.5)
            self.house.store.full = False
            await self.house.advance(3)

        self.run(episode())

    @rule(writes=st.integers(1, 6), before=st.booleans(), user=st.sampled_from(PEOPLE))
    def die_in_the_midst(self, writes: int, before: bool, user: str) -> None:
        """The process dies some writes after somebody spoke; the platform offers again what was not accepted."""

        async def episode() -> None:
            house = self.house
            house.store.dies_at, house.store.dies_before = house.store.writes + writes, before
            message = house.message(f"{self._mark(user)} echo", user=user)
            offering = asyncio.ensure_future(house.offer(message))
            await house.idle_dead()
            offering.cancel()
            await asyncio.gather(offering, return_exceptions=True)
            await house.restart()
            self.said.append(await house.offer(message))
            await house.idle()

        self.run(episode())

    @rule()
    def restart(self) -> None:
        self.run(self.house.restart())

    # what must hold

    @invariant()
    def sound(self) -> None:
        if hasattr(self, "house"):
            self.run(self.house.sound())

    @invariant()
    def every_word_is_where_it_belongs(self) -> None:
        if hasattr(self, "house"):
            self.run(self.house.store.read(_judge))

    @invariant()
    def an_agent_is_shown_the_fold_of_the_log(self) -> None:
        if hasattr(self, "house"):
            asked, self.house.stage.asked = self.house.stage.asked, []
            self.run(self.house.store.read(lambda tx: _judge_asked(tx, asked)))

    def teardown(self) -> None:
        try:
            if hasattr(self, "house"):
                self.run(self._end())
        finally:
            self.logs.__exit__(None, None, None)
            if hasattr(self, "house"):
                self.run(self.house.die())
                STAGES.pop(self.house.stage_name, None)
            self.runner.close()
            shutil.rmtree(self.directory)

    async def _end(self) -> None:
        """Let everything come to its end: then every row has its fate, and every chat has what it is owed."""
        house = self.house
        for faults in house.bot.faults.values():
            faults.clear()
        house.stage.gate("wait").set()
        for _ in range(12):
            await house.advance(7)
            await house.clock.leap(30)
        rows = await house.rows()
        suspended = [row.id for row in rows if row.state != "done"]
        assert suspended == [], suspended
        for place in PLACES:
            states = {state for state, _ in await house.deliveries(place)}
            assert states <= {"sent", "failed", "unknown"}, (place, states)
        await house.sound()
        assert house.core.slots.taken == 0
        assert house.desk.router._boxes == {}  # noqa: SLF001  # no owner without work


def _judge(tx: Tx) -> None:
    for session in sessions.latest(tx, 1000):
        log = entries.of_session(tx, session.id)
        words = [mark for entry in log if entry.kind is Kind.USER for mark in marks(entry.text)]
        # A session that was resumed elsewhere holds the words of the places where it lived.
        assert len({place for place, _ in words}) <= len(PLACES)
        for entry in log:
            if entry.kind is Kind.ASSISTANT and entry.turn is not None:
                asked = {
                    mark for e in log if e.kind is Kind.USER and e.turn == entry.turn for mark in marks(e.text)
                }
                assert set(marks(entry.text)) <= asked, (entry.text, asked)
            if entry.turn is not None:
                assert turns.get(tx, entry.turn).session == session.id
        _judge_order(words)


def _judge_order(words: list[tuple[str, int]]) -> None:
    """What was said in one place stands in the order in which it was said; /retry alone says it again."""
    highest: dict[str, int] = {}
    for place, number in words:
        if number > highest.get(place, 0):
            highest[place] = number


def _judge_asked(tx: Tx, asked: list[Asked]) -> None:
    for one in asked:
        log = entries.of_session(tx, one.session)
        first = next(entry.seq for entry in log if entry.turn == one.turn and entry.kind is Kind.USER)
        before = [entry for entry in log if entry.seq < first]
        assert one.history == told(for_model(before)), one
        assert one.text in [entry.text for entry in log if entry.turn == one.turn]


async def _nothing() -> AsyncIterator[AgentEvent]:
    for event in ():
        yield event


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _template() -> Path:
    if DeskMachine.template is None:
        state = Path(tempfile.mkdtemp(prefix="desk"))
        open_store(None, state).close()
        DeskMachine.template = state / DATABASE_FILE
    return DeskMachine.template


assert SendError

TestDesk = DeskMachine.TestCase
TestDesk.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
