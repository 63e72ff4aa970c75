"""The daemon that dies: `python -m tests.crash.victim POINT PASS ARMED run --config FILE --state DIR`.

It is the real one, with one function replaced that kills the process at POINT, the PASS-th time that something new
comes by there while the file ARMED exists. Nothing in the product knows of this.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import core.delivery.lane
import core.delivery.preview
import core.desk.owner
from bots.telegram import bot as telegram
from core.agents.cache import AgentCache
from core.cli import app
from core.delivery.lane import Lane
from core.delivery.preview import Preview
from core.desk import recovery
from core.desk.carry_out import ALL_EFFECTS
from core.desk.desk import Desk
from core.desk.intake import Accepted
from core.desk.owner import Owner
from core.desk.router import Router
from core.desk.turn import RunningTurn
from core.store import deliveries
from core.store.deliveries import Posted
from core.vocabulary import Verdict


class Trap:
    """Counts what comes by, each thing once, and kills at the PASS-th."""

    def __init__(self, armed: Path, fatal: int) -> None:
        self._armed = armed
        self._fatal = fatal
        self._seen: set[object] = set()

    def next_is_fatal(self) -> bool:
        return self._armed.exists() and len(self._seen) == self._fatal - 1

    def spring(self, thing: object = None) -> None:
        if not self._armed.exists():
            return
        self._seen.add(object() if thing is None else thing)
        if len(self._seen) >= self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)


Install = Callable[[Trap], None]
Which = Callable[..., object]
"""Of the arguments: what comes by, or False where it is none of ours."""


def _each(*_: object, **__: object) -> object:
    return None


def replace(owner: object, name: str, by: object) -> None:
    setattr(owner, name, by)


def _news(_: object, accepted: Accepted) -> object:
    """What was stored for the first time: platforms hand some over again."""
    return tuple(one.row for one in accepted.receipts if one.verdict is Verdict.ACCEPTED) or False


def before(owner: object, name: str, which: Which = _each) -> Install:
    """Killed as the function is called."""

    def install(trap: Trap) -> None:
        real = getattr(owner, name)

        def function(*args: object, **named: object) -> object:
            if (thing := which(*args, **named)) is not False:
                trap.spring(thing)
            return real(*args, **named)

        replace(owner, name, function)

    return install


def after(owner: object, name: str, which: Which = _each) -> Install:
    """Killed when the function, or what it awaits, has done its work."""

    def install(trap: Trap) -> None:
        real = getattr(owner, name)

        def function(*args: object, **named: object) -> object:
            done = real(*args, **named)
            thing = which(*args, **named)
            if thing is False:
                return done
            if asyncio.iscoroutine(done):
                return _then(done, trap, thing)
            trap.spring(thing)
            return done

        replace(owner, name, function)

    return install


async def _then(work: Awaitable[object], trap: Trap, thing: object) -> object:
    done = await work
    trap.spring(thing)
    return done


def after_effect(command: str) -> Install:
    """Killed inside the unit that carries a command out, before its commit."""

    def install(trap: Trap) -> None:
        real = ALL_EFFECTS[command]

        def effect(*args: object, **named: object) -> object:
            done = real(*args, **named)  # type: ignore[arg-type]  # handed through
            trap.spring()
            return done

        ALL_EFFECTS[command] = effect  # type: ignore[assignment]  # of the same shape

    return install


def offset_held(trap: Trap) -> None:
    """The poll that would move the offset never leaves: the process dies when what it brought has been answered."""
    real_poll, real_done = telegram._Listener._poll, Lane._done
    answered = asyncio.Event()
    offsets: list[int | None] = []

    async def poll(listener: telegram._Listener, poll_s: int) -> list[object]:
        if listener._offset is not None and listener._offset not in offsets:
            offsets.append(listener._offset)
            if trap.next_is_fatal():
                await answered.wait()
            trap.spring(listener._offset)
        return await real_poll(listener, poll_s)

    def done(lane: Lane, posted: Posted) -> None:
        real_done(lane, posted)
        if trap.next_is_fatal():
            answered.set()

    replace(telegram._Listener, "_poll", poll)
    replace(Lane, "_done", done)


def inside_migration(trap: Trap) -> None:
    from alembic import op  # slow, and needed here only

    before(op, "create_table")(trap)


def _command(name: str) -> Which:
    return lambda owner, ref, *_: ref.id if ref.command == name else False


def last(handed: tuple[object, ...]) -> Posted:
    """The part that a function was given, among whatever else."""
    return next(one for one in reversed(handed) if isinstance(one, Posted))


def _first_send(*handed: object, **_: object) -> object:
    return last(handed).id if last(handed).message is None else False


def _an_edit(*handed: object, **_: object) -> object:
    return last(handed).id if last(handed).message is not None else False


def _reply_part(number: int) -> Which:
    def which(*handed: object, **_: object) -> object:
        posted = last(handed)
        return posted.id if posted.role == deliveries.REPLY and posted.part == number else False

    return which


def _unknown_notice(*handed: object, **_: object) -> object:
    return last(handed).id if last(handed).role == deliveries.UNKNOWN_NOTICE else False


def impatient(trap: Trap) -> None:
    """Nobody dies: a poll is given up after two seconds instead of 35."""
    hasty = telegram.Patience(poll_s=1, slack_s=1.0)
    replace(telegram.TelegramBot.__init__, "__kwdefaults__", {"patience": hasty})


POINTS: Final[dict[str, Install]] = {
    "nowhere": lambda trap: None,
    "impatient": impatient,
    "intake_committed": before(Desk, "_dispatch", _news),
    "offset_held": offset_held,
    "reset_accepted": before(Owner, "command", _command("reset")),
    "inside_reset": after_effect("reset"),
    "command_carried_out": before(AgentCache, "evict"),
    "inside_resume": after_effect("resume"),
    "inside_admit": after(core.desk.owner, "admit"),
    "admitted": before(core.desk.owner, "recall"),
    "first_word": before(RunningTurn, "_hear", lambda turn, _: turn.id),
    "preview_stored": before(core.delivery.preview, "hand_over", _first_send),
    "preview_arrived": after(core.delivery.preview, "hand_over", _first_send),
    "preview_known": before(Preview, "_edit_next", id),
    "mid_stream": after(core.delivery.preview, "hand_over", _an_edit),
    "call_stored": after(RunningTurn, "opened"),
    "call_done": before(RunningTurn, "closed"),
    "result_stored": after(RunningTurn, "closed"),
    "inside_record": after(core.desk.owner, "record"),
    "recorded": before(Owner, "_let_go"),
    "between_parts": before(Lane, "_deliver", _reply_part(2)),
    "sent_unmarked": after(core.delivery.lane, "hand_over", _reply_part(1)),
    "notice_unmarked": after(core.delivery.lane, "hand_over", _unknown_notice),
    "draining": before(Router, "drain"),
    "inside_recovery": after(recovery, "take_up"),
    "inside_migration": inside_migration,
}


def main() -> None:
    point, fatal, armed, *arguments = sys.argv[1:]
    _install(point)(Trap(Path(armed), int(fatal)))
    sys.argv = ["frontdesk", *arguments]
    app.main()


def _install(point: str) -> Install:
    if point in POINTS:
        return POINTS[point]
    from tests.crash import model_points, platform_points  # build on this module

    return {**model_points.POINTS, **platform_points.POINTS}[point]


if __name__ == "__main__":
    main()
