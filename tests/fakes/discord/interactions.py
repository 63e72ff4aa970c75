"""Answers to interactions: the callback, the original response, follow-ups.

https://docs.discord.com/developers/interactions/receiving-and-responding
"""

from dataclasses import replace

from tests.fakes.discord.commands import STRING, check_choice
from tests.fakes.discord.components import check_modal
from tests.fakes.discord.drafts import Draft, Terms, read_draft, refuse_empty
from tests.fakes.discord.errors import already_acknowledged, invalid_webhook_token, unknown
from tests.fakes.discord.forms import Faults, Form
from tests.fakes.discord.interaction_state import (
    ANSWER_S,
    AUTOCOMPLETE,
    COMMAND,
    COMPONENT,
    MODAL,
    TOKEN_S,
    Interaction,
)
from tests.fakes.discord.mentions import OF_INTERACTIONS, mentioned, shown_texts
from tests.fakes.discord.messages import change, post, remove, revise
from tests.fakes.discord.model import EPHEMERAL, LOADING, JsonObject, Message, Version, objects
from tests.fakes.discord.platform import Platform
from tests.fakes.discord.request import NOTHING, Reply, Request
from tests.fakes.discord.wire import message_json

REPLY, DEFERRED_REPLY, DEFERRED_UPDATE, UPDATE, SUGGESTIONS, FORM = 4, 5, 6, 7, 8, 9
_TYPES = {
    COMMAND: frozenset({REPLY, DEFERRED_REPLY, FORM}),
    COMPONENT: frozenset({REPLY, DEFERRED_REPLY, DEFERRED_UPDATE, UPDATE, FORM}),
    AUTOCOMPLETE: frozenset({SUGGESTIONS}),
    MODAL: frozenset({REPLY, DEFERRED_REPLY, DEFERRED_UPDATE, UPDATE}),
}
TERMS = Terms(default=OF_INTERACTIONS, extra_flags=EPHEMERAL)


def callback(platform: Platform, request: Request) -> Reply:
    """The first answer: within three seconds, once."""
    interaction = platform.interactions.get(request.ids["interaction"])
    if interaction is None or interaction.token != request.words["token"]:
        raise unknown("interaction")
    if interaction.acknowledged:
        raise already_acknowledged()
    late_s = platform.clock() - interaction.made_at
    if late_s > ANSWER_S:
        error = unknown("interaction")
        error.rule = "acknowledged_late"
        raise error
    form = Form(request.body, Faults())
    kind = form.choice("type", _TYPES[interaction.type], required=True)
    form.faults.refuse()
    data = request.body.get("data")
    made = _answer(platform, request, interaction, kind or 0, data if isinstance(data, dict) else {})
    interaction.acknowledged_at = platform.clock()
    interaction.callback_type = kind
    platform.changed()
    if request.query.get("with_response", "").lower() not in {"1", "true"}:
        return NOTHING
    return Reply(body=_callback_json(platform, interaction, made))


def _answer(
    platform: Platform, request: Request, interaction: Interaction, kind: int, data: JsonObject
) -> Message | None:
    """What the callback does. Raises `ApiError` without having done it."""
    if kind == SUGGESTIONS:
        interaction.choices = _read_choices(interaction, data)
        return None
    if kind == FORM:
        form = Form(data, Faults(), "data")
        check_modal(form)
        form.faults.refuse()
        interaction.modal = data
        return None
    if kind in {DEFERRED_UPDATE, UPDATE}:
        return _update_source(platform, request, interaction, data if kind == UPDATE else None)
    if kind == DEFERRED_REPLY:
        form = Form(data, Faults(), "data")
        flags = form.integer("flags") or 0
        if flags & ~EPHEMERAL:
            form.fault("flags", "MESSAGE_FLAGS_INVALID", "Invalid flags")
        form.faults.refuse()
        draft = read_draft(platform, {}, (), TERMS)
        made = _post(platform, interaction, replace(draft, content="", flags=flags | LOADING))
    else:
        draft = read_draft(platform, data, request.uploads, replace(TERMS, place="data"))
        refuse_empty(draft.version(None, 0.0))
        made = _post(platform, interaction, draft)
    interaction.original_id = made.id
    return made


def _read_choices(interaction: Interaction, data: JsonObject) -> list[JsonObject]:
    form = Form(data, Faults(), "data")
    if "choices" not in data:
        form.fault("choices", "BASE_TYPE_REQUIRED", "This field is required")
    kind = STRING
    for option in objects(interaction.data.get("options")):
        kind = int(str(option.get("type", STRING))) if option.get("focused") else kind
    for choice in form.each("choices", most=25):
        check_choice(choice, kind)
    form.faults.refuse()
    return objects(data.get("choices"))


def _update_source(
    platform: Platform, request: Request, interaction: Interaction, data: JsonObject | None
) -> Message | None:
    """Types 6 and 7: the message with the button is the original response."""
    source = platform.find_message(interaction.message_id or 0)
    if source is None or source.deleted:
        raise unknown("Message")
    interaction.original_id = source.id
    if data is None:
        return None
    return revise(platform, source, replace(request, body=data), replace(_terms_on(source), place="data"))


def _terms_on(message: Message) -> Terms:
    return Terms(default=OF_INTERACTIONS, extra_flags=EPHEMERAL, had=message.now, had_flags=message.flags)


