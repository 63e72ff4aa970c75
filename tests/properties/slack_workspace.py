"""What Slack's test server knows of whoever `slack_payloads` tells of."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from tests.fakes.slack import Channel, File, JsonObject, Message, Person, SlackServer, Team, Version
from tests.fakes.slack.model import ChannelKind
from tests.fakes.slack.records import ResponseUrl, Room, Trigger
from tests.properties.slack_payloads import APP, BOT, PEOPLE, PLACES, TEAM, US

_KINDS: Final[dict[str, ChannelKind]] = {"D": "im", "C": "channel", "G": "group"}
_FILE: Final = "F6"
"""That is asked for."""
_MADE_UP: Final = "https://x"
_TS: Final = re.compile(r"\d{10}\.\d{6}", re.ASCII)


class Workspace:
    """Its people, their direct chats with the bot, and the channels, before the bot is there."""

    def __init__(self, server: SlackServer) -> None:
        self._server = server
        self._platform = platform = server.platform
        platform.teams[TEAM] = server.team = Team(id=TEAM, name="Acme", domain="acme")
        self._install()
        for user in (*PEOPLE, "USLACKBOT"):
            platform.people[user] = Person(id=user, team_id=TEAM, name=f"n{user}", real_name="")
        platform.files[_FILE] = File(
            id=_FILE, team_id=TEAM, user_id=PEOPLE[0], name="a.png", title="a", mimetype="image/png", content=bytes(9)
        )
        for place in PLACES:
            kind = _KINDS[place[0]]
            members = {f"U{place[1:]}", US} if kind == "im" else {*PEOPLE, US}
            platform.add_room(Channel(id=place, kind=kind, name=place.lower(), team_id=TEAM), members)

    def _install(self) -> None:
        """The server's own bot, with the ids that payloads have."""
        platform, before = self._platform, self._server.bot
        bot = replace(before, app_id=APP, team_id=TEAM, bot_id=BOT, user_id=US)
        app = replace(platform.apps.pop(before.app_id), id=APP)
        found = platform.installations[before.token]
        platform.apps[APP], platform.installations[before.token] = app, replace(found, bot=bot, app=app)
        platform.people[US] = replace(platform.people.pop(before.user_id), id=US, team_id=TEAM, bot_id=BOT, app_id=APP)
        self._server.bot = bot

    def said(self, event: JsonObject) -> None:
        """If something sound was said, people speak in its thread."""
        place, root = event.get("channel"), event.get("thread_ts", event.get("ts"))
        if place in PLACES and isinstance(root, str) and _TS.fullmatch(root):
            room = self._platform.rooms[str(place)]
            if root not in room.messages:
                for user in PEOPLE:
                    self._keep(room, user, root)

    def _keep(self, room: Room, user: str, root: str) -> None:
        ts = root if root not in room.messages else self._platform.new_ts()
        said = Version(text="hello", blocks=(), metadata=None, at=self._platform.clock())
        room.messages[ts] = Message(
            channel_id=room.channel.id, ts=ts, user_id=user, team_id=TEAM, versions=(said,), thread_ts=root
        )

    def used(self, payload: JsonObject) -> None:
        """If a button or a command is told of soundly, it can be answered, and may open a form."""
        user, at, trigger = PEOPLE[0], self._platform.clock(), payload.get("trigger_id")
        if isinstance(trigger, str):
            self._platform.triggers[trigger] = Trigger(app_id=APP, user_id=user, team_id=TEAM, at=at)
        if payload.get("response_url") == _MADE_UP:
            secret, channel = self._platform.new_secret("response"), payload.get("channel")
            place: Any = channel.get("id") if isinstance(channel, dict) else payload.get("channel_id")
            if place in PLACES:
                url = ResponseUrl(app_id=APP, team_id=TEAM, channel_id=place, user_id=user, at=at)
                self._platform.response_urls[secret] = url
            payload["response_url"] = f"{self._platform.url}/hooks/{secret}"


def is_named_by(payload: JsonObject) -> bool:
    """Whether the payload says that it is for this workspace."""
    return payload.get("team_id") == TEAM or ("team_id" not in payload and payload.get("team") == {"id": TEAM})
