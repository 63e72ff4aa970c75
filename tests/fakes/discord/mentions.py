"""Whom a message mentions, and whom it pings.

https://docs.discord.com/developers/resources/message#allowed-mentions-object
"""

import re
from dataclasses import dataclass

from tests.fakes.discord import permissions as may
from tests.fakes.discord.forms import Form
from tests.fakes.discord.model import JsonObject, Mentions, Message
from tests.fakes.discord.platform import Platform, Room

_USER = re.compile(r"<@!?(\d+)>")
_ROLE = re.compile(r"<@&(\d+)>")
_EVERYONE = re.compile(r"@(?:everyone|here)\b")
_CODE = re.compile(r"```.*?```|``.+?``|`[^`]+`", re.DOTALL)
"""In code nobody is mentioned."""
KINDS = ("users", "roles", "everyone")


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """`parse` names the kinds that are free; beside them the listed ids are allowed."""

    parse: frozenset[str]
    users: frozenset[int] = frozenset()
    roles: frozenset[int] = frozenset()
    replied_user: bool = False


REGULAR = Allowed(parse=frozenset(KINDS), replied_user=True)
OF_INTERACTIONS = Allowed(parse=frozenset({"users"}), replied_user=True)


def read_allowed(form: Form, default: Allowed) -> Allowed:
    """The `allowed_mentions` of a body, checked; `default` where there is none."""
    inner = form.within("allowed_mentions")
    if inner is None:
        return default
    parse = inner.array("parse", most=3) or []
    for index, kind in enumerate(parse):
        if kind not in KINDS:
            inner.fault(f"parse.{index}", "BASE_TYPE_CHOICES", "Value must be one of ('roles', 'users', 'everyone').")
    listed = {name: frozenset(inner.snowflakes(name, most=100)) for name in ("users", "roles")}
    for name, ids in listed.items():
        if ids and name in parse:
            words = f'parse:["{name}"] and {name}: [ids...] are mutually exclusive.'
            inner.fault_here("MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", words)
    return Allowed(parse=frozenset(str(kind) for kind in parse), replied_user=inner.flag("replied_user"), **listed)


def mentioned(
    platform: Platform, room: Room, author_id: int, texts: list[str], allowed: Allowed, replied: Message | None
) -> Mentions:
    """What counts after `allowed` and the author's permissions, and who of those present is notified."""
    text = _CODE.sub("", "\n".join(texts))
    users = [one for one in _ids(_USER, text) if one in platform.users]
    if "users" not in allowed.parse:
        users = [one for one in users if one in allowed.users]
    if replied is not None and allowed.replied_user and replied.author.id not in users:
        users.append(replied.author.id)
    guild = platform.guild_of(room)
    if guild is None:
        return Mentions(users=tuple(users), pinged=frozenset(users) & frozenset(room.recipients) - {author_id})
    free = bool(platform.permissions(room, author_id) & may.MENTION_EVERYONE)
    roles = [one for one in _ids(_ROLE, text) if one in guild.roles and one != guild.id]
    roles = [one for one in roles if free or guild.roles[one].mentionable]
    if "roles" not in allowed.parse:
        roles = [one for one in roles if one in allowed.roles]
    everyone = bool(_EVERYONE.search(text)) and free and "everyone" in allowed.parse
    pinged = {one.user_id for one in guild.members.values() if everyone or one.roles & set(roles)} | set(users)
    present = frozenset(platform.readers(room))
    return Mentions(
        users=tuple(users), roles=tuple(roles), everyone=everyone, pinged=frozenset(pinged) & present - {author_id}
    )


def _ids(pattern: re.Pattern[str], text: str) -> list[int]:
    return list(dict.fromkeys(int(one) for one in pattern.findall(text)))


def shown_texts(content: str, components: list[JsonObject]) -> list[str]:
    """Where mentions can stand: the content and text displays."""
    texts = [content]
    waiting = list(components)
    while waiting:
        one = waiting.pop()
        if one.get("type") == 10 and isinstance(one.get("content"), str):
            texts.append(str(one["content"]))
        inner = one.get("components")
        waiting += [child for child in inner if isinstance(child, dict)] if isinstance(inner, list) else []
    return texts
