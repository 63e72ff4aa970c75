"""Whatever a platform sends, sound or spoiled: nothing raises on its way to the desk, and every row ends with a fate.

FRONTDESK_TEST_EVENTS is how many events of each platform are tried.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from bots.discord import inbound as discord
from bots.discord import interactions as uses
from bots.discord.places import Place, Places
from bots.slack import inbound as slack
from bots.slack import interactions as slack_uses
from bots.telegram.addressed import Account
from bots.telegram.intake import Intake
from core.store.sql import Sql
from core.store.tables import inbox, turns
from core.vocabulary import Address, BotName, ChatId, ChatKind, EventId, Inbound, Message
from tests.flow.bot import AdminBot
from tests.flow.house import House
from tests.properties import discord_events, slack_payloads, telegram_updates
from tests.properties.spoiling import each_text_as, spoiled

T = TypeVar("T")

EVENTS: Final = int(os.environ.get("FRONTDESK_TEST_EVENTS", "200"))
AT_ONCE: Final = 20
"""Events that one example offers at most: a dozen on average, since each takes a while for itself, too."""
UNSTORABLE_EVERY: Final = 50
"""Of so many events one more comes again for each text in it, about twenty times."""
LIFE: Final = 2_000
"""Events after which the desk starts anew, with a new store."""
PATIENCE_S: Final = 10.0
"""Longer than the desk waits for the rest of a paste or an album."""
UNSTORABLE: Final = "\ud800\0"
many = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)
_OPEN_ROWS = Sql(select(func.count()).select_from(inbox).where(inbox.c.state != "done"))
_OPEN_TURNS = Sql(select(func.count()).select_from(turns).where(turns.c.state.in_(("running", "suspended"))))

Take = Callable[[House, list[Any]], Coroutine[Any, Any, None]]


class World:
    """A desk for many examples."""

    def __init__(self, take: Take, main: dict[str, object]) -> None:
        """`main`: options of the bot."""
        self._take = take
        self._options: dict[str, object] = {"bots": {"main": main}}
        self._runner = asyncio.Runner()
        self._state = tempfile.TemporaryDirectory()
        self._house: House | None = None
        self._events = 0
        self._lives = 0

    def __enter__(self) -> World:
        return self

    def __exit__(self, *why: object) -> None:
        self._end()
        self._runner.close()
        self._state.cleanup()

    def offer(self, events: list[Any]) -> None:
        with structlog.testing.capture_logs():
            self._run(self._offered(self._begun(), events))
        self._events += len(events)
        if self._events >= LIFE:
            self._end()

    def _begun(self) -> House:
        if self._house is None:
            self._lives += 1
            state = Path(self._state.name) / str(self._lives)
            state.mkdir()
            self._house = House(state, self._options, (AdminBot(),))
            self._run(self._house.open())
        return self._house

    async def _offered(self, house: House, events: list[Any]) -> None:
        await self._take(house, events)
        await house.idle()
        await house.advance(PATIENCE_S)
        rows, running = await house.store.read(lambda tx: (tx.number(_OPEN_ROWS), tx.number(_OPEN_TURNS)))
        assert (rows, running) == (0, 0), await _left(house)

    def _end(self) -> None:
        if self._house is not None:
            house, self._house, self._events = self._house, None, 0
            self._run(house.sound())
            self._run(house.die())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)


async def _left(house: House) -> list[object]:
    return [row for row in await house.rows() if row.state != "done"]


def _lists(one: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Long ones as often as short ones, which a list by itself is not; what fails shrinks to the shortest."""
    sizes = st.integers(1, AT_ONCE)
    return sizes.flatmap(lambda size: st.lists(one, min_size=size, max_size=size))


