"""`backend = "model"`: agents that a model answers for. Their SDKs and their loop live in a thread of their own.

Nothing here imports an SDK: the thread does, after the start, with the collector off, so that the main loop goes on.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import structlog

from core.agents.agent import AgentEvent, AgentSpec, TurnContext
from core.agents.configured import Configured
from core.agents.crossing import Crossing, Ferry
from core.agents.tool_status import ToolServerStatus
from core.faultpoints import faultpoint

if TYPE_CHECKING:
    from core.agents.compaction import Summed
    from core.agents.engine import Engine
    from core.store.entries import Entry

log = structlog.get_logger("frontdesk.agents")

T = TypeVar("T")

SWITCH_S = 0.0002
"""How long a thread keeps the interpreter while others want it. By default 5 ms: a unit of the store gives it up at
every step of SQLite and then waited so long for each while models streamed, over 100 ms in all; with this, 11 ms
(`python -m tests.bench streams`)."""
FINISHING, FINISHING_S = 50, 0.1
"""How often, and how far apart, what runs on the agents' loop is told to end."""


class ModelAgent:
    """One session's agent. It holds nothing but its spec: history and entries come with each turn."""

    __slots__ = ("_backend", "_spec")

    def __init__(self, backend: ModelBackend, spec: AgentSpec) -> None:
        self._backend = backend
        self._spec = spec

    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        engine, ferry = await self._backend.engine()
        crossing = Crossing(turn, ferry)
        events = crossing.events(engine.answer(self._spec, crossing))
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()


class ModelBackend:
    """Lives on the main loop; `warm` starts the thread, and so does the first turn."""

    def __init__(self, agents: Sequence[Configured]) -> None:
        self._agents = agents
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ready: asyncio.Future[Engine] | None = None
        self._ferry: Ferry | None = None
        self._stop = asyncio.Event()
        """The thread is to end; set on its loop."""
        self._unwanted = False
        """Closed before it was loaded: the thread ends then, and nobody waits for that."""

    def make(self, spec: AgentSpec) -> ModelAgent:
        """`agent.AgentFactory`."""
        return ModelAgent(self, spec)

    def warm(self) -> None:
        """Start loading what models need, in the thread that they will run in."""
        if self._ready is not None or not self._agents:
            return
        sys.setswitchinterval(SWITCH_S)
        self._loop = asyncio.new_event_loop()
        self._ready = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(_looked_at)
        self._thread = threading.Thread(target=self._live, args=(self._loop, self._ready), name="agents", daemon=True)
        self._thread.start()

    def _live(self, loop: asyncio.AbstractEventLoop, ready: asyncio.Future[Engine]) -> None:
        main = ready.get_loop()
        try:
            engine = self._load()
        except Exception as error:  # noqa: BLE001  # agent: whoever waits for the engine is told, and only agents with models fail
            _tell(main, partial(_settle, ready, partial(ready.set_exception, error)))
            loop.close()
            return
        if not _tell(main, partial(self._has_loaded, ready, engine, loop)):
            loop.close()
            return
        try:
            loop.run_until_complete(self._serve(engine))
            _finish(loop)
        finally:
            loop.close()

    def _has_loaded(self, ready: asyncio.Future[Engine], engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
        _settle(ready, partial(ready.set_result, engine))
        if self._unwanted:
            loop.call_soon_threadsafe(self._stop.set)

    async def _serve(self, engine: Engine) -> None:
        await engine.start()
        await self._stop.wait()

    def _load(self) -> Engine:
        collecting = gc.isenabled()
        gc.disable()  # one collection over all that an SDK brings would hold up the main loop for 90 ms
        try:
            from core.agents.engine import Engine

            return Engine(self._agents)
        finally:
            gc.freeze()
            if collecting:
                gc.enable()

    async def engine(self) -> tuple[Engine, Ferry]:
        """The engine, once it is there, and the way to its loop. Raises what kept it from being."""
        faultpoint("sdk.awaited")
        self.warm()
        if self._ready is None or self._loop is None:
            raise RuntimeError("warm started nothing")
        engine = await asyncio.shield(self._ready)
        if self._ferry is None:
            self._ferry = Ferry(asyncio.get_running_loop(), self._loop)
        return engine, self._ferry

    async def loaded(self) -> None:
        """Return once the engine is there, or could not be made."""
        faultpoint("sdk.awaited")
        self.warm()
        if self._ready is not None:
            await asyncio.wait([self._ready])

    async def adopt(self, agents: Sequence[Configured]) -> None:
        """Another configuration holds from now on; turns that run end as they began."""
        self._agents = agents
        if self._ready is None:
            self.warm()
            return
        try:
            engine, ferry = await self.engine()
        except Exception:  # noqa: BLE001  # agent: what kept models from being loaded was logged; now it is tried again
            self._ready = None
            self.warm()
        else:
            await _over_there(ferry.agents, engine.adopt(agents))

    async def sum_up(self, spec: AgentSpec, history: list[Entry], topic: str) -> Summed | None:
        """A summary of the older part of a history; cancelled with its caller."""
        engine, ferry = await self.engine()
        return await _over_there(ferry.agents, engine.sum_up(spec, history, topic))

    async def tidy(self) -> None:
        """Let go of what nobody needed for a while."""
        if self._loop is not None and (engine := self._loaded()) is not None:
            await _over_there(self._loop, engine.tidy())

    def tool_servers(self) -> list[ToolServerStatus]:
        """How each tool server is; none before they are loaded."""
        engine = self._loaded()
        return engine.tool_servers() if engine is not None else []

    def faults(self) -> list[str]:
        """What is wrong with models as they are configured."""
        engine = self._loaded()
        return list(engine.faults) if engine is not None else []

    def _loaded(self) -> Engine | None:
        done = self._ready is not None and self._ready.done() and not self._ready.cancelled()
        if self._ready is None or not done or self._ready.exception() is not None:
            return None
        return self._ready.result()

    async def close(self) -> None:
        """End the thread; turns have ended before."""
        self._unwanted = True
        engine = self._loaded()
        if engine is not None and self._loop is not None and self._thread is not None:
            thread, self._thread = self._thread, None
            await _over_there(self._loop, engine.close())
            self._loop.call_soon_threadsafe(self._stop.set)
            await asyncio.to_thread(thread.join)


async def _over_there(loop: asyncio.AbstractEventLoop, work: Coroutine[None, None, T]) -> T:
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


def _finish(loop: asyncio.AbstractEventLoop) -> None:
    """Let what still runs there come to its end. Told more than once: fastmcp loses a cancellation that meets the end
    of a call."""
    for _ in range(FINISHING):
        left = asyncio.all_tasks(loop)
        if not left:
            break
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.wait(left, timeout=FINISHING_S))
    else:
        log.error("tasks_do_not_end", tasks=[task.get_name() for task in asyncio.all_tasks(loop)])
    loop.run_until_complete(loop.shutdown_asyncgens())


def _tell(main: asyncio.AbstractEventLoop, what: Callable[[], None]) -> bool:
    """False: the process ended while this was loading, and nobody is there to be told."""
    try:
        main.call_soon_threadsafe(what)
    except RuntimeError:
        return False
    return True


def _settle(ready: asyncio.Future[Engine], give: Callable[[], None]) -> None:
    if not ready.done():
        give()


def _looked_at(ready: asyncio.Future[Engine]) -> None:
    if not ready.cancelled() and (error := ready.exception()) is not None:
        log.error("models_not_loaded", exc_info=error)
