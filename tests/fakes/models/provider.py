"""What a running double knows: its key, its script, its gates, and the record. Used under its lock, from any thread."""

import dataclasses
import threading
from collections.abc import Callable
from typing import TypedDict, Unpack

from tests.fakes.models.record import Outcome, Request
from tests.fakes.models.script import Script


class RequestChanges(TypedDict, total=False):
    """What becomes known of a request after it arrived."""

    status: int
    error: str
    outcome: Outcome
    deltas: int


class Latch:
    """A gate in a script: answers wait at it until it is set. Thread-safe."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._event = threading.Event()
        self._on_change = on_change
        self.waiting = 0

    def set(self) -> None:
        """Lets everyone through who waits here or comes later."""
        self._event.set()
        self._on_change()

    def clear(self) -> None:
        """Who comes from now on waits."""
        self._event.clear()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()


class Provider:
    """The state behind the HTTP side and the control surface."""

    def __init__(self, key: str, context_tokens: int | None, models: tuple[str, ...] | None) -> None:
        self.lock = threading.RLock()
        self.key = key
        self.context_tokens = context_tokens
        self.models = models
        self.script = Script()
        self.requests: list[Request] = []
        self.connections = 0
        self.open_streams = 0
        self.in_flight = 0
        self.connections_held = False
        self._latches: dict[str, Latch] = {}
        self._listeners: list[Callable[[], None]] = []

    def latch(self, name: str) -> Latch:
        with self.lock:
            if name not in self._latches:
                self._latches[name] = Latch(self.changed)
            return self._latches[name]

    def record(self, request: Request) -> None:
        """Under the lock. The request's number is one more than the number of those before."""
        self.requests.append(request)

    def note(self, number: int, **changes: Unpack[RequestChanges]) -> None:
        """Adds to the record. An outcome, once it is known, stays."""
        with self.lock:
            request = self.requests[number - 1]
            if request.outcome != "open":
                changes.pop("outcome", None)
            self.requests[number - 1] = dataclasses.replace(request, **changes)
        self.changed()

    def note_open_as_cut(self) -> None:
        """Before the connections of all requests that are open are cut."""
        with self.lock:
            for number in [request.number for request in self.requests if request.outcome == "open"]:
                self.note(number, outcome="cut")

    def listen(self, wake: Callable[[], None]) -> None:
        """`wake` is called after every change, on the thread that made it."""
        with self.lock:
            self._listeners.append(wake)

    def unlisten(self, wake: Callable[[], None]) -> None:
        with self.lock:
            self._listeners.remove(wake)

    def changed(self) -> None:
        with self.lock:
            listeners = tuple(self._listeners)
        for wake in listeners:
            wake()
