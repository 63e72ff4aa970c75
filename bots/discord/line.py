"""One account while it is connected: what is sent, changed and asked over its HTTP client. Raises `BotError` only."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final
from urllib.parse import quote

from msgspec.structs import replace

from bots.discord import files, outbound
from bots.discord.http import Http
from bots.discord.inquiries import Inquiries
from bots.discord.interactions import used
from bots.discord.places import ADMINISTRATOR, FORUMS, MANAGE_CHANNELS, MANAGE_GUILD
from bots.discord.reading import is_snowflake
from bots.discord.sdk import discord
from bots.discord.settling import Settling
from bots.discord.sound import is_voice, sound_in
from bots.discord.trouble import (
    MISSING_PERMISSIONS,
    NO_HISTORY_TO_REPLY_TO,
    NO_VOICE_THERE,
    THREAD_ARCHIVED,
    THREAD_LOCKED,
    UNKNOWN_CHANNEL,
    UNKNOWN_MESSAGE,
    DeadChat,
    Refusal,
    code_of,
    in_our_words,
)
from core.errors import BotError, BotRejected, NotSent, Rejected, Unknown
from core.fields import Unreadable
from core.vocabulary import Address, Attachment, ChatId, Delivery, MessageId, OutFile, Press, UserId

_ASIDE_S: Final = 10.0
"""Real seconds for what is never tried again."""
_INVALID_FORM: Final = 50035
_UNREPLIABLE: Final = frozenset({NO_HISTORY_TO_REPLY_TO, MISSING_PERMISSIONS, _INVALID_FORM})
"""What a message that is a reply may be refused with, and one that is none may not."""
_THREAD_GONE: Final = frozenset({THREAD_ARCHIVED, THREAD_LOCKED, UNKNOWN_CHANNEL, UNKNOWN_MESSAGE})
"""What a send to a thread is refused with that is deleted, locked, or can't be begun because its question is gone."""
_NOBODY: Final = frozenset({10007, 10013})
_RUNS_IT: Final = ADMINISTRATOR | MANAGE_GUILD | MANAGE_CHANNELS
_MOST_KEPT: Final = 1_000
_NO_FILE: Final = frozenset({403, 404, 410})
"""Where files are kept, a refusal is not in the API's words."""
_VOICELESS: Final = frozenset({MISSING_PERMISSIONS, NO_VOICE_THERE, _INVALID_FORM, 50159, 50160, 50161})
"""What a voice message may be refused with, and the same sound as a file may not."""


