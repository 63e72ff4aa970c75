"""A Discord account, looked at from outside: its token, its intent, its clock, its servers and channels.

What is asked here changes nothing. Whether another program uses the same account can't be told: Discord lets it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final, TypeVar

from msgspec.structs import replace

from bots.discord import inbound
from bots.discord.gateway import Ear, Seat, Shard, Turnstile
from bots.discord.http import PATIENCE, Http, connected
from bots.discord.inbound import Scene, Us
from bots.discord.places import (
    CREATE_PUBLIC_THREADS,
    DIRECT,
    READ_MESSAGE_HISTORY,
    SEND_MESSAGES,
    SEND_MESSAGES_IN_THREADS,
    VIEW_CHANNEL,
    Place,
    Places,
)
from bots.discord.reading import one_line, snowflake
from bots.discord.sdk import discord
from bots.discord.trouble import in_our_words
from config.bots import DiscordSettings
from core.backoff import Backoff
from core.errors import BotError, BotRejected, ChatDead, Rejected, Unknown
from core.fields import Json, Unreadable, opt
from core.ports import Blamed, Clock, Finding, State, Writer
from core.vocabulary import BotName, Message

_T = TypeVar("_T")

_CALL_S: Final = 10.0
_LISTEN_S: Final = 15.0
_SKEW_S: Final = 60.0
"""Less is what many machines are off by, and nothing here goes by seconds."""
_API: Final = DiscordSettings.model_fields["api_base"].default
_PORTAL: Final = "https://discord.com/developers/applications"
_FLAGS: Final = discord.ApplicationFlags
_CONTENT: Final = _FLAGS.gateway_message_content.flag | _FLAGS.gateway_message_content_limited.flag
"""The second is the form for small bots."""
_FEW_STARTS: Final = 20
_NEEDED: Final[Mapping[int, str]] = {
    VIEW_CHANNEL: "View Channel",
    SEND_MESSAGES: "Send Messages",
    READ_MESSAGE_HISTORY: "Read Message History",
    SEND_MESSAGES_IN_THREADS: "Send Messages in Threads",
}
_FOR_THREADS: Final[Mapping[int, str]] = {CREATE_PUBLIC_THREADS: "Create Public Threads"}
_INVITE_IT: Final = "invite the bot to the server, or take the id out of `groups`"


class _Longest:
    """One look from outside needs no chance."""

    def uniform(self, low: float, high: float) -> float:
        return high


class DiscordProbe:
    """`ports.Probe` of one bot."""

    def __init__(
        self, name: BotName, *, settings: DiscordSettings, clock: Clock, listen_s: float = _LISTEN_S
    ) -> None:  # fmt: skip
        self._name = name
        self._settings = settings
        self._clock = clock
        self._listen_s = listen_s

    async def introduce(self) -> str:
        async with self._connected() as http:
            return f"@{_username(await self._login(http))}"

    async def writers(self) -> Sequence[Writer]:
        """Discord keeps nothing for bots that are away: whoever wrote before writes once more, while this listens."""
        async with self._connected() as http:
            me = await self._login(http)
            us = _us(self._name, me)
            gateway = await self._ask(http.gateway)
            ear = _Listener(us)
            seat = Seat(0, gateway.shards, http, ear, PATIENCE)
            waits = Backoff(self._clock, _Longest())
            shard = Shard(seat, gateway.url, Turnstile(http, gateway, self._clock, {}), waits)
            listening = asyncio.create_task(shard.keep())
            heard = asyncio.create_task(ear.somebody.wait())
            try:
                await asyncio.wait({listening, heard}, timeout=self._listen_s, return_when=asyncio.FIRST_COMPLETED)
                if listening.done():
                    listening.result()
            finally:
                listening.cancel()
                heard.cancel()
                await asyncio.gather(listening, heard, return_exceptions=True)
        return list(reversed(ear.writers.values()))

    async def findings(self, *, alone: bool) -> Sequence[Finding]:
        async with self._connected() as http:
            try:
                me = await self._login(http)
                us = _us(self._name, me)
            except BotError as trouble:
                return [self._about("token", trouble)]
            token = self._finding("token", "ok", f"Discord knows the bot as {_username(me)} (id {us.id})")
            clock = self._skew(http)
            application = await self._application(http)
            gateway = await self._gateway(http)
            groups = [await self._group(http, us, group) for group in self._settings.groups]
        return [token, clock, *application, gateway, *groups]

    async def _application(self, http: Http) -> list[Finding]:
        try:
            told = await self._ask(http.application)
        except BotError as trouble:
            return [self._about("intent", trouble)]
        flags = told.get("flags")
        if not isinstance(flags, int) or not flags & _CONTENT:
            do = f"switch on Message Content Intent at {_PORTAL}, Bot, Privileged Gateway Intents"
            intent = self._finding("intent", "fault", "Discord does not let the bot read messages", do)
        else:
            intent = self._finding("intent", "ok", "the bot may read messages (message content intent)")
        if not told.get("interactions_endpoint_url"):
            return [intent]
        detail = "Discord sends commands and buttons to a web server"
        do = f"empty Interactions Endpoint URL at {_PORTAL}, General Information"
        return [intent, self._finding("commands", "fault", detail, do)]

    async def _gateway(self, http: Http) -> Finding:
        try:
            gateway = await self._ask(http.gateway)
        except BotError as trouble:
            return self._about("gateway", trouble)
        detail = f"{gateway.starts_left} sessions may begin within a day, over {gateway.shards} connections at once"
        if gateway.starts_left >= max(_FEW_STARTS, gateway.shards):
            return self._finding("gateway", "ok", detail)
        do = "see what begins so many: Discord resets the token of a bot that goes on"
        return self._finding("gateway", "warning", detail, do, blames="world")

    # servers and channels

    async def _group(self, http: Http, us: Us, group: str) -> Finding:
        what = f"group {group}"
        try:
            channel = await self._object(http, "/channels/{channel_id}", channel_id=group)
        except (Rejected, ChatDead):
            return await self._server(http, us, group)
        except BotError as trouble:
            return self._about(what, trouble)
        try:
            return await self._channel(http, us, channel, what)
        except (BotError, Unreadable) as trouble:
            trouble = trouble if isinstance(trouble, BotError) else Unknown(str(trouble))
            return self._about(what, trouble)

    async def _server(self, http: Http, us: Us, group: str) -> Finding:
        what = f"group {group}"
        try:
            guild = await self._object(http, "/guilds/{guild_id}", guild_id=group)
        except (Rejected, ChatDead) as refusal:
            return self._finding(what, "fault", f"the bot can't see it ({refusal})", _INVITE_IT)
        except BotError as trouble:
            return self._about(what, trouble)
        name = one_line(str(guild.get("name") or ""))
        return self._finding(what, "ok", f"the bot is in the server “{name}” and answers in all its channels")

    async def _channel(self, http: Http, us: Us, channel: Json, what: str) -> Finding:
        guild_id = snowflake(channel, "guild_id")
        guild = await self._object(http, "/guilds/{guild_id}", guild_id=guild_id)
        path = "/guilds/{guild_id}/members/{user_id}"
        member = await self._object(http, path, guild_id=guild_id, user_id=us.id)
        places = Places()
        places.note("GUILD_CREATE", {**guild, "channels": [channel]})
        roles = [role for role in opt(member, "roles", list) or () if isinstance(role, str)]
        held = places.permissions(snowflake(channel, "id"), us.id, roles)
        needed = {**_NEEDED, **(_FOR_THREADS if self._settings.auto_thread else {})}
        missing = [name for bit, name in needed.items() if not held & bit]
        name = f"“#{one_line(opt(channel, 'name', str) or '')}”"
        if not missing:
            return self._finding(what, "ok", f"the bot may read and write in {name}")
        do = "give the bot's role there what is missing"
        return self._finding(what, "fault", f"in {name} the bot lacks: {', '.join(missing)}", do)

    # the clock

    def _skew(self, http: Http) -> Finding:
        told = http.dated
        theirs: datetime | None = None
        with suppress(ValueError, TypeError):  # none, or one that nobody can read
            theirs = parsedate_to_datetime(told[0]) if told is not None else None
        if told is None or theirs is None:
            return self._finding("clock", "warning", "Discord's answer has no time to compare with")
        skew_s = (told[1] - (theirs if theirs.tzinfo else theirs.replace(tzinfo=UTC))).total_seconds()
        if abs(skew_s) <= _SKEW_S:
            return self._finding("clock", "ok", f"within {max(1, round(abs(skew_s)))} s of Discord's")
        how = f"{timedelta(seconds=round(abs(skew_s)))} {'ahead' if skew_s > 0 else 'behind'}"
        detail = f"this machine's clock is {how}: resets come at the wrong time, and what was missed is not fetched"
        return self._finding("clock", "fault", detail, "set it, as by `timedatectl set-ntp true`")

    # asking

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Http]:
        async with connected(self._settings, self._clock, replace(PATIENCE, answer_s=_CALL_S)) as http:
            yield http

    async def _login(self, http: Http) -> Json:
        return await self._ask(lambda: http.login(self._settings.token.reveal()))

    async def _object(self, http: Http, path: str, **parameters: str) -> Json:
        told: object = await self._ask(lambda: http.call("GET", path, **parameters))
        if not isinstance(told, dict):
            raise Unknown("the answer is not Discord's")
        return told

    async def _ask(self, act: Callable[[], Awaitable[_T]]) -> _T:
        try:
            async with asyncio.timeout(_CALL_S):
                with in_our_words():
                    return await act()
        except TimeoutError:
            raise Unknown(f"Discord did not answer within {_CALL_S:.0f} s") from None

    def _finding(self, what: str, state: State, detail: str, do: str = "", *, blames: Blamed = "config") -> Finding:
        return Finding(what=f"[bots.{self._name}] {what}", state=state, detail=detail, do=do, blames=blames)

    def _about(self, what: str, trouble: BotError) -> Finding:
        """What keeps us from knowing."""
        if isinstance(trouble, BotRejected):
            return self._finding(
                what, "fault", "Discord refuses it", f"copy a new one from {_PORTAL}, Bot, Reset Token"
            )
        own = self._settings.api_base != _API
        do = f"look at api_base ({self._settings.api_base}) and at the network" if own else "look at the network"
        return self._finding(what, "fault", str(trouble), f"{do}, and try again", blames="world")


class _Listener(Ear):
    """Hears who writes to the bot in private."""

    def __init__(self, us: Us) -> None:
        super().__init__(self._heard, ("MESSAGE_CREATE",))
        self.writers: dict[str, Writer] = {}
        self.somebody = asyncio.Event()
        self._us = us

    def _heard(self, event: str, data: object, shard: int) -> None:
        channel = inbound.channel_of(data)
        if event != "MESSAGE_CREATE" or channel is None or not isinstance(data, dict) or data.get("guild_id"):
            return
        said = inbound.message(data, self._us, Scene(place=Place(id=channel, type=DIRECT), places=Places()))
        if isinstance(said, Message) and said.sender.user is not None and not said.sender.is_bot:
            identity = f"discord:{said.sender.user}"
            self.writers.pop(identity, None)
            self.writers[identity] = Writer(identity=identity, name=said.sender.name, text=said.text)
            self.somebody.set()


def _username(me: Json) -> str:
    return one_line(str(me.get("username") or ""))


def _us(name: BotName, me: Json) -> Us:
    try:
        return Us(bot=name, id=snowflake(me, "id"), name=_username(me), application="")
    except Unreadable:
        raise Unknown("what answers there is not Discord: it does not say who this bot is") from None
