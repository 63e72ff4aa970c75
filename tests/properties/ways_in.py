"""The bots' ways in as in a daemon, from what a platform hands over to the desk.

They are whole bots on the test servers of their drivers. A server knows the few people and places that the generated
events name, and refuses whatever else they name, as the platform does. The server's record of broken rules is not
looked at, because such a refusal is no fault of the bot's.
"""

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
from tests.fakes.slack.delivery import Delivery, Kind
from tests.fakes.telegram import TelegramServer
from tests.flow.house import House
from tests.properties import discord_events, slack_payloads, telegram_updates
from tests.properties.discord_team import Team
from tests.properties.slack_workspace import Workspace, is_named_by

NAME: Final = BotName("main")
SECRET: Final = "AAFrontdesk-loopback_test-token-000000"
_TRIES: Final = 20
_PACE_S: Final = 2.0
"""Of the desk's clock: a bot of Discord makes some forty calls within a second, and waits then."""
_KINDS: Final[dict[str, Kind]] = {"event": "events_api", "command": "slash_commands", "interaction": "interactive"}
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


class SlackWay:
    """Payloads are (kind, payload); Slack brings objects alone. What is another workspace's is not acknowledged."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._server = SlackServer(limits=None, clock=house.clock, retries_s=())
        self._workspace = Workspace(self._server)
        self._ours: list[Delivery] = []
        self._calm = _Calm(house, self._server.platform.journal.calls)

    async def open(self) -> None:
        await self._server.__aenter__()
        made = slack_driver.settings_for(self._server, name=NAME, catch_up=0)
        bot = SlackBot(NAME, settings=made, clock=self._house.clock, random=self._house.random)
        self._running = asyncio.create_task(bot.run(self._house.desk))
        await self._server.until(lambda: self._running.done() or self._server.connected(2))
        await self.taken()

    def hear(self, event: Any) -> None:
        kind, payload = event if isinstance(event, list) and len(event) == 2 else ("event", event)
        if not isinstance(payload, dict):
            return
        if payload.get("event_id") == slack_payloads.NEW:
            payload["event_id"] = f"Ev{next(_numbers)}"
        if isinstance(payload.get("event"), dict):
            self._workspace.said(payload["event"])
        self._workspace.used(payload)
        brought = self._server.raw(_KINDS.get(str(kind), "events_api"), payload)
        if is_named_by(payload):
            self._ours.append(brought)

    async def taken(self) -> None:
        await self._server.until(lambda: self._running.done() or self._are_sent())
        await self._calm.comes()
        await _still(self._running)
        ours, self._ours = self._ours, []
        assert [one.payload for one in ours if one.state != "acked"] == []

    def _are_sent(self) -> bool:
        return all(one.attempts for one in self._server.platform.courier.deliveries[-1:])

    async def close(self) -> None:
        await _ended(self._running)
        await self._server.__aexit__(None, None, None)


class _Call(Protocol):
    """Of a test server's record, where it is replaced once it is answered."""

    @property
    def method(self) -> str: ...

    @property
    def status(self) -> int | None: ...


class _Calm:
    """Nothing moves, neither in the desk nor between a bot and its test server, which run on one loop."""

    def __init__(self, house: House, calls: Sequence[_Call]) -> None:
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
        while self._answered < len(self._calls) and _is_answered(self._calls[self._answered]):
            self._answered += 1
        return self._answered == len(self._calls)


def _is_answered(call: _Call) -> bool:
    """What Slack is told with an acknowledgement is no call."""
    return call.status is not None or call.method == "ack"


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
