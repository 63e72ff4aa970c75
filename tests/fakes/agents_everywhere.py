"""A test agent that asks, pays and sends files: `backend = "tests.fakes.agents_everywhere:make"`, `options = {journal =
FILE}`. All that it hears stands in the journal, one JSON object a line, and so does each effect of a call.

    pay A B ...   one call for each, that waits for a person's word; who was paid is said when all are answered
    hand A B ...  these files from the folder "shelf" beside the journal, as one message, and then "handed"
    hold          words, and then never an end

Anything else is repeated behind "re: ".
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from core.agents.agent import Agent, AgentEvent, AgentSpec, Allowed, Suspend, TurnContext
from core.errors import FileRefused
from core.vocabulary import CallClosed, CallOpened, TextDelta

AMOUNT: Final = 1250
CAPTION: Final = "Here they are"
SHELF: Final = "shelf"


def arguments(payee: str) -> dict[str, object]:
    """Of the call that pays somebody."""
    return {"to": payee, "cents": AMOUNT}


class EverywhereAgent:
    def __init__(self, journal: Path) -> None:
        self._journal = journal

    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        text = turn.message.text
        kind, *words = text.split()
        if not turn.answers:
            self._note({"heard": text, "files": _digests(turn)})
        if kind == "pay" and not turn.answers:
            await turn.opened([_call(payee) for payee in words])
            yield Suspend()
        elif kind == "pay":
            yield TextDelta(
                text=f"paid: {' '.join([payee for payee in words if await self._paid(turn, payee)]) or '-'}"
            )
        elif kind == "hand":
            yield TextDelta(text=await self._handed(turn, words))
        elif kind == "hold":
            yield TextDelta(text="holding on")
            await asyncio.Event().wait()
        else:
            yield TextDelta(text=f"re: {text}")

    async def _paid(self, turn: TurnContext, payee: str) -> bool:
        if not isinstance(turn.answers.get(payee), Allowed):
            return False
        self._note({"paid": payee})
        await turn.closed(CallClosed(call=payee, result="paid", failed=False))
        return True

    async def _handed(self, turn: TurnContext, names: Sequence[str]) -> str:
        try:
            await turn.desk.hand_over(names, CAPTION, [self._journal.parent / SHELF])
        except FileRefused as why:
            return f"refused: {why}"
        return "handed"

    def _note(self, what: dict[str, object]) -> None:
        """In one write, so that a kill leaves a whole line or none."""
        file = os.open(self._journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, json.dumps(what).encode() + b"\n")
        finally:
            os.close(file)


def _call(payee: str) -> CallOpened:
    return CallOpened(call=payee, tool="pay", arguments=json.dumps(arguments(payee)))


def _digests(turn: TurnContext) -> list[object]:
    """What came with the message, by its content."""
    files = turn.message.data.get("files")
    listed = files if isinstance(files, Sequence) and not isinstance(files, str) else ()
    return [one.get("frontdesk_file", one.get("digest")) for one in listed if isinstance(one, dict)]


def make(spec: AgentSpec) -> Agent:
    return EverywhereAgent(Path(str(spec.options["journal"])))
