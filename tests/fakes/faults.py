"""Faults that a test orders of a platform's double: wrong answers, lost connections, silence."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answer with this instead of processing the call."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Drop:
    """Cut the connection without an answer, after processing the call (`applied`) or instead of it."""

    applied: bool


@dataclass(frozen=True, kw_only=True)
class Delay:
    """Answer late: after `seconds` of the server's clock, or when released. `applied`: process the call at once."""

    seconds: float | None
    applied: bool


@dataclass(frozen=True, kw_only=True)
class Hang:
    """Keep the connection and never answer (a half-open connection)."""

    applied: bool


Effect: TypeAlias = Answer | Drop | Delay | Hang


@dataclass
class Fault:
    """A fault in force. `hits` counts the calls it met."""

    method: str
    """The platform's name of it, or "*"."""
    effect: Effect
    on_change: Callable[[], None]
    place: object = None
    """The chat or channel, as calls name it. None: everywhere."""
    count: int | None = 1
    """How many calls it hits. None: all."""
    after: int = 0
    """How many pass before."""
    hits: int = 0
    released: threading.Event = field(default_factory=threading.Event)

    def release(self) -> None:
        """Lets what is delayed or hanging go on: a delayed call is answered, a hanging one is cut off."""
        self.released.set()
        self.on_change()

    def cancel(self) -> None:
        """No further call is hit."""
        self.count = self.hits


class FaultBook:
    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        self._faults.append(fault)
        return fault

    def take(self, method: str, place: object) -> Fault | None:
        """The fault that hits this call, if any: the oldest that fits and is not used up."""
        for fault in self._faults:
            fits = fault.method.lower() in {"*", method.lower()} and fault.place in (None, place)
            if not fits or (fault.count is not None and fault.hits >= fault.count):
                continue
            if fault.after > 0:
                fault.after -= 1
                continue
            fault.hits += 1
            return fault
        return None

    def clear(self) -> None:
        """Takes every fault away and releases what it holds."""
        for fault in self._faults:
            fault.cancel()
            fault.release()
        self._faults.clear()
