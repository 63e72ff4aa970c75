"""The bots' ways in as in a daemon, from what a platform hands over to the desk.

Telegram's is the whole bot on the test server of its driver. Those of Discord and Slack have a platform behind them
that knows little and agrees to everything: they ask it about what an event names, and a test server knows nothing of
what was made up, so that of most events no more than the refusal would be tried. Nor does Discord's gateway tell when
a client has done with an event.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any, Final, Protocol, TypeVar

import aiohttp

from bots.discord import inbound as discord
from bots.discord.http import Http
from bots.discord.inquiries import Inquiries
from bots.discord.intake import Intake as DiscordIntake
from bots.discord.kept import Kept
from bots.discord.places import Places
from bots.discord.replies import Replies
from bots.discord.threads import Threads
from bots.discord.voice import Voice
from bots.slack.http import Door
from bots.slack.inbound import Account as SlackAccount
from bots.slack.line import PATIENCE, Line
from bots.slack.listening import Listener
from bots.telegram.bot import TelegramBot
from config.bots import DiscordSettings, SlackSettings
from core.backoff import Backoff
from core.errors import Rejected
from core.fields import Json
from core.vocabulary import BotName
from tests.drivers.telegram import settings_for
from tests.fakes.telegram import TelegramServer
from tests.flow.house import House
from tests.properties import discord_events, slack_payloads, telegram_updates

T = TypeVar("T")

NAME: Final = BotName("main")
SECRET: Final = "AAFrontdesk-loopback_test-token-000000"
_numbers = itertools.count(10**6)


class Way(Protocol):
    """One platform's way to one desk."""

    async def open(self) -> None:
        """From now on it hears."""

    def hear(self, event: Any) -> None:
        """Something arrives."""

    async def taken(self) -> None:
        """What arrived is on its way. Raises what reading it raised."""

    async def close(self) -> None: ...


class TelegramWay:
    """Telegram numbers updates itself, and each is an object."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._server = TelegramServer(limits=None, token=f"{telegram_updates.US}:{SECRET}", username="MyBot")

    async def open(self) -> None:
        await self._server.__aenter__()
        made = settings_for(self._server, name=NAME)
        bot = TelegramBot(NAME, settings=made, clock=self._house.clock, random=self._house.random)
        self._running = asyncio.create_task(bot.run(self._house.desk))

    def hear(self, event: Any) -> None:
        _number(event, "message_id")
        if isinstance(event, dict):
            self._server.raw({name: value for name, value in event.items() if name != "update_id"})

    async def taken(self) -> None:
        await self._server.until(lambda: self._running.done() or not self._server.unconfirmed)
        await _still(self._running)

    async def close(self) -> None:
        await _ended(self._running)
        await self._server.__aexit__(None, None, None)


class DiscordWay:
    """Events are (name, data); a form's data holds the message that it is about."""

    def __init__(self, house: House) -> None:
        us = discord.Us(bot=NAME, id=discord_events.US, name="Desk", application=discord_events.APPLICATION)
        settings = DiscordSettings.model_validate({"name": "main", "token": "x"}, strict=False)
        places = Places()
        places.note("GUILD_CREATE", discord_events.GUILD)
        self._line = _Discord(settings, house.clock)
        replies = Replies(self._line, us.application, Kept(house.desk, NAME), house.clock)
        threads = Threads(self._line, places, each_question=False)
        inquiries = Inquiries(self._line, places, replies, threads, {one.name: one for one in house.desk.commands})
        voice = Voice(NAME, house.desk.health)
        self._intake = DiscordIntake(us, house.desk, inquiries, voice, Backoff(house.clock, house.random))
        self._running = asyncio.create_task(self._intake.run())

    async def open(self) -> None:
        pass

    def hear(self, event: Any) -> None:
        what, data = event if isinstance(event, list) and len(event) == 2 else ("", event)
        _number(data, "id")
        if isinstance(data, dict):
            self._line.about = data.get("about")
        self._intake.hear(what if isinstance(what, str) else "", data)

    async def taken(self) -> None:
        await _still(self._running)

    async def close(self) -> None:
        await _ended(self._running)
        await self._line.close()


