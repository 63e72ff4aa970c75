"""A strict test double of Discord: a real server on loopback, spoken to by the real discord.py.

    async with DiscordServer() as server:                    # or, for a daemon: with ThreadedDiscordServer() as server
        ada = server.person("ada")
        guild = server.guild("Team", [ada])                  # our bot (server.bot, server.token) is in it
        channel = server.channel(guild, "general")
        ...                                                  # start the bot: server.api_base, server.gateway_url
        await server.until(server.connected)
        server.say(channel, ada, f"<@{server.bot.id}> hello", files=[("a.txt", b"hi")])
        server.say(server.dm(ada), ada, "psst")
        await server.until(lambda: len(server.texts(channel)) == 1)
        (answer,) = server.sent(channel)                     # .content now, .texts ever, .pinged, .buttons, .reply_to
        pressed = server.press(ada, answer, "fd:stop")       # server.command(ada, channel, "reset"), .autocomplete(...)
        await server.until(lambda: pressed.acknowledged)
        server.drop("create_message", applied=True)          # answer, answer_error, delay, hang; limit(route, seconds)
        server.kick(4000)                                    # reconnect, invalidate, close_after_hello, rules.*
        assert server.problems == ()                         # every rule that a client broke

- `DiscordServer` runs on the test's loop, `ThreadedDiscordServer` on one of its own, with the same methods (`until`
  blocks), for bots in other processes. redirected.py shows how discord.py is led here: `request` and `ws_connect` of
  the HTTP client, and `async_context` for interaction callbacks and follow-ups, which build their own addresses.
- Clocks: `clock` (a `ManualClock`) times interactions, nonces, limits, sessions and faults; `wall_clock` gives dates
  and ids; heartbeats are in real time (`rules.heartbeat_clock`).
- Strict by default, hence slow for the hasty: `limits=None` switches rate limits off (five messages in five seconds and
  channel); `rules.identify_every_s = 0` lets a killed process identify again at once (else: INVALID_SESSION).
- @everyone may mention everybody here, so that whatever a bot doesn't hold back by `allowed_mentions` does ping.

What there is to make: places.py; what people say: acts.py; buttons and commands: commanding.py; gateway, faults and the
record: control.py. Names of routes: routes.py. Source of all figures: https://docs.discord.com/developers.
"""

from tests.clock import ManualClock
from tests.fakes.discord.interaction_state import Interaction
from tests.fakes.discord.limits import RateLimits
from tests.fakes.discord.model import (
    Call,
    Channel,
    GatewayNote,
    Guild,
    JsonObject,
    JsonValue,
    Message,
    Problem,
    Role,
    User,
)
from tests.fakes.discord.server import DiscordServer, ThreadedDiscordServer
from tests.fakes.discord.sessions import GatewayRules
from tests.fakes.faults import Fault

__all__ = [
    "Call",
    "Channel",
    "DiscordServer",
    "Fault",
    "GatewayNote",
    "GatewayRules",
    "Guild",
    "Interaction",
    "JsonObject",
    "JsonValue",
    "ManualClock",
    "Message",
    "Problem",
    "RateLimits",
    "Role",
    "ThreadedDiscordServer",
    "User",
]
