"""Which reply answers a request."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.fakes.models.record import Request
from tests.fakes.models.replies import (
    Answer,
    Attempts,
    Call,
    Cut,
    Delayed,
    Empty,
    Fail,
    Garbage,
    Hang,
    Paced,
    Part,
    Raw,
    Reply,
    Say,
    Steps,
    Think,
)

When: TypeAlias = str | Callable[[Request], bool]

CONTENT = (Say, Think, Call, Paced, Delayed, Empty, Fail, Raw)


@dataclass
class Rule:
    """A reply and when it answers. `hits` counts the requests that it answered, `attempts` those at every `Attempts`
    (by its place in the reply)."""

    when: When
    reply: Reply
    hits: int = 0
    attempts: Counter[tuple[int, ...]] = field(default_factory=Counter)

    def fits(self, request: Request) -> bool:
        return self.when in request.last_user if isinstance(self.when, str) else self.when(request)


class Script:
    """The rules of a server. The newest that fits answers."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []
        self._fallback = Rule("", echo)

    def add(self, when: When, reply: Reply) -> Rule:
        self._rules.append(Rule(when, reply))
        return self._rules[-1]

    def set_default(self, reply: Reply) -> Rule:
        """What answers if no rule fits. An echo at first."""
        self._fallback = Rule("", reply)
        return self._fallback

    def clear(self) -> None:
        self._rules.clear()

    def answer(self, request: Request) -> Answer:
        """The parts to play. Counts the attempt."""
        rule = next((rule for rule in reversed(self._rules) if rule.fits(request)), self._fallback)
        rule.hits += 1
        return _with_content(self._resolved(rule.reply, request, rule, ()), echo(request))

    def _resolved(self, reply: Reply, request: Request, rule: Rule, path: tuple[int, ...]) -> Answer:
        if isinstance(reply, Steps):
            index = min(request.step, len(reply.replies) - 1)
            return self._resolved(reply.replies[index], request, rule, (*path, index))
        if isinstance(reply, Attempts):
            index = min(rule.attempts[path], len(reply.replies) - 1)
            rule.attempts[path] += 1
            return self._resolved(reply.replies[index], request, rule, (*path, index))
        if isinstance(reply, tuple):
            return reply
        if callable(reply):
            return self._resolved(reply(request), request, rule, path)
        return (reply,)


def echo(request: Request) -> Say:
    """The default: "re: " and the last line of what the user said."""
    return Say(f"re: {request.last_user.rstrip().rpartition(chr(10))[2]}")


def _with_content(parts: Answer, spoken: Say) -> Answer:
    """Parts that say nothing by themselves get something to say; what breaks off in the middle, before it breaks."""
    if any(isinstance(part, CONTENT) for part in parts):
        return parts
    breaks = next((index for index, part in enumerate(parts) if isinstance(part, Cut | Hang | Garbage)), None)
    if breaks is None:
        return (*parts, spoken)
    if _speaks_first(parts[breaks]):
        return (*parts[:breaks], spoken, *parts[breaks:])
    return parts


def _speaks_first(part: Part) -> bool:
    match part:
        case Hang():
            return part.where == "mid_stream"
        case Cut() | Garbage():
            return part.after_deltas is not None
        case _:
            return False
