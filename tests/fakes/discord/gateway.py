"""The gateway's protocol: what clients send and what they are answered. No sockets here.

https://docs.discord.com/developers/events/gateway
"""

import json
import secrets

from tests.fakes.discord.events import GUILD_MEMBERS, GUILDS, KNOWN_INTENTS, PRIVILEGED, living
from tests.fakes.discord.forms import as_snowflake
from tests.fakes.discord.model import JsonObject, JsonValue
from tests.fakes.discord.platform import Account, GuildState, Platform
from tests.fakes.discord.reads import application_flags, gateway_url
from tests.fakes.discord.sessions import Link, Session
from tests.fakes.discord.wire import guild_create_json, member_json, user_view

HEARTBEAT, IDENTIFY, PRESENCE, VOICE, RESUME, RECONNECT, MEMBERS, INVALID, HELLO, ACK = 1, 2, 3, 4, 6, 7, 8, 9, 10, 11
MOST_BYTES = 4096
MOST_EVENTS, EVENTS_S = 120, 60.0
FATAL = frozenset({4004, 4010, 4011, 4012, 4013, 4014})


def greet(platform: Platform, link: Link, query: dict[str, str]) -> None:
    """A client has connected."""
    rules = platform.rules
    link.heard_at = rules.heartbeat_clock()
    platform.journal.note("connected", None)
    if query.get("v") != "10":
        refuse(platform, link, 4012, f"version {query.get('v')}")
    elif query.get("encoding", "json") != "json" or query.get("compress", "zlib-stream") != "zlib-stream":
        refuse(platform, link, 4002, f"the double speaks JSON and zlib-stream, not {query}")
    elif rules.answers_hello:
        link.send(HELLO, {"heartbeat_interval": rules.heartbeat_ms, "_trace": ["double"]})
    if rules.close_after_hello is not None and rules.closes_after_hello > 0:
        rules.closes_after_hello -= 1
        link.close(rules.close_after_hello)


def refuse(platform: Platform, link: Link, code: int, why: str) -> None:
    """Closes for a fault of the client."""
    bot_id = None if link.session is None else link.session.bot_id
    platform.journal.problem("gateway", f"close {code}", why, bot_id)
    link.close(code)


def check_heartbeat(platform: Platform, link: Link) -> float:
    """When the client must have been heard of next; a silent one is closed with 4009 and may resume."""
    patience_s = platform.rules.heartbeat_ms / 1000 * platform.rules.grace
    if platform.rules.heartbeat_clock() - link.heard_at > patience_s and not link.closing:
        refuse(platform, link, 4009, f"no heartbeat for {patience_s} s")
    return link.heard_at + patience_s


def receive(platform: Platform, link: Link, text: str) -> None:
    """One message of the client."""
    now = platform.clock()
    link.received = [at for at in link.received if at > now - EVENTS_S] + [now]
    if len(link.received) > MOST_EVENTS:
        refuse(platform, link, 4008, f"more than {MOST_EVENTS} events in {EVENTS_S} s")
        return
    payload = _payload(text)
    if payload is None:
        refuse(platform, link, 4002, "no JSON object with an op, or more than 4096 bytes")
        return
    op, data = payload.get("op"), payload.get("d")
    if op == HEARTBEAT:
        _heartbeat(platform, link, data)
    elif op in {IDENTIFY, RESUME} and not isinstance(data, dict):
        refuse(platform, link, 4002, f"op {op} without an object")
    elif op in {IDENTIFY, RESUME} and link.session is not None:
        refuse(platform, link, 4005, "identified twice")
    elif op == IDENTIFY and isinstance(data, dict):
        _identify(platform, link, data)
    elif op == RESUME and isinstance(data, dict):
        _resume(platform, link, data)
    elif op not in {PRESENCE, VOICE, MEMBERS}:
        refuse(platform, link, 4001, f"op {op}")
    elif link.session is None:
        refuse(platform, link, 4003, f"op {op} before identifying")
    elif op == MEMBERS and isinstance(data, dict):
        _send_members(platform, link.session, data)


def _payload(text: str) -> JsonObject | None:
    if len(text.encode()) > MOST_BYTES:
        return None
    try:
        payload = json.loads(text)
    except ValueError:
        return None
    return payload if isinstance(payload, dict) and isinstance(payload.get("op"), int) else None


def _heartbeat(platform: Platform, link: Link, data: JsonValue) -> None:
    if data is not None and (isinstance(data, bool) or not isinstance(data, int)):
        refuse(platform, link, 4002, f"heartbeat with {data!r}")
        return
    link.heard_at = platform.rules.heartbeat_clock()
    platform.journal.note("heartbeat", None)
    if platform.rules.acknowledges:
        link.send(ACK)


def _identify(platform: Platform, link: Link, data: JsonObject) -> None:
    account = platform.account_of(str(data.get("token")))
    if account is None:
        platform.journal.note("refused", None, "token", 4004)
        link.close(4004)
        return
    shard, code, why = _check_identify(platform, account, data)
    if code:
        platform.journal.problem("gateway", f"close {code}", why, account.user_id)
        platform.journal.note("refused", account.user_id, why, code)
        link.close(code)
        return
    if not platform.rules.answers_identify:
        return
    if _too_early(platform, account, shard[0]):
        platform.journal.note("refused", account.user_id, "identified too early")
        link.send(INVALID, False)
        return
    account.identified.append((platform.clock(), shard[0] % max(1, platform.rules.max_concurrency)))
    intents = data["intents"]
    assert isinstance(intents, int)
    session = Session(id=secrets.token_hex(16), bot_id=account.user_id, intents=intents, shard=shard, link=link)
    account.sessions.append(session)
    link.session = session
    platform.journal.note("identified", account.user_id, session.id)
    _welcome(platform, account, session)


