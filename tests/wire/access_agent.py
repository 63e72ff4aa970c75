"""The access table's agent: `backend = "tests.wire.access_agent:make"`. As `tests.fakes.agents_crash`, and

pay MARK   a call that waits for a person's word; "paid MARK" is in the journal once it is made
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from core.agents.agent import Agent, AgentEvent, AgentSpec, Allowed, Suspend, TurnContext
from core.vocabulary import CallClosed, CallOpened, TextDelta
from tests.fakes.agents_crash import CrashAgent, closing, opening


class AccessAgent(CrashAgent):
    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        kind, _, mark = turn.message.text.partition(" ")
        if kind != "pay":
            async for event in super().run(turn):
                yield event
        elif not turn.answers:
            await turn.opened([CallOpened(call=mark, tool="pay", arguments="{}")])
            yield Suspend()
        else:
            if isinstance(turn.answers[mark], Allowed):
                self._note("paid", mark)
                await turn.closed(CallClosed(call=mark, result="done", failed=False))
            yield TextDelta(text=f"{opening(mark)} {closing(mark)}")


def make(spec: AgentSpec) -> Agent:
    return AccessAgent(Path(str(spec.options["journal"])))
