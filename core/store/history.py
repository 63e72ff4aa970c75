"""Two views of one log: what the model is shown and what people see. Pure folds; the log never changes."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from core.people.names import file_name
from core.store.entries import Entry, Json, Kind

CLOSED_BY_KILL = "Interrupted: Frontdesk was stopped before this call's result was known."
NOT_ANSWERED = "Not answered: the conversation went on before this call was allowed or carried out."
EXPIRED = "Not allowed: nobody answered in time, so this call was not made."
DENIED = "Denied: the person does not want this call to be made."
FAILED = "Not known: the turn failed before this call's result was there."
STOPPED = "Stopped by the person before the result was known."
_BRACKETS = "[［﹇"
"""What Unicode's compatibility forms (NFKC) make a square bracket of."""
_MARK = re.compile(r"\[(\d{4}-?\d\d|contentof|endof)", re.IGNORECASE)
"""How a mark of `render`'s begins, without its spaces."""
_MARK_CHARS = 12


def mark_target(mark: Entry) -> int:
    """A rewind takes away the entries from this seq up to itself."""
    target = mark.data.get("to")
    if not isinstance(target, int):
        raise TypeError(f"rewind mark {mark.seq} of session {mark.session} has no target")
    return target


def for_model(log: Iterable[Entry]) -> list[Entry]:
    """What the model is shown: rewound entries are gone, a clear mark takes all before it, a compaction stands for all
    up to its target, and notices were never there. A rewind to before that target takes the compaction back too."""
    shown: list[Entry] = []
    for entry in log:
        match entry.kind:
            case Kind.NOTICE:
                pass
            case Kind.REWIND:
                target = mark_target(entry)
                shown = [kept for kept in shown if _last_meant(kept) < target]
            case Kind.CLEAR:
                shown = []
            case Kind.USER | Kind.ASSISTANT | Kind.TOOL_CALL | Kind.TOOL_RESULT | Kind.COMPACTION:
                shown.append(entry)
    return compacted(shown)


def compacted(shown: Sequence[Entry]) -> list[Entry]:
    """The last compaction in place of all that it stands for."""
    summary = next((entry for entry in reversed(shown) if entry.kind is Kind.COMPACTION), None)
    if summary is None:
        return list(shown)
    upto = _last_meant(summary)
    return [summary, *(entry for entry in shown if entry.seq > upto and entry.kind is not Kind.COMPACTION)]


def _last_meant(entry: Entry) -> int:
    """The seq of the last entry that it speaks of: a compaction's target, else its own."""
    if entry.kind is not Kind.COMPACTION:
        return entry.seq
    upto = entry.data.get("upto")
    if not isinstance(upto, int):
        raise TypeError(f"compaction {entry.seq} of session {entry.session} has no target")
    return upto


def for_people(log: Iterable[Entry]) -> list[Entry]:
    """What people see: what was taken back is gone, a clear or a compaction hides nothing, marks themselves don't
    show."""
    seen: list[Entry] = []
    for entry in log:
        if entry.kind is Kind.REWIND:
            target = mark_target(entry)
            seen = [kept for kept in seen if kept.seq < target or kept.kind is Kind.NOTICE]
        elif entry.kind not in (Kind.CLEAR, Kind.COMPACTION):
            seen.append(entry)
    return seen


def open_calls(log: Sequence[Entry]) -> list[Entry]:
    """Tool calls that have no result yet, in order. A provider may use an id again: as many calls of one id are closed
    as there are results."""
    results = Counter(entry.data.get("call") for entry in log if entry.kind is Kind.TOOL_RESULT)
    left = []
    for call in (entry for entry in log if entry.kind is Kind.TOOL_CALL):
        name = call.data.get("call")
        if results[name] > 0:
            results[name] -= 1
        else:
            left.append(call)
    return left


def last_user(log: Sequence[Entry], back: int = 1) -> Entry | None:
    """The `back`-th user entry from the end of the model's view; None if there are fewer."""
    spoken = [entry for entry in for_model(log) if entry.kind is Kind.USER]
    return spoken[-back] if 0 < back <= len(spoken) else None


def render(entry: Entry) -> str:
    """A user's entry as the model reads it: the stored line of time and sender, then the text, and what stands in files
    that came with it. Every line that a person wrote and that looks like one of these marks has a backslash before it:
    nobody else's words can be put into a message."""
    line, files = entry.data.get("line"), entry.data.get("files")
    text = without_marks(entry.text)
    said = f"{line}\n{text}" if isinstance(line, str) and line else text
    if not isinstance(files, Sequence) or isinstance(files, str):
        return said
    return said + "".join(_content(file) for file in files)


def without_marks(text: str) -> str:
    """The text, with a backslash before each line that begins like a mark of `render`'s, whatever invisible or wide
    characters it is made of."""
    if not any(bracket in text for bracket in _BRACKETS):
        return text
    return "".join("\\" + line if _is_mark(line) else line for line in text.splitlines(keepends=True))


def _is_mark(line: str) -> bool:
    if not any(bracket in line for bracket in _BRACKETS):
        return False
    visible = islice((c for c in line if c.isprintable() and not c.isspace()), _MARK_CHARS)
    return _MARK.match(unicodedata.normalize("NFKC", "".join(visible))) is not None


def _content(file: Json) -> str:
    match file:
        case {"kind": "file", "is": "file", "name": str(name), "text": str(text)}:
            shown = file_name(name.replace("[", "(").replace("]", ")")) or "the file"
            return f"\n\n[content of {shown}]\n{without_marks(text)}\n[end of {shown}]"
        case _:
            return ""
