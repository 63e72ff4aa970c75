"""What Slack hands over, as https://docs.slack.dev/reference/events and /reference/interaction-payloads describe it."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from hypothesis import strategies as st

from tests.properties.spoiling import TEXT

TEAM, US, BOT, APP = "900", "U1", "B1", "A1"
PLACES: Final = ("D7", "D8", "C100", "C200", "G300")
PEOPLE: Final = ("U7", "U8", "U9")
NEW: Final = "Ev"
"""The id of an event that has one of its own; others come again."""

_PEOPLE = st.sampled_from(PEOPLE)
_TRIGGERS = st.sampled_from(["T1", "T2", "T3"]) | TEXT
_QUESTIONS = st.sampled_from([f"command-{hashlib.sha256(one).hexdigest()[:24]}" for one in (b"T1", b"T2", b"T3")])
"""Ids of the blocks that ask for which thread a command is."""
_USERS = st.one_of(_PEOPLE, _PEOPLE, _PEOPLE, st.sampled_from([US, "USLACKBOT", "W5"]))
_TS = st.integers(1, 10**6).map(lambda number: f"17000{number:05}.{number % 10**6:06}"[-17:])
_WORDS = TEXT | st.sampled_from(
    ["hello", f"<@{US}> hello", f"hello <@{US}>", "<!here> x", "<https://x|y> &amp;", "/status", f"<@{US}> /reset", " ",
     "<!date^1^{date}|x>", "<#C100|general>", "<!subteam^S1|@x>", "/stop", "/title x", "<@U8|bob>", "x" * 12000]
)  # fmt: skip
_FILES = st.sampled_from(
    [{"id": "F1", "name": "a.png", "mimetype": "image/png", "size": 9, "mode": "hosted"},
     {"id": "F2", "name": "v.webm", "mimetype": "audio/webm", "subtype": "slack_audio", "size": 9},
     {"id": "F3", "mode": "tombstone"}, {"id": "F4", "is_external": True, "name": "d", "url_private": "https://x"},
     {"id": "F5", "mode": "hidden_by_limit"}, {"id": "F6", "file_access": "check_file_info"}]
)  # fmt: skip
_SUBTYPES = (
    "bot_message", "me_message", "channel_join", "channel_topic", "file_share", "thread_broadcast", "message_deleted",
    "message_replied", "ekm_access_denied", "reminder_add", "assistant_app_thread", "huddle_thread", "tombstone",
)  # fmt: skip
_PARTS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "thread_ts": _TS, "files": st.lists(_FILES, max_size=3), "bot_id": st.sampled_from([BOT, "B9"]),
    "app_id": st.sampled_from([APP, "A9"]), "bot_profile": st.just({"id": "B9", "app_id": "A9", "name": "Other"}),
    "subtype": st.sampled_from(_SUBTYPES), "user_team": st.sampled_from([TEAM, "T9"]), "username": TEXT,
    "attachments": st.just([{"is_share": True, "author_name": "Bob", "text": "said"}]),
    "edited": st.just({"ts": "1.2"}),
    "blocks": st.just([{"type": "rich_text", "elements": []}]), "client_msg_id": TEXT, "parent_user_id": _USERS,
    "metadata": st.just({"event_type": "frontdesk", "event_payload": {"delivery": 1}}), "upload": st.booleans(),
}  # fmt: skip


@st.composite
def _said(draw: st.DrawFn, place: str | None = None) -> dict[str, Any]:
    where = place or draw(st.sampled_from(PLACES))
    types = {"D": "im", "C": "channel", "G": "group"}
    said = {"type": "message", "channel": where, "channel_type": types[where[0]], "user": draw(_USERS),
            "text": draw(_WORDS), "ts": draw(_TS), "team": TEAM}  # fmt: skip
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2, 3]))):
        name = draw(st.sampled_from(sorted(_PARTS)))
        said[name] = draw(_PARTS[name])
    return said


@st.composite
def _events(draw: st.DrawFn) -> dict[str, Any]:
    said = draw(_said())
    what = draw(st.sampled_from(["message"] * 6 + ["app_mention", "changed", "changed", "about us", "other"]))
    if what == "app_mention":
        said = {key: value for key, value in said.items() if key != "channel_type"} | {"type": "app_mention"}
    elif what == "changed":
        before = draw(_said(said["channel"]))
        said = {"type": "message", "subtype": "message_changed", "channel": said["channel"], "ts": draw(_TS),
                "channel_type": said["channel_type"], "message": said | {"edited": {"ts": draw(_TS)}},
                "previous_message": before}  # fmt: skip
    elif what == "about us":
        said = draw(_about_us(said["channel"]))
    elif what == "other":
        said["type"] = draw(st.sampled_from(["reaction_added", "member_joined_channel", "x"]))
    number = draw(st.sampled_from([NEW] * 5 + ["Ev1", "Ev2"]))
    return {"type": "event_callback", "team_id": TEAM, "api_app_id": APP, "event_id": number, "event": said}


@st.composite
def _about_us(draw: st.DrawFn, where: str) -> dict[str, Any]:
    """What is no message: https://docs.slack.dev/reference/events/app_home_opened, /assistant_thread_started and the
    like."""
    user = draw(_PEOPLE)
    context = {"channel_id": "C100", "team_id": TEAM}
    thread = {"user_id": user, "context": context, "channel_id": where, "thread_ts": draw(_TS)}
    return draw(
        st.sampled_from(
            [{"type": "app_home_opened", "user": user, "channel": where, "tab": "home", "event_ts": "1.2"},
             {"type": "app_home_opened", "user": user, "channel": where, "tab": "messages", "event_ts": "1.2"},
             {"type": "assistant_thread_started", "assistant_thread": thread, "event_ts": "1.2"},
             {"type": "assistant_thread_context_changed", "assistant_thread": thread, "event_ts": "1.2"},
             {"type": "channel_id_changed", "old_channel_id": "C400", "new_channel_id": "C500", "event_ts": "1.2"},
             {"type": "tokens_revoked", "tokens": {"oauth": ["U1"]}}, {"type": "app_uninstalled"}]
        )
    )  # fmt: skip


@st.composite
def _commands(draw: st.DrawFn) -> dict[str, Any]:
    made = {"command": "/frontdesk", "text": draw(_WORDS | st.sampled_from(_TYPED)), "user_id": draw(_PEOPLE),
            "user_name": "n", "team_id": TEAM, "channel_id": draw(st.sampled_from(PLACES)),
            "trigger_id": draw(_TRIGGERS), "response_url": "https://x"}  # fmt: skip
    return made | draw(st.sampled_from([{}] * 9 + [{"ssl_check": "1"}]))


_TYPED: Final = ("status", "usage", "title x", "reset", "resume 1", "stop", "undo", "help", "sessions", "no command")


@st.composite
def _uses(draw: st.DrawFn) -> dict[str, Any]:
    """https://docs.slack.dev/reference/interaction-payloads: buttons of ours and of others, shortcuts, and what comes
    of forms, of which we have none."""
    where = draw(st.sampled_from(PLACES))
    made = {"user": {"id": draw(_PEOPLE), "team_id": TEAM}, "team": {"id": TEAM}, "trigger_id": draw(_TRIGGERS),
            "api_app_id": APP}  # fmt: skip
    what = draw(st.sampled_from(["button"] * 4 + ["ask"] * 2 + ["home", "form", "other"]))
    if what == "form":
        view = {"id": "V1", "callback_id": draw(TEXT), "state": {"values": {"b": {"a": {"value": "x"}}}}}
        return made | {"type": draw(st.sampled_from(["view_submission", "view_closed"])), "view": view}
    if what == "other":
        kind = draw(st.sampled_from(["shortcut", "block_suggestion", "message_action", "workflow_step_edit"]))
        return made | {"type": kind, "callback_id": "other", "action_ts": draw(_TS), "value": draw(TEXT)}
    if what == "home":
        action = {"action_id": "fdr:1", "block_id": "b", "value": draw(TEXT), "action_ts": draw(_TS), "type": "button"}
        return made | {"type": "block_actions", "container": {"type": "view", "view_id": "V1"}, "actions": [action]}
    said = draw(_said(where))
    made |= {"channel": {"id": where}, "message": said, "response_url": "https://x"}
    if what == "ask":
        return made | {"type": "message_action", "callback_id": "frontdesk_ask", "action_ts": draw(_TS)}
    name = draw(st.sampled_from(["fd:ABCDEFGHIJKLMNOP", "fdr:1", "fdt:1", "fdt:0", "other"]))
    container = {"type": "message", "channel_id": where, "message_ts": said["ts"]}
    container |= draw(st.fixed_dictionaries({}, optional={"thread_ts": _TS}))
    action = {"action_id": name, "block_id": draw(_QUESTIONS), "value": draw(TEXT | _TS), "action_ts": draw(_TS)}
    return made | {"type": "block_actions", "container": container, "actions": [action]}


def payloads() -> st.SearchStrategy[Any]:
    """(kind, payload) of an envelope: an event, a slash command, a button, a shortcut."""
    event = st.tuples(st.just("event"), _events())
    command, use = st.tuples(st.just("command"), _commands()), st.tuples(st.just("interaction"), _uses())
    return st.one_of(event, event, event, event, command, use).map(list)
