"""What can be asked for: the bot itself, its application, the gateway's address, channels, guilds, members."""

from tests.fakes.discord import permissions as may
from tests.fakes.discord.errors import ApiError, missing_access, unknown
from tests.fakes.discord.forms import Faults, Form
from tests.fakes.discord.model import JsonObject, JsonValue
from tests.fakes.discord.platform import Account, GuildState, Platform
from tests.fakes.discord.request import Reply, Request
from tests.fakes.discord.wire import channel_json, guild_json, member_json, user_view

_LIMITED_INTENTS = {1 << 8: 1 << 13, 1 << 1: 1 << 15, 1 << 15: 1 << 19}
"""https://docs.discord.com/developers/resources/application#application-object-application-flags, "..._LIMITED"."""


def get_me(platform: Platform, request: Request) -> Reply:
    return Reply(body=user_view(platform.users[request.bot.user_id]))


def get_user(platform: Platform, request: Request) -> Reply:
    if request.ids["user"] not in platform.users:
        raise unknown("User")
    return Reply(body=platform.users[request.ids["user"]].json())


def application_flags(account: Account) -> int:
    return sum(flag for intent, flag in _LIMITED_INTENTS.items() if account.privileged & intent)


def get_application(platform: Platform, request: Request) -> Reply:
    account = request.bot
    owner: JsonObject = {"id": "80351110224678912", "username": "owner", "discriminator": "0", "avatar": None}
    return Reply(
        body={
            "id": str(account.application_id),
            "name": platform.users[account.user_id].username,
            "icon": None,
            "description": "",
            "summary": "",
            "type": None,
            "bot_public": False,
            "bot_require_code_grant": False,
            "verify_key": "0" * 64,
            "flags": application_flags(account),
            "owner": owner,
            "team": None,
            "bot": platform.users[account.user_id].json(),
            "redirect_uris": [],
            "tags": [],
            "integration_types_config": {"0": {}},
            "approximate_guild_count": len(_guilds_of(platform, account)),
            "approximate_user_install_count": 0,
        }
    )


def _guilds_of(platform: Platform, account: Account) -> list[GuildState]:
    return [guild for guild in platform.guilds.values() if account.user_id in guild.members]


def gateway_url(platform: Platform) -> str:
    return platform.root.replace("http://", "ws://", 1) + "/gateway"


def get_gateway(platform: Platform, _request: Request) -> Reply:
    return Reply(body={"url": gateway_url(platform)})


def get_gateway_bot(platform: Platform, request: Request) -> Reply:
    account = request.bot
    rules = platform.rules
    return Reply(
        body={
            "url": gateway_url(platform),
            "shards": rules.shards,
            "session_start_limit": {
                "total": 1000,
                "remaining": max(0, rules.starts_left - len(account.identified)),
                "reset_after": 14_400_000,
                "max_concurrency": rules.max_concurrency,
            },
        }
    )


def create_dm(platform: Platform, request: Request) -> Reply:
    account = request.bot
    form = Form(request.body, Faults())
    user_id = form.snowflake("recipient_id", required=True)
    form.faults.refuse()
    if user_id not in platform.users:
        raise unknown("User")
    if user_id == account.user_id:
        raise ApiError(400, 50007, "Cannot send messages to this user", rule="dm_with_itself")
    assert user_id is not None
    room = platform.dm_with(account, user_id)
    return Reply(body=channel_json(platform, room, account))


def get_channel(platform: Platform, request: Request) -> Reply:
    room = platform.room_for(request.bot, request.ids["channel"])
    return Reply(body=channel_json(platform, room, request.bot))


def _guild(platform: Platform, request: Request) -> GuildState:
    guild = platform.guilds.get(request.ids["guild"])
    if guild is None:
        raise unknown("Guild")
    if request.bot.user_id not in guild.members:
        raise missing_access()
    return guild


def get_guild(platform: Platform, request: Request) -> Reply:
    return Reply(body=guild_json(platform, _guild(platform, request)))


def get_guilds(platform: Platform, request: Request) -> Reply:
    account = request.bot
    listed: list[JsonValue] = [
        {
            "id": str(guild.id),
            "name": guild.name,
            "icon": None,
            "banner": None,
            "owner": guild.owner_id == account.user_id,
            "permissions": str(platform.base_permissions(guild, account.user_id)),
            "features": [],
        }
        for guild in _guilds_of(platform, account)
    ]
    return Reply(body=listed)


def get_guild_channels(platform: Platform, request: Request) -> Reply:
    guild = _guild(platform, request)
    rooms = [room for room in platform.rooms.values() if room.guild_id == guild.id and not room.is_thread]
    listed: list[JsonValue] = [channel_json(platform, room, request.bot) for room in rooms]
    return Reply(body=listed)


def get_roles(platform: Platform, request: Request) -> Reply:
    listed: list[JsonValue] = [role.json() for role in _guild(platform, request).roles.values()]
    return Reply(body=listed)


def get_member(platform: Platform, request: Request) -> Reply:
    guild = _guild(platform, request)
    if request.ids["user"] not in platform.users:
        raise unknown("User")
    member = guild.members.get(request.ids["user"])
    if member is None:
        raise unknown("Member")
    return Reply(body=member_json(platform, member))


def get_active_threads(platform: Platform, request: Request) -> Reply:
    guild = _guild(platform, request)
    account = request.bot
    rooms = [room for room in platform.rooms.values() if room.guild_id == guild.id and room.thread is not None]
    shown = [room for room in rooms if room.thread and not room.thread.archived]
    seen = [room for room in shown if platform.permissions(room, account.user_id) & may.VIEW_CHANNEL]
    threads: list[JsonValue] = [channel_json(platform, room, account) for room in seen]
    members: list[JsonValue] = []
    return Reply(body={"threads": threads, "members": members})
