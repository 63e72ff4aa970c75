"""The methods that write, edit and delete messages. Each runs under the platform's lock and applies at once."""

from collections.abc import Sequence
from dataclasses import replace

from tests.fakes.telegram.entities import read_entities
from tests.fakes.telegram.errors import bad_request
from tests.fakes.telegram.markup import check_markup
from tests.fakes.telegram.model import Action, Draft, Entity, JsonValue, Message
from tests.fakes.telegram.params import Params
from tests.fakes.telegram.parse_html import parse_html
from tests.fakes.telegram.parse_markdown import parse_markdown, parse_markdown_v2
from tests.fakes.telegram.platform import Platform, Room
from tests.fakes.telegram.reactions import reaction_emoji
from tests.fakes.telegram.text import finished_text
from tests.fakes.telegram.utf16 import utf16_length

CHAT_ACTIONS = frozenset(
    [
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    ]
)
PARSERS = {"html": parse_html, "markdownv2": parse_markdown_v2, "markdown": parse_markdown}
MAX_QUOTE_UTF16 = 1024
GENERAL = 1
"""The General topic of a forum: a chat action needs it (else nobody there sees it), and a message may not name it."""
DELETABLE_S = 48 * 3600.0  # https://core.telegram.org/bots/api#deletemessage


def send_message(platform: Platform, params: Params) -> JsonValue:
    room = platform.reachable_room(params.values.get("chat_id"))
    text, entities = formatted(params)
    check_markup(params.object("reply_markup"))
    may_write(platform, room)
    reply_to = replied_to(params, room)
    thread_id = thread_of(params, room, reply_to)
    platform.flood.admit("sendmessage", room.chat)
    is_channel = room.chat.type == "channel"
    message = platform.post(
        room,
        Message(
            chat_id=room.chat.id,
            message_id=0,
            date=platform.date(),
            at=platform.clock(),
            text=text,
            entities=entities,
            sender=None if is_channel else platform.bot,
            sender_chat=room.chat if is_channel else None,
            by_our_bot=True,
            reply_to=reply_to,
            thread_id=thread_id,
            is_topic_message=thread_id is not None and (room.chat.is_forum or room.chat.type == "private"),
            reply_markup=params.object("reply_markup"),
            silent=params.flag("disable_notification"),
        ),
    )
    room.draft = None
    return platform.message_json(message)


def formatted(params: Params, *, may_be_empty: bool = False, caption: bool = False) -> tuple[str, tuple[Entity, ...]]:
    """The text or the caption of a call, and its entities."""
    text = params.text("caption" if caption else "text") or ""
    mode = (params.text("parse_mode") or "").lower()
    listed = params.array("caption_entities" if caption else "entities")
    entities: Sequence[Entity] = read_entities(listed) if listed else []
    if mode and mode not in PARSERS:
        raise bad_request("unsupported parse_mode", rule="parse_mode")
    if mode and listed:
        raise bad_request("parse_mode and entities can't be used together", rule="params")
    if mode:
        text, entities = PARSERS[mode](text)
    return finished_text(text, entities, may_be_empty=may_be_empty or caption, caption=caption)


def may_write(platform: Platform, room: Room, what: str = "text messages") -> None:
    status = platform.status_of(room, platform.bot.id)
    if room.chat.type == "channel" and status not in {"administrator", "creator"}:
        raise bad_request("need administrator rights in the channel chat")
    if status == "restricted":
        raise bad_request(f"not enough rights to send {what} to the chat")


