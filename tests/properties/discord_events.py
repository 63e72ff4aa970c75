"""What the gateway dispatches, as https://docs.discord.com/developers/resources/message and
/developers/interactions/receiving-and-responding describe it: messages of every type, changes, and interactions."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from tests.properties.spoiling import TEXT

US, APPLICATION = "42", "43"
AGAIN: Final = 20
"""Messages up to this id come again, are changed and replied to."""
GUILD: Final[dict[str, Any]] = {
    "id": "900", "name": "Team", "owner_id": "1",
    "roles": [{"id": "900", "name": "@everyone", "permissions": "0"},
              {"id": "901", "name": "Desk", "permissions": "0", "tags": {"bot_id": US}}],
    "channels": [{"id": "100", "type": 0, "name": "general"}, {"id": "101", "type": 15, "name": "ideas"},
                 {"id": "102", "type": 2, "name": "voice"}, {"id": "103", "type": 5, "name": "news"}],
    "threads": [{"id": "110", "type": 11, "parent_id": "100", "name": "t"},
                {"id": "111", "type": 11, "parent_id": "101", "name": "A post"},
                {"id": "112", "type": 12, "parent_id": "100", "name": "private"}],
}  # fmt: skip
PLACES: Final = ("7", "8", "100", "101", "102", "103", "110", "111", "112")
"""Direct chats, then the channels and threads of the server."""

_IDS = st.one_of(*[st.integers(AGAIN + 1, 10**6)] * 3, st.integers(1, AGAIN)).map(str)
_TOKENS = st.one_of(*[st.text("abcXYZ019-_", min_size=9, max_size=30)] * 3, TEXT)
_PEOPLE = st.sampled_from([{"id": "7", "username": "ada", "global_name": "Ada"}, {"id": "8", "username": "bob"},
                           {"id": "1", "username": "own"}])  # fmt: skip
_OTHERS = st.sampled_from([{"id": US, "username": "desk", "bot": True}, {"id": "99", "username": "b", "bot": True}])
_USERS = st.one_of(_PEOPLE, _PEOPLE, _PEOPLE, _OTHERS)
_WORDS = TEXT | st.sampled_from(
    ["hello", f"<@{US}> hello", f"hello <@!{US}>", "<@&901> hi", "<@&900> <#100> <:x:7> <t:1:R> </a b:7>", "@everyone",
     f"<@{US}> /reset", "/status", "/stop", "x" * 2000, " ", "```py\nx", "||s||", "/title x", "/forget", "/undo 2"]
)  # fmt: skip
_FILES = st.sampled_from(
    [{"id": "5", "filename": "a.png", "content_type": "image/png", "size": 9, "url": "https://cdn.example/a"},
     {"id": "6", "filename": "v.ogg", "content_type": "audio/ogg", "size": 9, "duration_secs": 2.5, "waveform": "x"},
     {"id": "7", "filename": "x", "size": 2**40, "url": ""}]
)  # fmt: skip
_EMBEDS = st.just([{"type": "rich", "title": "x", "fields": [{"name": "a", "value": "b"}]}])
_PARTS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "attachments": st.lists(_FILES, max_size=2), "embeds": _EMBEDS, "webhook_id": st.just("77"), "tts": st.booleans(),
    "sticker_items": st.just([{"id": "3", "name": "fox", "format_type": 1}]), "flags": st.integers(0, 2**15),
    "poll": st.just({"question": {"text": "Why?"}, "answers": [{"answer_id": 1, "poll_media": {"text": "a"}}]}),
    "mentions": st.lists(_USERS, max_size=2), "mention_roles": st.just(["901"]), "mention_everyone": st.booleans(),
    "components": st.just([{"type": 1, "components": [{"type": 2, "custom_id": "x"}]}]), "nonce": TEXT,
    "member": st.fixed_dictionaries({"nick": TEXT, "roles": st.just(["901"])}), "interaction_metadata": st.just({}),
    "edited_timestamp": st.sampled_from(["2026-01-01T00:00:00+00:00", None]), "pinned": st.booleans(),
    "call": st.just({"participants": []}), "activity": st.just({"type": 1}), "thread": st.just({"id": "110"}),
    "message_reference": st.sampled_from([{"type": 0, "message_id": "3", "channel_id": "100"},
                                          {"type": 1, "message_id": "3", "channel_id": "100"}]),
    "message_snapshots": st.just([{"message": {"content": "handed on", "attachments": [], "type": 0}}]),
    "role_subscription_data": st.just({"tier_name": "x"}), "position": st.integers(0, 9),
}  # fmt: skip


@st.composite
def messages(draw: st.DrawFn, place: str | None = None) -> dict[str, Any]:
    where = place or draw(st.sampled_from(PLACES))
    kind = draw(st.sampled_from([0] * 8 + [19, 19, 18, 20, 21, 23, 6, 7, 8, 24, 46]))
    said = {"id": draw(_IDS), "channel_id": where, "type": kind, "content": draw(_WORDS), "author": draw(_USERS)}
    if len(where) > 1:
        said["guild_id"] = GUILD["id"]
    for _ in range(draw(st.sampled_from([0, 0, 1, 2, 4]))):
        name = draw(st.sampled_from(sorted(_PARTS)))
        said[name] = draw(_PARTS[name])
    if kind == 19:
        said["referenced_message"] = draw(
            st.none() | st.builds(lambda user, text: {"id": "9", "author": user, "content": text}, _USERS, _WORDS)
        )
    return said


_ASKED: Final = {"type": 4, "custom_id": "question", "value": "why?"}
_FORMS: Final[tuple[list[dict[str, Any]], ...]] = (
    [{"type": 1, "components": [_ASKED]}], [{"type": 18, "component": _ASKED}], [],
    [{"type": 10, "content": "text"}, {"type": 18, "component": {"type": 3, "custom_id": "s", "values": ["a"]}}],
)  # fmt: skip
"""In rows as older clients send them, in labels as newer ones do: https://docs.discord.com/developers/components/reference."""


