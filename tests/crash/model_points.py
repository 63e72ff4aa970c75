"""Where the daemon dies on a model's way: more points for `tests.crash.victim`. What needs an SDK is imported there."""

from __future__ import annotations

import sys
import threading
from collections.abc import Coroutine, Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Final

import core.delivery.lane
from core.agents.agent import AgentEvent
from core.agents.backend import ModelBackend
from core.desk.owner import Owner
from core.desk.turn import RunningTurn
from core.store import deliveries, entries
from core.store.entries import Draft, Kind
from core.vocabulary import TextDelta
from tests.crash.victim import Install, Trap, Which, _command, after, after_effect, before, last, replace

SDK: Final = "openai"
"""Imported in the middle of all that a model needs."""
PATIENCE_S: Final = 30.0


class _Door(MetaPathFinder):
    """Whoever imports the SDK waits here for the first turn that needs it, and dies."""

    def __init__(self, trap: Trap, asked: threading.Event) -> None:
        self._trap = trap
        self._asked = asked

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name == SDK and self._trap.next_is_fatal():
            self._asked.wait(PATIENCE_S)
            self._trap.spring()


def sdk_loading(trap: Trap) -> None:
    """Killed with the SDK half imported and a turn that waits for it."""
    asked = threading.Event()
    real = ModelBackend.engine

    def engine(backend: ModelBackend) -> Coroutine[object, object, object]:
        asked.set()
        return real(backend)

    replace(ModelBackend, "engine", engine)
    sys.meta_path.insert(0, _Door(trap, asked))


def _asking(trap: Trap) -> None:
    from core.agents.asking import Asking

    before(Asking, "_ask")(trap)


def _summing_up(trap: Trap) -> None:
    from core.agents import compaction

    before(compaction, "sum_up")(trap)


def _calling(trap: Trap) -> None:
    from core.agents.tool_server import ToolServer

    before(ToolServer, "call")(trap)


def _drafts(kind: Kind) -> Which:
    """Inside the unit that stores such an entry, before its commit."""

    def which(_tx: object, _session: object, drafts: Sequence[Draft], _at: object) -> object:
        return None if any(draft.kind is kind for draft in drafts) else False

    return which


def _final_words(turn: RunningTurn, event: AgentEvent) -> object:
    """Words behind a call."""
    return turn.id if turn._scribe.called and isinstance(event, TextDelta) else False


def _notice(*handed: object, **_: object) -> object:
    return last(handed).id if last(handed).role == deliveries.NOTICE else False


POINTS: Final[dict[str, Install]] = {
    "sdk_loading": sdk_loading,
    "asking": _asking,
    "response_over": before(RunningTurn, "opened"),
    "inside_calls": after(entries, "append", _drafts(Kind.TOOL_CALL)),
    "calling": _calling,
    "inside_result": after(entries, "append", _drafts(Kind.TOOL_RESULT)),
    "final_words": before(RunningTurn, "_hear", _final_words),
    "turn_over": before(Owner, "close"),
    "approve_accepted": before(Owner, "command", _command("approve")),
    "inside_approve": after_effect("approve"),
    "approve_carried_out": after(Owner, "command", _command("approve")),
    "summing_up": _summing_up,
    "inside_compaction": after(entries, "append", _drafts(Kind.COMPACTION)),
    "compacted": after(RunningTurn, "compacted"),
    "notice_sent": after(core.delivery.lane, "hand_over", _notice),
    "compact_carried_out": after(Owner, "close_compacting"),
}
