"""The access table's platforms, people and daemon, before anything is played."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from core.service.socket import SOCKET_NAME
from core.service.socket_client import ask
from tests.crash.daemon import Daemon
from tests.drivers.discord import DiscordDriver
from tests.drivers.driver import Driver, Person, Place
from tests.drivers.slack import SlackDriver
from tests.drivers.telegram import TelegramDriver
from tests.fakes.discord import GatewayRules, ThreadedDiscordServer
from tests.fakes.discord.interaction_state import ANSWER_S
from tests.fakes.slack import ThreadedSlackServer
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.access_play import Play
from tests.wire.access_seen import ASKS, TYPES_MODEL, Part
from tests.wire.access_table import ROLES, Cell
from tests.wire.unpaced import UNPACED

_PATIENT_S: Final = 60.0
"""How long Slack and Discord wait for an answer: hundreds of messages come at once, on a busy machine."""
NO_RESET: Final = """
[session.reset]
mode = "none"
"""
_GIVEN: Final = {"g": "guest", "b": "blocked", "O": "owner"}
"""The roles that are stored; all others are configured, or none."""

_PAPER: Final = """agents = ["paper"]
[agents.paper]
backend = "model"
model = "openai:paper"
models = ["openai:pencil"]
base_url = "http://127.0.0.1:9/v1"
api_key = "none"
"""
"""An agent that everybody may choose and nobody asks anything: it has models to choose among. It begins in the bot's
table."""


def _room(driver: Driver, place: str, who: Person, host: Person) -> Place:
    """A new one, of a kind of place of the table. Both are in it."""
    match place:
        case "direct":
            return driver.direct(who)
        case "ours":
            return driver.thread([host, who], root=None)
        case "other":
            return driver.thread([host, who], root="good morning")
        case _:
            return driver.group([host, who], listed=place == "listed")


def _slow_clock() -> float:
    """Discord's interactions are answered within three seconds of this clock."""
    return time.monotonic() * ANSWER_S / _PATIENT_S


@contextmanager
def driving(platform: str) -> Iterator[Driver]:
    """The platform with nobody on it."""
    stop = "stop_button = true"
    match platform:
        case "telegram":
            with ThreadedTelegramServer(limits=None) as telegram:
                yield TelegramDriver(telegram, f"{stop}\ndrafts = false")
        case "discord":
            rules = GatewayRules(identify_every_s=0.0)
            with ThreadedDiscordServer(limits=None, gateway=rules, clock=_slow_clock) as discord:
                yield DiscordDriver(discord, stop)
        case _:
            with ThreadedSlackServer(limits=None, answer_s=_PATIENT_S) as slack:
                yield SlackDriver(slack, f"{stop}\ncatch_up = 0")


def furnished(driver: Driver, home: Path, cells: Sequence[Cell], direct: str = "pairing", more: str = NO_RESET) -> Play:
    """Everybody is there, the daemon is not started yet. `direct`: what the bot has for the place of the same name.
    `more`: further configuration."""
    host = driver.person("host")
    regulars = {role: driver.person(f"regular {role}", robot=role == "x") for role in ROLES}
    parts = []
    for number, cell in enumerate(cells):
        place = cell.place if cell.place != direct else "direct"
        aside = cell.kind == ASKS and driver.asks_in_private
        own = place == "direct" or aside or cell.kind == "comes and goes" or cell.kind.endswith("one's own")
        who = driver.person(f"{cell.role}{number}", robot=cell.role == "x") if own else regulars[cell.role]
        scene = _room(driver, place, who, host)
        room = driver.direct(who) if aside else scene
        parts.append(Part(cell=cell, who=who, room=room, scene=scene, number=f"{number:04}z"))
    roles = {role: {part.who.identity for part in parts if part.begins_as == role} for role in "ou"}
    roles["o"].add(regulars["o"].identity)
    hall = _room(driver, "listed" if direct == "off" else "direct", host, host)
    people = {"o": sorted(roles["o"]), "u": sorted({host.identity, *roles["u"]})}
    more = (_PAPER if any(cell.kind == TYPES_MODEL for cell in cells) else "") + more
    daemon = Daemon(home, config=_config(driver, home, direct, people) + more, environ={UNPACED: "1"})
    return Play(driver=driver, daemon=daemon, parts=parts, host=host, owner=regulars["o"], hall=hall)


def _config(driver: Driver, home: Path, direct: str, people: Mapping[str, Sequence[str]]) -> str:
    if isinstance(driver, DiscordDriver):
        driver.list_guild()
    return f"""
[access]
direct = "{direct}"
owners = {json.dumps(people["o"])}
allow = {json.dumps(people["u"])}
[access.guests]
conversations_per_hour = 1_000_000
[desk]
max_turns = 5_000
[agents.default]
backend = "tests.wire.access_agent:make"
[agents.default.options]
journal = {json.dumps(str(home / "journal"))}
{driver.table}
"""


def begin(play: Play) -> None:
    """Start it and give people their roles."""
    play.daemon.start()
    play.daemon.until_ready()
    play.daemon.until_bot("up", play.driver.name)
    play.wait(play.driver.connected, "connected")
    asyncio.run(_give_roles(play))


async def _give_roles(play: Play) -> None:
    roles = {part.who.identity: _GIVEN.get(part.begins_as) for part in play.parts}
    for identity, role in roles.items():
        if role is not None:
            await ask(play.daemon.state / SOCKET_NAME, "people.role", {"id": identity, "role": role})
