"""The methods that change what the bot has sent. Each runs under the platform's lock and applies at once."""

from dataclasses import replace

from tests.fakes.telegram.errors import ApiError, bad_request
from tests.fakes.telegram.markup import check_markup
from tests.fakes.telegram.messages import formatted, may_write
from tests.fakes.telegram.model import Edit, JsonValue, Message
from tests.fakes.telegram.params import Params
from tests.fakes.telegram.platform import Platform, Room


def edit_message_text(platform: Platform, params: Params) -> JsonValue:
    room = platform.reachable_room(params.values.get("chat_id"))
    text, entities = formatted(params)
    markup = params.object("reply_markup")
    check_markup(markup, inline_only=True)
    message = _editable(platform, room, params)
    if message.text is None:
        raise bad_request("there is no text in the message to edit")
    platform.flood.admit("editmessagetext", room.chat)
    edited = replace(message, text=text, entities=entities, reply_markup=markup)
    before = Edit(text=message.text, entities=message.entities, at=platform.clock())
    return _changed(platform, room, message, replace(edited, edits=(*message.edits, before)))


def edit_message_caption(platform: Platform, params: Params) -> JsonValue:
    room = platform.reachable_room(params.values.get("chat_id"))
    text, entities = formatted(params, caption=True)
    markup = params.object("reply_markup")
    check_markup(markup, inline_only=True)
    message = _editable(platform, room, params)
    if message.media is None:
        raise bad_request("there is no caption in the message to edit")
    platform.flood.admit("editmessagecaption", room.chat)
    edited = replace(message, caption=text or None, caption_entities=entities, reply_markup=markup)
    before = Edit(text=message.caption or "", entities=message.caption_entities, at=platform.clock())
    return _changed(platform, room, message, replace(edited, edits=(*message.edits, before)))


def edit_message_reply_markup(platform: Platform, params: Params) -> JsonValue:
    room = platform.reachable_room(params.values.get("chat_id"))
    markup = params.object("reply_markup")
    check_markup(markup, inline_only=True)
    message = _editable(platform, room, params)
    platform.flood.admit("editmessagereplymarkup", room.chat)
    return _changed(platform, room, message, replace(message, reply_markup=markup))


def _changed(platform: Platform, room: Room, before: Message, after: Message) -> JsonValue:
    if _shown(before) == _shown(after):
        raise _not_modified()
    kept = replace(after, edit_date=platform.date())
    room.messages[kept.message_id] = kept
    return platform.message_json(kept)


def _shown(message: Message) -> tuple[object, ...]:
    said = (message.text, message.entities, message.caption, message.caption_entities)
    return (*said, message.reply_markup or None)


def _editable(platform: Platform, room: Room, params: Params) -> Message:
    if params.integer("message_id") is None and params.text("inline_message_id") is None:
        raise bad_request("message identifier is not specified", rule="params")
    message = room.messages.get(params.integer("message_id") or 0)
    if message is None or message.deleted:
        raise bad_request("message to edit not found")
    if not message.by_our_bot:
        raise bad_request("message can't be edited")
    may_write(platform, room)
    return message


def _not_modified() -> ApiError:
    return bad_request(
        "message is not modified: specified new message content and reply markup are exactly the same as a current"
        " content and reply markup of the message"
    )
