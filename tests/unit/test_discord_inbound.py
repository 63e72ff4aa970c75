"""What the bot makes of a message: mentions and marks, whom it is for, what comes with it."""

from __future__ import annotations

import pytest

from bots.discord import files, inbound, interactions, menu, outbound
from bots.discord.inbound import Scene, Us
from bots.discord.places import Place, Places
from bots.discord.reading import made_at, snowflake_of
from core.ports import Choice, CommandHelp
from core.vocabulary import (
    Address,
    BotName,
    Button,
    ChatId,
    ChatKind,
    Delivery,
    DeliveryId,
    FileKind,
    Message,
    MessageId,
    Quote,
)

US = Us(bot=BotName("discord"), id="42", name="Desk", application="43")
GUILD = {
    "id": "1",
    "name": "Team",
    "owner_id": "5",
    "roles": [
        {"id": "1", "name": "@everyone", "permissions": "0"},
        {"id": "8", "name": "helpers", "permissions": "32"},
        {"id": "9", "name": "Desk", "permissions": "0", "tags": {"bot_id": "42"}},
    ],
    "channels": [{"id": "10", "type": 0, "name": "general"}, {"id": "11", "type": 15, "name": "ideas"}],
    "threads": [{"id": "12", "type": 11, "name": "A post", "parent_id": "11"}],
}


def scene(channel: str = "10", *, each_question: bool = False) -> Scene:
    places = Places()
    places.note("GUILD_CREATE", GUILD)
    place = places.get(channel) or Place(id=channel, type=1)
    return Scene(place=place, places=places, auto_thread=each_question)


def said(content: str, where: Scene | None = None, **more: object) -> Message:
    data: dict[str, object] = {
        "id": "1000",
        "channel_id": "10",
        "type": 0,
        "content": content,
        "author": {"id": "5", "username": "ada", "global_name": "Ada"},
        "mentions": [{"id": "6", "username": "bob", "member": {"nick": "Bobby"}}],
        "mention_roles": ["9", "8"],
    }
    read = inbound.message({**data, **more}, US, where or scene())
    assert isinstance(read, Message)
    return read


@pytest.mark.parametrize(
    ("content", "text", "addressed"),
    [
        ("<@42> hello", "hello", True),
        ("<@!42>, hello", "hello", True),
        ("hello <@42>", "hello", True),
        ("<@42> <@42> hello <@&9>", "hello", True),
        ("hey <@42> you", "hey @Desk you", True),
        ("<@42>", "@Desk", True),
        ("<@&9> hello", "hello", True),
        ("<@&8> hello", "@helpers hello", False),
        ("`<@42>`", "`<@42>`", False),
        ("<@6> see <#10> and <#99>", "@Bobby see #general and <#99>", False),
        ("<:wave:77> <a:party:78>", ":wave: :party:", False),
        ("at <t:1767225600> or <t:1767225600:t>", "at 2026-01-01 00:00 UTC or 00:00 UTC", False),
        ("try </reset now:5>", "try /reset now", False),
        ("<t:99999999999999>", "<t:99999999999999>", False),
        ("a\u0000b \ud800", "a\ufffdb \ufffd", False),
    ],
)
def test_marks_become_words_and_our_name_around_the_text_goes(content: str, text: str, addressed: bool) -> None:
    message = said(content)
    assert (message.text, message.addressed) == (text, addressed)


def test_c27_another_bot_is_mentioned_and_not_us() -> None:
    other = {"id": "7", "username": "other", "bot": True}
    assert said("<@7> /reset", mentions=[other]).for_another
    assert not said("<@42> ask <@7>", mentions=[other]).for_another
    assert not said("<@6> hello").for_another


def test_a_reply_quotes_and_one_to_us_is_for_us() -> None:
    theirs = {"id": "7", "content": "x" * 2000, "author": {"id": "6", "username": "bob"}}
    quote = said("no", type=19, referenced_message=theirs).quote
    assert quote is not None
    assert (quote.name, len(quote.text)) == ("bob", 1000)
    ours = {"id": "7", "content": "**hi**", "author": {"id": "42", "username": "desk", "bot": True}}
    message = said("yes", type=19, referenced_message=ours)
    assert (message.addressed, message.quote) == (True, Quote(name="Desk", text="**hi**", own=True))
    assert said("gone", type=19, referenced_message=None).quote is None


