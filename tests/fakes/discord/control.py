"""The control surface that tests hold: people, the gateway, faults, and the record. Thread-safe throughout."""

import json
import time
from collections.abc import Callable
from typing import TypedDict, Unpack

from tests.fakes.discord.commanding import Commanding
from tests.fakes.discord.commands import offered
from tests.fakes.discord.events import living, tell_of_message
from tests.fakes.discord.gateway import FATAL, HEARTBEAT, INVALID, RECONNECT
from tests.fakes.discord.interaction_state import Interaction
from tests.fakes.discord.limits import Ordered, RateLimits
from tests.fakes.discord.model import (
    EPHEMERAL,
    LOADING,
    Call,
    Channel,
    GatewayNote,
    JsonObject,
    JsonValue,
    Message,
    Problem,
    Typing,
    User,
)
from tests.fakes.discord.places import id_of
from tests.fakes.discord.platform import Platform
from tests.fakes.discord.sessions import GatewayRules, Link
from tests.fakes.faults import Answer, Delay, Drop, Effect, Fault, Hang

TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GfRnTd.loopback_test-token_0000000000000000"
USERNAME = "frontdesk"


class Where(TypedDict, total=False):
    """Which calls a fault hits: in one channel only, how many of them (None: all), after how many that pass."""

    channel_id: int | None
    count: int | None
    after: int


class ServerOptions(TypedDict, total=False):
    """`limits=None` switches the rate limits off; ordered 429s still work. `gateway` may be changed while it runs.
    `ids`: of our bot's user and application, where they may not be new ones."""

    ids: tuple[int, int]
    token: str
    username: str
    clock: Callable[[], float]
    wall_clock: Callable[[], float]
    limits: RateLimits | None
    gateway: GatewayRules


