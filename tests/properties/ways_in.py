"""The bots' ways in as in a daemon, from what a platform hands over to the desk: whole bots on the test servers of their
drivers. A server knows the few people and places that the generated events name, and refuses what else they name, as a
platform does. What it records of that is no fault of the bot's: no more than the events' fates are looked at."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any, Final, Protocol

from bots.discord.bot import DiscordBot
from bots.slack.bot import SlackBot
from bots.telegram.bot import TelegramBot
from core.vocabulary import BotName
from tests.clock import PATIENCE_S
from tests.drivers import discord as discord_driver
from tests.drivers import slack as slack_driver
from tests.drivers import telegram as telegram_driver
from tests.fakes.discord import DiscordServer, GatewayRules
from tests.fakes.slack import SlackServer
from tests.fakes.telegram import TelegramServer
from tests.flow.house import House
from tests.properties import discord_events, slack_payloads, telegram_updates
from tests.properties.discord_team import Team

from collections.abc import Coroutine
from typing import TypeVar
import aiohttp
from bots.slack.http import Door
from bots.slack.inbound import Account as SlackAccount
from bots.slack.line import PATIENCE, Line
from bots.slack.listening import Listener
from config.bots import SlackSettings
from core.fields import Json
T = TypeVar("T")
NAME: Final = BotName("main")
SECRET: Final = "AAFrontdesk-loopback_test-token-000000"
_TRIES: Final = 20
_PACE_S: Final = 2.0
"""Of the desk's clock: a bot of Discord makes some forty calls within a second, and waits then."""
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
        made = telegram_driver.settings_for(self._server, name=NAME)
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
    """Events are (name, data); a form's data holds the message that it is about.

    Discord's gateway does not tell when a client has done with an event. The bot takes events in order, so that all
    before it were taken once it has answered somebody who types into a command.
    """

    def __init__(self, house: House) -> None:
        self._house = house
        ids = (int(discord_events.US), int(discord_events.APPLICATION))
        rules = GatewayRules(identify_every_s=0.0)
        self._server = DiscordServer(limits=None, clock=house.clock, gateway=rules, ids=ids)
        self._team = Team(self._server)
        self._calm = _Calm(house, self._server.platform.journal.calls)
        self._is_taken = False

    async def open(self) -> None:
        await self._server.__aenter__()
        made = discord_driver.settings_for(self._server, name=NAME)
        bot = DiscordBot(NAME, settings=made, clock=self._house.clock, random=self._house.random)
        self._running = asyncio.create_task(bot.run(self._house.desk))
        await self._server.until(lambda: self._running.done() or bool(self._server.commands()))
        await self.taken()

    def hear(self, event: Any) -> None:
        what, data = event if isinstance(event, list) and len(event) == 2 else ("", event)
        _number(data, "id")
        if what == "INTERACTION_CREATE":
            self._team.used(data)
        self._server.raw_event(what if isinstance(what, str) else "", data)
        self._is_taken = False

    async def taken(self) -> None:
        if self._is_taken:
            await self._calm.comes()
            await _still(self._running)
            return
        for _ in range(_TRIES):
            looked = self._team.look()
            await self._server.until(lambda: self._running.done() or self._server.connected())
            await self._calm.comes()
            await _still(self._running)
            if looked.acknowledged:
                self._server.clear_faults()
                self._is_taken = True
                return
            await self._house.clock.advance(_PACE_S)
        raise AssertionError("the bot takes no events any more")

    async def close(self) -> None:
        await _ended(self._running)
        await self._server.__aexit__(None, None, None)


class _Calls(Protocol):
    """Of a test server's record; they are replaced as they are answered."""

    @property
    def status(self) -> int | None: ...


class _Calm:
    """Nothing moves, neither in the desk nor between a bot and its test server, which run on one loop."""

    def __init__(self, house: House, calls: Sequence[_Calls]) -> None:
        self._house = house
        self._calls = calls
        self._answered = 0
        """How many of the first calls were."""

    async def comes(self) -> None:
        """On return all calls were answered, and no call came since."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                count, all_answered = len(self._calls), self._are_answered()
                await self._house.idle()
                if all_answered and len(self._calls) == count:
                    return

    def _are_answered(self) -> bool:
        while self._answered < len(self._calls) and self._calls[self._answered].status is not None:
            self._answered += 1
        return self._answered == len(self._calls)


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
