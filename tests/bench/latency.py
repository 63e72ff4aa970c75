"""The desk's own time at low load, one conversation, one message at a time; and what the model is shown."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator

from tests.bench import agents, bare
from tests.bench.figures import Figure
from tests.bench.house import UnderTest, new_state, under_test
from tests.bench.traffic import Traffic

TURNS = 200
OWN_MS = 3.0


async def _one(desk: UnderTest, traffic: Traffic) -> float:
    """When it was received."""
    desk.bot.traffic = None
    (chat,) = traffic.chats
    message = traffic.message(chat)
    received = time.perf_counter()
    await desk.desk.receive([message])
    await desk.desk.idle()
    return received


async def measure() -> AsyncIterator[Figure]:
    agents.ASKED_S.clear()
    agents.COMPLETE_S.clear()
    agents.SHOWN.clear()
    asking, sending = [], []
    async with new_state() as state, under_test(state, agent="tests.bench.agents:stamping") as desk:
        traffic = Traffic(["1"], TURNS)
        for _ in range(TURNS):
            received = await _one(desk, traffic)
            asking.append(agents.ASKED_S[-1] - received)
            sending.append(desk.bot.last_send_s - agents.COMPLETE_S[-1])
    async with new_state() as state:
        commit = await bare.commit_s(state, TURNS)
    warm = TURNS // 4
    yield Figure(
        what="received → agent asked, p50 (two commits + 3 ms)",
        value=statistics.median(asking[warm:]) * 1000,
        unit="ms",
        budget=2 * commit * 1000 + OWN_MS,
        bare=2 * commit * 1000,
    )
    yield Figure(
        what="answer complete → send called, p50 (one commit + 3 ms)",
        value=statistics.median(sending[warm:]) * 1000,
        unit="ms",
        budget=commit * 1000 + OWN_MS,
        bare=commit * 1000,
    )
    yield Figure(
        what=f"messages shown to the model in turn {TURNS} (2n − 1)",
        value=agents.SHOWN[-1],
        unit="",
        budget=2 * TURNS - 1,
    )
