"""No JSON makes the reading of what Slack hands over raise."""

from __future__ import annotations

import json
import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bots.slack import forms, inbound, interactions, settling, threads
from bots.slack.inbound import Account
from core.vocabulary import Address, BotName, ChatId, ChatKind, Delivery, DeliveryId, Edit, Malformed, Message

EXAMPLES = int(os.environ.get("FRONTDESK_TEST_EVENTS", "60"))
US = Account(bot=BotName("slack"), team="T1", user="U1", bot_id="B1", name="frontdesk", app="A1")
NAMES = {"U2": "Ann"}
READS = (interactions.command, interactions.choice, interactions.pressed, interactions.asked)
DELIVERY = Delivery(
    id=DeliveryId(1), address=Address(bot=US.bot, chat=ChatId("C1")), kind=ChatKind.GROUP, text=""
)  # fmt: skip

_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)  # lone surrogates and NUL among it
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | _TEXT
_JSON = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4))
_TS = st.sampled_from(["1700000000.000100", "0.0", "99999999999.999999", "1", "x"])
_ID = st.sampled_from(["U1", "U2", "C1", "D1", "T1", "B1", "A1", "F1", "", "U 1"])
_WORDS = _TEXT | st.sampled_from(["<@U1> hi", "<@U2|x>", "<!here>", "<https://x|y>", "<", "<|>", "<@>", "<!date^1^x|>"])


def _or_junk(sound: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(sound, sound, sound, _JSON)


def _record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional={name: _or_junk(field) for name, field in fields.items()})


_FILE = _record(id=_ID, name=_WORDS, mimetype=_WORDS, size=st.integers(), mode=_WORDS, is_external=st.booleans())
_SHARED = _record(is_share=st.booleans(), author_name=_WORDS, text=_WORDS)
_SAID: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(["message", "app_mention"]),
    "subtype": st.sampled_from(["file_share", "message_changed", "bot_message", "channel_join"]),
    "channel": _ID, "channel_type": st.sampled_from(["im", "channel", "group", "mpim"]), "user": _ID, "ts": _TS,
    "thread_ts": _TS, "text": _WORDS, "bot_id": _ID, "app_id": _ID, "username": _WORDS, "team": _ID, "user_team": _ID,
    "bot_profile": _record(name=_WORDS, app_id=_ID), "files": st.lists(_or_junk(_FILE), max_size=3),
    "attachments": st.lists(_or_junk(_SHARED), max_size=3), "edited": _record(ts=_TS),
}  # fmt: skip
_EVENT = _record(**_SAID, message=_record(**_SAID), previous_message=_record(**_SAID))
_PAYLOAD = _or_junk(_record(event=_EVENT, event_id=st.sampled_from(["Ev1", "x y"]), team_id=_ID, api_app_id=_ID))
_USER = _record(id=_ID, name=_WORDS, team_id=_ID)
_ACTION = _record(
    action_id=st.sampled_from(["fd:X", "fdt:1", "fdr:2", "other"]), block_id=_WORDS, value=_WORDS, action_ts=_TS
)
_METADATA = _record(text=_WORDS, url=_WORDS, chat=_ID, thread=_TS).map(json.dumps) | _WORDS
_PICKED = _record(selected_option=_record(value=_WORDS))
_STATE = _record(
    values=_record(
        frontdesk_which=_record(frontdesk_which=_PICKED), frontdesk_argument=_record(frontdesk_argument=_PICKED)
    )
)
_INTERACTION = _record(
    type=st.sampled_from(["block_actions", "message_action"]), callback_id=st.just("frontdesk_ask"), user=_USER,
    actions=st.lists(_or_junk(_ACTION), max_size=2), container=_record(channel_id=_ID, message_ts=_TS, thread_ts=_TS),
    message=_record(**_SAID, blocks=st.lists(_JSON, max_size=2)), channel=_record(id=_ID), action_ts=_TS,
    response_url=_WORDS, trigger_id=_WORDS, channel_id=_ID, user_id=_ID, team_id=_ID, text=_WORDS,
    team=_record(id=_ID), view=_record(bot_id=_ID, id=_ID, private_metadata=_METADATA, state=_STATE),
)  # fmt: skip


@given(_JSON)
@settings(max_examples=EXAMPLES, deadline=None)
def test_any_json_is_read(payload: Any) -> None:
    inbound.read(payload, US, NAMES)
    if isinstance(payload, dict):
        inbound.is_ours(payload, US)
        inbound.people(payload)
        inbound.account(US.bot, payload)
        for read in READS:
            read(payload, US, NAMES)
        forms.answered(payload, US, {})
        interactions.people(payload)
        interactions.is_about_own(payload, US)
        settling.holds(DELIVERY)(payload)
        settling.shares("F1")(payload)
        threads.quoted([payload], US, NAMES)


@given(_PAYLOAD)
@settings(max_examples=EXAMPLES, deadline=None)
def test_whatever_resembles_an_event_is_read_and_can_be_stored(payload: Any) -> None:
    event = inbound.event_of(payload)
    inbound.people(event)
    said = inbound.read(payload, US, NAMES)
    assert said is None or isinstance(said, Message | Edit | Malformed)
    if isinstance(said, Message | Edit):
        said.text.encode()
        said.sender.name.encode()
        assert said.sender.user != "U1"
        assert said.sender.realm
    if isinstance(said, Message):
        json.dumps([attachment.name for attachment in said.attachments]).encode()
        assert said.text.strip() or said.attachments
        assert said.message == said.event.rpartition(":")[2]


@given(_INTERACTION)
@settings(max_examples=EXAMPLES, deadline=None)
def test_whatever_resembles_an_interaction_is_read(payload: Any) -> None:
    interactions.people(payload)
    interactions.is_about_own(payload, US)
    for read in READS:
        read(payload, US, NAMES)
    answered = forms.answered(payload, US, {})
    if answered is not None:
        answered.text.encode()
    command = interactions.command(payload, US, NAMES)
    if command is not None:
        assert command.text.startswith("/")
        command.text.encode()
        assert command.name == command.name.lower()


@given(_SAID["text"], st.dictionaries(_ID, _TEXT, max_size=3))
@settings(max_examples=EXAMPLES, deadline=None)
def test_both_events_of_a_message_read_alike_in_either_order(text: str, names: dict[str, str]) -> None:
    said = {"channel": "C1", "user": "U2", "ts": "1700000000.000100", "text": f"<@U1> {text}"}
    plain = {"event_id": "Ev1", "event": {**said, "type": "message", "channel_type": "channel"}}
    mention = {"event_id": "Ev2", "event": {**said, "type": "app_mention"}}
    assert inbound.read(plain, US, names) == inbound.read(mention, US, names)
