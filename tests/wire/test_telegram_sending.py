"""What the Telegram bot sends, and what Telegram's refusals become: the real SDK against the strict double."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator

import pytest

from bots.telegram.bot import TelegramBot
from core.errors import ChatDead, FloodWait, NotSent, Rejected, SendError, ThreadGone, Unknown
from core.ports import Bot, CanEdit, CanType
from core.vocabulary import Address, BotName, ChatId, ChatKind, Delivery, DeliveryId, MessageId, UserId
from tests.clock import ManualClock
from tests.contract.doubles import NoChance, RecordingDesk, running
from tests.drivers.telegram import NAME, settings_for
from tests.fakes.telegram.model import Chat
from tests.fakes.telegram.server import TelegramServer


class World:
    """The double, a person's chat and a bot that listens."""

    def __init__(self, server: TelegramServer) -> None:
        self.server = server
        self.ada = server.user("Ada")
        self.chat = server.private(self.ada)
        self.bot = TelegramBot(BotName(NAME), settings=settings_for(server), clock=ManualClock(), random=NoChance())

    def delivery(self, text: str, chat: Chat | None = None, reply_to: int | None = None) -> Delivery:
        to = chat or self.chat
        return Delivery(
            id=DeliveryId(1),
            address=Address(
                bot=BotName(NAME),
                chat=ChatId(str(to.id)),
                reply_to=None if reply_to is None else MessageId(str(reply_to)),
            ),
            kind=ChatKind.GROUP if to.is_group else ChatKind.DIRECT,
            text=text,
        )

    async def send(self, text: str = "hello", chat: Chat | None = None, reply_to: int | None = None) -> MessageId:
        return await self.bot.send(self.delivery(text, chat, reply_to))

    async def refusal(self) -> SendError:
        with pytest.raises(SendError) as caught:
            await self.send()
        assert self.server.token not in "".join(traceback.format_exception(caught.value))
        return caught.value


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with TelegramServer(limits=None) as server:
        made = World(server)
        desk = RecordingDesk()
        async with running(made.bot, desk):
            await desk.until(lambda: desk.health.last == "up")
            yield made


def test_the_bot_can_what_telegram_can(world: World) -> None:
    bot: Bot = world.bot
    assert isinstance(bot, CanEdit)
    assert isinstance(bot, CanType)
    assert bot.capabilities.edit_interval_s == 1.0
    group = bot.capabilities.group_pace
    assert group is not None
    assert group.burst + 60 / group.interval_s <= 20


async def test_a_bot_that_shall_not_stream_says_that_it_does_not_edit(world: World) -> None:
    quiet = TelegramBot(
        BotName(NAME), settings=settings_for(world.server, stream=False), clock=ManualClock(), random=NoChance()
    )
    assert quiet.capabilities.edit_interval_s is None


async def test_text_goes_out_with_entities_and_without_a_link_preview(world: World) -> None:
    number = await world.send("**bold** https://example.com/")
    call = world.server.calls_of("sendMessage")[-1]
    assert "parse_mode" not in call.params
    assert call.params["link_preview_options"] == {"is_disabled": True}
    assert "reply_parameters" not in call.params
    message = world.server.chat(world.chat).messages[-1]
    assert (str(message.message_id), message.text) == (number, "bold https://example.com/")
    assert [entity.type for entity in message.entities] == ["bold"]
    assert world.server.violations == ()


async def test_an_answer_in_a_group_replies_even_if_the_question_is_gone(world: World) -> None:
    group = world.server.group()
    said = world.server.say(group, world.ada, "question")
    await world.send("answer", group, said.message_id)
    assert world.server.chat(group).messages[-1].reply_to == said.message_id
    world.server.delete(group, said.message_id)
    await world.send("again", group, said.message_id)
    assert world.server.chat(group).messages[-1].reply_to is None


async def test_c20_c21_angle_brackets_and_full_lengths_arrive_whole(world: World) -> None:
    brackets = "**List** uses `List<int>` and <CoT> & a < b; Name <a@example.com>"
    for text in (brackets, "!" * 4096, "." * 4000):
        for part in world.bot.parts(text):
            await world.send(part)
    texts = world.server.chat(world.chat).bot_texts
    assert texts == ("List uses List<int> and <CoT> & a < b; Name <a@example.com>", "!" * 4096, "." * 4000)
    assert world.server.violations == ()


async def test_what_telegram_cannot_parse_is_sent_once_more_as_it_was_written(world: World) -> None:
    world.server.answer_error("sendMessage", 400, "Bad Request: can't parse entities: unsupported start tag")
    await world.send("**bold** & <b>")
    assert world.server.chat(world.chat).bot_texts == ("**bold** & <b>",)
    assert world.server.chat(world.chat).messages[-1].entities == ()
    assert len(world.server.calls_of("sendMessage")) == 2


async def test_an_edit_that_cannot_be_parsed_is_made_plainly_too(world: World) -> None:
    number = await world.send("draft")
    world.server.answer_error("editMessageText", 400, "Bad Request: can't parse entities: whatever")
    await world.bot.edit(world.delivery("**final**"), number)
    assert world.server.chat(world.chat).bot_texts == ("**final**",)


async def test_an_edit_of_what_is_gone_is_refused_for_good(world: World) -> None:
    number = await world.send("draft")
    world.server.delete(world.chat, int(number))
    with pytest.raises(Rejected, match="not found"):
        await world.bot.edit(world.delivery("final"), number)


