"""Between the turn on the main loop and its agent on the agents' loop.

Models' SDKs do work in proportion to the history on the loop that they run on, so they have one of their own. What an
agent says crosses gathered: its first piece at once, the rest with what all other agents say, every 20 ms. What it asks
of the turn crosses in the same order, and is carried out by the turn's own task.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import TypeVar

from msgspec import Struct

from core.agents.agent import AgentEvent, TurnContext
from core.vocabulary import TextDelta, ThinkingDelta

GATHER_S = 0.02
"""How long pieces of an answer are gathered before they cross."""
STOP_AGAIN_S = 0.2
"""How long an agent is waited for before it is told again to stop: a library may have lost the first word."""

T = TypeVar("T")


class _Asked(Struct, frozen=True):
    """Something that the turn does for its agent."""

    carry_out: Callable[[TurnContext], Awaitable[None]]


class _Over(Struct, frozen=True):
    """The agent has ended; `error` is how, if not well."""

    error: BaseException | None


_Item = AgentEvent | _Asked | _Over


class Ferry:
    """Takes what was gathered in all crossings over at once, so that the main loop is woken fifty times a second and
    not for every piece. Used on the agents' loop."""

    def __init__(self, main: asyncio.AbstractEventLoop, agents: asyncio.AbstractEventLoop) -> None:
        self.main = main
        self.agents = agents
        self._waiting: dict[Crossing, None] = {}
        self._leaves: asyncio.TimerHandle | None = None

    def wait(self, crossing: Crossing) -> None:
        """What this crossing has gathered goes with the next one."""
        self._waiting[crossing] = None
        if self._leaves is None:
            self._leaves = self.agents.call_later(GATHER_S, self._leave)

    def _leave(self) -> None:
        self._leaves = None
        waiting, self._waiting = self._waiting, {}
        loads = [(crossing, load) for crossing in waiting if (load := crossing.take())]
        if loads:
            self.main.call_soon_threadsafe(_land, loads)


def _land(loads: list[tuple[Crossing, list[_Item]]]) -> None:
    for crossing, load in loads:
        crossing.arrive(load)


class Crossing:
    """One agent's answer to one turn. `say` and `ask` are the agent's, `events` is the turn's."""

    def __init__(self, turn: TurnContext, ferry: Ferry) -> None:
        self._turn = turn
        self._ferry = ferry
        self._main = ferry.main
        self._agents = ferry.agents
        self._work: asyncio.Task[None] | None = None
        self._gathered: list[_Item] = []
        self._spoke = False
        self._came: deque[_Item] = deque()
        self._wake = asyncio.Event()
        self._over: _Over | None = None

    # on the agents' loop

    def say(self, event: AgentEvent) -> None:
        """An event for the turn. Pieces of one kind that are gathered become one."""
        last = self._gathered[-1] if self._gathered else None
        if isinstance(event, TextDelta) and isinstance(last, TextDelta):
            self._gathered[-1] = TextDelta(text=last.text + event.text)
        elif isinstance(event, ThinkingDelta) and isinstance(last, ThinkingDelta):
            self._gathered[-1] = ThinkingDelta(text=last.text + event.text)
        else:
            self._gathered.append(event)
        if self._spoke:
            self._ferry.wait(self)
        else:
            self._spoke = True
            self._cross()

    def take(self) -> list[_Item]:
        """What was gathered; it is on its way from here on."""
        items, self._gathered = self._gathered, []
        return items

    def _cross(self) -> None:
        if self._gathered:
            self._main.call_soon_threadsafe(self.arrive, self.take())

    async def ask(self, do: Callable[[TurnContext], Awaitable[T]]) -> T:
        """Let the turn do something, after all that was said before. Raises what it raises."""
        answer: asyncio.Future[T] = self._agents.create_future()

        def settle(give: Callable[[], None]) -> None:
            self._agents.call_soon_threadsafe(lambda: None if answer.done() else give())

        async def carry_out(turn: TurnContext) -> None:
            try:
                result = await do(turn)
            except asyncio.CancelledError:
                raise  # the turn is over; its end stops the agent
            except Exception as error:
                settle(partial(answer.set_exception, error))
                raise
            settle(partial(answer.set_result, result))

        self._gathered.append(_Asked(carry_out))
        self._cross()
        return await answer

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self._work = self._agents.create_task(work)
        self._work.add_done_callback(self._end)

    def _end(self, work: asyncio.Task[None]) -> None:
        self._gathered.append(_Over(None if work.cancelled() else work.exception()))
        self._cross()

    def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()

    # on the main loop

    def arrive(self, items: list[_Item]) -> None:
        """What has crossed."""
        self._came.extend(items)
        self._wake.set()

    async def events(self, work: Coroutine[None, None, None]) -> AsyncGenerator[AgentEvent, None]:
        """Run the agent's work on its loop, and give what it says. Closing this ends the work, and waits for its end.
        Raises what the work raised."""
        self._agents.call_soon_threadsafe(self._start, work)
        try:
            while (item := await self._next()) is not None:
                if isinstance(item, _Asked):
                    await item.carry_out(self._turn)
                else:
                    yield item
        finally:
            while self._over is None:
                self._agents.call_soon_threadsafe(self._stop)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._next(), STOP_AGAIN_S)

    async def _next(self) -> AgentEvent | _Asked | None:
        """What comes next; None: nothing any more."""
        while not self._came:
            await self._wake.wait()
            self._wake.clear()
        item = self._came.popleft()
        if not isinstance(item, _Over):
            return item
        self._over = item
        if item.error is not None:
            raise item.error
        return None