def _check_identify(platform: Platform, account: Account, data: JsonObject) -> tuple[tuple[int, int], int, str]:
    """The shard, and a close code with its reason (0: none)."""
    intents, shard, properties = data.get("intents"), data.get("shard", [0, 1]), data.get("properties")
    whole: tuple[int, int] = (0, 1)
    if not isinstance(properties, dict) or not {"os", "browser", "device"} <= properties.keys():
        return whole, 4002, "properties need os, browser and device"
    if isinstance(intents, bool) or not isinstance(intents, int) or intents < 0 or intents & ~KNOWN_INTENTS:
        return whole, 4013, f"intents {intents!r}"
    if intents & PRIVILEGED & ~account.privileged:
        return whole, 4014, f"privileged intents {intents & PRIVILEGED & ~account.privileged:#x} are not enabled"
    match shard:
        case [int(number), int(count)] if 0 <= number < count:
            whole = (number, count)
        case _:
            return whole, 4010, f"shard {shard!r}"
    mine = [guild for guild in _guilds(platform, account) if (guild.id >> 22) % whole[1] == whole[0]]
    if len(mine) > platform.rules.guilds_per_shard:
        return whole, 4011, f"{len(mine)} guilds in a shard"
    return whole, 0, ""


def _too_early(platform: Platform, account: Account, shard_id: int) -> bool:
    rules = platform.rules
    since = platform.clock() - rules.identify_every_s
    key = shard_id % max(1, rules.max_concurrency)
    return any(at > since for at, other in account.identified if other == key)


def _guilds(platform: Platform, account: Account) -> list[GuildState]:
    return [guild for guild in platform.guilds.values() if account.user_id in guild.members]


def _welcome(platform: Platform, account: Account, session: Session) -> None:
    """READY with the guilds unavailable, then each of them; without the intent for guilds, READY alone."""
    guilds = [guild for guild in _guilds(platform, account) if session.handles(guild.id)]
    listed: list[JsonValue] = [{"id": str(guild.id), "unavailable": True} for guild in guilds]
    shard: list[JsonValue] = list(session.shard)
    session.push(
        "READY",
        {
            "v": 10,
            "user": user_view(platform.users[account.user_id]),
            "guilds": listed,
            "session_id": session.id,
            "resume_gateway_url": gateway_url(platform),
            "shard": shard,
            "application": {"id": str(account.application_id), "flags": application_flags(account)},
            "session_type": "normal",
            "user_settings": {},
            "relationships": [],
            "private_channels": [],
            "presences": [],
            "_trace": ["double"],
        },
    )
    for guild in guilds if session.intents & GUILDS else []:
        if not guild.unavailable:
            session.push("GUILD_CREATE", guild_create_json(platform, guild, account))
    platform.changed()


def _resume(platform: Platform, link: Link, data: JsonObject) -> None:
    account = platform.account_of(str(data.get("token")))
    if account is None:
        platform.journal.note("refused", None, "token", 4004)
        link.close(4004)
        return
    sessions = living(platform, account)
    session = next((one for one in sessions if one.id == data.get("session_id")), None)
    seq = as_snowflake(data.get("seq"))
    if session is None:
        platform.journal.note("refused", account.user_id, "no such session")
        link.send(INVALID, False)
        return
    if seq is None or seq > len(session.events):
        session.dead = True
        refuse(platform, link, 4007, f"seq {data.get('seq')!r} of {len(session.events)}")
        return
    if session.link is not None:
        session.link.session = None
        session.link.close(4000)
    session.link, session.left_at = link, None
    link.session, link.sent_seq = session, seq
    platform.journal.note("resumed", account.user_id, f"{session.id} from {seq}")
    session.push("RESUMED", {"_trace": ["double"]})
    platform.changed()


def _send_members(platform: Platform, session: Session, data: JsonObject) -> None:
    """GUILD_MEMBERS_CHUNK for ids or a prefix; the whole list takes the members intent."""
    guild = platform.guilds.get(as_snowflake(data.get("guild_id")) or 0)
    if guild is None or session.bot_id not in guild.members:
        return
    asked = data.get("user_ids")
    wanted = {as_snowflake(one) for one in (asked if isinstance(asked, list) else [asked])}
    prefix = str(data.get("query") or "")
    whole = "query" in data and not prefix and bool(session.intents & GUILD_MEMBERS)
    found: list[JsonValue] = [
        member_json(platform, member)
        for member in guild.members.values()
        if member.user_id in wanted or whole or (prefix and platform.users[member.user_id].username.startswith(prefix))
    ]
    chunk: JsonObject = {"guild_id": str(guild.id), "members": found, "chunk_index": 0, "chunk_count": 1}
    if "nonce" in data:
        chunk["nonce"] = data["nonce"]
    session.push("GUILD_MEMBERS_CHUNK", chunk)
    platform.changed()


def part(platform: Platform, link: Link, code: int | None) -> None:
    """The connection is gone. The client's 1000 and 1001 end the session; otherwise it waits to be resumed."""
    session = link.session
    bot_id = None if session is None else session.bot_id
    platform.journal.note("closed", bot_id, code=code)
    if session is not None and session.link is link:
        session.link = None
        session.left_at = platform.clock()
        session.dead = session.dead or (code in {1000, 1001} and not link.closing)
    platform.changed()
