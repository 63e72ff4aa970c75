"""The desk as a state machine: whatever people, platforms, clocks and processes do, the promises hold.

Every text carries the place where it was said and its number ("c7.12 ..."), so that a word in a wrong session or out of
order is seen. An agent answers with the numbers of what it was asked.
"""

from __future__ import annotations

import asyncio
import os
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

from core.agents.agent import AgentEvent, Allowed, Suspend, TurnContext
from core.errors import AgentError, ChatDead, FloodWait, NotSent, Rejected, StoreError, Unknown
from core.store import inbox
from core.store.open import DATABASE_FILE, open_store
from core.vocabulary import CallClosed, CallOpened, Message, TextDelta, Verdict
from tests.fakes.agents import STAGES, call
from tests.flow.bot import Fault, GrowingBot
from tests.flow.house import GROUP, House, Said
from tests.flow.judges import answered_twice, judge, judge_asked, marks
from tests.properties.operating import operate

T = TypeVar("T")

PLACES = ("7", "8", GROUP)
PEOPLE = ("7", "7", "7", "8", "1")
"""One more than the others, so that much happens in one conversation."""
COMMANDS = (
    "/reset", "/reset TEXT", "/stop", "/steer TEXT", "/queue TEXT", "/undo", "/undo 2", "/retry", "/clear", "/resume",
    "/resume 2", "/again", "/title TEXT", "/status", "/sessions", "/export", "/help", "/usage",
    "/model", "/agent", "/agent default", "/approve", "/approve", "/approve all", "/deny", "/forget",
)  # fmt: skip
MANNERS = ("echo", "echo", "wait", "wait", "read", "read", "write", "raise", "nothing", "long", "cling", "suspend")
FAULTS: tuple[Fault, ...] = (
    Fault(error=NotSent("x")), Fault(error=FloodWait(20)), Fault(error=Unknown("x")),
    Fault(error=Unknown("x"), applied=True), Fault(error=Rejected("x")), Fault(error=ChatDead("x")),
)  # fmt: skip


