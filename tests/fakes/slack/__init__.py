"""A strict test double of Slack: a real HTTP and WebSocket server on loopback, spoken to by the real SDK.

Where Slack repairs or overlooks, it refuses or records a problem. Sources: https://docs.slack.dev, page by page at the
figures; where the documents are silent, the stricter reading is taken and said so at the place.

    async with SlackServer() as server:                     # or `with ThreadedSlackServer() as server` for a daemon
        ada = server.person("Ada")                          # a team and our bot are there: server.team, server.bot
        general = server.channel("general", members=[ada])  # our bot is in it; server.im(ada), server.mpim(ada, bob)
        web = AsyncWebClient(server.bot.token, base_url=server.api_base)
        client = SocketModeClient(server.bot.app_token, web_client=web)
        ...                                                 # the app connects
        await server.until(server.connected)
        said = server.say(general, ada, f"{server.bot} hello <world>")  # `message` and, by another id, `app_mention`
        await server.until(lambda: server.bot_texts(general, thread=said) == ("Hello!",))
        server.click(general, server.from_bot(general)[0].ts, ada, "approve")
        server.slash(general, ada, "/ask", "what is new?")
        await server.until(server.acked)
        assert server.problems == ()

What a test holds (`Control`, thread-safe; every act takes `bot=` where there are several):

- the cast: `add_team`, `add_bot(app_of=, team=, scopes=)`, `person`, `other_bot`, `channel(private=, with_bot=)`, `im`,
  `mpim`, `file`, `as_person(bot)`; an admin: `set_scopes`, `remove_scope`, `set_token_state`, `rotate_token`,
  `set_app_token_state`, `archive`, `app()` (home_tab, messages_tab, surface);
- people: `say(thread=, broadcast=, files=, subtype=, literal=)`, `edit`, `delete`, `unfurl`, `join`, `leave`, `react`,
  `click`, `click_stale`, `click_ephemeral`, `click_view`, `slash`, `shortcut`, `global_shortcut`, `submit`, `close`,
  `open_home`, `open_assistant`, `look_elsewhere`, `pick_prompt`, `stop_stream`, `end_stream`;
- the wire: `answer`, `error`, `drop(applied=)`, `delay`, `hang`, `rate_limit`, `set_limits`, `clear_faults`; `sockets`,
  `disconnect(reason, only=)`, `cut_sockets`, `silence`, `ping`, `use_http(url)`, `request(delivery, Signing(...))`
  (headers and body to forge, age or replay), `redeliver`, `send_event`, `raw`; `pause`, `resume`, `cut_connections`;
- the record: `messages`, `message` (with `versions`, `pings`, `reactions`), `from_bot`, `bot_texts`, `pinged`,
  `ephemerals`, `stream(s)`, `statuses`, `status`, `prompts`, `titles`, `home`, `modals`, `calls`, `calls_of`,
  `deliveries` (with `attempts`: outcome, delay_s, answer), `delivery`, `acked`, `settled`, `problems`, `problems_of`;
- waiting: `until(condition, timeout_s=)`.

Time is `clock` (`ManualClock.advance`): answers within 3 s, retries after 0, 60 and 300 s, triggers 3 s, response URLs
30 min, tickets 30 s, statuses 2 min, streams 5 min. With the real clock, `SlackServer(answer_s=, retries_s=)` makes it
short. `server.platform` has what is seldom changed: `mention_first`, `pair_gap_s`, `edit_window_s`,
`cross_socket_acks`.

Rooms: `model` (values), `platform` and `records` (state), `cast`, `people`, `clicking`, `opening` (acts), `control`
(faults, sockets, deliveries), `record` (what was seen), `server` (start it), `front` (HTTP), `sockets` (Socket Mode),
`posting` (request URLs), `delivery` (retries), `rates`, `faults`, `calls` and `methods` (the door and the table of
methods), `schema`, `elements`, `blocks` (Block Kit), then one module for each noun of the API.
"""

from tests.clock import ManualClock
from tests.fakes.faults import Fault
from tests.fakes.slack.delivery import Attempt, Delivery
from tests.fakes.slack.model import (
    Bot,
    Call,
    Channel,
    Ephemeral,
    File,
    Interaction,
    JsonObject,
    JsonValue,
    Message,
    Person,
    Problem,
    Prompts,
    Reaction,
    Said,
    Status,
    Stream,
    StreamPiece,
    Team,
    Title,
    Version,
    View,
)
from tests.fakes.slack.posting import Signing
from tests.fakes.slack.rates import RateLimits
from tests.fakes.slack.server import SlackServer, ThreadedSlackServer
from tests.fakes.slack.sockets import Socket

__all__ = [
    "Attempt",
    "Bot",
    "Call",
    "Channel",
    "Delivery",
    "Ephemeral",
    "Fault",
    "File",
    "Interaction",
    "JsonObject",
    "JsonValue",
    "ManualClock",
    "Message",
    "Person",
    "Problem",
    "Prompts",
    "RateLimits",
    "Reaction",
    "Said",
    "Signing",
    "SlackServer",
    "Socket",
    "Status",
    "Stream",
    "StreamPiece",
    "Team",
    "ThreadedSlackServer",
    "Title",
    "Version",
    "View",
]
