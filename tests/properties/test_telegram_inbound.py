"""No JSON makes the reading of an update raise, and nothing that was said gets lost in it.

FRONTDESK_TEST_EVENTS is how many updates are tried of each kind.
"""

from __future__ import annotations

import json
import os
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from bots.telegram.addressed import Account
from bots.telegram.inbound import album_of, forum_of, read, update_id
from core.vocabulary import BotName, ChatKind, Edit, Malformed, Message, Moved, Press

EVENTS: Final = int(os.environ.get("FRONTDESK_TEST_EVENTS", "60"))
many = settings(max_examples=EVENTS, deadline=None)

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
_FILE = _or_junk(
    _record(
        file_id=_or_junk(_TEXT),
        file_name=_or_junk(_TEXT),
        mime_type=_or_junk(_TEXT),
        file_size=_or_junk(st.integers()),
        width=_or_junk(st.integers()),
        height=_or_junk(st.integers()),
        photo=_JSON,
    )
)
_MEDIA = {
    "photo": _or_junk(st.lists(_FILE, max_size=3)),
    **dict.fromkeys(("animation", "audio", "document", "live_photo", "video", "video_note", "voice"), _FILE),
}
_FLOAT = _or_junk(st.floats() | st.integers())
_PLACE = _or_junk(_record(latitude=_FLOAT, longitude=_FLOAT))
_LINES = _or_junk(st.lists(_or_junk(_record(text=_or_junk(_TEXT))), max_size=3))
_THING = {
    "sticker": _or_junk(_record(file_id=_TEXT, emoji=_or_junk(_TEXT))),
    "dice": _or_junk(_record(emoji=_or_junk(_TEXT), value=_or_junk(st.integers()))),
    "poll": _or_junk(_record(question=_or_junk(_TEXT), options=_LINES)),
    "checklist": _or_junk(_record(title=_or_junk(_TEXT), tasks=_LINES)),
    "location": _PLACE,
    "venue": _or_junk(_record(title=_or_junk(_TEXT), address=_or_junk(_TEXT), location=_PLACE)),
    "contact": _or_junk(_record(first_name=_or_junk(_TEXT), last_name=_or_junk(_TEXT), phone_number=_or_junk(_TEXT))),
    "game": _or_junk(_record(title=_or_junk(_TEXT))),
    "story": _JSON,
    "paid_media": _JSON,
}
_ORIGIN = _or_junk(
    _record(type=_or_junk(_TEXT), sender_user=_USER, sender_user_name=_or_junk(_TEXT), sender_chat=_CHAT, chat=_CHAT)
)
_TOPIC = {
    "message_thread_id": _or_junk(st.sampled_from([1, 2, 77])),
    "is_topic_message": _or_junk(st.booleans()),
}
_EARLIER = _or_junk(
    _record(message_id=_or_junk(_IDS), text=_or_junk(_TEXT), caption=_or_junk(_TEXT), sender_chat=_CHAT, **_MEDIA,
            forum_topic_created=_JSON, **{"from": _USER})
)  # fmt: skip
_REFERENCES = {
    "reply_to_message": _EARLIER,
    "forward_origin": _ORIGIN,
    "external_reply": _or_junk(_record(origin=_ORIGIN, **_MEDIA, **_THING)),
    "quote": _or_junk(_record(text=_or_junk(_TEXT))),
    "reply_to_story": _or_junk(_record(chat=_CHAT)),
}
_BESIDE = {**_MEDIA, **_THING, **_REFERENCES, **_TOPIC, "media_group_id": _or_junk(_TEXT)}
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
        migrate_to_chat_id=_JSON,
        migrate_from_chat_id=_JSON,
        **_BESIDE,
        **{"from": _USER},
    )
)
_QUERY = _or_junk(_record(id=_or_junk(_TEXT), message=_MESSAGE, data=_or_junk(_TEXT), **{"from": _USER}))
_UPDATE = _or_junk(_record(update_id=_or_junk(_IDS), message=_MESSAGE, edited_message=_MESSAGE, callback_query=_QUERY))


@many
@given(_JSON)
def test_any_json_is_read_without_raising(update: object) -> None:
    assert read(update, US) is None or update_id(update) is not None
    assert storable(album_of(update))
    assert forum_of(update) is None


@many
@given(_UPDATE)
def test_whatever_is_read_has_the_updates_id_and_can_be_stored(update: object) -> None:
    inbound = read(update, US)
    if inbound is None:
        return
    if isinstance(inbound, Moved):
        assert inbound.event == f"moved:{inbound.address.chat}:{inbound.to}"
        return
    assert inbound.event == str(update_id(update))
    if isinstance(inbound, Malformed):
        assert storable(inbound.reason)
        return
    texts = [inbound.sender.name, inbound.data, inbound.handle] if isinstance(inbound, Press) else [inbound.sender.name]
    if isinstance(inbound, Message | Edit):
        texts.append(inbound.text)
        assert inbound.text or (isinstance(inbound, Message) and inbound.attachments)
    if isinstance(inbound, Message):
        texts += [text for one in inbound.attachments for text in (one.ref, one.name, one.media_type)]
        texts += [inbound.quote.name, inbound.quote.text] if inbound.quote is not None else []
        assert inbound.quote is None or len(inbound.quote.text) <= 1000
        assert all(one.size is None or one.size > 0 for one in inbound.attachments)
    assert all(storable(text) for text in texts)


def storable(text: str) -> bool:
    """Whether every database takes it."""
    return "\0" not in text and json.loads(json.dumps(text.encode().decode())) == text


@many
@given(
    _WORDS.filter(bool),
    st.sampled_from(["text", "caption"]),
    st.fixed_dictionaries({}, optional={**_MEDIA, **_THING, "forward_origin": _ORIGIN, "quote": _JSON, **_TOPIC}),
)
def test_what_somebody_wrote_is_never_lost_whatever_comes_along(words: str, where: str, beside: dict[str, Any]) -> None:
    """In a private chat, where nothing but our own name behind a command is taken away."""
    beside.pop("message_thread_id", None)
    sender = {"id": 7, "first_name": "Ada"}
    message = {"message_id": 1, "date": 0, "chat": {"id": 7, "type": "private"}, "from": sender, where: words, **beside}
    heard = read({"update_id": 1, "message": message}, US)
    assert isinstance(heard, Message)
    assert heard.kind is ChatKind.DIRECT
    kept = "".join("\ufffd" if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in words)
    assert heard.text.startswith(kept.replace("@mybot", "", 1) if kept.startswith("/new@mybot") else kept)
    edited = read({"update_id": 2, "edited_message": message}, US)
    assert isinstance(edited, Edit)
    assert edited.text == heard.text


@many
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