@st.composite
def interactions(draw: st.DrawFn) -> dict[str, Any]:
    where = draw(st.sampled_from(PLACES))
    kind = draw(st.sampled_from([2, 2, 2, 3, 3, 4, 5, 1]))
    user = draw(_USERS)
    made = {"id": draw(_IDS), "application_id": APPLICATION, "type": kind, "token": draw(_TOKENS), "version": 1,
            "channel_id": where, "channel": {"id": where, "type": 1 if len(where) == 1 else 0}}  # fmt: skip
    made |= {"user": user} if len(where) == 1 else {"guild_id": GUILD["id"], "member": {"user": user, "nick": "N"}}
    target = draw(messages(where))
    form = f"fd-ask:{where}/{target['id']}"
    made["data"] = draw(
        {
            1: st.just({}),
            2: st.sampled_from(
                [{"type": 1, "name": "status"}, {"type": 3, "name": "Ask", "target_id": target["id"],
                                                 "resolved": {"messages": {target["id"]: target}}},
                 {"type": 1, "name": "resume", "options": [{"name": "which", "type": 3, "value": "1"}]},
                 {"type": 1, "name": "reset", "options": [{"name": "text", "type": 3, "value": "\u202ehi"}]},
                 {"type": 1, "name": "stop"}, {"type": 1, "name": "undo", "options": [{"name": "n", "value": 2}]},
                 {"type": 2, "name": "Greet", "target_id": "7", "resolved": {"users": {"7": user}}},
                 {"type": 1, "name": "group", "options": [{"name": "sub", "type": 1, "options": []}]}]
            ),
            3: st.sampled_from(
                [{"component_type": 2, "custom_id": "fd:ABCDEFGHIJKLMNOP"}, {"custom_id": "other"},
                 {"component_type": 3, "custom_id": "fd:ABCDEFGHIJKLMNOP", "values": ["a"]},
                 {"component_type": 5, "custom_id": "other", "values": ["7"], "resolved": {"users": {"7": user}}}]
            ),
            4: st.builds(
                lambda name, typed: {"type": 1, "name": name, "options": [
                    {"name": "w", "type": 3, "value": typed, "focused": True}]},
                st.sampled_from(["resume", "model", "agent", "help", "nope"]), TEXT | st.integers(),
            ),
            5: st.sampled_from(_FORMS).map(lambda rows: {"custom_id": form, "components": rows}),
        }[kind]
    )  # fmt: skip
    if kind == 3:
        made["message"] = target
    if kind == 5:
        made["about"] = draw(st.sampled_from([target, None]))
    return made


def events() -> st.SearchStrategy[Any]:
    """(name, data) of a dispatch."""
    created = st.tuples(st.just("MESSAGE_CREATE"), messages())
    return st.one_of(
        created, created, created, st.tuples(st.just("MESSAGE_UPDATE"), messages()),
        st.tuples(st.just("INTERACTION_CREATE"), interactions()),
    ).map(list)  # fmt: skip
