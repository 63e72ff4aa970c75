"""The methods that the double knows, with the parameters that each takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.fakes.telegram import chats, edits, files, messages, polling
from tests.fakes.telegram.model import JsonValue
from tests.fakes.telegram.params import Params
from tests.fakes.telegram.platform import Platform

Handler: TypeAlias = Callable[[Platform, Params], JsonValue]

GET_UPDATES = "getupdates"


@dataclass(frozen=True)
class Method:
    name: str
    handler: Handler | None
    parameters: frozenset[str]


_SEND = """business_connection_id chat_id message_thread_id direct_messages_topic_id text parse_mode entities
    link_preview_options disable_notification protect_content allow_paid_broadcast message_effect_id
    suggested_post_parameters reply_parameters reply_markup reply_to_message_id allow_sending_without_reply
    disable_web_page_preview"""
_FILE = """business_connection_id chat_id message_thread_id direct_messages_topic_id caption parse_mode
    caption_entities disable_notification protect_content allow_paid_broadcast message_effect_id
    suggested_post_parameters reply_parameters reply_markup"""
_GROUP = """business_connection_id chat_id message_thread_id direct_messages_topic_id media disable_notification
    protect_content allow_paid_broadcast message_effect_id reply_parameters"""
_EDIT_CAPTION = """business_connection_id chat_id message_id inline_message_id caption parse_mode caption_entities
    show_caption_above_media reply_markup"""
_EDIT = """business_connection_id chat_id message_id inline_message_id text parse_mode entities link_preview_options
    reply_markup disable_web_page_preview"""
_WEBHOOK = "url certificate ip_address max_connections allowed_updates drop_pending_updates secret_token"

_ALL: tuple[tuple[str, Handler | None, str], ...] = (
    ("getUpdates", None, "offset limit timeout allowed_updates"),
    ("getMe", chats.get_me, ""),
    ("setWebhook", polling.set_webhook, _WEBHOOK),
    ("deleteWebhook", polling.delete_webhook, "drop_pending_updates"),
    ("getWebhookInfo", polling.get_webhook_info, ""),
    ("sendMessage", messages.send_message, _SEND),
    ("sendPhoto", files.sender_of("photo"), f"{_FILE} photo show_caption_above_media has_spoiler"),
    ("sendDocument", files.sender_of("document"), f"{_FILE} document thumbnail disable_content_type_detection"),
    ("sendVoice", files.sender_of("voice"), f"{_FILE} voice duration"),
    ("sendAudio", files.sender_of("audio"), f"{_FILE} audio duration performer title thumbnail"),
    (
        "sendVideo",
        files.sender_of("video"),
        f"{_FILE} video duration width height thumbnail cover start_timestamp show_caption_above_media has_spoiler"
        " supports_streaming",
    ),
    ("sendMediaGroup", files.send_media_group, _GROUP),
    ("editMessageText", edits.edit_message_text, _EDIT),
    ("editMessageCaption", edits.edit_message_caption, _EDIT_CAPTION),
    (
        "editMessageReplyMarkup",
        edits.edit_message_reply_markup,
        "business_connection_id chat_id message_id inline_message_id reply_markup",
    ),
    ("deleteMessage", messages.delete_message, "chat_id message_id"),
    (
        "sendChatAction",
        messages.send_chat_action,
        "business_connection_id chat_id message_thread_id action",
    ),
    (
        "sendMessageDraft",
        messages.send_message_draft,
        "chat_id message_thread_id draft_id text parse_mode entities",
    ),
    ("setMessageReaction", messages.set_message_reaction, "chat_id message_id reaction is_big"),
    ("answerCallbackQuery", messages.answer_callback_query, "callback_query_id text show_alert url cache_time"),
    ("setMyCommands", chats.set_my_commands, "commands scope language_code"),
    ("getMyCommands", chats.get_my_commands, "scope language_code"),
    ("deleteMyCommands", chats.delete_my_commands, "scope language_code"),
    ("getChat", chats.get_chat, "chat_id"),
    ("getChatMember", chats.get_chat_member, "chat_id user_id"),
    ("getChatAdministrators", chats.get_chat_administrators, "chat_id return_bots"),
    ("getFile", files.get_file, "file_id"),
)

METHODS: dict[str, Method] = {
    name.lower(): Method(name, handler, frozenset(parameters.split())) for name, handler, parameters in _ALL
}
