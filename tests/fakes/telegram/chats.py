"""The methods that read about the bot, chats and members, and those on commands."""

import json
import re

from tests.fakes.telegram.errors import ApiError, bad_request
from tests.fakes.telegram.model import JsonObject, JsonValue
from tests.fakes.telegram.params import Params
from tests.fakes.telegram.platform import Platform, Room

MAX_COMMANDS = 100  # https://core.telegram.org/bots/api#setmycommands
_COMMAND = re.compile(r"[a-z0-9_]{1,32}")  # https://core.telegram.org/bots/api#botcommand
MAX_DESCRIPTION = 256
_SCOPES = frozenset(
    [
        "default",
        "all_private_chats",
        "all_group_chats",
        "all_chat_administrators",
        "chat",
        "chat_administrators",
        "chat_member",
    ]
)
_ADMIN_RIGHTS = (
    "can_be_edited",
    "is_anonymous",
    "can_manage_chat",
    "can_delete_messages",
    "can_manage_video_chats",
    "can_restrict_members",
    "can_promote_members",
    "can_change_info",
    "can_invite_users",
    "can_post_stories",
    "can_edit_stories",
    "can_delete_stories",
)
_RESTRICTIONS = (
    "is_member",
    "can_send_messages",
    "can_send_audios",
    "can_send_documents",
    "can_send_photos",
    "can_send_videos",
    "can_send_video_notes",
    "can_send_voice_notes",
    "can_send_polls",
    "can_send_other_messages",
    "can_add_web_page_previews",
    "can_react_to_messages",
    "can_edit_tag",
    "can_change_info",
    "can_invite_users",
    "can_pin_messages",
    "can_manage_topics",
)


def get_me(platform: Platform, _params: Params) -> JsonValue:
    return {
        **platform.bot.json(),
        "can_join_groups": True,
        "can_read_all_group_messages": True,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


def get_chat(platform: Platform, params: Params) -> JsonValue:
    room = platform.reachable_room(params.values.get("chat_id"))
    return {
        **room.chat.json(),
        "accent_color_id": 0,
        "max_reaction_count": 11,
        "accepted_gift_types": {
            "unlimited_gifts": False,
            "limited_gifts": False,
            "unique_gifts": False,
            "premium_subscription": False,
            "gifts_from_channels": False,
        },
    }


def get_chat_member(platform: Platform, params: Params) -> JsonValue:
    room = platform.reachable_room(params.values.get("chat_id"))
    user_id = params.needed_integer("user_id", "invalid user_id specified")
    if user_id not in platform.users:
        raise bad_request("PARTICIPANT_ID_INVALID")
    return member_json(platform, room, user_id, platform.status_of(room, user_id))


def get_chat_administrators(platform: Platform, params: Params) -> JsonValue:
    room = platform.reachable_room(params.values.get("chat_id"))
    if room.chat.type == "private":
        raise bad_request("there are no administrators in the private chat")
    return [
        member_json(platform, room, user_id, status)
        for user_id, status in room.statuses.items()
        if status in {"creator", "administrator"} and (not platform.users[user_id].is_bot or user_id == platform.bot.id)
    ]


def member_json(platform: Platform, room: Room, user_id: int, status: str) -> JsonObject:
    """A ChatMember object with every field that its kind must have."""
    rights: dict[str, JsonObject] = {
        "creator": {"is_anonymous": False},
        "administrator": {**dict.fromkeys(_ADMIN_RIGHTS, False), "can_manage_chat": True},
        "restricted": {**dict.fromkeys(_RESTRICTIONS, False), "is_member": True, "until_date": 0},
        "kicked": {"until_date": 0},
    }
    body: JsonObject = {"user": platform.users[user_id].json(), "status": status, **rights.get(status, {})}
    if status == "administrator" and room.chat.type == "channel":
        body |= {"can_post_messages": True, "can_edit_messages": True}
    return body


def set_my_commands(platform: Platform, params: Params) -> JsonValue:
    commands = params.array("commands")
    if commands is None:
        raise bad_request("can't parse commands JSON array", rule="commands")
    if len(commands) > MAX_COMMANDS:
        raise bad_request("BOT_COMMANDS_TOO_MUCH", rule="commands")
    for command in commands:
        _check_command(command)
    if commands:
        platform.commands[_slot(params)] = commands
    else:
        platform.commands.pop(_slot(params), None)
    return True


def _check_command(command: JsonValue) -> None:
    if not isinstance(command, dict):
        raise _bad_command("can't parse BotCommand: expected an Object")
    name, description = command.get("command"), command.get("description")
    if not isinstance(name, str) or not _COMMAND.fullmatch(name.removeprefix("/")):
        raise _bad_command("BOT_COMMAND_INVALID")
    if not isinstance(description, str) or not 1 <= len(description.strip()) <= MAX_DESCRIPTION:
        raise _bad_command("BOT_COMMAND_DESCRIPTION_INVALID")


def _bad_command(reason: str) -> ApiError:
    return bad_request(reason, rule="commands")


def get_my_commands(platform: Platform, params: Params) -> JsonValue:
    return platform.commands.get(_slot(params), [])


def delete_my_commands(platform: Platform, params: Params) -> JsonValue:
    platform.commands.pop(_slot(params), None)
    return True


def _slot(params: Params) -> str:
    """Commands are kept per scope and language."""
    scope = params.object("scope") or {"type": "default"}
    if str(scope.get("type")) not in _SCOPES:
        raise _bad_command("can't parse BotCommandScope: Unsupported type specified")
    return commands_slot(scope, params.text("language_code") or "")


def commands_slot(scope: JsonObject, language_code: str) -> str:
    return json.dumps([scope, language_code], sort_keys=True)
