"""One turn's way through a model: requests, calls of tools, steering between them. On the agents' loop.

What is stored leads: a request that is made anew is built from the entries as they are then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct
from msgspec.structs import replace
from pydantic_ai import Agent, AgentRetries, AgentRun, CallToolsNode, ModelRequestNode
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    FunctionToolResultEvent,
    ModelMessage,
    ModelResponse,
    ToolReturnPart,
)
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults
from pydantic_ai.usage import UsageLimits
from pydantic_graph import End

from core.agents import compaction
from core.agents.agent import Allowed, Answer, Remark, Responded, Suspend, TurnContext, Used
from core.agents.crossing import Crossing
from core.agents.faults import translate, wordless
from core.agents.files import GONE, REFUSED, UNSEEN, Aside, files_in, fitting, referring, refs_in, whole
from core.agents.providers import request_settings
from core.agents.role import Role
from core.agents.streamed_text import StreamedText
from core.agents.toolbox import Deps
from core.agents.transcript import messages_of, presentable, response_data, result_data
from core.backoff import backoff_s
from core.errors import (
    AgentError,
    ContextFull,
    DayLimit,
    DayLimitAhead,
    ModelBrokeOff,
    ModelBusy,
    ModelKeyRefused,
    ModelRejected,
    ModelUnreachable,
    ModelUseless,
    StoreError,
)
from core.faultpoints import faultpoint
from core.store.conversations import SessionId
from core.store.entries import Entry, Json, Kind
from core.store.history import open_calls, render
from core.vocabulary import CallClosed, CallOpened, ClientTool

if TYPE_CHECKING:
    from core.agents.tool_server import ToolServer

log = structlog.get_logger("frontdesk.agents")

LONGEST_WAIT_S = 60.0
"""A provider that asks for more patience than that is not waited for."""
FIRST_WAIT_S = 1.0
TRIES = AgentRetries(tools=5, output=1)
"""How often a model may call a tool wrongly, or say nothing at all, before its turn fails."""

REMARKS = {"length": "answer_cut", "content_filter": "answer_filtered"}
"""What people are told of an answer that ended for such a reason."""
Answered = str | DeferredToolRequests
Graph = Agent[Deps, Answered]
Run = AgentRun[Deps, Answered]


def graph() -> Graph:
    """What runs every turn: model, tools and instructions come with the turn."""
    return Agent(
        deps_type=Deps, output_type=[str, DeferredToolRequests], retries=TRIES,
        capabilities=[ProcessHistory(_presentable)],
    )  # fmt: skip


async def _presentable(messages: list[ModelMessage]) -> list[ModelMessage]:
    return presentable(messages)


class _Known(Struct, frozen=True):
    """A turn as it stands."""

    history: Sequence[Entry]
    entries: Sequence[Entry]
    answers: Mapping[str, Answer]
    session: SessionId
    client_tools: Sequence[ClientTool]


async def _known(turn: TurnContext) -> _Known:
    return _Known(tuple(turn.history), tuple(turn.entries), turn.answers, turn.session, turn.client_tools)


class Asking:
    """`acted`: something was said or called, so that the request can't be made again without being noticed."""

    def __init__(self, role: Role, graph: Graph, crossing: Crossing) -> None:
        self._role = role
        self._graph = graph
        self._crossing = crossing
        self._limits = role.settings.limits
        self._chosen = role.chosen
        self._spent = 0
        """Tokens of this turn, as the provider counted them."""
        self._most: int | None = None
        """Tokens that the asker may use in a day."""
        self._acted = False
        self._shows = False
        """A request had files."""
        self._missing = GONE
        """What stands in place of a file that is not shown."""
        self._servers: Sequence[ToolServer[Deps]] = ()
        self._text: StreamedText | None = None
        """What the last request says."""

    async def answer(self) -> None:
        """Answer the turn. Raises `AgentError`, and what the turn raises."""
        tries, summed_up = 0, False
        while True:
            known = await self._crossing.ask(_known)
            try:
                await self._check_day(known)
                if not summed_up and compaction.is_due(known.history, known.entries, self._role):
                    summed_up = await self._sum_up(known)
                    known = await self._crossing.ask(_known)
                await self._ask(known)
            except StoreError:
                raise
            except Exception as fault:  # noqa: BLE001  # agent: every provider has its own ways to fail
                error = translate(fault, self._role.settings.secrets)
                if isinstance(error, ContextFull) and not summed_up and await self._sum_up(known):
                    summed_up = True
                    continue
                if isinstance(error, ModelRejected) and self._look_away():
                    log.warning("files_refused", why=str(error))
                    continue
                if isinstance(error, ModelUseless) and self._turn_to_fallbacks():
                    log.warning("model_useless", why=str(error))
                    continue
                wait_s = self._wait(error, tries)
                if wait_s is None:
                    raise self._named(error) from wordless(fault)
                tries += 1
                log.warning("model_asked_again", why=str(error), wait_s=wait_s)
                await asyncio.sleep(wait_s)
            else:
                return

    async def _check_day(self, known: _Known) -> None:
        """Before the first request: also one that is far too long for what is left is not made."""
        allowed = await self._crossing.ask(_tokens_a_day)
        limits = [most for most in (self._limits.person_day_tokens, allowed) if most is not None]
        self._most = min(limits, default=None)
        if self._most is not None:
            await self._check_request(compaction.request_tokens(known.history, known.entries, self._role))

    async def _check_request(self, tokens: int) -> None:
        """Before each request, which will have about so many."""
        if self._most is None:
            return
        spent, most = self._spent, self._most
        used = await self._crossing.ask(lambda turn: turn.desk.expect(spent + tokens, most)) + spent
        if used >= self._most:
            raise DayLimit(f"{used} tokens used today, {self._most} allowed")
        if used + tokens > self._most:
            raise DayLimitAhead(f"{used} tokens used today, about {tokens} to come, {self._most} allowed")

    def _look_away(self) -> bool:
        """Show no files from here on: one that its provider does not take would spoil the session for good. False
        where none was shown, or it is too late."""
        if self._acted or not self._shows:
            return False
        self._missing, self._shows = REFUSED, False
        return True

    def _turn_to_fallbacks(self) -> bool:
        """Ask those that come behind the model from here on; False where there are none, or it is too late."""
        if self._acted or self._chosen.behind is None:
            return False
        self._chosen = self._chosen.behind
        return True

    def _named(self, error: AgentError) -> AgentError:
        """An answer that broke off is told as one."""
        begun = self._text is not None and self._text.said
        return ModelBrokeOff(str(error)) if begun and isinstance(error, ModelUnreachable) else error

    def _wait(self, error: AgentError, tries: int) -> float | None:
        """How long to wait before the request is made again; None: it is not."""
        most = 1 if isinstance(error, ModelKeyRefused) else self._limits.retries
        if self._acted or not error.retryable or tries >= most:
            return None
        if isinstance(error, ModelKeyRefused):
            return 0.0
        named = error.wait_s if isinstance(error, ModelBusy) else None
        wait_s = backoff_s(tries, FIRST_WAIT_S) if named is None else named
        return wait_s if wait_s <= LONGEST_WAIT_S else None

    async def _sum_up(self, known: _Known) -> bool:
        """Let a summary stand for the older part of the history; False where that was not possible."""
        summed = await compaction.sum_up(known.history, self._role, "")
        if summed is None:
            return False
        self._use(summed.counts)
        await self._crossing.ask(lambda turn: turn.compacted(summed.text, summed.upto))
        return True

    # one run of the graph

    async def _ask(self, known: _Known) -> None:
        faultpoint("request.begun")
        role = self._role
        waiting = {str(call.data.get("call")) for call in open_calls(known.entries)}
        allowed = {call for call, answer in known.answers.items() if isinstance(answer, Allowed)} & waiting
        shown = await self._with_files([*known.history, *known.entries])
        rebuilt = messages_of(shown, self._chosen.systems, frozenset(allowed))
        if rebuilt.dropped:
            log.info("history_not_readable", parts=rebuilt.dropped, systems=sorted(self._chosen.systems))
        self._servers = role.toolbox.servers(known.session)
        async with self._graph.iter(
            None,
            message_history=rebuilt.messages,
            deferred_tool_results=_approvals(allowed) if allowed else None,
            model=self._chosen.model,
            instructions=role.instructions or None,
            deps=Deps(self._crossing, role.settings.files),
            model_settings=request_settings(role.settings),
            usage_limits=UsageLimits(
                request_limit=self._limits.iterations, total_tokens_limit=self._limits.turn_tokens
            ),
            toolsets=[role.toolbox.toolset(self._servers, known.client_tools)],
        ) as run:
            stored = {str(entry.data.get("call")) for entry in known.entries}
            await self._drive(run, stored)

    async def _with_files(self, entries: list[Entry]) -> list[Entry]:
        """The entries with the files that they refer to."""
        refs = refs_in(entries)
        if not refs:
            return entries
        files: Mapping[str, bytes | str] = {}
        if self._missing == GONE:
            files = fitting(entries, await self._crossing.ask(lambda turn: turn.desk.files(refs)))
            self._shows = bool(files)
        return [replace(entry, data=self._seen(entry, files)) for entry in entries]

    def _seen(self, entry: Entry, files: Mapping[str, bytes | str]) -> Mapping[str, Json]:
        """An entry's data with its files; what people sent is shown only to models that see."""
        if entry.kind is Kind.USER and not self._chosen.sees:
            return whole(entry.data, {}, UNSEEN)
        return whole(entry.data, files, self._missing)

    async def _without_files(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        """What is stored of a message: its files are kept apart, and referred to."""
        kept: dict[bytes, str] = {}
        for file in files_in(data):
            kept[file.data] = await self._crossing.ask(partial(_keep, file))
        return referring(data, kept) if kept else data

    async def _drive(self, run: Run, stored: set[str]) -> None:
        """`stored`: calls that have their entries from before."""
        node = run.next_node
        while not isinstance(node, End):
            if Agent.is_model_request_node(node):
                await self._request(node, run)
            elif Agent.is_call_tools_node(node):
                await self._call_tools(node, run, stored)
                stored = set()  # a provider may use an id again
            last = node.model_response if Agent.is_call_tools_node(node) else None
            node = await run.next(node)
            if last is not None and Agent.is_model_request_node(node):
                await self._check_request(last.usage.total_tokens)
            if last is not None and last.tool_calls and Agent.is_model_request_node(node):
                await self._steer(run)
        if isinstance(node.data.output, DeferredToolRequests):
            self._crossing.say(Suspend())

    async def _request(self, node: ModelRequestNode[Deps, Answered], run: Run) -> None:
        shows = self._role.settings.show_thinking
        text = self._text = StreamedText(
            self._crossing, self._chosen.habits, shows_thoughts=shows, silence=self._role.settings.silence or ""
        )
        first = self._role.preparation.turn() if self._chosen.tells_when_sent else nullcontext()
        try:
            async with first, asyncio.timeout(None) as patience, node.stream(run.ctx) as events:
                async for event in events:
                    patience.reschedule(asyncio.get_running_loop().time() + self._limits.silence_s)
                    text.hear(event)
            text.end()
        finally:
            self._acted = self._acted or text.said

    async def _call_tools(self, node: CallToolsNode[Deps, Answered], run: Run, stored: set[str]) -> None:
        response = node.model_response
        if self._text is not None:
            self._text.mend(response)
        calls = [call for call in response.tool_calls if call.tool_call_id not in stored]
        again = bool(response.tool_calls) and not calls
        if not again:
            self._count(response)
            if response.finish_reason in REMARKS and response.text:
                self._crossing.say(Remark(notice=REMARKS[response.finish_reason]))
            self._crossing.say(Responded(data=await self._without_files(response_data(response))))
        if calls:
            self._acted = True
            opened = [
                CallOpened(
                    call=call.tool_call_id, tool=call.tool_name, arguments=call.args_as_json_str(),
                    read_only=self._role.toolbox.is_read_only(self._servers, call.tool_name),
                )
                for call in calls
            ]  # fmt: skip
            await self._crossing.ask(lambda turn: turn.opened(opened))
        elif not again:
            await self._steer(run)
        async with node.stream(run.ctx) as events:
            async for event in events:
                if isinstance(event, FunctionToolResultEvent):
                    await self._result(event.part)

    async def _result(self, part: ToolReturnPart) -> None:
        said = part.model_response_str(wrap_if_error=False)
        closed = CallClosed(call=part.tool_call_id, result=said, failed=part.outcome != "success")
        data = await self._without_files(result_data(part))
        await self._crossing.ask(lambda turn: turn.closed(closed, data))

    async def _steer(self, run: Run) -> None:
        """What people said meanwhile goes into the next request; a response that seemed the last one is followed by
        another."""
        for entry in await self._crossing.ask(lambda turn: turn.steering()):
            run.enqueue(render(entry))

    def _count(self, response: ModelResponse) -> None:
        usage = response.usage
        counts = {
            "requests": 1,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cached_tokens": usage.cache_read_tokens,
        }
        if usage.cost is not None:
            counts["cost_micro_usd"] = round(usage.cost * 1_000_000)
        self._use({name: count for name, count in counts.items() if count})

    def _use(self, counts: Mapping[str, int]) -> None:
        self._spent += counts.get("input_tokens", 0) + counts.get("output_tokens", 0)
        self._crossing.say(Used(counts=counts))


def _approvals(allowed: Iterable[str]) -> DeferredToolResults:
    return DeferredToolResults(approvals=dict.fromkeys(allowed, True))


async def _tokens_a_day(turn: TurnContext) -> int | None:
    return turn.desk.tokens_a_day


async def _keep(file: Aside, turn: TurnContext) -> str:
    return await turn.desk.keep(file.data, file.media_type)