def test_what_is_handed_on_is_the_messages_own_text() -> None:
    file = {"id": "3", "filename": "a.ogg", "content_type": "audio/ogg", "size": 7}
    snapshot = {"message": {"content": "as I said", "attachments": [file], "flags": 1 << 13}}
    reference = {"type": 1, "channel_id": "10", "message_id": "9"}
    message = said("", message_reference=reference, message_snapshots=[snapshot])
    assert (message.text, message.quote) == ("as I said", Quote(name="#general", forwarded=True))
    [attachment] = message.attachments
    assert (attachment.kind, attachment.ref) == (FileKind.VOICE, "10/1000/3")
    held = {"message_snapshots": [{"message": {"attachments": [{**file, "url": "https://cdn"}]}}]}
    assert files.file_address(attachment.ref, held) == "https://cdn"


def test_a_poll_and_a_sticker_are_told_in_words() -> None:
    poll = {"question": {"text": "Lunch?"}, "answers": [{"poll_media": {"text": "soup"}}, {"poll_media": {}}]}
    message = said("", poll=poll, sticker_items=[{"id": "1", "name": "Wave"}])
    assert message.text == "[Sticker: Wave]\n[Poll: Lunch? soup]"


def test_a_question_with_a_thread_of_its_own_has_its_address_before_the_thread_is_there() -> None:
    question = said("<@42> why?", scene(each_question=True))
    assert (question.kind, str(question.address.thread), question.address.reply_to) == (ChatKind.THREAD, "1000", None)
    talk = said("why not", scene(each_question=True))
    assert (talk.kind, talk.address.thread) == (ChatKind.GROUP, None)


def test_the_title_of_a_post_is_said_with_its_first_message_only() -> None:
    first = said("body", scene("12"), id="12", channel_id="12")
    assert (first.text, first.kind, first.address.chat) == ("A post\nbody", ChatKind.THREAD, "11")
    assert said("more", scene("12"), channel_id="12").text == "more"


def test_who_may_have_more_to_say() -> None:
    assert said("x" * 2000).more_likely
    assert not said("x" * 100).more_likely


def test_time_is_in_the_ids() -> None:
    moment = made_at("175928847299117063")
    assert moment.isoformat() == "2016-04-30T11:18:25.796000+00:00"
    assert int(snowflake_of(moment)) < 175928847299117063
    assert int(snowflake_of(moment)) >= 175928847299117063 - (1 << 22)


def test_permissions_follow_the_documented_order() -> None:
    places = Places()
    manage, send = 1 << 4, 1 << 11
    over = [
        {"id": "1", "type": 0, "allow": "0", "deny": str(manage | send)},
        {"id": "8", "type": 0, "allow": str(manage), "deny": "0"},
        {"id": "6", "type": 1, "allow": str(send), "deny": str(manage)},
    ]
    places.note("GUILD_CREATE", {**GUILD, "channels": [{"id": "10", "type": 0, "permission_overwrites": over}]})
    assert places.permissions("10", "7", []) == 0
    assert places.permissions("10", "7", ["8"]) & (manage | send) == manage
    assert places.permissions("10", "6", ["8"]) & (manage | send) == send
    assert places.permissions("10", "5", []) & manage


def test_a_channel_that_goes_is_forgotten_and_an_outage_forgets_nothing() -> None:
    places = Places()
    places.note("GUILD_CREATE", GUILD)
    places.note("GUILD_DELETE", {"id": "1", "unavailable": True})
    assert places.channel_name("10") == "general"
    places.note("CHANNEL_DELETE", {"id": "10", "guild_id": "1"})
    assert places.channel_name("10") is None
    places.note("GUILD_DELETE", {"id": "1"})
    assert places.get("12") is None


def test_the_menu_has_what_discord_takes() -> None:
    table = [
        CommandHelp(name="resume", summary="x" * 150, argument="n|title|id", needs_argument=True, completes=True),
        CommandHelp(name="Großes", summary="a name that Discord refuses"),
        CommandHelp(name="help", summary=""),
    ]
    resume, help_, ask = menu.payload(table)
    assert len(str(resume["description"])) == 100
    assert resume["options"] == [
        {"type": 3, "name": "n-title-id", "description": "n|title|id", "required": True, "autocomplete": True}
    ]
    assert (help_["name"], help_["description"]) == ("help", "help")
    assert ask["type"] == 3
    assert menu.choices([Choice(value="", label="nothing")]) == []


