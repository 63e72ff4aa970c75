"""Named places at which a crash test ends the process, or learns that it came by: `faultpoint("turn.recorded", turn)`.

Each does nothing unless code in the same process has called `on_faultpoint`. The product never does, and no option,
variable or file can. Names are `noun.past_participle`. `.written` is inside a transaction, before its commit, and may
come by again when the transaction is run again; `.committed` is after it. A point before an action is named for what
has happened until then.
"""

from __future__ import annotations

from typing import Protocol


class Handler(Protocol):
    def __call__(self, name: str, *things: object) -> None:
        """Called at the point, on whatever thread comes by there, with the things that it is about."""


_handler: Handler | None = None


def faultpoint(name: str, *things: object) -> None:
    """`things`: what the point is about, so that a test can tell one passage from the next."""
    if _handler is not None:
        _handler(name, *things)


def on_faultpoint(handler: Handler | None) -> None:
    """For tests only: from now on the handler is called at every point of this process. None: nothing is."""
    global _handler
    _handler = handler
