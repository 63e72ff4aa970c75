"""`python -m tests.bench.outside.stage PLATFORM ACCOUNTS...`: a platform's test server with the people who talk there.

A process of its own, so that neither a daemon nor the bench pays for it. `ACCOUNTS`: how many bots each group has; a
group's people are spread over them, since a bot keeps to its platform's pace for one account. An order is one line of
JSON on standard input, its answer one line on standard output; the empty order `{}` tells of the accounts.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final

from tests.bench.outside.accounts import PLATFORMS, Called, Person, Platform

WORDS: Final = "The harbour is calm and the sky is clear. Shall I take the boat out if the wind is fair?"
MARK: Final = " is fair"
"""Whole answers have it: those of the model's double by themselves, the offline agent's by what they quote."""
ANSWER_S: Final = 60.0


@dataclass(slots=True)
class _Asked:
    """`first_s`: from the message until anything of its answer could be read."""

    at: float
    first_s: float | None = None


class Crowd:
    """The people of one group."""

    def __init__(self, people: Sequence[Person], platform: Platform) -> None:
        self._people = {person.key: person for person in people}
        self._answers = platform.answers
        self._lock = threading.Lock()
        self._asked: dict[str, _Asked] = {}
        self._answered: SimpleQueue[str] = SimpleQueue()
        self._waits_s: list[float] = []
        self._firsts_s: list[float] = []
        self._calls: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._next = 0

    def called(self, call: Called) -> None:
        """On a server's thread."""
        if call.key not in self._people:
            return
        with self._lock:
            self._calls[call.name] += 1
            self._kinds[call.kind] += 1
            asked = self._asked.get(call.key)
            if asked is None or not call.text:
                return
            if asked.first_s is None:
                asked.first_s = call.at - asked.at
            if call.kind in self._answers and MARK in call.text:
                self._waits_s.append(call.at - asked.at)
                self._firsts_s.append(asked.first_s)
                del self._asked[call.key]
                self._answered.put(call.key)

    def talk(self, people: int, turns: int) -> dict[str, object]:
        """So many people have that many turns each, all at once."""
        self._begin()
        left = dict.fromkeys(list(self._people)[:people], turns)
        began, cpu = time.perf_counter(), time.process_time()
        for key in left:
            self._say(key)
        for _ in range(people * turns):
            key = self._answered.get(timeout=ANSWER_S)
            left[key] -= 1
            if left[key]:
                self._say(key)
        return self._told(time.perf_counter() - began, time.process_time() - cpu)

    def alternate(self, turns: int) -> dict[str, object]:
        """One person after the other, each when the one before was answered: a chat's pace holds nobody up."""
        self._begin()
        keys = list(self._people)
        began, cpu = time.perf_counter(), time.process_time()
        for _ in range(turns):
            self._say(keys[self._next % len(keys)])
            self._next += 1
            self._answered.get(timeout=ANSWER_S)
        return self._told(time.perf_counter() - began, time.process_time() - cpu)

    def _begin(self) -> None:
        with self._lock:
            self._asked.clear()
            self._waits_s, self._firsts_s = [], []
            self._calls.clear()
            self._kinds.clear()

    def _say(self, key: str) -> None:
        person = self._people[key]
        with self._lock:
            self._asked[key] = _Asked(person.clock())
        person.say(WORDS)

    def _told(self, took_s: float, cpu_s: float) -> dict[str, object]:
        with self._lock:
            return {
                "turns": len(self._waits_s), "took_s": took_s, "server_cpu_s": cpu_s, "waits_s": self._waits_s,
                "firsts_s": self._firsts_s, "calls": dict(self._calls), "kinds": dict(self._kinds),
            }  # fmt: skip


def _crowds(platform: Platform, sizes: Sequence[int], people: int) -> list[Crowd]:
    crowds, first = [], 0
    for size in sizes:
        crowds.append(Crowd([platform.person(first + number % size) for number in range(people)], platform))
        first += size
    return crowds


def _carry_out(order: Mapping[str, int], crowds: Sequence[Crowd]) -> dict[str, object]:
    crowd = crowds[order["group"]]
    if "people" in order:
        return crowd.talk(order["people"], order["turns"])
    return crowd.alternate(order["turns"])


def main() -> None:
    name, people, *sizes = sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:])
    logging.getLogger("aiohttp.server").disabled = True  # a bot that gives one of its calls up is no fault here
    with PLATFORMS[name](sum(sizes)) as platform:
        crowds = _crowds(platform, sizes, people)

        def told(call: Called) -> None:
            for crowd in crowds:
                crowd.called(call)

        platform.watch(told)
        for line in sys.stdin:
            order = json.loads(line)
            if order:
                answer = _carry_out(order, crowds)
            else:
                accounts = [{"table": one.table, "bare": one.bare} for one in platform.accounts]
                answer = {"accounts": accounts}
            print(json.dumps({**answer, "problems": platform.problems[:5]}), flush=True)


if __name__ == "__main__":
    main()