def test_a_nonce_is_the_deliverys_own() -> None:
    def made(number: int, salt: str = "salt") -> str:
        address = Address(bot=BotName("discord"), chat=ChatId("10"))
        return outbound.nonce(salt, Delivery(id=DeliveryId(number), address=address, kind=ChatKind.GROUP, text="x"))

    assert made(1) == made(1)
    assert len({made(1), made(2), made(1, "other")}) == 3
    assert len(made(1)) == 25


def test_more_than_five_buttons_take_another_row() -> None:
    address = Address(bot=BotName("discord"), chat=ChatId("10"), reply_to=MessageId("7"))
    buttons = tuple(Button(label=f"b{number}", data=f"D{number}") for number in range(7))
    body = outbound.message(
        Delivery(id=DeliveryId(1), address=address, kind=ChatKind.GROUP, text="x", buttons=buttons), "salt"
    )
    rows = body["components"]
    assert isinstance(rows, list)
    assert [len(row["components"]) for row in rows] == [5, 2]
    assert body["allowed_mentions"] == {"parse": [], "replied_user": True}


def test_a_token_shows_itself_nowhere() -> None:
    token = interactions.Token(interaction="1", secret="aW50ZXJhY3Rpb246")
    assert token.secret not in f"{token} {token!r}"


def test_a_table_is_known_again_as_discord_tells_it() -> None:
    commands = [CommandHelp(name="reset", summary="Begin anew", argument="text"), CommandHelp(name="help", summary="")]
    wanted = menu.payload(commands)
    told: list[dict[str, object]] = [
        {"id": "9", "nsfw": False, "description": "", **one, "contexts": [1, 0]} for one in wanted
    ]
    told[0]["options"] = [{"type": 3, "name": "text", "description": "text"}]
    assert menu.is_registered(wanted, told[::-1])
    assert not menu.is_registered(wanted, told[1:])
    assert not menu.is_registered(wanted, [*told, {"type": 1, "name": "old", "description": "x"}])
    assert not menu.is_registered(wanted, [{**told[0], "description": "other"}, *told[1:]])
    assert not menu.is_registered(wanted, None)


EMBED = {
    "type": "rich",
    "author": {"name": "CI"},
    "title": "Build 7",
    "description": "failed for <@6>",
    "fields": [{"name": "step", "value": "lint"}],
    "footer": {"text": "main"},
}
EMBED_READS = "CI\nBuild 7\nfailed for @Bobby\nstep: lint\nmain"
BOX = {"type": 17, "components": [{"type": 9, "components": [{"type": 10, "content": "one"}]}, {"type": 14}]}
FILE = {"id": "3", "filename": "plan.txt", "content_type": "text/plain", "size": 7}
MENTIONED = [{"id": "6", "username": "bob", "member": {"nick": "Bobby"}}]


@pytest.mark.parametrize(
    ("shown", "reads"),
    [
        ({"embeds": [EMBED], "mentions": MENTIONED}, EMBED_READS),
        ({"flags": 1 << 15, "components": [BOX, {"type": 10, "content": "two"}]}, "one\ntwo"),
        ({"message_snapshots": [{"message": {"content": "as I said", "attachments": [FILE]}}]}, "as I said"),
        ({"content": "see", "attachments": [FILE]}, "see"),
    ],
)
def test_a_message_reads_the_same_said_handed_on_and_quoted(shown: dict[str, object], reads: str) -> None:
    author = {"id": "7", "username": "hook", "bot": True}
    quote = said("what?", type=19, referenced_message={"id": "7", "channel_id": "10", "author": author, **shown}).quote
    assert quote is not None
    assert quote.text.removesuffix("\n[File: plan.txt]") == reads
    assert ("plan.txt" in quote.text) == ("plan.txt" in repr(shown))
    more = {key: value for key, value in shown.items() if key != "content"}
    assert said(str(shown.get("content", "")), None, **more).text == reads
    if "message_snapshots" not in shown:
        forwarded = said("", message_reference={"type": 1, "channel_id": "10"}, message_snapshots=[{"message": shown}])
        assert forwarded.text == reads


@pytest.mark.parametrize(
    "preview",
    [
        {"type": "article", "url": "https://example.com/long", "title": "T"},
        {"type": "rich", "url": "https://e.com/a/", "title": "T"},
        {"type": "rich", "url": "https://elsewhere.com", "provider": {"name": "Elsewhere"}, "title": "T"},
    ],
)
def test_the_preview_of_a_link_says_nothing_of_its_own(preview: dict[str, object]) -> None:
    assert said("see https://e.com/a", embeds=[preview]).text == "see https://e.com/a"
