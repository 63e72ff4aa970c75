"""`python -m tests.bench.double`: the double of a model provider in a process of its own, until its stdin ends.

The first line of stdout is its URL, the second its key. The model's name says how it answers: see `REPLIES`. Once it
is told to end it prints how late its own deltas were at worst, in seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from tests.fakes.models.record import Request
from tests.fakes.models.replies import Delayed, Paced, Reply, Say
from tests.fakes.models.server import ThreadedModelServer

STREAM, FIRST, SLOW, AT_ONCE, TALK = "bench-stream", "bench-first", "bench-slow", "bench-at-once", "bench-talk"
PER_S = 15.0
TOKENS = 90
FIRST_TOKENS = 3
TALK_TOKENS = 25
SLOW_S = 6.0
ANSWER = "Take the boat; the wind is fair."

worst_s = [0.0]
"""Latest of all deltas of this process."""


class Due(tuple[str, ...]):
    """Pieces that tell when they are due, in seconds of CLOCK_MONOTONIC, which all processes share. A piece is asked
    for when the one before it was written; the first one, when the schedule begins."""

    def __iter__(self) -> Iterator[str]:
        began = time.monotonic()
        for index in range(1, len(self) + 1):
            due = began + index / PER_S
            yield f"{due:.4f} "
            worst_s[0] = max(worst_s[0], time.monotonic() - due)


class Now(tuple[str, ...]):
    """Pieces that tell when they were made, right before they are written."""

    def __iter__(self) -> Iterator[str]:
        for _ in range(len(self)):
            yield f"{time.monotonic():.4f} "


@dataclass(frozen=True)
class Stamped(Paced):
    """Deltas that tell when they are due."""

    @property
    def pieces(self) -> tuple[str, ...]:
        return Due("" for _ in range(self.tokens))


@dataclass(frozen=True)
class SaidNow(Say):
    """One delta that tells when it was sent."""

    @property
    def pieces(self) -> tuple[str, ...]:
        return Now(("",))


REPLIES: dict[str, Reply] = {
    STREAM: Stamped(per_s=PER_S, tokens=TOKENS),
    FIRST: (SaidNow(""), Paced(per_s=PER_S, tokens=FIRST_TOKENS)),
    SLOW: Delayed(SLOW_S, ANSWER),
    AT_ONCE: Say(ANSWER),
    TALK: (Paced(per_s=PER_S, tokens=TALK_TOKENS), Say(ANSWER)),
}


def _asks(model: str, request: Request) -> bool:
    return request.model == model


def main() -> None:
    with ThreadedModelServer() as server:
        for model, reply in REPLIES.items():
            server.on(partial(_asks, model), *(reply if isinstance(reply, tuple) else (reply,)))
        print(server.url, server.key, sep="\n", flush=True)
        sys.stdin.read()
        print(worst_s[0], flush=True)


if __name__ == "__main__":
    main()
