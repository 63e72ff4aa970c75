"""The Home tab: a person's conversations, with a button that goes back to each
(https://docs.slack.dev/surfaces/app-home). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bots.slack import words
from bots.slack.interactions import RESUME
from bots.slack.markup import Block, plain_text
from core.ports import Choice

_MOST: Final = 25
_LABEL: Final = 150
_VALUE: Final = 2_000
"""Characters of a button's value: https://docs.slack.dev/reference/block-kit/block-elements/button-element."""


def view(sessions: Sequence[Choice]) -> Block:
    """What somebody sees there."""
    return {"type": "home", "blocks": [_header(), *(_lines(sessions) if sessions else [_hint(words.HOME_EMPTY)])]}


def closed() -> Block:
    """What somebody sees there whom nobody hears."""
    return {"type": "home", "blocks": [_hint(words.HOME_CLOSED)]}


def _header() -> Block:
    return {"type": "header", "text": plain_text(words.HOME_TITLE)}


def _hint(text: str) -> Block:
    return {"type": "context", "elements": [plain_text(text)]}


def _lines(sessions: Sequence[Choice]) -> list[Block]:
    shown = [one for one in sessions[:_MOST] if len(one.value) <= _VALUE]
    return [_hint(words.HOME_HINT), *(_line(number, one) for number, one in enumerate(shown))]


def _line(number: int, session: Choice) -> Block:
    button: Block = {
        "type": "button",
        "action_id": f"{RESUME}{number}",
        "value": session.value,
        "text": plain_text(words.HOME_RESUME),
    }
    label = plain_text(session.label.strip()[:_LABEL] or "…")
    return {"type": "section", "text": label, "accessory": button}
