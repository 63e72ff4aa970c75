"""Whoever kills the process is found, and whatever kills it, nobody else is left.

People say something at once or later; agents answer after a while, or kill the process after a while; besides, the
process is killed at any instant. Who was asked alone when it died is counted here once more, from what agents saw.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.agents.agent import AgentEvent, TurnContext
from core.desk.recovery import MOST_ATTEMPTS
from core.service.notices import ENGLISH
from core.store.open import DATABASE_FILE
from core.vocabulary import TextDelta
from tests.flow.house import House, opened

POISON: Final = ENGLISH["poison"].partition(" (")[0]
SPANS: Final = (0, 1, 3, 8)
"""Seconds from the question to the answer, or to the death: a retry passes after two."""
LONG_S: Final = 400
"""In which all is over."""


@dataclass(frozen=True)
class Said:
    """What one person says, `at` seconds after the first one."""

    at: int
    kills: bool
    takes_s: int


@dataclass
class Play:
    """One run: `ran`, who was being answered at the last death; `alone`, how often each was the only one asked."""

    house: House
    people: dict[str, Said]
    crashed: bool = False
    since: int = 0
    ran: set[str] = field(default_factory=set)
    alone: Counter[str] = field(default_factory=Counter)
    deaths: Counter[str] = field(default_factory=Counter)

    async def script(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        said = self.people[turn.message.text]
        await self.house.clock.sleep(said.takes_s)
        if said.kills:
            self.crashed = True
            self.deaths[turn.message.text] += 1
            await asyncio.Event().wait()
        yield TextDelta(text="done")

    def answered(self, user: str) -> bool:
        return self.house.seen(user) != []

    async def kill(self) -> None:
        asked = {text for text in self.house.stage.texts[self.since :] if not self.answered(text)}
        again, new = asked & self.ran, asked - self.ran
        waits = {user for user in self.ran if not self.answered(user)} - again
        if len(again) == 1:
            self.alone.update(again)
        elif not again and not waits and len(new) == 1:
            self.alone.update(new)
        self.ran = waits | asked
        self.since, self.crashed = len(self.house.stage.asked), False
        await self.house.restart()

    async def to_the_end(self, kills: set[int]) -> None:
        for second in range(LONG_S):
            for user, said in self.people.items():
                if said.at == second:
                    await self.house.say(user, user=user)
            await self.house.clock.leap(1)
            while self.crashed:
                await self.kill()
            if second in kills:
                await self.kill()
            if second > max(kills, default=0) and all(map(self.answered, self.people)):
                return

    def judge(self) -> None:
        for user, said in self.people.items():
            left = POISON in self.house.seen(user)[0]
            assert len(self.house.seen(user)) == 1
            assert left or not said.kills, f"{user} kills, and was answered"
            assert not left or self.alone[user] >= MOST_ATTEMPTS, f"{user} was left after {self.alone}"
            assert left or self.alone[user] < MOST_ATTEMPTS, f"{user} was not left after {self.alone}"


PEOPLE: Final = st.lists(
    st.builds(Said, st.sampled_from([0, 0, 0, 1, 5]), st.sampled_from([False, False, True]), st.sampled_from(SPANS)),
    min_size=1,
    max_size=5,
)
KILLS: Final = st.sets(st.integers(0, 12), max_size=6)


@settings(
    max_examples=int(os.environ.get("CRASH_RETRY_EXAMPLES", "15")),
    deadline=None,
    derandomize="CRASH_RETRY_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(people=PEOPLE, kills=KILLS)
def test_only_what_was_asked_alone_three_times_is_left(
    sqlite_template: Path, people: list[Said], kills: set[int]
) -> None:
    with tempfile.TemporaryDirectory(prefix="retries") as folder, structlog.testing.capture_logs():
        state = Path(folder) / "state"
        state.mkdir(mode=0o700)
        shutil.copy(sqlite_template, state / DATABASE_FILE)
        asyncio.run(play(state, {str(20 + number): said for number, said in enumerate(people)}, kills))


async def play(state: Path, people: dict[str, Said], kills: set[int]) -> None:
    async with opened(state) as house:
        made = Play(house, people)
        house.stage.on("", made.script)
        await made.to_the_end(kills)
        made.judge()