def replied_to(params: Params, room: Room) -> int | None:
    options = params.object("reply_parameters")
    if options is None:
        wanted = params.integer("reply_to_message_id")
        optional = params.flag("allow_sending_without_reply")
        quote: JsonValue = None
    else:
        given = options.get("message_id")
        if isinstance(given, bool) or not isinstance(given, int):
            raise bad_request("can't parse reply parameters: Can't find field \"message_id\"", rule="params")
        wanted = given
        optional = options.get("allow_sending_without_reply") is True
        quote = options.get("quote")
        if options.get("chat_id", room.chat.id) != room.chat.id:
            raise bad_request("message to be replied not found")
    if not wanted:
        return None
    replied = room.messages.get(wanted)
    if replied is None or replied.deleted:
        if optional:
            return None
        raise bad_request("message to be replied not found")
    if (
        isinstance(quote, str)
        and quote
        and (utf16_length(quote) > MAX_QUOTE_UTF16 or quote not in (replied.text or ""))
    ):
        raise bad_request("QUOTE_TEXT_INVALID", rule="quote")
    return wanted


def thread_of(params: Params, room: Room, reply_to: int | None) -> int | None:
    wanted = params.integer("message_thread_id")
    if wanted is None or wanted == 0:
        replied = room.messages.get(reply_to or 0)
        return replied.thread_id if replied is not None and replied.is_topic_message else None
    if wanted not in room.threads:
        raise bad_request("message thread not found")
    return wanted


def delete_message(platform: Platform, params: Params) -> JsonValue:
    room = platform.reachable_room(params.values.get("chat_id"))
    message = room.messages.get(params.needed_integer("message_id", "message identifier is not specified"))
    if message is None or message.deleted:
        raise bad_request("message to delete not found")
    is_admin = platform.status_of(room, platform.bot.id) == "administrator"
    own = message.by_our_bot or room.chat.type == "private"
    if not (own or is_admin) or (platform.clock() - message.at > DELETABLE_S and not is_admin):
        raise bad_request("message can't be deleted")
    room.messages[message.message_id] = replace(message, deleted=True)
    return True


def send_chat_action(platform: Platform, params: Params) -> JsonValue:
    room = platform.reachable_room(params.values.get("chat_id"))
    action = params.text("action") or ""
    if action not in CHAT_ACTIONS:
        raise bad_request("wrong parameter action in request", rule="params")
    if room.chat.type == "channel":
        raise bad_request("chat action can't be sent to channel chats", rule="params")
    in_general = room.chat.is_forum and params.integer("message_thread_id") == GENERAL
    thread_id = GENERAL if in_general else thread_of(params, room, None)
    platform.flood.admit("sendchataction", room.chat)
    room.actions.append(Action(action=action, thread_id=thread_id, at=platform.clock()))
    return True


def send_message_draft(platform: Platform, params: Params) -> JsonValue:
    room = platform.reachable_room(params.values.get("chat_id"))
    if room.chat.type != "private":
        raise bad_request("drafts can be sent only to private chats", rule="draft")
    if not params.needed_integer("draft_id", "draft_id must be specified"):
        raise bad_request("draft_id must be non-zero", rule="draft")
    text, entities = formatted(params, may_be_empty=True)
    thread_id = thread_of(params, room, None)
    platform.flood.admit("sendmessagedraft", room.chat)
    room.draft = Draft(
        draft_id=params.integer("draft_id") or 0,
        text=text,
        entities=entities,
        thread_id=thread_id,
        at=platform.clock(),
    )
    room.drafts.append(room.draft)
    return True


def set_message_reaction(platform: Platform, params: Params) -> JsonValue:
    room = platform.reachable_room(params.values.get("chat_id"))
    message = room.messages.get(params.needed_integer("message_id", "message identifier is not specified"))
    if message is None or message.deleted:
        raise bad_request("message to react not found")
    if "new_chat_members" in message.extra:
        raise bad_request("REACTION_INVALID", rule="reaction")
    emoji = reaction_emoji(params.array("reaction") or [])
    platform.flood.admit("setmessagereaction", room.chat)
    room.messages[message.message_id] = replace(message, reactions=emoji)
    return True


def answer_callback_query(platform: Platform, params: Params) -> JsonValue:
    query_id = params.text("callback_query_id") or ""
    if len(params.text("text") or "") > 200:
        raise bad_request("MESSAGE_TOO_LONG", rule="too_long")
    if platform.callbacks.pop(query_id, None) is None:
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    platform.answered_callbacks.append(dict(params.values))
    return True