class _Discord(Http):
    """`about`: whatever message is asked for."""

    about: object = None

    async def call(self, method: str, path: str, body: object = None, **parameters: str) -> Any:
        if path == "/channels/{channel_id}" or (method == "GET" and self.about is None):
            raise Rejected("unknown")
        return self.about if method == "GET" else {}

    async def whisper(self, method: str, path: str, payload: object, files: object = ()) -> Any:
        return {}


class SlackWay:
    """Events are (kind of envelope, payload)."""

    def __init__(self, house: House) -> None:
        us = SlackAccount(
            bot=NAME, team=slack_payloads.TEAM, user=slack_payloads.US, bot_id=slack_payloads.BOT, name="desk",
            app=slack_payloads.APP,
        )  # fmt: skip
        told = {"name": "main", "bot_token": "xoxb-1", "signing_secret": "x", "mode": "http", "catch_up": 0}
        settings = SlackSettings.model_validate(told, strict=False)
        self._session = aiohttp.ClientSession()
        line = _Slack(settings, self._session, house.clock, PATIENCE)
        self._listener = _Listener(settings, line, house.desk, house.random, us)
        self._running = asyncio.create_task(self._listener.listen(Door("x", house.clock)))

    async def open(self) -> None:
        pass

    def hear(self, event: Any) -> None:
        _, payload = event if isinstance(event, list) and len(event) == 2 else ("event", event)
        if not isinstance(payload, dict):
            return
        if payload.get("event_id") == slack_payloads.NEW:
            payload["event_id"] = f"Ev{next(_numbers)}"
        self._listener.spawn(self._listener.take(payload))

    async def taken(self) -> None:
        await _still(self._running)
        if self._listener.faults:
            raise self._listener.faults[0]

    async def close(self) -> None:
        await _ended(self._running)
        await self._session.close()


class _Listener(Listener):
    """Knows what became of the tasks that nobody waits for."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.faults: list[BaseException] = []

    def spawn(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        task = super().spawn(work)
        task.add_done_callback(self._look_at)
        return task

    def failed(self, error: Exception) -> None:
        self.faults.append(error)

    def _look_at(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            self.faults.append(fault)


class _Slack(Line):
    async def call(self, method: str, arguments: Json, *, telling: bool = True) -> dict[str, Any]:
        user = str(arguments.get("user") or arguments.get("users") or "")
        match method:
            case "auth.test":
                return {"team_id": slack_payloads.TEAM, "user_id": slack_payloads.US, "bot_id": slack_payloads.BOT}
            case "users.info":
                return {"user": {"id": user, "name": f"n{user}", "team_id": slack_payloads.TEAM}}
            case "conversations.open" if user.startswith("U"):
                return {"channel": {"id": f"D{user[1:]}"}}
            case "conversations.replies":
                said = {"type": "message", "text": "hello", "ts": "1700000000.000001"}
                return {"messages": [{**said, "user": user} for user in slack_payloads.PEOPLE]}
            case "files.info":
                return {"file": {"id": arguments.get("file"), "name": "a.png", "mimetype": "image/png", "size": 9}}
            case _:
                return {}

    async def post(self, url: str, body: Json) -> None:
        pass


async def _still(running: asyncio.Task[None]) -> None:
    """Raises what ended it."""
    if running.done():
        await running
        raise AssertionError("the bot stopped listening")


async def _ended(running: asyncio.Task[None]) -> None:
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def _number(event: Any, *names: str) -> None:
    """As a platform counts: what has an id that is no small number has a new one."""
    for key, value in event.items() if isinstance(event, dict) else ():
        if isinstance(value, dict):
            _number(value, *names)
        elif key in names and type(value) in (int, str) and str(value).isdecimal() and len(str(value)) > 2:
            event[key] = type(value)(next(_numbers))
