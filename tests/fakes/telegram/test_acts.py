"""The double is strict about edits, replies, drafts, buttons, and chats that do not want the bot.

Texts and updates: tests/unit/test_fake_telegram.py.
"""

import httpx
import pytest
from telegram import (
    Bot,
    BotCommand,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    Message,
    ReplyParameters,
)
from telegram.error import BadRequest, ChatMigrated, Forbidden

from tests.fakes.telegram import Chat, ManualClock, TelegramServer, User


def keyboard(data: str) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data=data)]])


async def test_an_edit_must_change_something_of_the_bots_own(
    server: TelegramServer, bot: Bot, ada: User, private: Chat
) -> None:
    theirs = server.say(private, ada, "mine")
    sent = await bot.send_message(private.id, "one")
    await bot.edit_message_text("two", private.id, sent.message_id)
    with pytest.raises(BadRequest, match="Message is not modified: specified new message content"):
        await bot.edit_message_text(" two ", private.id, sent.message_id)
    with pytest.raises(BadRequest, match="Message can't be edited"):
        await bot.edit_message_text("three", private.id, theirs.message_id)
    with pytest.raises(BadRequest, match="Message to edit not found"):
        await bot.edit_message_text("three", private.id, 99)
    (seen,) = server.chat(private).from_bot
    assert (seen.text, [edit.text for edit in seen.edits]) == ("two", ["one"])
    await bot.delete_message(private.id, sent.message_id)
    with pytest.raises(BadRequest, match="Message to edit not found"):
        await bot.edit_message_text("three", private.id, sent.message_id)
    assert [message.deleted for message in server.chat(private).messages] == [False, True]


async def test_a_reply_needs_its_message_unless_it_may_go_without(
    server: TelegramServer, bot: Bot, ada: User, private: Chat
) -> None:
    asked = server.say(private, ada, "question")
    answer = await bot.send_message(private.id, "answer", reply_parameters=ReplyParameters(asked.message_id))
    assert answer.reply_to_message is not None
    server.delete(private, asked.message_id)
    with pytest.raises(BadRequest, match="Message to be replied not found"):
        await bot.send_message(private.id, "late", reply_parameters=ReplyParameters(asked.message_id))
    lenient = ReplyParameters(asked.message_id, allow_sending_without_reply=True)
    assert (await bot.send_message(private.id, "late", reply_parameters=lenient)).reply_to_message is None
    assert [message.reply_to for message in server.chat(private).from_bot] == [asked.message_id, None]


async def test_topics_must_exist_and_replies_stay_in_theirs(server: TelegramServer, bot: Bot, ada: User) -> None:
    forum = server.group(forum=True)
    thread = server.topic(forum, ada)
    asked = server.say(forum, ada, "here", message_thread_id=thread)
    replied = await bot.send_message(forum.id, "there", reply_parameters=ReplyParameters(asked.message_id))
    assert replied.message_thread_id == thread
    with pytest.raises(BadRequest, match="Message thread not found"):
        await bot.send_message(forum.id, "nowhere", message_thread_id=77)


async def test_drafts_are_for_private_chats_and_fade_after_30_seconds(
    server: TelegramServer, bot: Bot, clock: ManualClock, private: Chat
) -> None:
    await bot.send_message_draft(private.id, 7)
    await bot.send_message_draft(private.id, 7, "partial")
    draft = server.chat(private).draft
    assert draft is not None
    assert draft.text == "partial"
    clock.advance(30)
    assert server.chat(private).draft is None
    with pytest.raises(BadRequest, match="non-zero"):
        await bot.send_message_draft(private.id, 0, "x")
    with pytest.raises(BadRequest, match="private chats"):
        await bot.send_message_draft(server.group().id, 7, "x")
    assert [violation.rule for violation in server.violations] == ["draft", "draft"]


async def test_buttons_are_pressed_and_answered_once(
    server: TelegramServer, bot: Bot, ada: User, private: Chat
) -> None:
    sent = await bot.send_message(private.id, "Sure?", reply_markup=keyboard("x" * 64))
    with pytest.raises(ValueError, match="no button"):
        server.press(private, ada, sent.message_id, "y")
    server.press(private, ada, sent.message_id, "x" * 64)
    (update,) = await bot.get_updates()
    assert update.callback_query is not None
    assert isinstance(update.callback_query.message, Message)
    await bot.answer_callback_query(update.callback_query.id, "done")
    with pytest.raises(BadRequest, match="Query is too old"):
        await bot.answer_callback_query(update.callback_query.id)
    await bot.edit_message_reply_markup(private.id, sent.message_id, reply_markup=None)
    with pytest.raises(BadRequest, match="not modified"):
        await bot.edit_message_reply_markup(private.id, sent.message_id, reply_markup=None)
    with pytest.raises(BadRequest, match=r"(?i)button_data_invalid"):
        await bot.send_message(private.id, "Sure?", reply_markup=keyboard("é" * 33))


