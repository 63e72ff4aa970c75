"""What Slack hands over, as https://docs.slack.dev/reference/events and /reference/interaction-payloads describe it."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from tests.properties.spoiling import TEXT

TEAM, US, BOT, APP = "900", "U1", "B1", "A1"
PLACES: Final = ("D7", "D8", "C100", "C200", "G300")

_PEOPLE = st.sampled_from(["U7", "U8", "U9"])
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
    what = draw(st.sampled_from(["message"] * 6 + ["app_mention", "changed", "changed", "other"]))
    if what == "app_mention":
        said = {key: value for key, value in said.items() if key != "channel_type"} | {"type": "app_mention"}
    elif what == "changed":
        before = draw(_said(said["channel"]))
        said = {"type": "message", "subtype": "message_changed", "channel": said["channel"], "ts": draw(_TS),
                "channel_type": said["channel_type"], "message": said | {"edited": {"ts": draw(_TS)}},
                "previous_message": before}  # fmt: skip
    elif what == "other":
        said["type"] = draw(st.sampled_from(["reaction_added", "member_joined_channel", "app_home_opened", "x"]))
    return {"type": "event_callback", "team_id": TEAM, "api_app_id": APP, "event_id": "Ev1", "event": said}


@st.composite
def _uses(draw: st.DrawFn) -> dict[str, Any]:
    where, user = draw(st.sampled_from(PLACES)), draw(_PEOPLE)
    if draw(st.booleans()):
        return {"command": "/frontdesk", "text": draw(_WORDS), "user_id": user, "user_name": "n", "team_id": TEAM,
                "channel_id": where, "trigger_id": draw(TEXT), "response_url": "https://x"}  # fmt: skip
    said = draw(_said(where))
    made = {"user": {"id": user, "team_id": TEAM}, "channel": {"id": where}, "message": said, "trigger_id": "1",
            "response_url": "https://x", "team": {"id": TEAM}}  # fmt: skip
    if draw(st.booleans()):
        return made | {"type": "message_action", "callback_id": "frontdesk_ask", "action_ts": draw(_TS)}
    name = draw(st.sampled_from(["fd:ABCDEFGHIJKLMNOP", "fdr:1", "fdt:1", "other"]))
    container = {"type": "message", "channel_id": where, "message_ts": said["ts"]}
    container |= draw(st.fixed_dictionaries({}, optional={"thread_ts": _TS}))
    action = {"action_id": name, "block_id": "b", "value": draw(TEXT), "action_ts": draw(_TS)}
    return made | {"type": "block_actions", "container": container, "actions": [action]}


def payloads() -> st.SearchStrategy[Any]:
    """An event, a slash command, a button or a shortcut."""
    return st.one_of(_events(), _events(), _events(), _uses())
