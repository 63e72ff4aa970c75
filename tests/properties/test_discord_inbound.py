"""No JSON makes the reading of an event raise, and nothing that was said gets lost in it.

FRONTDESK_TEST_EVENTS is how many events are tried of each kind.
"""

from __future__ import annotations

import os
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from bots.discord import files, inbound, interactions
from bots.discord.inbound import Scene, Us
from bots.discord.places import Place, Places
from core.ports import CommandHelp
from core.vocabulary import BotName, ChatKind, Edit, Malformed, Message

EVENTS: Final = int(os.environ.get("FRONTDESK_TEST_EVENTS", "60"))
many = settings(max_examples=EVENTS, deadline=None)

US: Final = Us(bot=BotName("discord"), id="42", name="Desk", application="43")
COMMANDS: Final = {"status": CommandHelp(name="status", summary="", private=True)}

_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)  # lone surrogates and NUL among it
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | _TEXT
_JSON = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4))
_IDS = st.sampled_from(["42", "7", "1576146729269460993", str(2**64 - 1)])


def _or_junk(sound: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(sound, sound, sound, _JSON)


def _record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional=fields)


_WORDS = _TEXT | st.sampled_from(
    ["<@42> hello", "hello <@!42>", "<@&7> <#7> <:x:7> <t:1:R> </a b:7>", "`<@42>`", "x" * 2000]
)
_USER = _or_junk(
    _record(
        id=_or_junk(_IDS),
        username=_or_junk(_TEXT),
        global_name=_or_junk(_TEXT),
        bot=_or_junk(st.booleans()),
        member=_or_junk(_record(nick=_or_junk(_TEXT))),
    )
)
_FILE = _or_junk(
    _record(
        id=_or_junk(_IDS),
        filename=_or_junk(_TEXT),
        content_type=_or_junk(st.sampled_from(["image/png", "audio/ogg; x=1", "text/plain"])),
        size=_or_junk(st.integers()),
        url=_or_junk(_TEXT),
    )
)
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "id": _or_junk(_IDS),
    "channel_id": _or_junk(_IDS),
    "guild_id": _or_junk(_IDS),
    "type": _or_junk(st.sampled_from([0, 19, 21])),
    "content": _or_junk(_WORDS),
    "author": _USER,
    "member": _or_junk(_record(nick=_or_junk(_TEXT))),
    "mentions": _or_junk(st.lists(_USER, max_size=3)),
    "mention_roles": _or_junk(st.lists(_or_junk(_IDS), max_size=2)),
    "attachments": _or_junk(st.lists(_FILE, max_size=2)),
    "sticker_items": _or_junk(st.lists(_or_junk(_record(name=_or_junk(_TEXT))), max_size=2)),
    "poll": _or_junk(_record(question=_or_junk(_record(text=_or_junk(_TEXT))), answers=_or_junk(st.lists(_JSON)))),
    "flags": _or_junk(st.integers()),
    "webhook_id": _or_junk(_IDS),
    "edited_timestamp": _or_junk(
        st.sampled_from(["2026-01-01T00:00:00+00:00", "2026-01-01", "0001-01-01T00:00:00+09:00"])
    ),
    "message_reference": _or_junk(_record(type=_or_junk(st.sampled_from([0, 1])), channel_id=_or_junk(_IDS))),
}
_PLAIN_MESSAGE = _or_junk(_record(**_FIELDS))
_SNAPSHOT = _or_junk(_record(message=_PLAIN_MESSAGE))
_MESSAGE = _or_junk(
    _record(**_FIELDS, referenced_message=_PLAIN_MESSAGE, message_snapshots=_or_junk(st.lists(_SNAPSHOT, max_size=2)))
)
_OPTION = _or_junk(_record(name=_or_junk(_TEXT), value=_SCALARS, focused=_or_junk(st.booleans())))
_DATA = _or_junk(
    _record(
        name=_or_junk(st.sampled_from(["status", "reset", "Ask about this"])),
        type=_or_junk(st.sampled_from([1, 2, 3])),
        custom_id=_or_junk(st.sampled_from(["fd:Y1", "fd-ask:1/2", "other"])),
        options=_or_junk(st.lists(_OPTION, max_size=2)),
        target_id=_or_junk(_IDS),
        resolved=_or_junk(_record(messages=_or_junk(st.dictionaries(_IDS, _PLAIN_MESSAGE, max_size=2)))),
        components=_or_junk(
            st.lists(_or_junk(_record(components=_or_junk(st.lists(_OPTION, max_size=2)), component=_OPTION)))
        ),
    )
)
_INTERACTION = _or_junk(
    _record(
        id=_or_junk(_IDS),
        token=_or_junk(_TEXT),
        type=_or_junk(st.sampled_from([1, 2, 3, 4, 5])),
        channel_id=_or_junk(_IDS),
        channel=_or_junk(_record(id=_or_junk(_IDS), type=_or_junk(st.integers(0, 16)), parent_id=_or_junk(_IDS))),
        guild_id=_or_junk(_IDS),
        data=_DATA,
        user=_USER,
        member=_or_junk(_record(user=_USER, nick=_or_junk(_TEXT))),
        message=_PLAIN_MESSAGE,
    )
)
_PLACE = st.builds(
    Place,
    id=_IDS,
    type=st.integers(0, 16),
    guild=st.none() | _IDS,
    parent=st.none() | _IDS,
    parent_type=st.none() | st.integers(0, 16),
    name=st.text(max_size=5),
)


