"""Entries without a store."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping

from core.store.conversations import SessionId
from core.store.entries import Entry, Json, Kind
from core.vocabulary import TurnId
from tests.flow.clock import START


class Log:
    """A session's entries as they are read back, one after the other."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._seqs = itertools.count(1)

    def add(self, kind: Kind, text: str, turn: str = "", **data: Json) -> Entry:
        stored: Mapping[str, Json] = json.loads(json.dumps(data))
        entry = Entry(
            session=SessionId("s"), seq=next(self._seqs), kind=kind, text=text, data=stored, turn=TurnId(turn or "t"),
            sender=None, at=START,
        )  # fmt: skip
        self.entries.append(entry)
        return entry

    def user(self, text: str, turn: str = "") -> Entry:
        return self.add(Kind.USER, text, turn, line="[Mon]")

    def said(self, text: str, turn: str = "") -> Entry:
        return self.add(Kind.ASSISTANT, text, turn)

    def call(self, call: str, tool: str = "current_time", turn: str = "", **data: Json) -> Entry:
        return self.add(Kind.TOOL_CALL, tool, turn, call=call, tool=tool, arguments="{}", read_only=True, **data)

    def result(self, call: str, text: str, turn: str = "", **data: Json) -> Entry:
        return self.add(Kind.TOOL_RESULT, text, turn, call=call, failed=False, **data)

    def summary(self, text: str, upto: int, turn: str = "") -> Entry:
        return self.add(Kind.COMPACTION, text, turn, upto=upto)