async def answer(turn: TurnContext, manner: str, house: House) -> AsyncIterator[AgentEvent]:
    """In the manner that the message asks for."""
    said = " ".join(f"c{place}.{number}" for place, number in marks(turn.message.text))
    if not turn.answers:
        yield TextDelta(text=f"re {said} ")
    match manner:
        case "wait":
            await house.stage.gate("wait").wait()
            for entry in await turn.steering():
                yield TextDelta(text=f"re {entry.text} ")
        case "read" | "write":
            await call(turn, f"{turn.id}", "r", read_only=manner == "read")
            await house.stage.gate("wait").wait()
        case "suspend" if turn.answers:
            for asked, given in turn.answers.items():
                if isinstance(given, Allowed):
                    house.stage.paid.append(asked)
                    await turn.closed(CallClosed(call=asked, result="paid", failed=False))
        case "suspend":
            await turn.opened([CallOpened(call=f"{turn.id}", tool="pay", arguments="{}", read_only=False)])
            yield Suspend()
        case "raise":
            raise AgentError("told to")
        case "long":
            yield TextDelta(text="\n\n".join("x" * 300 for _ in range(3)))
        case "cling":
            for _ in range(20):
                if house.stage.gate("wait").is_set():
                    break
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
        self.plain: set[int] = set()
        """Numbers of ordinary messages: only these have a place in the order that nothing changes."""
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
        self.house = self.furnished(state, options)
        self.house.stage.on("c", self._script)
        self.run(self.house.open())
        self.run(self.house.idle())

    def furnished(self, state: Path, options: dict[str, object]) -> House:
        return House(state, options, (GrowingBot(),))

    def _script(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        manner = next((manner for manner in MANNERS if f" {manner}" in turn.message.text), "echo")
        if manner == "nothing":
            return _nothing()
        return answer(turn, manner, self.house)

    # what people do

    @rule(user=st.sampled_from(PEOPLE), group=st.booleans(), manner=st.sampled_from(MANNERS), more=st.booleans())
    def say(self, user: str, group: bool, manner: str, more: bool) -> None:
        self._say(user, manner, group=group, more=more)

    def _say(self, user: str, manner: str, *, group: bool = False, more: bool = False) -> None:
        place = GROUP if group else user
        mark = self._mark(place)
        self.plain.add(self.number)
        self._offer(user, place, f"{mark} {manner}", more=more)

    @rule(manner=st.sampled_from(MANNERS))
    def say_more(self, manner: str) -> None:
        self._say("7", manner)

    @rule(command=st.sampled_from(COMMANDS))
    def command_more(self, command: str) -> None:
        self._command("7", "7", command)

    @rule(user=st.sampled_from(PEOPLE), group=st.booleans(), command=st.sampled_from(COMMANDS))
    def command(self, user: str, group: bool, command: str) -> None:
        self._command(user, GROUP if group else user, command)

    def _command(self, user: str, place: str, command: str) -> None:
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
        if self.run(self.house.store.read(lambda tx: inbox.kept(tx, said.row))) is None:
            return  # rows live eight days after their fate, far longer than any platform redelivers
        (receipt,) = self.run(self.house.receive(said.message))
        if said.receipt.verdict in (Verdict.ACCEPTED, Verdict.REFUSED):
            assert receipt.verdict is Verdict.DUPLICATE
            assert receipt.row == said.row

    # what whoever runs the desk does

    @rule(place=st.sampled_from(PLACES), verb=st.sampled_from(["end", "send", "delete"]))
    def operate(self, place: str, verb: str) -> None:
        self.number += 1
        key = f"main/group/{GROUP}" if place == GROUP else f"main/dm/{place}"
        self.run(operate(self.house, key, verb, self.number))

    # what the world does

    @rule(stays_open=st.sampled_from([False, False, True]))
    def open_the_gate(self, stays_open: bool) -> None:
        """Turns that wait go on; later ones wait again unless it stays open."""
        gate = self.house.stage.gate("wait")
        gate.set()
        self.run(self.house.idle())
        if not stays_open:
            gate.clear()

    @rule(seconds=st.sampled_from([0.1, 1.5, 7.0]))
    def wait(self, seconds: float) -> None:
        self.run(self._pass(seconds))

    async def _pass(self, seconds: float) -> None:
        """Time passes in a few strides: stepping from beat to beat would be most of the work."""
        for _ in range(3):
            await self.house.clock.leap(seconds / 3)

    @rule(
        what=st.sampled_from(["chores", "chores", "evict", "disk", "leap", "jump"]),
        hours=st.sampled_from([-80, -1, 1, 3, 30]),
    )
    def happen(self, what: str, hours: int) -> None:
        match what:
            case "chores":
                self.run(self._chores())
            case "evict":
                self._evict()
            case "disk":
                self.run(self._fill_and_free_the_disk())
            case "leap":
                self.run(self.house.clock.leap(abs(hours) * 3600))
            case _:
                self.house.clock.jump(timedelta(hours=hours))

    async def _chores(self) -> None:
        chores = self.house.chores
        for chore in (
            chores.sweep,
            chores.consents,
            chores.stale,
            chores.agents,
            chores.index,
            chores.tidy,
            chores.heartbeat,
        ):
            await chore()
        await self.house.idle()

    def _evict(self) -> None:
        for conversation in list(self.house.core.cache._agents):  # as memory pressure would
            self.house.core.cache.evict(conversation)

    async def _fill_and_free_the_disk(self) -> None:
        self.house.store.full = True
        await self._pass(1.5)
        self.house.store.full = False
        await self._pass(3.0)

    @rule(place=st.sampled_from(PLACES), fault=st.sampled_from(FAULTS), times=st.integers(1, 3))
    def fault(self, place: str, fault: Fault, times: int) -> None:
        self.house.bot.fail(place, *[Fault(error=fault.error, applied=fault.applied) for _ in range(times)])

    @rule(
        writes=st.integers(1, 8),
        before=st.booleans(),
        user=st.sampled_from(PEOPLE),
        words=st.sampled_from([f"TEXT {manner}" for manner in MANNERS] + list(COMMANDS)),
    )
    def die_in_the_midst(self, writes: int, before: bool, user: str, words: str) -> None:
        """The process dies some writes after somebody spoke; the platform offers again what was not accepted."""

        async def episode() -> None:
            house = self.house
            house.store.dies_at, house.store.dies_before = house.store.writes + writes, before
            message = house.message(words.replace("TEXT", self._mark(user)), user=user)
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
            self.run(self.house.store.read(lambda tx: judge(tx, self.plain, PLACES)))

    @invariant()
    def nothing_is_answered_or_shown_twice(self) -> None:
        if hasattr(self, "house"):
            assert self.run(self.house.store.read(answered_twice)) == 0
            for chat in self.house.bot.chats.values():
                shown = [one.delivery for one in chat if one.delivery]  # 0: said around the outbox
                assert len(shown) == len(set(shown))

    @invariant()
    def what_was_allowed_is_done_once(self) -> None:
        if hasattr(self, "house"):
            assert len(self.house.stage.paid) == len(set(self.house.stage.paid))

    @invariant()
    def an_agent_is_shown_the_fold_of_the_log(self) -> None:
        if hasattr(self, "house"):
            asked, self.house.stage.asked = self.house.stage.asked, []
            self.run(self.house.store.read(lambda tx: judge_asked(tx, asked)))

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
            await self._pass(3.0)
            await house.clock.leap(30)
        for place in ("1", *PLACES):  # what waits for somebody's word ends with this one
            await house.offer(
                house.group_message("/stop", user="1") if place == GROUP else house.message("/stop", user=place)
            )
            await house.idle()
        rows = await house.rows()
        suspended = [row.id for row in rows if row.state != "done"]
        assert suspended == [], suspended
        await house.clock.leap(25 * 3600)  # a wait that was written down under a clock that was wrong lasts a day
        for place in PLACES:
            states = {state for state, _ in await house.deliveries(place)}
            assert states <= {"sent", "failed", "unknown"}, (place, states)
        await house.sound()
        assert house.core.slots.taken == 0
        assert house.desk.router._boxes == {}  # no owner without work


async def _nothing() -> AsyncIterator[AgentEvent]:
    silence: tuple[AgentEvent, ...] = ()
    for event in silence:
        yield event


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _template() -> Path:
    if DeskMachine.template is None:
        state = Path(tempfile.mkdtemp(prefix="desk"))
        open_store(None, state).close()
        DeskMachine.template = state / DATABASE_FILE
    return DeskMachine.template


TestDesk = DeskMachine.TestCase
TestDesk.settings = settings(
    max_examples=int(os.environ.get("DESK_EXAMPLES", "40")),
    stateful_step_count=40,
    deadline=None,
    derandomize="DESK_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
