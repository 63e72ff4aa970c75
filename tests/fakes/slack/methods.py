"""The methods that the double knows, with the parameters, scopes and tier of each.

Source: https://docs.slack.dev/reference/methods, one page for each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.fakes.slack import (
    assistant,
    chat,
    conversations,
    directory,
    fileroom,
    reactions,
    streams,
    views,
)
from tests.fakes.slack.model import JsonObject
from tests.fakes.slack.params import Params
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Installation

Handler: TypeAlias = Callable[[Platform, Installation, Params], JsonObject]


@dataclass(frozen=True)
class Method:
    """`scopes`: one of them is needed; where it depends on the conversation the handler looks. `tier` None: special."""

    name: str
    handler: Handler
    parameters: frozenset[str]
    scopes: tuple[str, ...] = ()
    tier: int | None = None
    takes_json: bool = True


_SAY = "channel text blocks attachments thread_ts markdown_text metadata username icon_emoji icon_url parse link_names"
_POST = f"{_SAY} as_user reply_broadcast unfurl_links unfurl_media unfurl_app_links mrkdwn"

_START = "channel thread_ts markdown_text chunks recipient_user_id recipient_team_id task_display_mode"
_START += " icon_emoji icon_url username"
_STOP = "channel ts markdown_text chunks blocks metadata session_status"
_PAGE = "channel cursor inclusive include_all_metadata latest limit oldest"
_OPEN = "channel users return_im prevent_creation"
_MINE = "user types exclude_archived cursor limit team_id"
_UPLOAD = "filename length alt_txt snippet_type"
_COMPLETE = "files channel_id channels thread_ts initial_comment blocks username icon_emoji icon_url"
_STATUS = "channel_id thread_ts status loading_messages username icon_emoji icon_url"
_PROMPTS = "channel_id thread_ts title prompts"

_ALL: tuple[tuple[str, Handler, str, str, int | None, bool], ...] = (
    ("api.test", directory.api_test, "error foo", "", 4, True),
    ("auth.test", directory.auth_test, "", "", None, True),
    ("chat.postMessage", chat.post_message, _POST, "chat:write", None, True),
    ("chat.postEphemeral", chat.post_ephemeral, f"{_SAY} user as_user", "chat:write", 4, True),
    ("chat.update", chat.update, f"{_SAY} ts as_user file_ids reply_broadcast", "chat:write", 3, True),
    ("chat.delete", chat.delete, "channel ts as_user", "chat:write", 3, True),
    ("chat.meMessage", chat.me_message, "channel text", "chat:write", 3, True),
    ("chat.getPermalink", chat.get_permalink, "channel message_ts", "", None, False),
    ("users.info", directory.users_info, "user include_locale", "users:read", 4, False),
    ("users.lookupByEmail", directory.lookup_by_email, "email", "users:read.email", 3, False),
    ("team.info", directory.team_info, "team domain", "team:read", 3, False),
    ("bots.info", directory.bots_info, "bot team_id", "users:read", 3, False),
    ("chat.startStream", streams.start_stream, _START, "chat:write", 2, True),
    ("chat.appendStream", streams.append_stream, "channel ts markdown_text chunks", "chat:write", 4, True),
    ("chat.stopStream", streams.stop_stream, _STOP, "chat:write", 2, True),
    ("conversations.history", conversations.history, _PAGE, "", 3, False),
    ("conversations.replies", conversations.replies, f"{_PAGE} ts", "", 3, False),
    ("conversations.info", conversations.info, "channel include_locale include_num_members", "", 3, False),
    ("conversations.members", conversations.members, "channel cursor limit", "", 4, False),
    ("conversations.join", conversations.join, "channel", "channels:join", 3, True),
    ("conversations.open", conversations.open_conversation, _OPEN, "im:write mpim:write", 3, True),
    ("users.conversations", conversations.users_conversations, _MINE, "", 3, False),
    ("reactions.add", reactions.add, "channel name timestamp", "reactions:write", 3, True),
    ("reactions.remove", reactions.remove, "channel name timestamp", "reactions:write", 2, True),
    ("files.getUploadURLExternal", fileroom.get_upload_url, _UPLOAD, "files:write", 4, False),
    ("files.completeUploadExternal", fileroom.complete_upload, _COMPLETE, "files:write", 4, True),
    ("files.info", fileroom.files_info, "file count page cursor limit", "files:read", 4, False),
    ("assistant.threads.setStatus", assistant.set_status, _STATUS, "assistant:write chat:write", None, True),
    ("assistant.threads.setSuggestedPrompts", assistant.set_suggested_prompts, _PROMPTS, "assistant:write", 4, True),
    ("assistant.threads.setTitle", assistant.set_title, "channel_id thread_ts title", "assistant:write", 4, True),
    ("views.publish", views.publish, "user_id view hash interactivity_pointer", "", 4, True),
    ("views.open", views.open_view, "trigger_id view interactivity_pointer", "", 4, True),
    ("views.push", views.push, "trigger_id view interactivity_pointer", "", 4, True),
    ("views.update", views.update_view, "view_id external_id view hash", "", 4, True),
    ("apps.manifest.validate", directory.manifest_validate, "manifest app_id", "", 3, True),
)

METHODS: dict[str, Method] = {
    name: Method(name, handler, frozenset(parameters.split()), tuple(scopes.split()), tier, takes_json)
    for name, handler, parameters, scopes, tier, takes_json in _ALL
}


def _never(_platform: Platform, _caller: Installation, _params: Params) -> JsonObject:
    raise NotImplementedError


CONNECTIONS_OPEN = Method("apps.connections.open", _never, frozenset(), (), 3)
