"""Where a daemon is killed: the product's fault points, each with what is counted of the things that come by.

A point is named as in the product, and after a colon which of its things are meant: `delivery.sent:notice`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Final

from core.vocabulary import Message, Press, Receipt, TextDelta, Verdict

Which = Callable[..., Hashable | None]
"""Of the things at the point: what they are counted as, once each; None where they are not meant."""


def _each(*_: object) -> Hashable:
    """Every passage counts."""
    return object()


def _first(thing: Hashable) -> Hashable:
    """The first passage of each thing counts: a transaction may be run again."""
    return thing


def _brings(kind: type[Message] | type[Press], batch: Sequence[Message | Press]) -> Hashable | None:
    return tuple(one.event for one in batch) if any(isinstance(one, kind) for one in batch) else None


def _news(receipts: Sequence[Receipt]) -> Hashable | None:
    """What was stored for the first time: platforms hand some over again."""
    return tuple(one.row for one in receipts if one.verdict is Verdict.ACCEPTED) or None


def _command(wanted: str, name: str | None, row: int) -> Hashable | None:
    return row if name == wanted else None


def _kind(wanted: str, drafts: Sequence[Any]) -> Hashable | None:
    return object() if any(draft.kind == wanted for draft in drafts) else None


def _turn(turn: Any, _: object) -> Hashable:
    """Anything that an agent says."""
    return str(turn.id)


def _final_words(turn: Any, event: object) -> Hashable | None:
    """Words behind a call."""
    called = any(entry.kind == "tool_call" for entry in turn.entries)
    return str(turn.id) if called and isinstance(event, TextDelta) else None


def _part(role: str, number: int | None, posted: Any) -> Hashable | None:
    """`number`: None for any."""
    return int(posted.id) if posted.role == role and number in (None, posted.part) else None


def _poison(name: str) -> Hashable | None:
    return name if "poison" in name else None


def _with_files(posted: Any) -> Hashable | None:
    return int(posted.id) if posted.files else None


POINTS: Final[dict[str, Which]] = {
    # a message comes
    "inbound.received:message": partial(_brings, Message),
    "inbound.received:press": partial(_brings, Press),
    "inbox.committed": _news,
    "press.dispatched": _each,
    # with files
    "file.created": _each,
    "piece.written": _each,
    "file.synced": _each,
    "file.kept": _each,
    "attachment.fetched": _each,
    "transcription.begun": _each,
    "transcription.received": _each,
    "attachments.written": _first,
    "extraction.begun:poison": _poison,
    "admission.begun": _each,
    # commands
    "command.accepted:reset": partial(_command, "reset"),
    "command.accepted:stop": partial(_command, "stop"),
    "command.accepted:approve": partial(_command, "approve"),
    "command.written:reset": partial(_command, "reset"),
    "command.written:resume": partial(_command, "resume"),
    "command.written:stop": partial(_command, "stop"),
    "command.written:approve": partial(_command, "approve"),
    "command.committed:reset": partial(_command, "reset"),
    "command.committed:resume": partial(_command, "resume"),
    "command.committed:approve": partial(_command, "approve"),
    # a turn
    "admission.written": _first,
    "turn.admitted": _first,
    "sdk.awaited": _each,
    "request.begun": _each,
    "agent.heard": _turn,
    "agent.heard:after_call": _final_words,
    "response.completed": _each,
    "entries.written:tool_call": partial(_kind, "tool_call"),
    "tool_call.committed": _each,
    "tool_call.begun": _each,
    "tool_call.returned": _each,
    "entries.written:tool_result": partial(_kind, "tool_result"),
    "tool_result.committed": _each,
    "compaction.begun": _each,
    "entries.written:compaction": partial(_kind, "compaction"),
    "compaction.committed": _each,
    "turn.ended": _first,
    "record.written": _first,
    "turn.recorded": _first,
    "speech.received": _each,
    "voice.written": _first,
    # what it says
    "preview.committed": _first,
    "preview.sent": _first,
    "preview.identified": _first,
    "preview.edited": _first,
    "delivery.dequeued:part_2": partial(_part, "reply", 2),
    "file.uploaded": _each,
    "delivery.sent:part_1": partial(_part, "reply", 1),
    "delivery.sent:notice": partial(_part, "notice", None),
    "delivery.sent:unknown_notice": partial(_part, "unknown_notice", None),
    "delivery.sent:files": _with_files,
    # starts and ends
    "migration.written": _each,
    "schema.written": _each,
    "recovery.written": _first,
    "drain.begun": _each,
}