def _post(platform: Platform, interaction: Interaction, draft: Draft) -> Message:
    room = platform.rooms[interaction.channel_id]
    version = draft.version(None, platform.clock())
    texts = shown_texts(version.content, list(version.components))
    counted = mentioned(platform, room, interaction.bot_id, texts, draft.allowed, None)
    hidden = bool(draft.flags & EPHEMERAL)
    followup = interaction.original_id is not None
    message = Message(
        id=platform.new_id(),
        channel_id=room.id,
        guild_id=room.guild_id,
        author=platform.users[interaction.bot_id],
        date=platform.date(),
        versions=(version,),
        type=_message_type(interaction, followup=followup),
        flags=draft.flags,
        mentions=counted,
        pinged=counted.pinged & {interaction.user_id} if hidden else counted.pinged,
        webhook_id=interaction.application_id,
        application_id=interaction.application_id,
        interaction_id=interaction.id,
        visible_to=interaction.user_id if hidden else None,
        extra=_metadata(platform, interaction, followup=followup),
    )
    return post(platform, message)


def _message_type(interaction: Interaction, *, followup: bool) -> int:
    if followup or interaction.type != COMMAND:
        return 19 if followup else 0
    return 20 if interaction.data.get("type") == 1 else 23


def _metadata(platform: Platform, interaction: Interaction, *, followup: bool) -> JsonObject:
    user = platform.users[interaction.user_id].json()
    owner = "0" if interaction.guild_id is None else str(interaction.guild_id)
    body: JsonObject = {
        "id": str(interaction.id),
        "type": interaction.type,
        "user": user,
        "authorizing_integration_owners": {"0": owner},
    }
    if followup:
        body["original_response_message_id"] = str(interaction.original_id)
    if interaction.type == COMPONENT:
        return {"interaction_metadata": {**body, "interacted_message_id": str(interaction.message_id)}}
    name = interaction.data.get("name")
    old: JsonObject = {"id": str(interaction.id), "type": interaction.type, "name": name, "user": user}
    return {"interaction_metadata": {**body, "name": name}, "interaction": old}


def _callback_json(platform: Platform, interaction: Interaction, made: Message | None) -> JsonObject:
    inner: JsonObject = {"id": str(interaction.id), "type": interaction.type}
    if made is None:
        return {"interaction": inner}
    inner |= {
        "response_message_id": str(made.id),
        "response_message_loading": bool(made.flags & LOADING),
        "response_message_ephemeral": made.ephemeral,
    }
    resource: JsonObject = {"type": interaction.callback_type}
    if interaction.callback_type in {REPLY, UPDATE}:
        resource["message"] = message_json(platform, made)
    return {"interaction": inner, "resource": resource}


# what follows


def _of_token(platform: Platform, request: Request) -> Interaction:
    """The acknowledged interaction of a webhook path. Raises `ApiError` 10015 or 50027."""
    token = request.words["token"]
    found = next((one for one in platform.interactions.values() if one.token == token), None)
    if found is None or found.application_id != request.ids["application"]:
        raise unknown("Webhook")
    if platform.clock() - found.made_at > TOKEN_S:
        raise invalid_webhook_token()
    if not found.acknowledged:
        error = unknown("Webhook")
        error.rule = "followup_before_answer"
        raise error
    return found


def followup(platform: Platform, request: Request) -> Reply:
    """The first follow-up of a deferred answer takes its place, and keeps its being ephemeral."""
    interaction = _of_token(platform, request)
    original = _original(platform, interaction)
    if original is not None and original.flags & LOADING:
        return Reply(body=message_json(platform, _fill(platform, request, original)))
    draft = read_draft(platform, request.body, request.uploads, TERMS)
    refuse_empty(draft.version(None, 0.0))
    made = _post(platform, interaction, draft)
    interaction.followups.append(made.id)
    return Reply(body=message_json(platform, made))


def _original(platform: Platform, interaction: Interaction) -> Message | None:
    found = platform.find_message(interaction.original_id or 0)
    return None if found is None or found.deleted else found


def _target(platform: Platform, request: Request) -> tuple[Interaction, Message]:
    interaction = _of_token(platform, request)
    wanted = request.words.get("response", "@original")
    if wanted == "@original":
        found = _original(platform, interaction)
    else:
        number = int(wanted) if wanted.isdecimal() else 0
        found = platform.find_message(number)
        found = found if number == interaction.original_id or number in interaction.followups else None
    if found is None or found.deleted:
        raise unknown("Message")
    return interaction, found


def get_response(platform: Platform, request: Request) -> Reply:
    return Reply(body=message_json(platform, _target(platform, request)[1]))


def edit_response(platform: Platform, request: Request) -> Reply:
    _, message = _target(platform, request)
    if message.flags & LOADING:
        return Reply(body=message_json(platform, _fill(platform, request, message)))
    return Reply(body=message_json(platform, revise(platform, message, request, _terms_on(message))))


def _fill(platform: Platform, request: Request, message: Message) -> Message:
    """A deferred answer gets its text. That is an edit: it mentions and pings nobody.

    https://github.com/discord/discord-api-docs/issues/5497
    """
    draft = read_draft(platform, request.body, request.uploads, _terms_on(message))
    version: Version = draft.version(None, platform.clock())
    refuse_empty(version)
    room = platform.rooms[message.channel_id]
    texts = shown_texts(version.content, list(version.components))
    counted = mentioned(platform, room, message.author.id, texts, draft.allowed, None)
    flags = (message.flags & ~LOADING) | (draft.flags & ~EPHEMERAL)
    filled = replace(message, versions=(version,), flags=flags, mentions=counted)
    return change(platform, replace(filled, edited=platform.date()))


def delete_response(platform: Platform, request: Request) -> Reply:
    _, message = _target(platform, request)
    remove(platform, message)
    return NOTHING
