"""A gateway session: the numbered events of one shard of one bot. It outlives its connection for a while.

https://docs.discord.com/developers/events/gateway#resuming
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.fakes.discord.model import JsonObject, JsonValue


@dataclass
class GatewayRules:
    """What may be changed while the server runs. Seconds are of the server's clock.

    Heartbeats are timed by `heartbeat_clock`, since clients send them in real time whatever the server's clock says.
    `resume_s`: "a few minutes" in the documentation. `identify_every_s`: one IDENTIFY per 5 s and max_concurrency;
    0 switches it off, for a process that is killed and started again at once. `upgrade_status`: the HTTP status with
    which connections are refused. `grace`: how many intervals a client may go without a heartbeat.
    """

    heartbeat_ms: int = 41_250
    heartbeat_clock: Callable[[], float] = time.monotonic
    grace: float = 1.5
    resume_s: float = 180.0
    identify_every_s: float = 5.0
    max_concurrency: int = 1
    shards: int = 1
    guilds_per_shard: int = 2500
    starts_left: int = 1000
    acknowledges: bool = True
    answers_hello: bool = True
    answers_identify: bool = True
    upgrade_status: int | None = None
    close_after_hello: int | None = None
    closes_after_hello: int = 0


@dataclass(frozen=True)
class Close:
    """The server closes the connection; without a code it cuts it."""

    code: int | None


Frame: TypeAlias = "JsonObject | Close"


class Link:
    """One connected websocket as the platform sees it. Frames wait here for the front to send them."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.frames: deque[Frame] = deque()
        self.sent_seq = 0
        self.session: Session | None = None
        self.heard_at = 0.0
        self.received: list[float] = []
        self.closing = False

    def send(self, op: int, data: object = None) -> None:
        frame: JsonObject = {"op": op, "s": None, "t": None}
        frame["d"] = data if isinstance(data, dict | bool | int | str) else None
        self.frames.append(frame)

    def close(self, code: int | None) -> None:
        if not self.closing:
            self.closing = True
            self.frames.append(Close(code))


@dataclass
class Session:
    """`events` are all that were made for it, number n at place n - 1."""

    id: str
    bot_id: int
    intents: int
    shard: tuple[int, int]
    events: list[JsonObject] = field(default_factory=list)
    link: Link | None = None
    left_at: float | None = None
    dead: bool = False

    def push(self, name: str, data: JsonValue) -> None:
        self.events.append({"op": 0, "s": len(self.events) + 1, "t": name, "d": data})

    def handles(self, guild_id: int | None) -> bool:
        shard, count = self.shard
        return shard == 0 if guild_id is None else (guild_id >> 22) % count == shard
