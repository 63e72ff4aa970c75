"""The form that asks for what a command lacks: which conversation it is about, or what it takes
(https://docs.slack.dev/surfaces/modals). Pure; no JSON makes it raise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from bots.slack import words
from bots.slack.inbound import Account, ident
from bots.slack.interactions import Command, or_none, sender_of
from bots.slack.markup import Block, mrkdwn_text, plain_text
from core.fields import Json, Unreadable, get, opt, part
from core.people.names import storable
from core.ports import Choice
from core.vocabulary import MessageId, Sender

FORM: Final = "frontdesk_command"
"""`callback_id` of the form."""
ARGUMENT: Final = "frontdesk_argument"
"""`action_id` of the menu that completes what a command takes."""
_WHICH: Final = "frontdesk_which"
_CHAT: Final = "chat"
"""The value of the option for a chat itself."""
_METADATA: Final = 3_000
"""Characters of `private_metadata`: https://docs.slack.dev/reference/views/modal-views."""
_OPTION: Final = 75
_OPTION_VALUE: Final = 150
"""https://docs.slack.dev/reference/block-kit/composition-objects/option-object."""
_MOST_OPTIONS: Final = 100


class Question(Struct, frozen=True, kw_only=True):
    """What a command lacks. `chat`: where it is about. `threads`: those to choose from, "" for the chat itself, each
    with what it is called; none where `thread` is known. `all`: there are no others. `takes`: it takes something."""

    chat: str
    thread: str = ""
    threads: Sequence[tuple[str, str]] = ()
    all: bool = True
    takes: bool = False


class Answered(Struct, frozen=True, kw_only=True):
    """What somebody made of the form. `typed`: in the menu, as far as they are."""

    id: MessageId
    sender: Sender
    text: str
    chat: str
    thread: str
    response_url: str
    typed: str = ""


def view(command: Command, question: Question) -> Block | None:
    """The form, in which Slack keeps the command. None for one that is longer than that."""
    kept = {"text": command.text, "url": command.response_url, "chat": question.chat, "thread": question.thread}
    metadata = json.dumps(kept, ensure_ascii=False)
    if len(metadata) > _METADATA:
        return None
    blocks: list[Block] = []
    if question.threads:
        options = [_option(topic, thread or _CHAT) for thread, topic in question.threads]
        blocks.append(_input(_WHICH, words.WHICH, {"type": "static_select", "options": options}))
    if not question.all:
        blocks.append({"type": "section", "text": mrkdwn_text(words.NOT_ALL)})
    if question.takes:
        menu: Block = {"type": "external_select", "min_query_length": 0}
        asked = {**_input(ARGUMENT, words.ARGUMENT, menu), "optional": True, "hint": plain_text(words.ARGUMENT_HINT)}
        blocks.append(asked)
    return {**_modal(blocks), "submit": plain_text(words.FORM_SUBMIT), "private_metadata": metadata}


def told(text: str) -> Block:
    """A word for whoever sent the form, in its place."""
    return _modal([{"type": "section", "text": plain_text(text)}])


def options(choices: Sequence[Choice]) -> list[Block]:
    """What the menu offers."""
    fitting = [one for one in choices if len(one.value) <= _OPTION_VALUE]
    return [_option(one.label, one.value) for one in fitting[:_MOST_OPTIONS]]


@or_none
def answered(payload: Json, us: Account, names: Mapping[str, str]) -> Answered:
    """The form was sent, or its menu opened (`block_suggestion`)."""
    shown, user = get(payload, "view", dict), get(payload, "user", dict)
    try:
        kept = json.loads(get(shown, "private_metadata", str))
    except (ValueError, RecursionError):
        raise Unreadable("private_metadata is not ours") from None
    if not isinstance(kept, dict):
        raise Unreadable("private_metadata is not ours")
    which, argument = _selected(shown, _WHICH), _selected(shown, ARGUMENT)
    text = f"{get(kept, 'text', str)} {argument}" if argument else get(kept, "text", str)
    thread = get(kept, "thread", str) if not which else "" if which == _CHAT else which
    return Answered(
        id=MessageId(f"form-{ident(shown, 'id')}"),
        sender=sender_of(ident(user, "id"), opt(user, "team_id", str), us, names),
        text=storable(text),
        chat=ident(kept, "chat"),
        thread=thread,
        response_url=get(kept, "url", str),
        typed=opt(payload, "value", str) or "",
    )


def _selected(shown: Json, block: str) -> str:
    """The value of what is chosen there, "" for nothing."""
    found: Json = shown
    for name in ("state", "values", block, block, "selected_option"):
        found = part(found, name) or {}
    return opt(found, "value", str) or ""


def _modal(blocks: Sequence[Block]) -> Block:
    return {"type": "modal", "callback_id": FORM, "title": plain_text(words.FORM_TITLE), "blocks": list(blocks)}


def _input(name: str, label: str, element: Block) -> Block:
    return {"type": "input", "block_id": name, "label": plain_text(label), "element": {**element, "action_id": name}}


def _option(label: str, value: str) -> Block:
    return {"text": plain_text(label.strip()[:_OPTION] or "…"), "value": value}