class Line:
    """`salt` makes the desk's nonces its own."""

    def __init__(self, http: Http, inquiries: Inquiries, settling: Settling, salt: str) -> None:
        self._http = http
        self._inquiries = inquiries
        self._settling = settling
        self._replies = inquiries.replies
        self._threads = inquiries.threads
        self._places = inquiries.places
        self._salt = salt
        self._elsewhere: OrderedDict[MessageId, str] = OrderedDict()
        """Channels of messages that could not stand where they belong."""
        self._refusal: BotRejected | None = None
        self._refused = asyncio.Event()

    def refuse(self, refusal: BotRejected) -> None:
        """Discord refused the account in some call."""
        self._refusal = refusal
        self._refused.set()

    async def watch(self) -> None:
        """Raises `BotRejected` once the account is refused."""
        await self._refused.wait()
        if self._refusal is not None:
            raise self._refusal

    # saying something

    async def send(self, delivery: Delivery) -> MessageId:
        if len(delivery.files) > outbound.FILES_PER_MESSAGE:
            raise Rejected(f"Discord takes {outbound.FILES_PER_MESSAGE} files with a message")
        with _opened(delivery.files) as opened_files:
            opened = await self._replies.of(delivery)
            if opened is not None:
                known = None if opened.private else await self._there_already(delivery)
                sent = known or await self._replies.send(opened, delivery, opened_files)
                if sent is not None:
                    return sent
                for file in opened_files:
                    file.reset()
            _, alone = used(delivery.answers)
            if (user := alone or delivery.alone) is not None:
                return await self._to_one(user, delivery, opened_files)
            known = await self._there_already(delivery) or await self._say_aloud(delivery, opened_files)
            return known or await self._post(delivery, opened_files, outbound.message(delivery, self._salt))

    async def _there_already(self, delivery: Delivery) -> MessageId | None:
        """It may stand beside a thread that could not be made."""
        address = delivery.address
        found = await self._settling.find(delivery, outbound.channel_of(address))
        if found is not None or address.thread is None or self._threads.is_there(address):
            return found
        return await self._settling.find(delivery, address.chat)

    async def _to_one(self, user: str, delivery: Delivery, opened: Sequence[discord.File]) -> MessageId:
        """What one person alone is to see, and Discord does not show so any more, goes to the direct chat."""
        said = outbound.message(replace(delivery, address=replace(delivery.address, reply_to=None)), self._salt)
        try:
            channel = await self._direct(user)
            return await self._settling.find(delivery, channel) or await self._put(channel, said, opened)
        except DeadChat as refusal:
            raise Refusal(f"it is for one person only, who takes no messages: {refusal}", refusal.code) from None

    async def _direct(self, user: str) -> str:
        with in_our_words():
            told = await self._http.call("POST", "/users/@me/channels", {"recipient_id": user})
        channel = told.get("id") if isinstance(told, dict) else None
        if not isinstance(channel, str) or not is_snowflake(channel):
            raise NotSent("the answer names no channel")
        return channel

    def may_leave(self, address: Address, refusal: BotError) -> bool:
        """Is the thread gone that this was for, and may it be said in the channel instead?"""
        thread = address.thread
        return thread is not None and code_of(refusal) in _THREAD_GONE and self._places.is_read_along(thread)

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        body = outbound.edit(delivery)
        opened = self._replies.of_message(message)
        if opened is not None:
            await self._replies.edit(opened, message, body)
            return
        channel = self._elsewhere.get(message) or outbound.channel_of(delivery.address)
        path = "/channels/{channel_id}/messages/{message_id}"
        with in_our_words():
            await self._http.call("PATCH", path, body, channel_id=channel, message_id=message)

    async def _say_aloud(self, delivery: Delivery, opened: Sequence[discord.File]) -> MessageId | None:
        """As a voice message, where it is one and the chat takes it."""
        sound = await asyncio.to_thread(sound_in, delivery.files[0].path) if is_voice(delivery) else None
        if sound is None:
            return None
        try:
            return await self._post(delivery, opened, outbound.voice(delivery, self._salt, sound))
        except BotError as refusal:
            if code_of(refusal) not in _VOICELESS:
                raise
        for file in opened:
            file.reset()
        return None

    async def _post(self, delivery: Delivery, opened: Sequence[discord.File], body: dict[str, object]) -> MessageId:
        address = delivery.address
        foreseen = self._threads.each_question and not self._threads.is_there(address)
        if foreseen and not await self._begin_thread(address):
            return await self._beside(delivery, body, opened)
        try:
            return await self._create(outbound.channel_of(address), body, opened)
        except BotError as refusal:
            if code_of(refusal) != UNKNOWN_CHANNEL or not self._threads.may_begin(address):
                raise
        await self._threads.make(address)
        return await self._create(outbound.channel_of(address), body, opened)

    async def _begin_thread(self, address: Address) -> bool:
        """False where Discord lets the bot begin none on this question."""
        try:
            await self._threads.make(address)
        except (Refusal, DeadChat):
            return not self._threads.is_question(address)
        return True

    async def _beside(
        self, delivery: Delivery, body: dict[str, object], opened: Sequence[discord.File]
    ) -> MessageId:  # fmt: skip
        """Without a thread the answer stands in the channel, as a reply to the question."""
        address = delivery.address
        body["message_reference"] = {"message_id": address.thread, "fail_if_not_exists": False}
        return await self._put(address.chat, body, opened)

    async def _put(self, channel: str, body: dict[str, object], opened: Sequence[discord.File]) -> MessageId:
        """In a channel that the core does not know it to be in."""
        sent = await self._create(channel, body, opened)
        self._elsewhere[sent] = channel
        while len(self._elsewhere) > _MOST_KEPT:
            self._elsewhere.popitem(last=False)
        return sent

    async def _create(self, channel: str, body: dict[str, object], opened: Sequence[discord.File]) -> MessageId:
        try:
            return await self._created(channel, body, opened)
        except BotError as refusal:
            if code_of(refusal) not in _UNREPLIABLE or "message_reference" not in body:
                raise
        for file in opened:
            file.reset()
        plainer = {key: value for key, value in body.items() if key != "message_reference"}
        return await self._created(channel, plainer, opened)

    async def _created(self, channel: str, body: dict[str, object], opened: Sequence[discord.File]) -> MessageId:
        path = "/channels/{channel_id}/messages"
        with in_our_words():
            if opened:
                told = await self._http.upload(path, body, opened, channel_id=channel)
            else:
                told = await self._http.call("POST", path, body, channel_id=channel)
        number = told.get("id") if isinstance(told, dict) else None
        if not isinstance(number, str) or not is_snowflake(number):
            raise Unknown("the answer names no message")
        return MessageId(number)

    # signs

    async def typing(self, address: Address) -> None:
        unborn = self._threads.is_question(address) and not self._threads.is_there(address)
        channel = address.chat if unborn else outbound.channel_of(address)
        await self._aside("POST", "/channels/{channel_id}/typing", channel_id=channel)

    async def react(self, address: Address, message: MessageId, emoji: str) -> None:
        channel = outbound.channel_of(address)
        if str(address.thread) == str(message):  # the message that a thread began with: in the channel, or in the post
            place = self._places.get(channel)
            channel = channel if place is not None and place.parent_type in FORUMS else address.chat
        path = f"/channels/{{channel_id}}/messages/{{message_id}}/reactions/{quote(emoji)}/@me"
        await self._aside("PUT", path, channel_id=channel, message_id=message)

    async def answer(self, press: Press, text: str, *, over: bool) -> None:
        opened = await self._replies.of_press(press.handle)
        if opened is None:
            raise Rejected("the press can't be answered any more")
        if over:
            await self._replies.edit(opened, "@original", {"components": []})
        if text:
            await self._replies.follow(opened, outbound.whisper(text))

    async def _aside(self, method: str, path: str, **parameters: str) -> Any:
        try:
            async with asyncio.timeout(_ASIDE_S):
                with in_our_words():
                    return await self._http.call(method, path, **parameters)
        except TimeoutError:
            raise NotSent("Discord does not answer") from None

    # asking

    async def is_admin(self, chat: ChatId, user: UserId) -> bool:
        """Who may manage the server or the channel. In a direct chat nobody does."""
        place = self._places.get(chat)
        if place is None:
            with suppress(Unreadable):
                place = self._places.remember(await self._inquiries.channel(chat))
        if place is None or place.guild is None or not is_snowflake(user):
            return False
        path = "/guilds/{guild_id}/members/{user_id}"
        try:
            told = await self._aside("GET", path, guild_id=place.guild, user_id=user)
        except Refusal as refusal:
            if refusal.code in _NOBODY:
                return False
            raise
        roles = told.get("roles") if isinstance(told, dict) else None
        held = [role for role in roles if isinstance(role, str)] if isinstance(roles, list) else []
        return bool(self._places.permissions(chat, user, held) & _RUNS_IT)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        where = files.holder(attachment.ref)
        if where is None:
            raise Rejected("no file of Discord's")
        url = files.file_address(attachment.ref, await self._inquiries.message(*where))
        if url is None:
            raise Rejected("the file is not there any more")
        with in_our_words():
            try:
                async for piece in self._http.download(url):
                    yield piece
            except discord.HTTPException as refusal:
                if refusal.status in _NO_FILE:
                    raise Rejected("the file is not there any more") from None
                raise

    def upload_limit(self, address: Address) -> int:
        return self._places.upload_bytes(outbound.channel_of(address))


@contextmanager
def _opened(sent: Sequence[OutFile]) -> Iterator[Sequence[discord.File]]:
    """Files of ours, to be read while they are sent."""
    opened: list[discord.File] = []
    try:
        for file in sent:
            opened.append(discord.File(file.path, filename=file.name))  # noqa: PERF401  # to be closed if one fails
        yield opened
    except FileNotFoundError:
        raise Rejected("a file that was to be sent is gone") from None
    finally:
        for one in opened:
            one.close()
