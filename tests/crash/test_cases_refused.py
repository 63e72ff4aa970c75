"""C03 on each platform: a provider that refuses and then answers leaves one question and one answer, however often the
platform tells of the message. The agent that refuses is here, too: `backend = "tests.crash.test_cases_refused:make"`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.agents.agent import Agent, AgentEvent, AgentSpec, TurnContext
from core.errors import AgentError
from core.store import entries, sessions
from core.store.history import for_people
from tests.crash.conftest import StageOn
from tests.crash.daemon import until
from tests.crash.scene import Stage
from tests.fakes.agents_crash import CrashAgent, closing


class RefusedAgent(CrashAgent):
    """Its provider refuses each question once."""

    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        mark = turn.message.text.partition(" ")[2]
        if f"run {mark}" not in self._noted():
            self._note("run", mark)
            raise AgentError("401")
        async for event in super().run(turn):
            yield event


def make(spec: AgentSpec) -> Agent:
    return RefusedAgent(Path(str(spec.options["journal"])))


class RefusingStage(Stage):
    backend = f"{__name__}:make"


def seen(stage: Stage) -> list[tuple[str, str]]:
    """What people see of the only session, without notices."""
    with stage.daemon.reading() as tx:
        (session,) = sessions.latest(tx, 10)
        log = entries.of_session(tx, session.id)
    return [(str(entry.kind), entry.text) for entry in for_people(log) if entry.kind is not entries.Kind.NOTICE]


@pytest.mark.crash
@pytest.mark.parametrize("name", ["discord", "slack", "slack threads"])
def test_c03_a_refused_request_and_its_retry_are_one_exchange(stage_on: StageOn, name: str) -> None:
    with stage_on(name, kind=RefusingStage) as stage:
        (platform,) = stage.platforms
        stage.start()
        stage.daemon.until_bot("up", platform.name)
        talk = stage.speak()
        mark = talk.say("fast")
        until(lambda: len(talk.texts) == 1, "the refusal is told")
        talk.comes_again(talk.message_of(mark))
        talk.put("/retry")
        stage.settle()
        talk.comes_again(talk.message_of(mark))
        other = talk.say("fast")
        until(lambda: stage.runs(other) == 1, "what came after is asked")
        stage.settle()
        assert (stage.runs(mark), talk.answers(mark)) == (2, 1)
        *exchange, last = seen(stage)
        assert [kind for kind, _ in exchange] == ["user", "assistant"]
        assert exchange[0][1] == f"fast {mark}"
        assert closing(mark) in exchange[1][1]
        assert last == ("user", f"fast {other}")
        assert platform.violations == ()