def _scene(place: Place, each_question: bool = False) -> Scene:
    places = Places()
    role = {"id": "7", "name": "helpers", "permissions": "8", "tags": {"bot_id": "42"}}
    places.note(
        "GUILD_CREATE",
        {"id": place.guild or "1", "name": "Team", "roles": [role], "channels": [{"id": "7", "type": 0}]},
    )
    return Scene(place=place, places=places, auto_thread=each_question)


@many
@given(_MESSAGE, _PLACE, st.booleans())
def test_no_message_makes_the_reading_raise(data: Any, place: Place, each_question: bool) -> None:
    scene = _scene(place, each_question)
    for read in (inbound.message(data, US, scene), inbound.edit(data, US, scene)):
        assert read is None or isinstance(read, Message | Edit | Malformed)
        if isinstance(read, Message | Edit):
            read.text.encode()
            read.sender.name.encode()
            assert read.sender.user != US.id
            assert read.address.bot == US.bot
        if isinstance(read, Message):
            assert read.text or read.attachments
            assert read.addressed or read.kind is not ChatKind.DIRECT
            assert all(files.holder(one.ref) is not None for one in read.attachments)
            assert read.sent_at.tzinfo is not None
        if isinstance(read, Malformed):
            assert read.event and read.reason


@many
@given(_MESSAGE, _PLACE)
def test_the_same_message_always_reads_the_same(data: Any, place: Place) -> None:
    assert inbound.message(data, US, _scene(place)) == inbound.message(data, US, _scene(place))


@many
@given(_INTERACTION, _PLACE, st.none() | _PLAIN_MESSAGE)
def test_no_interaction_makes_the_reading_raise(data: Any, place: Place, target: Any) -> None:
    scene = _scene(place)
    use = interactions.read(data, US, scene, COMMANDS)
    if isinstance(use, interactions.Said):
        use.message.text.encode()
        assert use.message.address.reply_to == use.message.message == use.token.interaction
        assert use.token.secret not in repr(use.token) or not use.token.secret
    if isinstance(use, interactions.Pressed):
        assert use.press.data == "Y1"
    if interactions.asked_about(data) is not None:
        said = interactions.submitted(data, US, scene, target if isinstance(target, dict) else None)
        assert said is None or said.message.addressed
    interactions.channel_of(data)
    inbound.channel_of(data)


@many
@given(st.sampled_from(sorted(Places().events)), _or_junk(_INTERACTION), st.lists(_JSON, max_size=3))
def test_no_event_about_places_makes_it_raise(event: str, data: Any, more: list[Any]) -> None:
    places = Places()
    for one in (
        data,
        *more,
        {"id": "1", "channels": more, "roles": more, "threads": more},
        {"guild_id": "1", "role": data},
    ):
        places.note(event, one)
    places.permissions("7", "1", ["1"])
    assert places.upload_bytes("7") > 0


@many
@given(_TEXT, _MESSAGE)
def test_no_reference_to_a_file_makes_it_raise(ref: str, message: Any) -> None:
    for one in (ref, "1/2/7", "1/2/42"):
        files.holder(one)
        url = files.file_address(one, message)
        assert url is None or isinstance(url, str)
