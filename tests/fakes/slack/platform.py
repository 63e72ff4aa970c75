"""The state behind the API: teams, people, rooms, files, views, deliveries, journal. Every use holds `lock`."""

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.fakes.faults import FaultBook
from tests.fakes.slack.delivery import ANSWER_S, RETRIES_S, Courier
from tests.fakes.slack.errors import ApiError
from tests.fakes.slack.model import (
    Channel,
    Ephemeral,
    File,
    JsonObject,
    Message,
    Person,
    Prompts,
    Status,
    Stream,
    Team,
    Title,
    Version,
    View,
)
from tests.fakes.slack.rates import RateControl, RateLimits
from tests.fakes.slack.records import App, Installation, Journal, ResponseUrl, Room, Ticket, TokenState, Trigger

if TYPE_CHECKING:
    from tests.fakes.slack.sockets import Socket

STATUS_S = 120.0  # https://docs.slack.dev/reference/methods/assistant.threads.setStatus: "A two minute timeout applies"
STREAM_S = 300.0  # Slack ends a stream by itself after some minutes; the figure is what apps report
EDIT_WINDOW_S: float | None = None


class Platform:
    """The whole of Slack as far as our apps are concerned. It outlives the app's process.

    `mention_first` turns the order of `message` and `app_mention` round, `pair_gap_s` is the time between them.
    `edit_window_s`: messages older than that cannot be edited. `cross_socket_acks`: an acknowledgement counts on any
    socket of the app, not only on the one that brought the envelope. `acks_lost`: none arrives.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        limits: RateLimits | None = None,
        answer_s: float = ANSWER_S,
        retries_s: tuple[float, ...] = RETRIES_S,
    ) -> None:
        self.lock = threading.RLock()
        self.clock = clock
        self.url = ""
        self.teams: dict[str, Team] = {}
        self.people: dict[str, Person] = {}
        self.apps: dict[str, App] = {}
        self.installations: dict[str, Installation] = {}
        self.dead_tokens: dict[str, TokenState] = {}
        self.rooms: dict[str, Room] = {}
        self.files: dict[str, File] = {}
        self.views: dict[str, View] = {}
        self.suggested: dict[tuple[str, str], list[JsonObject]] = {}
        """What an app last offered in a menu, by view and action_id."""
        self.streams: dict[tuple[str, str], Stream] = {}
        self.ephemerals: list[Ephemeral] = []
        self.statuses: list[Status] = []
        self.prompts: list[Prompts] = []
        self.titles: list[Title] = []
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self.tickets: dict[str, Ticket] = {}
        self.sockets: dict[str, Socket] = {}
        self.uploads: dict[str, str] = {}
        self.courier = Courier(clock, answer_s=answer_s, retries_s=retries_s)
        self.rates = RateControl(limits, clock)
        self.faults = FaultBook()
        self.journal = Journal(clock)
        self.mention_first = False
        self.pair_gap_s = 0.0
        self.edit_window_s = EDIT_WINDOW_S
        self.cross_socket_acks = False
        self.acks_lost = False
        self._listeners: list[Callable[[], None]] = []
        self._ids = 0x1A2B3C00
        self._last_ts_us = 0

    # changes

    def listen(self, listener: Callable[[], None]) -> None:
        """Called after every change, on the thread that made it and under the lock: it must only wake others."""
        with self.lock:
            self._listeners.append(listener)

    def unlisten(self, listener: Callable[[], None]) -> None:
        with self.lock:
            self._listeners.remove(listener)

    def changed(self) -> None:
        with self.lock:
            for listener in tuple(self._listeners):
                listener()

    # names

    def new_id(self, prefix: str) -> str:
        """Unique everywhere; looks like Slack's, and is the same in every run."""
        self._ids += 1
        return f"{prefix}0{self._ids:08X}"

    def new_ts(self) -> str:
        """A message's timestamp: unique everywhere (Slack: in its channel) and growing."""
        self._last_ts_us = max(int(self.clock() * 1_000_000), self._last_ts_us + 100)
        return f"{self._last_ts_us // 1_000_000}.{self._last_ts_us % 1_000_000:06d}"

    def new_secret(self, purpose: str) -> str:
        """Forty hexadecimal digits that nobody guesses by accident."""
        self._ids += 1
        return hashlib.sha1(f"{purpose}/{self._ids}".encode()).hexdigest()

    # looking up

    def installed(self, team_id: str) -> list[Installation]:
        return [one for one in self.installations.values() if one.bot.team_id == team_id]

    def bot_user(self, user_id: str) -> Installation | None:
        for one in self.installations.values():
            if one.bot.user_id == user_id:
                return one
        return None

    def channel_name(self, channel_id: str) -> str:
        room = self.rooms.get(channel_id)
        return room.channel.name if room is not None else ""

    def add_room(self, channel: Channel, members: set[str]) -> Room:
        return self.rooms.setdefault(channel.id, Room(channel, members))

    def im(self, user_id: str, bot_user_id: str) -> Room:
        """The direct conversation of the two, made if need be."""
        pair = {user_id, bot_user_id}
        for room in self.rooms.values():
            if room.channel.kind == "im" and room.members == pair:
                return room
        team_id = self.people[user_id].team_id
        return self.add_room(Channel(id=self.new_id("D"), kind="im", name="", team_id=team_id, creator=user_id), pair)

    def seen_room(self, caller: Installation, value: str | None) -> Room:
        """A room that the bot may know of. Raises `ApiError` channel_not_found."""
        room = self.rooms.get(value or "")
        if room is None or room.channel.team_id != caller.bot.team_id:
            raise ApiError("channel_not_found", detail=str(value))
        if room.channel.kind != "channel" and caller.bot.user_id not in room.members:
            raise ApiError("channel_not_found", detail=str(value))
        return room

    def joined_room(self, caller: Installation, value: str | None) -> Room:
        """A room that the bot is in. Raises `ApiError` channel_not_found, not_in_channel."""
        room = self.seen_room(caller, value)
        if caller.bot.user_id not in room.members:
            raise ApiError("not_in_channel", detail=str(value))
        return room

    # messages

    def keep(self, room: Room, message: Message) -> Message:
        """Gives the message its timestamp, unless it has one, and keeps it."""
        kept = message if message.ts else replace(message, ts=self.new_ts())
        room.messages[kept.ts] = kept
        return kept

    def revise(self, room: Room, message: Message, version: Version) -> Message:
        """The message says something else from now on."""
        changed = replace(message, versions=(*message.versions, version))
        room.messages[message.ts] = changed
        return changed

    def visible_status(self, channel_id: str, thread_ts: str) -> str:
        """Gone after two minutes, when it is set to nothing, and when the bot speaks in the thread."""
        for status in reversed(self.statuses):
            if (status.channel_id, status.thread_ts) == (channel_id, thread_ts):
                spoke = any(
                    one.app_id and not one.streaming and one.versions[0].at >= status.at
                    for one in self.rooms[channel_id].replies(thread_ts)
                )
                return "" if spoke or self.clock() - status.at >= STATUS_S else status.status
        return ""

    def stream_is_open(self, stream: Stream) -> bool:
        return stream.stopped_at is None and self.clock() - stream.started_at < STREAM_S

    # words

    def refuse(self, number: int, error: ApiError) -> None:
        if error.problem is not None:
            call = self.journal.calls[number]
            self.journal.problem(error.problem, call.method, error.detail or error.error)

    def remark(self, rule: str, number: int, detail: str) -> None:
        """A rule was broken that Slack lets pass."""
        self.journal.problem(rule, self.journal.calls[number].method, detail)