def each_ends(sound: st.SearchStrategy[Any], take: Take, **main: object) -> None:
    """Events, sound and spoiled, until there were as many as are wanted; then some with a text that no database takes,
    in each place where one stands."""
    with World(take, main) as world:

        @settings(many, max_examples=max(1, EVENTS // 9))
        @given(_lists(spoiled(sound)))
        def some(events: list[Any]) -> None:
            world.offer(events)

        @settings(many, max_examples=max(1, EVENTS // UNSTORABLE_EVERY))
        @given(sound)
        def unstorable(event: Any) -> None:
            world.offer(list(each_text_as(event, UNSTORABLE)))

        some()
        unstorable()


_numbers = itertools.count(10**6)


def _numbered(event: Any, *names: str) -> None:
    """As a platform counts: what has an id that is no small number has a new one."""
    for key, value in event.items() if isinstance(event, dict) else ():
        if isinstance(value, dict):
            _numbered(value, *names)
        elif key in names and type(value) in (int, str) and str(value).isdecimal() and len(str(value)) > 2:
            event[key] = type(value)(next(_numbers))


async def _telegram(house: House, updates: list[Any]) -> None:
    for update in updates:
        _numbered(update, "update_id", "message_id")
    us = Account(bot=BotName("main"), id=telegram_updates.US, username="MyBot")
    await Intake(house.desk, house.clock).take(updates, us)


async def _discord(house: House, events: list[Any]) -> None:
    us = discord.Us(bot=BotName("main"), id=discord_events.US, name="Desk", application=discord_events.APPLICATION)
    places = Places()
    places.note("GUILD_CREATE", discord_events.GUILD)
    batch: list[Inbound | None] = []
    for what, data in (event if isinstance(event, list) and len(event) == 2 else ("", event) for event in events):
        _numbered(data, "id")
        channel = discord.channel_of(data) or ""
        scene = discord.Scene(place=places.get(channel) or Place(id=channel, type=1), places=places)
        match what:
            case "INTERACTION_CREATE":
                batch.append(await _used(house, data, us, scene))
            case "MESSAGE_UPDATE":
                batch.append(discord.edit(data, us, scene))
            case _:
                batch.append(discord.message(data, us, scene))
    await house.receive(*[one for one in batch if one is not None])


async def _used(house: House, data: Any, us: discord.Us, scene: discord.Scene) -> Inbound | None:
    commands = {command.name: command for command in house.desk.commands}
    if uses.asked_about(data) is not None:
        said = uses.submitted(data, us, scene, data.get("about") if isinstance(data.get("about"), dict) else None)
        return None if said is None else said.message
    match uses.read(data, us, scene, commands):
        case uses.Said(message=message):
            return message
        case uses.Pressed(press=press):
            return press
        case uses.Typing(principal=principal, command=command, typed=typed):
            await house.desk.complete(principal, command, typed)
    return None


async def _slack(house: House, payloads: list[Any]) -> None:
    us = slack.Account(
        bot=BotName("main"), team=slack_payloads.TEAM, user=slack_payloads.US, bot_id=slack_payloads.BOT, name="desk",
        app=slack_payloads.APP,
    )  # fmt: skip
    batch = [_of_slack(payload, us, house) for payload in payloads if isinstance(payload, dict)]
    await house.receive(*[one for one in batch if one is not None])


def _of_slack(payload: dict[str, Any], us: slack.Account, house: House) -> Inbound | None:
    slack.people(slack.event_of(payload))
    slack_uses.people(payload)
    typed = slack_uses.command(payload, us, {}) if "command" in payload else None
    if typed is not None:
        return _typed(typed, us, house)
    used = slack_uses.interaction(payload, us, {})
    return used.press if isinstance(used, slack_uses.Pressed) else slack.read(payload, us, {})


def _typed(command: slack_uses.Command, us: slack.Account, house: House) -> Message:
    """A slash command where it was typed: to look for its thread takes Slack."""
    return Message(
        event=EventId(command.id),
        message=command.id,
        address=Address(bot=us.bot, chat=ChatId(command.chat)),
        kind=ChatKind.DIRECT if command.chat.startswith("D") else ChatKind.GROUP,
        sender=command.sender,
        text=command.text,
        sent_at=house.clock.now(),
        addressed=True,
        within=us.team,
    )


def test_every_update_of_telegram_ends_with_a_fate() -> None:
    each_ends(telegram_updates.updates(), _telegram, groups=list(telegram_updates.GROUPS))


def test_every_event_of_discord_ends_with_a_fate() -> None:
    each_ends(discord_events.events(), _discord, platform="discord", groups=[discord_events.GUILD["id"]])


def test_every_payload_of_slack_ends_with_a_fate() -> None:
    each_ends(slack_payloads.payloads(), _slack, platform="discord", groups=[slack_payloads.TEAM])  # any desk will do