async def test_actions_reactions_and_commands_are_checked(
    server: TelegramServer, bot: Bot, ada: User, private: Chat
) -> None:
    said = server.say(private, ada, "hi")
    await bot.send_chat_action(private.id, "typing")
    await bot.set_message_reaction(private.id, said.message_id, "👀")
    await bot.set_my_commands([BotCommand("new", "Start afresh")])
    assert [action.action for action in server.chat(private).actions] == ["typing"]
    assert server.chat(private).messages[0].reactions == ("👀",)
    assert server.commands() == [{"command": "new", "description": "Start afresh"}]
    assert [command.command for command in await bot.get_my_commands()] == ["new"]
    await bot.delete_my_commands()
    assert server.commands() == []
    with pytest.raises(BadRequest):
        await bot.send_chat_action(private.id, "thinking")
    with pytest.raises(BadRequest, match=r"(?i)reaction_invalid"):
        await bot.set_message_reaction(private.id, said.message_id, "🦊")
    with pytest.raises(BadRequest, match=r"(?i)bot_command_invalid"):
        await bot.set_my_commands([BotCommand("New-One", "x")])
    assert [violation.rule for violation in server.violations] == ["params", "reaction", "commands"]


# --- chats that refuse


async def test_the_bot_can_only_write_where_it_is_welcome(server: TelegramServer, bot: Bot, ada: User) -> None:
    private, group = server.private(ada), server.group(supergroup=False)
    assert server.block(ada) is not None
    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        await bot.send_message(private.id, "x")
    server.unblock(ada)
    await bot.send_message(private.id, "x")
    with pytest.raises(BadRequest, match="Chat not found"):
        await bot.send_message(server.user("Stranger").id, "x")
    supergroup = server.migrate(group, ada)
    with pytest.raises(ChatMigrated) as moved:
        await bot.send_message(group.id, "x")
    assert moved.value.new_chat_id == supergroup.id
    server.kick(supergroup, ada)
    with pytest.raises(Forbidden, match="bot was kicked from the supergroup chat"):
        await bot.send_message(supergroup.id, "x")
    kinds = [update.my_chat_member for update in await bot.get_updates()]
    assert [kind.new_chat_member.status for kind in kinds if kind] == ["kicked", "member", "kicked"]


async def test_members_and_administrators_can_be_asked_for(server: TelegramServer, bot: Bot, ada: User) -> None:
    group = server.group("Team")
    server.appoint(group, ada, "creator")
    server.set_status(group, ada, "administrator")
    assert (await bot.get_chat(group.id)).title == "Team"
    assert (await bot.get_chat_member(group.id, ada.id)).status == "creator"
    assert [member.user.id for member in await bot.get_chat_administrators(group.id)] == [server.bot.id, ada.id]


@pytest.mark.parametrize("status", ["administrator", "restricted", "left", "kicked", "member"])
async def test_the_bots_own_membership_changes_in_every_way(
    server: TelegramServer, bot: Bot, ada: User, status: str
) -> None:
    group = server.group()
    assert server.set_status(group, ada, status) is not None
    (update,) = await bot.get_updates()
    assert update.my_chat_member is not None
    assert update.my_chat_member.new_chat_member.status == status
    if status == "restricted":
        with pytest.raises(BadRequest, match="Not enough rights"):
            await bot.send_message(group.id, "x")


async def test_bots_do_not_talk_in_private(server: TelegramServer, bot: Bot) -> None:
    with pytest.raises(Forbidden, match="can't send messages to bots"):
        await bot.send_message(server.private(server.user("Robo", is_bot=True)).id, "x")


async def test_unknown_parameters_are_violations_although_they_are_overlooked(
    server: TelegramServer, bot: Bot, private: Chat
) -> None:
    await bot.send_message(private.id, "x", api_kwargs={"dissable_notification": True})
    assert [(violation.rule, violation.detail) for violation in server.violations] == [
        ("unknown_parameter", "dissable_notification")
    ]


async def test_files_and_webhook_posts_are_there_for_the_asking(
    server: TelegramServer, bot: Bot, ada: User, private: Chat
) -> None:
    server.put_file("voice/1.ogg", b"OggS")
    path = (await bot.get_file("voice/1.ogg")).file_path
    assert path is not None
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"{server.url}/file/bot{server.token}/voice/1.ogg")).content == b"OggS"
    await bot.set_webhook("https://example.org/hook", secret_token="s3")
    said = server.say(private, ada, "hi")
    headers, body = server.webhook_post(said.update_id or 0)
    assert headers["X-Telegram-Bot-Api-Secret-Token"] == "s3"
    assert b'"hi"' in body
