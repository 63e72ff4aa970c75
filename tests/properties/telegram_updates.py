"""Updates as https://core.telegram.org/bots/api#update and /bots/api#message describe them (Bot API 10), of every kind:
those that the bot asks for, and those that another program may have asked for before."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from tests.properties.spoiling import TEXT

GROUPS: Final = (-100, -200)
"""Those that are listed."""
US: Final = 42

_OTHER_KINDS = (
    "channel_post", "edited_channel_post", "business_connection", "business_message", "edited_business_message",
    "deleted_business_messages", "guest_message", "message_reaction", "message_reaction_count", "inline_query",
    "chosen_inline_result", "shipping_query", "pre_checkout_query", "purchased_paid_media", "poll", "poll_answer",
    "my_chat_member", "chat_member", "chat_join_request", "chat_boost", "removed_chat_boost", "managed_bot",
)  # fmt: skip
_SERVICE: Final[dict[str, Any]] = {
    "new_chat_members": [{"id": 42, "is_bot": True, "first_name": "Desk"}],
    "left_chat_member": {"id": 42, "is_bot": True, "first_name": "Desk"},
    "new_chat_title": "Engines", "new_chat_photo": [{"file_id": "p", "width": 1, "height": 1}],
    "delete_chat_photo": True, "group_chat_created": True, "supergroup_chat_created": True,
    "channel_chat_created": True, "message_auto_delete_timer_changed": {"message_auto_delete_time": 86400},
    "pinned_message": {"message_id": 1, "date": 0, "chat": {"id": -100, "type": "supergroup"}},
    "successful_payment": {"currency": "XTR", "total_amount": 1}, "users_shared": {"request_id": 1, "users": []},
    "connected_website": "example.org", "passport_data": {"data": []}, "write_access_allowed": {},
    "proximity_alert_triggered": {"distance": 5}, "boost_added": {"boost_count": 1}, "chat_background_set": {},
    "checklist_tasks_done": {"marked_as_done_task_ids": [1]}, "checklist_tasks_added": {"tasks": []},
    "forum_topic_created": {"name": "Topic", "icon_color": 1}, "forum_topic_edited": {"name": "Other"},
    "forum_topic_closed": {}, "forum_topic_reopened": {}, "general_forum_topic_hidden": {}, "giveaway_created": {},
    "general_forum_topic_unhidden": {}, "video_chat_scheduled": {"start_date": 1}, "video_chat_started": {},
    "video_chat_ended": {"duration": 5}, "video_chat_participants_invited": {"users": []}, "gift": {"gift": {}},
    "web_app_data": {"data": "x", "button_text": "y"}, "giveaway": {"chats": []}, "poll_option_added": {},
    "paid_message_price_changed": {"paid_message_star_count": 1}, "suggested_post_paid": {"currency": "XTR"},
}  # fmt: skip
_FILES: Final[dict[str, Any]] = {
    "photo": [{"file_id": "a", "width": 90, "height": 90, "file_size": 9}, {"file_id": "b", "width": 900, "height": 9}],
    "voice": {"file_id": "v", "duration": 3, "mime_type": "audio/ogg", "file_size": 3000},
    "audio": {"file_id": "m", "duration": 3, "file_name": "a.mp3", "mime_type": "audio/mpeg"},
    "document": {"file_id": "d", "file_name": "a.pdf", "mime_type": "application/pdf", "file_size": 10},
    "animation": {"file_id": "g", "width": 1, "height": 1, "duration": 1, "mime_type": "video/mp4"},
    "video": {"file_id": "f", "width": 1, "height": 1, "duration": 1}, "video_note": {"file_id": "n", "length": 9},
    "live_photo": {"photo": [{"file_id": "l", "width": 1, "height": 1}], "video": {"file_id": "k"}},
    "paid_media": {"star_count": 1, "paid_media": [{"type": "preview"}]},
}  # fmt: skip
_THINGS: Final[dict[str, Any]] = {
    "sticker": {"file_id": "s", "emoji": "\N{FOX FACE}", "type": "regular"}, "dice": {"emoji": "x", "value": 3},
    "location": {"latitude": 1.5, "longitude": -2}, "contact": {"phone_number": "+1", "first_name": "Bob"},
    "venue": {"location": {"latitude": 1, "longitude": 2}, "title": "Bar", "address": "Here"},
    "poll": {"id": "1", "question": "Why?", "options": [{"text": "a", "voter_count": 0}], "type": "regular"},
    "checklist": {"title": "To do", "tasks": [{"id": 1, "text": "buy"}]}, "game": {"title": "Chess", "photo": []},
    "story": {"chat": {"id": 7, "type": "private"}, "id": 3}, "invoice": {"title": "Bill", "total_amount": 1},
}  # fmt: skip
_WORDS = TEXT | st.sampled_from(
    ["hello", "@mybot hello", "hello @MyBot", "/help", "/help@mybot", "/new@other x", "/reset", "/stop", "/nope",
     "/resume 1", "/title x", "/queue later", "/steer left", "/approve", "/deny all", "/forget", "x" * 4096, " ",
     "\u202e", "/undo 2", "/retry", "/clear", "/model x", "/agent x", "/again", "/compact"]
)  # fmt: skip
_ENTITIES = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["mention", "bot_command", "bold", "custom_emoji", "text_link", "date_time"]),
         "offset": st.integers(0, 6), "length": st.integers(0, 8)}
    )
    | st.just({"type": "text_mention", "offset": 0, "length": 1, "user": {"id": US, "first_name": "Desk"}}),
    max_size=3,
)  # fmt: skip
_PEOPLE = st.sampled_from(
    [{"id": 7, "is_bot": False, "first_name": "Ada"}, {"id": 8, "is_bot": False, "first_name": "Bob"},
     {"id": 1, "is_bot": False, "first_name": "Own"}]
)  # fmt: skip
_OTHERS = st.sampled_from(
    [{"id": US, "is_bot": True, "first_name": "Desk"}, {"id": 99, "is_bot": True, "first_name": "Other bot"},
     {"id": 777000, "is_bot": False, "first_name": "Telegram"}, {"id": 136817688, "is_bot": True, "first_name": "Ch"},
     {"id": 1087968824, "is_bot": True, "first_name": "Group"}]
)  # fmt: skip
_USERS = st.one_of(_PEOPLE, _PEOPLE, _PEOPLE, _OTHERS)
_GROUP_CHATS = st.fixed_dictionaries(
    {"id": st.sampled_from([*GROUPS, -300]), "type": st.sampled_from(["supergroup", "group"]), "title": TEXT},
    optional={"is_forum": st.booleans()},
)  # fmt: skip
_CHANNELS = st.just({"id": -900, "type": "channel", "title": "News"})
_ORIGINS = st.sampled_from(
    [{"type": "user", "date": 1, "sender_user": {"id": 9, "is_bot": False, "first_name": "Eve"}},
     {"type": "hidden_user", "date": 1, "sender_user_name": "Eve"}, {"type": "nobody"},
     {"type": "chat", "date": 1, "sender_chat": {"id": -5, "type": "group", "title": "Else"}},
     {"type": "channel", "date": 1, "chat": {"id": -900, "type": "channel", "title": "News"}, "message_id": 3}]
)  # fmt: skip
AGAIN: Final = 20
"""Messages up to this id come again, are edited and replied to."""
_IDS = st.one_of(*[st.integers(AGAIN + 1, 10**6)] * 3, st.integers(1, AGAIN))


def _replies() -> st.SearchStrategy[Any]:
    said = st.fixed_dictionaries(
        {"message_id": _IDS, "date": st.just(1), "chat": _GROUP_CHATS, "from": _USERS},
        optional={"text": _WORDS, "forum_topic_created": st.just({"name": "x"}), "photo": st.just(_FILES["photo"])},
    )  # fmt: skip
    return said | st.fixed_dictionaries({"message_id": _IDS, "date": st.just(0), "chat": _GROUP_CHATS})


@st.composite
def messages(draw: st.DrawFn) -> dict[str, Any]:
    """New, edited, or under a button."""
    user = draw(_USERS)
    private = {"id": user["id"], "type": "private", "first_name": user["first_name"]}
    chat = draw(st.one_of(st.just(private), st.just(private), _GROUP_CHATS, _GROUP_CHATS, _CHANNELS))
    date = draw(st.integers(1_700_000_000, 1_900_000_000))
    message = {"message_id": draw(_IDS), "date": date, "chat": chat, "from": user}
    what = draw(st.sampled_from(["text"] * 8 + ["caption", "caption", "thing", "thing", "service", "nothing"]))
    if what == "text":
        message |= {"text": draw(_WORDS), "entities": draw(_ENTITIES)}
    elif what == "caption":
        message |= {"caption": draw(_WORDS), "caption_entities": draw(_ENTITIES), **_one(draw, _FILES)}
    elif what != "nothing":
        message |= _one(draw, {"thing": {**_THINGS, **_FILES}, "service": _SERVICE}[what])
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2, 3]))):
        name = draw(st.sampled_from(sorted(_MORE)))
        message[name] = draw(_MORE[name])
    return message


def _one(draw: st.DrawFn, of: dict[str, Any]) -> dict[str, Any]:
    name = draw(st.sampled_from(sorted(of)))
    return {name: of[name]}


_MORE: Final[dict[str, st.SearchStrategy[Any]]] = {
    "reply_to_message": _replies(), "forward_origin": _ORIGINS, "message_thread_id": st.sampled_from([1, 2, 77]),
    "is_topic_message": st.booleans(), "media_group_id": st.sampled_from(["1", "2"]), "edit_date": st.just(5),
    "external_reply": st.fixed_dictionaries({"origin": _ORIGINS}), "quote": st.just({"text": "q", "position": 0}),
    "is_automatic_forward": st.booleans(), "via_bot": st.just({"id": 5, "is_bot": True, "first_name": "Inline"}),
    "sender_business_bot": st.just({"id": 5, "is_bot": True}), "business_connection_id": TEXT,
    "direct_messages_topic": st.just({"topic_id": 1}), "reply_to_story": st.just({"chat": {"id": 7}, "id": 1}),
    "has_protected_content": st.booleans(), "effect_id": TEXT, "paid_star_count": st.integers(0, 9),
    "sender_chat": st.sampled_from([{"id": -100, "type": "supergroup"}, {"id": -900, "type": "channel", "title": "N"}]),
    "migrate_to_chat_id": st.sampled_from([*GROUPS, -400]), "migrate_from_chat_id": st.sampled_from([-300, -400]),
}  # fmt: skip


def _queries() -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"id": TEXT, "from": _USERS, "chat_instance": TEXT},
        optional={"message": messages(), "data": st.sampled_from(["fd:ABCDEFGHIJKLMNOP", "fd:", "other"]) | TEXT,
                  "inline_message_id": TEXT, "game_short_name": TEXT},
    )  # fmt: skip


def updates() -> st.SearchStrategy[Any]:
    """One update of any kind."""
    other = st.sampled_from(_OTHER_KINDS).flatmap(lambda kind: st.fixed_dictionaries({kind: messages()}))
    what = st.one_of(
        *[st.fixed_dictionaries({"message": messages()})] * 5,
        st.fixed_dictionaries({"edited_message": messages()}),
        st.fixed_dictionaries({"callback_query": _queries()}),
        other,
    )
    return st.builds(lambda number, said: {"update_id": number, **said}, st.integers(AGAIN + 1, 10**9), what)
