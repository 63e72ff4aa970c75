"""From Slack's events to ours: what the wire tests don't say."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from bots.slack import tokens
from bots.slack.inbound import Account, account, is_ours, people, read
from bots.slack.threads import quoted
from core.fields import Json
from core.vocabulary import BotName, Edit, FileKind, Malformed, Message, Moved, Quote

US = Account(bot=BotName("slack"), team="T1", user="U1", bot_id="B1", name="frontdesk", app="A1")
NAMES = {"U2": "Ann", "U3": "Bob"}


def event(**fields: object) -> Json:
    said = {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U2", "ts": "1700000000.000100"}
    return {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": {**said, "text": "hello", **fields}}


def message(**fields: object) -> Message:
    read_ = read(event(**fields), US, NAMES)
    assert isinstance(read_, Message)
    return read_


@pytest.mark.parametrize(
    ("text", "heard", "addressed"),
    [
        ("<@U1> hello", "hello", True),
        ("<@U1>, hello", "hello", True),
        ("<@U1|frontdesk> /reset now", "/reset now", True),
        ("hello <@U1>", "hello", True),
        ("is <@U1> there?", "is @frontdesk there?", True),
        ("<@U1>", "@frontdesk", True),
        ("<@U1> <@U2> hi <@U1>", "@Ann hi", True),
        ("<@U12> hello", "@U12 hello", False),
        ("&lt;@U1&gt; hello", "<@U1> hello", False),
        ("&amp;lt; stays", "&lt; stays", False),
        ("<!here> <!subteam^S1|@team> <!subteam^S2>", "@here @team @subteam", False),
        ("<!date^1700000000^{date}|14 Nov> and <#C2|random> <#C3>", "14 Nov and #random #C3", False),
        ("<https://example.com/a?b=1&amp;c=2>", "https://example.com/a?b=1&c=2", False),
        ("<https://example.com|example.com>", "https://example.com", False),
        ("<mailto:a@example.com|a@example.com>", "a@example.com", False),
        ("<https://example.com|the docs>", "the docs (https://example.com)", False),
        ("a\ud800\0b", "a\ufffd\ufffdb", False),
    ],
)
def test_what_is_typed_is_read(text: str, heard: str, addressed: bool) -> None:
    said = message(text=text)
    assert (said.text, said.addressed) == (heard, addressed)


@pytest.mark.parametrize(
    ("text", "another"), [("<@U9> /reset", True), ("<@U1> ask <@U9>", False), ("<@U2> hello", False), ("hello", False)]
)
def test_c27_another_bot_is_mentioned_and_not_us(text: str, another: bool) -> None:
    said = read(event(text=text), US, NAMES, {"U9"})
    assert isinstance(said, Message)
    assert said.for_another is another


def test_both_events_of_a_mention_are_equal() -> None:
    plain = event(text="<@U1> hello", client_msg_id="x")
    mention = event(type="app_mention", text="<@U1> hello", channel_type=None, event_ts="1700000000.000100")
    assert read(plain, US, NAMES) == read(mention, US, NAMES)


def test_a_message_has_slacks_time() -> None:
    assert message(ts="1700000000.000100").sent_at == datetime(2023, 11, 14, 22, 13, 20, 100, UTC)


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "U1"},
        {"bot_id": "B1", "user": None},
        {"app_id": "A1", "bot_id": "B9"},
        {"bot_profile": {"app_id": "A1"}},
        {"subtype": "channel_topic"},
        {"subtype": "channel_join"},
        {"subtype": "message_deleted", "deleted_ts": "1.0"},
        {"subtype": "assistant_app_thread"},
        {"text": "", "files": []},
        {"text": "  "},
        {"type": "reaction_added"},
    ],
)
def test_what_is_not_said_to_us_is_nothing(fields: dict[str, object]) -> None:
    assert read(event(**fields), US, NAMES) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"ts": None},
        {"ts": "soon"},
        {"ts": 7},
        {"ts": "1" * 12 + ".1"},
        {"channel": None},
        {"channel": "C 1"},
        {"text": 7},
        {"user": ["U2"]},
        {"files": {}},
        {"files": [{"id": None, "name": "x"}]},
        {"thread_ts": "x"},
        {"subtype": "message_changed"},
    ],
)
def test_what_cannot_be_read_is_stored_as_such(fields: dict[str, object]) -> None:
    assert isinstance(read(event(**fields), US, NAMES), Malformed)


def test_what_has_no_id_to_be_stored_under_is_nothing() -> None:
    assert read({**event(ts=None), "event_id": None}, US, NAMES) is None


def test_a_bot_is_one_though_it_has_no_user() -> None:
    said = message(subtype="bot_message", bot_id="B9", user=None, username="deploys")
    assert (said.sender.user, said.sender.name, said.sender.is_bot) == (None, "deploys", True)


def test_in_an_organization_people_have_its_realm() -> None:
    us = replace(US, enterprise="E1")
    for fields in ({}, {"team": "T1"}, {"user_team": "E1", "team": "T1"}):
        said = read(event(**fields), us, NAMES)
        assert isinstance(said, Message)
        assert (said.sender.realm, said.within) == ("E1", "T1")
    told = account(BotName("x"), {"team_id": "T1", "user_id": "U1", "enterprise_id": "E1"})
    assert told is not None
    assert told.realm == "E1"


def test_somebody_of_another_workspace_has_their_own_realm() -> None:
    assert message(user_team="T9").sender.realm == "T9"
    assert message(team="T8").sender.realm == "T8"
    assert message().sender.realm == "T1"


def test_an_edit_is_its_new_text_and_an_unfurl_is_nothing() -> None:
    now = {"user": "U2", "ts": "1700000000.000100", "text": "<@U1> hello you", "edited": {"ts": "1700000009.000000"}}
    changed = event(subtype="message_changed", message=now, previous_message={"text": "helo"})
    edit = read(changed, US, NAMES)
    assert isinstance(edit, Edit)
    assert (edit.text, edit.message, edit.edited_at.second) == ("hello you", "1700000000.000100", 29)
    assert read(event(subtype="message_changed", message=now, previous_message=now), US, NAMES) is None
    unfurled = {**now, "edited": None, "text": "other"}
    assert read(event(subtype="message_changed", message=unfurled), US, NAMES) is None
    ours = {**now, "user": "U1"}
    assert read(event(subtype="message_changed", message=ours), US, NAMES) is None


def test_however_many_files_there_are_none_is_dropped_unsaid() -> None:
    files = [{"id": f"F{number}", "name": f"{number}.txt"} for number in range(200)]
    assert [one.ref for one in message(subtype="file_share", files=files).attachments] == [one["id"] for one in files]


def test_files_of_a_message_that_is_handed_on_come_along() -> None:
    files = [{"id": "F1", "name": "cat.png", "mimetype": "image/png"}]
    shared = [{"is_share": True, "author_name": "Bob", "text": "", "files": files}]
    bare, asked = message(text="", attachments=shared), message(text="what is that?", attachments=shared)
    assert [one.name for one in (*bare.attachments, *asked.attachments)] == ["cat.png", "cat.png"]
    assert (bare.quote, asked.quote) == (Quote(name="Bob", forwarded=True), Quote(name="Bob"))


def test_files_are_what_they_are() -> None:
    files = [
        {"id": "F1", "name": "a.png", "mimetype": "image/png", "size": 3},
        {"id": "F2", "name": "b.m4a", "mimetype": "audio/mp4", "subtype": "slack_audio"},
        {"id": "F3", "title": "c.mov", "mimetype": "video/quicktime"},
        {"id": "F4"},
        {"id": "F5", "mode": "tombstone"},
        {"id": "F6", "is_external": True, "title": "Plan", "url_private": "https://example.com/plan"},
    ]
    said = message(subtype="file_share", text="look", files=files)
    assert [one.kind for one in said.attachments] == [FileKind.IMAGE, FileKind.VOICE, FileKind.VIDEO, FileKind.FILE]
    assert [(one.ref, one.name, one.size) for one in said.attachments][:3] == [
        ("F1", "a.png", 3), ("F2", "b.m4a", None), ("F3", "c.mov", None),
    ]  # fmt: skip
    assert said.text == "look\n[File: Plan https://example.com/plan]"


def test_what_is_handed_on_is_said_to_be() -> None:
    shared = [{"is_share": True, "author_name": "Bob", "text": "the &amp; printer"}]
    bare, commented = message(text="", attachments=shared), message(text="see", attachments=shared)
    assert (bare.text, bare.quote) == ("the & printer", Quote(name="Bob", forwarded=True))
    assert (commented.text, commented.quote) == ("see", Quote(name="Bob", text="the & printer"))
    assert message(attachments=[{"from_url": "https://x.org", "text": "unfurled"}]).quote is None


def test_whose_names_are_wanted() -> None:
    assert people({"user": "U2", "text": "<@U3> and <@U4|x>"}) == {"U2", "U3", "U4"}
    assert people({"subtype": "message_changed", "message": {"user": "U5", "text": ""}}) == {"U5"}
    many = " ".join(f"<@U{number}>" for number in range(500))
    assert len(people({"user": "U2", "text": many})) <= 31


def test_whose_event_it_is() -> None:
    assert is_ours({"team_id": "T1"}, US)
    assert is_ours({"team_id": "T9", "authorizations": [{"user_id": "U1"}]}, US)
    assert not is_ours({"team_id": "T9", "authorizations": [{"user_id": "U7"}, 7]}, US)
    assert not is_ours({"team_id": "T9", "authorizations": 7}, US)
    assert is_ours({"authorizations": {}}, US), "nothing tells that it is another's"


def test_who_we_are_is_told_or_not() -> None:
    assert account(BotName("x"), {"team_id": "T1", "user_id": "U1", "bot_id": "B1", "user": "f"}) is not None
    for told in ({}, {"team_id": "T1"}, {"team_id": 1, "user_id": "U1"}):
        assert account(BotName("x"), told) is None


def test_the_beginning_of_a_thread_is_bounded_and_keeps_its_first_and_last() -> None:
    earlier = [{"user": "U2", "text": "root"}, *({"user": "U3", "text": f"line {n} " + "x" * 50} for n in range(50))]
    quote = quoted(earlier, US, NAMES)
    assert quote is not None
    assert (quote.name, len(quote.text) <= 1_000) == ("Ann", True)
    assert quote.text.startswith("root\n…\nBob: line ")
    assert quote.text.splitlines()[-1].startswith("Bob: line 49")
    assert quoted([{"text": ""}], US, NAMES) is None
    whole = quoted([{"user": "U2", "text": "y" * 5_000}, {"user": "U3", "text": "z"}], US, NAMES)
    assert whole is not None
    assert whole.text == "y" * 998 + "\n…"
    kept = quoted([{"user": "U2", "text": "root"}, {"user": "U3", "text": "z"}], US, NAMES)
    assert kept == Quote(name="Ann", text="root\nBob: z")


def test_what_is_escaped_is_unescaped_again() -> None:
    text = "a < b && &lt; <@U1> \"'"
    assert tokens.unescaped(tokens.escaped(text)) == text
    assert "<" not in tokens.escaped(text)


def test_c31_a_channel_that_got_another_id_has_moved() -> None:
    event = {"type": "channel_id_changed", "old_channel_id": "G1", "new_channel_id": "C1", "event_ts": "1.0"}
    found = read({"event_id": "Ev1", "event": event}, US, {})
    assert isinstance(found, Moved)
    assert (found.address.chat, found.to) == ("G1", "C1")
    broken = read({"event_id": "Ev1", "event": {**event, "new_channel_id": 7}}, US, {})
    assert isinstance(broken, Malformed)
