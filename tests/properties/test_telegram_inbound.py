"""No JSON makes the reading of an update raise."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bots.telegram.inbound import Account, read, update_id
from core.vocabulary import BotName, Edit, Malformed, Message

US = Account(bot=BotName("telegram"), id=42, username="MyBot")

_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)  # lone surrogates and NUL among it
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | _TEXT
_JSON = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4))
_IDS = st.integers(0, 2**31) | st.sampled_from([42, 1087968824, 136817688, 777000])


def _or_junk(sound: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(sound, sound, sound, _JSON)


def _record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional=fields)


_USER = _or_junk(_record(id=_or_junk(_IDS), first_name=_or_junk(_TEXT), is_bot=_or_junk(st.booleans())))
_KIND = st.sampled_from(["private", "group", "supergroup", "channel"])
_CHAT = _or_junk(_record(id=_or_junk(_IDS), type=_or_junk(_KIND), title=_or_junk(_TEXT)))
_WORDS = _TEXT | st.sampled_from(["/new@mybot x", "/new@otherbot", "@mybot 🦊", "🦊 @mybot", "/x"])
_ENTITY = _or_junk(
    _record(
        type=_or_junk(st.sampled_from(["mention", "text_mention", "bot_command", "bold"])),
        offset=_or_junk(st.integers(-2, 40)),
        length=_or_junk(st.integers(-2, 40)),
        user=_USER,
    )
)
_MESSAGE = _or_junk(
    _record(
        message_id=_or_junk(_IDS),
        date=_or_junk(st.integers(0, 2**33)),
        edit_date=_or_junk(st.integers(0, 2**33)),
        chat=_CHAT,
        sender_chat=_CHAT,
        text=_or_junk(_WORDS),
        caption=_or_junk(_WORDS),
        entities=_or_junk(st.lists(_ENTITY, max_size=4)),
        caption_entities=_or_junk(st.lists(_ENTITY, max_size=4)),
        reply_to_message=_or_junk(st.fixed_dictionaries({"from": _USER})),
        **{"from": _USER},
    )
)
_UPDATE = _or_junk(_record(update_id=_or_junk(_IDS), message=_MESSAGE, edited_message=_MESSAGE))


@given(_JSON)
def test_any_json_is_read_without_raising(update: object) -> None:
    assert read(update, US) is None or update_id(update) is not None


@given(_UPDATE)
def test_whatever_is_read_has_the_updates_id_and_can_be_stored(update: object) -> None:
    inbound = read(update, US)
    if inbound is None:
        return
    assert inbound.event == str(update_id(update))
    if isinstance(inbound, Message | Edit):
        for text in (inbound.text, inbound.sender.name):
            assert "\0" not in text
            assert json.loads(json.dumps(text.encode().decode())) == text
        assert inbound.text
    else:
        assert isinstance(inbound, Malformed)
        assert inbound.reason.encode()


@given(_WORDS, st.lists(_ENTITY, max_size=4))
def test_a_foreign_command_never_reaches_us_from_a_group(words: str, entities: list[object]) -> None:
    message = {
        "message_id": 1,
        "date": 0,
        "chat": {"id": -1, "type": "group"},
        "text": f"/new@otherbot {words}",
        "entities": entities,
        "reply_to_message": {"from": {"id": 42}},
    }
    assert not isinstance(read({"update_id": 1, "message": message}, US), Message)
