"""What Discord's test server knows of whoever `discord_events` tells of."""

from __future__ import annotations

from typing import Any, Final

from tests.fakes.discord import DiscordServer, Interaction, Message
from tests.fakes.discord import permissions as may
from tests.fakes.discord.interaction_state import COMPONENT
from tests.fakes.discord.model import DM, Channel, Role, User, Version, objects
from tests.fakes.discord.platform import GuildState, Member, Room, ThreadState
from tests.properties.discord_events import GUILD, PLACES, US

_PEOPLE: Final = {7: "ada", 8: "bob", 1: "own"}
_SHOWN: Final = 3
"""A message of the bot's, in each place."""


class Team:
    """The guild, and the direct chats of two people, before the bot is there."""

    def __init__(self, server: DiscordServer) -> None:
        self._server = server
        self._platform = platform = server.platform
        date = platform.date()
        platform.users |= {number: User(id=number, username=name) for number, name in _PEOPLE.items()}
        guild = GuildState(id=int(GUILD["id"]), name=GUILD["name"], owner_id=int(GUILD["owner_id"]))
        for told in GUILD["roles"]:
            number, everybody = int(told["id"]), told["id"] == GUILD["id"]
            rights = may.USUAL if everybody else 0
            guild.roles[number] = Role(id=number, name=told["name"], permissions=rights, managed=not everybody)
        guild.members = {number: Member(user_id=number, joined_at=date) for number in (int(US), *_PEOPLE)}
        platform.guilds[guild.id] = guild
        rooms = [Room(id=number, type=DM, recipients=(number, int(US))) for number in (7, 8)]
        for told in (*GUILD["channels"], *GUILD["threads"]):
            rooms.append(Room(id=int(told["id"]), type=told["type"], name=told["name"], guild_id=guild.id))
            if "parent_id" in told:
                rooms[-1].parent_id = int(told["parent_id"])
                rooms[-1].thread = ThreadState(owner_id=7, archived_at=date, members={int(US): date, 7: date})
        for room in rooms:
            room.messages[_SHOWN] = Message(
                id=_SHOWN, channel_id=room.id, guild_id=room.guild_id, author=server.bot, date=date,
                versions=(Version(content="hello"),),
            )  # fmt: skip
            platform.rooms[room.id] = room

    def used(self, told: Any) -> None:
        """Somebody uses a button or a command, as told: if that is sound, it can be answered."""
        match told:
            case {
                "id": str(number), "token": str(token), "channel_id": str(place),
                "type": 2 | 3 | 4 | 5 as kind, "data": dict(data),
            } if number.isdecimal() and place in PLACES:  # fmt: skip
                room, account = self._platform.rooms[int(place)], self._platform.accounts[0]
                self._platform.interactions[int(number)] = Interaction(
                    id=int(number), token=token, type=kind, bot_id=account.user_id, user_id=7, channel_id=room.id,
                    application_id=account.application_id, guild_id=room.guild_id, data=data,
                    made_at=self._platform.clock(), delivered=True, message_id=_SHOWN if kind == COMPONENT else None,
                )  # fmt: skip
                if told.get("about") is not None:
                    self._server.answer("get_message", 200, told["about"], channel_id=room.id)

    def look(self) -> Interaction:
        """Somebody types into a command in their direct chat."""
        [argument] = next(objects(one["options"]) for one in self._server.commands() if one["name"] == "resume")
        return self._server.autocomplete(
            self._platform.users[7], Channel(id=7, type=DM), "resume", str(argument["name"]), ""
        )