class Control(Commanding):
    """What a test may ask of, and do to, the platform. `bot` is the first account; more come by `account`."""

    def __init__(self, **options: Unpack[ServerOptions]) -> None:
        platform = Platform(
            clock=options.get("clock", time.monotonic),
            wall_clock=options.get("wall_clock", time.time),
            limits=options.get("limits", RateLimits()),
            gateway=options.get("gateway"),
        )
        super().__init__(platform)
        username, token = options.get("username", USERNAME), options.get("token", TOKEN)
        self._bot_id = self.account(username, token=token, ids=options.get("ids")).id

    @property
    def bot(self) -> User:
        with self.platform.lock:
            return self.platform.users[self._bot_id]

    @property
    def token(self) -> str:
        return self.token_of(self._bot_id)

    @property
    def application_id(self) -> int:
        return self.application_of(self._bot_id)

    # the record

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every REST call in the order of arrival, those that were refused or lost among them."""
        with self.platform.lock:
            return tuple(self.platform.journal.calls)

    def calls_of(self, route: str) -> tuple[Call, ...]:
        return tuple(call for call in self.calls if call.route == route)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every documented limit or rule that a client broke."""
        with self.platform.lock:
            return tuple(self.platform.journal.problems)

    def problems_of(self, rule: str) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.rule == rule)

    def notes_of(self, what: str) -> tuple[GatewayNote, ...]:
        """What happened on the gateway: connected, identified, resumed, refused, closed, lost (an event)."""
        with self.platform.lock:
            return tuple(note for note in self.platform.journal.notes if note.what == what)

    @property
    def typings(self) -> tuple[Typing, ...]:
        """Every typing indicator that a bot set."""
        with self.platform.lock:
            return tuple(self.platform.journal.typings)

    def messages(self, channel: Channel | int) -> tuple[Message, ...]:
        """All that was ever said there, in order; deleted and ephemeral messages are marked so."""
        with self.platform.lock:
            return tuple(self.platform.rooms[id_of(channel)].messages.values())

    def message(self, message: Message | int) -> Message:
        """The message as it is now."""
        with self.platform.lock:
            return self._found(message)

    def sent(self, channel: Channel | int | None = None, *, bot: User | None = None) -> tuple[Message, ...]:
        """Everything that our bot (or another) sent, in order, whatever became of it."""
        with self.platform.lock:
            wanted = None if channel is None else id_of(channel)
            rooms = [room for room in self.platform.rooms.values() if wanted in {None, room.id}]
            author = self._bot_id if bot is None else bot.id
            found = [
                one for room in rooms for one in room.messages.values() if one.author.id == author and one.type != 21
            ]
            return tuple(sorted(found, key=lambda one: one.id))

    def texts(self, channel: Channel | int | None = None, *, bot: User | None = None) -> tuple[str, ...]:
        """What everybody can read of the bot now."""
        hidden = EPHEMERAL | LOADING
        return tuple(one.content for one in self.sent(channel, bot=bot) if not one.deleted and not one.flags & hidden)

    def whispers(self, user: User | None = None) -> tuple[Message, ...]:
        """Ephemeral messages, to this person or to anybody."""
        with self.platform.lock:
            every = [one for room in self.platform.rooms.values() for one in room.messages.values() if one.ephemeral]
            return tuple(one for one in every if user is None or one.visible_to == user.id)

    def pings(self, user: User, *, by: User | None = None) -> tuple[Message, ...]:
        """The messages of our bot (or of `by`) that notified this person."""
        return tuple(one for one in self.sent(bot=by) if user.id in one.pinged)

    @property
    def interactions(self) -> tuple[Interaction, ...]:
        with self.platform.lock:
            return tuple(self.platform.interactions.values())

    @property
    def unacknowledged(self) -> tuple[Interaction, ...]:
        """What reached a bot and was not answered (yet)."""
        return tuple(one for one in self.interactions if one.delivered and not one.acknowledged)

    def commands(self, channel: Channel | None = None, *, bot: User | None = None) -> tuple[JsonObject, ...]:
        """What the bot offers: in this channel, or (none given) what is registered globally."""
        with self.platform.lock:
            account = self._account_or_first(bot)
            if channel is None:
                return tuple(account.global_commands)
            return tuple(offered(account, self.platform.rooms[channel.id].guild_id))

    @property
    def command_writes(self) -> int:
        """How often commands of any bot were registered, changed or deleted."""
        with self.platform.lock:
            return sum(account.command_writes for account in self.platform.accounts)

    # the gateway

    @property
    def rules(self) -> GatewayRules:
        """May be changed: heartbeat_ms, acknowledges (False: no ACKs), resume_s, identify_every_s and so on."""
        return self.platform.rules

    def connected(self, bot: User | None = None) -> bool:
        """Whether a session of the bot is open and everything was sent to it."""
        return any(len(link.session.events) == link.sent_seq for link in self._links(bot) if link.session is not None)

    def _links(self, bot: User | None = None) -> list[Link]:
        with self.platform.lock:
            account = self._account_or_first(bot)
            return [session.link for session in living(self.platform, account) if session.link is not None]

    def kick(self, code: int | None, *, bot: User | None = None, resumable: bool | None = None) -> None:
        """Closes the bot's connections with a code, or cuts them (None). By default fatal codes end the session."""
        with self.platform.lock:
            for link in self._links(bot):
                assert link.session is not None
                link.session.dead = code in FATAL if resumable is None else not resumable
                link.close(code)
            self.platform.changed()

    def reconnect(self, bot: User | None = None) -> None:
        """Asks the bot to come anew and resume (op 7)."""
        self._send(bot, RECONNECT, None)

    def invalidate(self, *, resumable: bool = False, bot: User | None = None) -> None:
        """INVALID_SESSION (op 9): the session is over, or (`resumable`) may be resumed."""
        with self.platform.lock:
            for link in self._links(bot):
                assert link.session is not None
                link.session.dead = not resumable
                link.send(INVALID, resumable)
            self.platform.changed()

    def ask_heartbeat(self, bot: User | None = None) -> None:
        """The server wants a heartbeat at once (op 1)."""
        self._send(bot, HEARTBEAT, None)

    def _send(self, bot: User | None, op: int, data: JsonValue) -> None:
        with self.platform.lock:
            for link in self._links(bot):
                link.send(op, data)
            self.platform.changed()

    def forget_sessions(self, bot: User | None = None) -> None:
        """No session can be resumed any more (as after a long outage)."""
        with self.platform.lock:
            for session in self._account_or_first(bot).sessions:
                session.dead = True

    def close_after_hello(self, code: int, *, times: int) -> None:
        """The next connections are closed right after HELLO."""
        with self.platform.lock:
            self.rules.close_after_hello, self.rules.closes_after_hello = code, times

    def raw_event(self, name: str, data: JsonValue, bot: User | None = None) -> None:
        """Anything at all as an event."""
        with self.platform.lock:
            for session in living(self.platform, self._account_or_first(bot)):
                session.push(name, data)
            self.platform.changed()

    def tell_again(self, message: Message) -> None:
        """A message's event comes once more, as the replay of a session may bring it."""
        with self.platform.lock:
            tell_of_message(self.platform, "MESSAGE_CREATE", self.message(message))

    # faults

    def limit(self, route: str, after_s: float, *, scope: str = "user", code: int = 0, **where: Unpack[Where]) -> None:
        """A 429 for a call of the route ("*": any), and again for whoever calls before the seconds are over.

        Scope: user, shared or global. Code 20028 makes it the write limit of a channel. `count` is always one.
        """
        with self.platform.lock:
            self.platform.limiter.order(
                Ordered(
                    route=route,
                    after_s=after_s,
                    scope=scope,
                    channel_id=where.get("channel_id"),
                    code=code,
                    after=where.get("after", 0),
                )
            )

    def set_limits(self, limits: RateLimits | None) -> None:
        with self.platform.lock:
            self.platform.limiter.limits = limits

    def answer(
        self, route: str, status: int, body: JsonValue | bytes, *, content_type: str = "", **where: Unpack[Where]
    ) -> Fault:
        """Calls of the route ("*": any) get this answer and have no effect. Bytes go out as they are."""
        raw = isinstance(body, bytes)
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        default = "text/html" if raw else "application/json"
        return self._fault(route, Answer(status=status, body=payload, content_type=content_type or default), where)

    def answer_error(self, route: str, status: int, code: int, message: str, **where: Unpack[Where]) -> Fault:
        """An error in the platform's JSON."""
        return self.answer(route, status, {"message": message, "code": code}, **where)

    def drop(self, route: str, *, applied: bool, **where: Unpack[Where]) -> Fault:
        """The connection is cut without an answer: after the call took effect (`applied`) or instead of it."""
        return self._fault(route, Drop(applied=applied), where)

    def delay(self, route: str, seconds: float | None = None, *, applied: bool = True, **where: Unpack[Where]) -> Fault:
        """The answer comes after `seconds` of the server's clock, or at `release()`."""
        return self._fault(route, Delay(seconds=seconds, applied=applied), where)

    def hang(self, route: str, *, applied: bool = False, **where: Unpack[Where]) -> Fault:
        """The connection stays open and no answer ever comes; `release()` cuts it."""
        return self._fault(route, Hang(applied=applied), where)

    def clear_faults(self) -> None:
        """Takes every fault and ordered 429 away and releases the calls that are being held."""
        with self.platform.lock:
            self.platform.faults.clear()
            self.platform.limiter.clear()

    def _fault(self, route: str, effect: Effect, where: Where) -> Fault:
        with self.platform.lock:
            fault = Fault(
                method=route,
                effect=effect,
                on_change=self.platform.changed,
                place=where.get("channel_id"),
                count=where.get("count", 1),
                after=where.get("after", 0),
            )
            return self.platform.faults.add(fault)
