"""reactions.add and reactions.remove."""

import re
from dataclasses import replace

from tests.fakes.slack.errors import ApiError, refused
from tests.fakes.slack.model import JsonObject, Message, Reaction
from tests.fakes.slack.params import Params
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Installation, Room

_NAME = re.compile(r"[a-z0-9_+'-]{1,100}(::skin-tone-[2-6])?")


def add(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room, message, reaction = _wanted(platform, caller, params)
    if reaction in message.reactions:
        raise ApiError("already_reacted")
    room.messages[message.ts] = replace(message, reactions=(*message.reactions, reaction))
    return {}


def remove(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room, message, reaction = _wanted(platform, caller, params)
    if reaction not in message.reactions:
        raise ApiError("no_reaction")
    kept = tuple(one for one in message.reactions if one != reaction)
    room.messages[message.ts] = replace(message, reactions=kept)
    return {}


def _wanted(platform: Platform, caller: Installation, params: Params) -> tuple[Room, Message, Reaction]:
    name = params.text("name") or ""
    if not _NAME.fullmatch(name):
        raise refused("invalid_name", name)
    if not params.text("channel") or not params.text("timestamp"):
        raise refused("no_item_specified")
    room = platform.joined_room(caller, params.text("channel"))
    if room.archived:
        raise ApiError("is_archived")
    message = room.standing(params.ts("timestamp", "bad_timestamp") or "")
    if message is None:
        raise ApiError("message_not_found")
    return room, message, Reaction(name=name, user_id=caller.bot.user_id)