async def test_typing_is_shown(world: World) -> None:
    await world.bot.typing(world.delivery("").address)
    assert [action.action for action in world.server.chat(world.chat).actions] == ["typing"]


@pytest.mark.parametrize(
    ("status", "description", "expected"),
    [
        (403, "Forbidden: bot was blocked by the user", ChatDead),
        (403, "Forbidden: user is deactivated", ChatDead),
        (403, "Forbidden: bot was kicked from the supergroup chat", ChatDead),
        (400, "Bad Request: chat not found", ChatDead),
        (400, "Bad Request: not enough rights to send text messages to the chat", ChatDead),
        (400, "Bad Request: have no rights to send a message", ChatDead),
        (400, "Bad Request: CHAT_WRITE_FORBIDDEN", ChatDead),
        (400, "Bad Request: message is too long", Rejected),
        (400, "Bad Request: message thread not found", ThreadGone),
        (400, "Bad Request: TOPIC_CLOSED", ThreadGone),
        (409, "Conflict: something", Rejected),
        (413, "Request Entity Too Large", Rejected),
        (500, "Internal Server Error", Unknown),
        (502, "Bad Gateway", Unknown),
        (418, "teapot", Unknown),
        (401, "Unauthorized", NotSent),
    ],
)
async def test_each_refusal_has_its_error(
    world: World, status: int, description: str, expected: type[SendError]
) -> None:
    world.server.answer_error("sendMessage", status, description)
    assert type(await world.refusal()) is expected
    world.server.answer_error("editMessageText", status, description)
    with pytest.raises(expected):
        await world.bot.edit(world.delivery("x"), MessageId("1"))


@pytest.mark.parametrize(("retry_after", "wait_s"), [(3, 3.0), (1000, 1000.0), (None, 5.0), (0, 5.0)])
async def test_c35_a_flood_wait_tells_how_long(world: World, retry_after: int | None, wait_s: float) -> None:
    world.server.answer_error("sendMessage", 429, "Too Many Requests", retry_after=retry_after)
    refusal = await world.refusal()
    assert isinstance(refusal, FloodWait)
    assert refusal.wait_s == wait_s


@pytest.mark.parametrize(("passes", "apart_s"), [(False, 0), (True, 0), (False, 5)])
async def test_waits_of_two_chats_that_end_together_are_the_account_s(
    world: World, passes: bool, apart_s: int
) -> None:  # fmt: skip
    """Telegram does not say which; what was let through meanwhile, or an end of its own, tells that it is a chat's."""
    group = world.server.group("Group")
    world.server.flood(world.chat, 30)
    assert [await flooded(world, world.chat) for _ in range(2)] == [False, False]
    if passes:
        await world.bot.send(world.delivery("fine", chat=world.server.group("Another")))
    world.server.flood(group, 30 + apart_s)
    assert await flooded(world, group) is not (passes or apart_s > 0)


async def flooded(world: World, chat: Chat) -> bool:
    """Whether the wait that it is told is the account's."""
    with pytest.raises(FloodWait) as caught:
        await world.bot.send(world.delivery("x", chat=chat))
    return caught.value.account


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff", [], "soon", {"ok": True}, {"ok": True, "result": {}}])
async def test_an_answer_without_a_message_id_is_unknown(world: World, body: bytes | str) -> None:
    world.server.answer("sendMessage", 200, body)
    assert type(await world.refusal()) is Unknown


async def test_a_server_that_repeats_our_address_does_not_make_us_repeat_the_token(world: World) -> None:
    world.server.answer_error("sendMessage", 400, f"Bad Request: no such path /bot{world.server.token}/sendMessage")
    refusal = await world.refusal()
    assert isinstance(refusal, Rejected)
    assert "/botTOKEN/" in str(refusal)
    assert world.server.token.lower() not in "".join(traceback.format_exception(refusal)).lower()


async def test_a_lost_answer_is_unknown_and_is_not_sent_twice(world: World) -> None:
    world.server.drop("sendMessage", applied=True)
    assert type(await world.refusal()) is Unknown
    assert world.server.chat(world.chat).bot_texts == ("hello",)


async def test_before_and_after_its_run_the_bot_sends_nothing() -> None:
    async with TelegramServer(limits=None) as server:
        world = World(server)
        with pytest.raises(NotSent):
            await world.send()
        desk = RecordingDesk()
        async with running(world.bot, desk):
            await desk.until(lambda: desk.health.last == "up")
        with pytest.raises(NotSent):
            await world.send()
        assert not server.calls_of("sendMessage")


async def test_who_runs_a_group_is_known_from_telegram(world: World) -> None:
    group, bob = world.server.group("Engines"), world.server.user("Bob")
    world.server.join(group, world.ada)
    world.server.join(group, bob)
    world.server.appoint(group, world.ada, "administrator")
    chat = ChatId(str(group.id))
    assert await world.bot.is_admin(chat, UserId(str(world.ada.id)))
    assert not await world.bot.is_admin(chat, UserId(str(bob.id)))


async def test_a_server_without_typing_signs_costs_only_the_sign(world: World) -> None:
    world.server.answer_error("sendChatAction", 404, "Not Found")
    with pytest.raises(Rejected):
        await world.bot.typing(world.delivery("x").address)
    await world.send("still here")
    assert world.server.chat(world.chat).bot_texts == ("still here",)
