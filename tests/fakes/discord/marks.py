"""Typing indicators and reactions: https://docs.discord.com/developers/resources/message#create-reaction."""

from dataclasses import replace
from urllib.parse import unquote

from tests.fakes.discord import permissions as may
from tests.fakes.discord.errors import ApiError, thread_is_archived, unknown
from tests.fakes.discord.events import tell_of_reaction, tell_of_typing
from tests.fakes.discord.messages import sendable
from tests.fakes.discord.model import Message, Typing
from tests.fakes.discord.platform import Platform
from tests.fakes.discord.request import NOTHING, Reply, Request

MOST_REACTIONS = 20


def typing(platform: Platform, request: Request) -> Reply:
    account = request.bot
    room = sendable(platform, account, request.ids["channel"])
    platform.journal.typings.append(Typing(channel_id=room.id, user_id=account.user_id, at=platform.clock()))
    tell_of_typing(platform, room, account.user_id)
    return NOTHING


def create_reaction(platform: Platform, request: Request) -> Reply:
    account = request.bot
    room = platform.room_for(account, request.ids["channel"], may.READ_MESSAGE_HISTORY)
    message = platform.message_in(room, request.ids["message"])
    if room.thread is not None and room.thread.archived:
        raise thread_is_archived()
    emoji = _emoji(request)
    taken = {one for one, _ in message.reactions}
    if emoji not in taken:
        platform.room_for(account, room.id, may.ADD_REACTIONS)
        if len(taken) >= MOST_REACTIONS:
            raise ApiError(403, 30010, "Maximum number of reactions reached (20)", rule="reactions")
    react(platform, message, account.user_id, emoji)
    return NOTHING


def react(platform: Platform, message: Message, user_id: int, emoji: str) -> None:
    if (emoji, user_id) in message.reactions:
        return
    kept = platform.keep(replace(message, reactions=(*message.reactions, (emoji, user_id))))
    tell_of_reaction(platform, kept, user_id, emoji, added=True)


def delete_reaction(platform: Platform, request: Request) -> Reply:
    """The bot's own reaction."""
    account = request.bot
    room = platform.room_for(account, request.ids["channel"])
    message = platform.message_in(room, request.ids["message"])
    unreact(platform, message, account.user_id, _emoji(request))
    return NOTHING


def unreact(platform: Platform, message: Message, user_id: int, emoji: str) -> None:
    if (emoji, user_id) in message.reactions:
        left = tuple(one for one in message.reactions if one != (emoji, user_id))
        kept = platform.keep(replace(message, reactions=left))
        tell_of_reaction(platform, kept, user_id, emoji, added=False)


def _emoji(request: Request) -> str:
    emoji = unquote(request.words["emoji"])
    if not emoji or emoji.isascii():
        raise unknown("Emoji")
    return emoji
