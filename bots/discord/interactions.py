"""What people do with the bot's own things: commands, buttons, the entry in a message's menu, and its form. Pure; no
JSON makes it raise.

https://docs.discord.com/developers/interactions/receiving-and-responding. Each has an id, which an answer replies to,
and a token, with which it is answered for a quarter of an hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from bots.discord.files import brought
from bots.discord.inbound import Scene, Us, address, quoted, sender
from bots.discord.reading import is_snowflake, made_at, snowflake
from bots.discord.sdk import discord
from core.fields import Json, Unreadable, get, objects, opt
from core.people.names import storable
from core.ports import CommandHelp, Principal
from core.vocabulary import Address, ChatKind, EventId, Message, MessageId, Press, Sender

COMMAND: Final = discord.InteractionType.application_command.value
COMPONENT: Final = discord.InteractionType.component.value
AUTOCOMPLETE: Final = discord.InteractionType.autocomplete.value
FORM: Final = discord.InteractionType.modal_submit.value
SLASH: Final = discord.AppCommandType.chat_input.value
MESSAGE_MENU: Final = discord.AppCommandType.message.value

PRIVATE: Final = "private"
"""What the id of a command begins with whose answer one person sees: that person and the interaction follow, so that a
later process knows it too."""
BUTTON_PREFIX: Final = "fd:"
"""What tells our buttons from anybody's: what follows is the button's data, so none is kept here over a restart."""
FORM_PREFIX: Final = "fd-ask:"
QUESTION: Final = "question"
_TEXT_INPUT: Final = discord.ComponentType.text_input.value


class Token(Struct, frozen=True, kw_only=True):
    """What an interaction is answered with."""

    interaction: str
    secret: str

    def __repr__(self) -> str:
        return f"Token(interaction={self.interaction!r})"


class Said(Struct, frozen=True, kw_only=True):
    """A command, or a filled form: a message, answered at the interaction. `private`: for the one who asked."""

    token: Token
    message: Message
    private: bool


class Pressed(Struct, frozen=True, kw_only=True):
    token: Token
    press: Press


class Typing(Struct, frozen=True, kw_only=True):
    """Somebody types the argument of a command and would like suggestions."""

    token: Token
    principal: Principal
    command: str
    typed: str


class Asking(Struct, frozen=True, kw_only=True):
    """Somebody picked our entry in the menu of a message, and is to be asked for the question."""

    token: Token
    principal: Principal
    target: Json

    @property
    def name(self) -> str:
        """What the form is called, so that its answer finds the message again."""
        return f"{FORM_PREFIX}{self.target.get('channel_id')}/{self.target.get('id')}"


Use = Said | Pressed | Typing | Asking


def read(data: object, us: Us, scene: Scene, commands: Mapping[str, CommandHelp]) -> Use | None:
    """What an interaction means to us. One that can't be read is None: nobody could answer it, and within seconds its
    sender is told so by Discord."""
    if not isinstance(data, dict):
        return None
    try:
        match opt(data, "type", int):
            case 2:
                return _command(data, us, scene, commands)
            case 3:
                return _pressed(data, us, scene)
            case 4:
                return _typing(data, us, scene)
            case _:
                return None
    except Unreadable:
        return None


def asked_about(data: object) -> tuple[str, str] | None:
    """The channel and the message that a filled form is about; None if it is no form of ours."""
    if not isinstance(data, dict) or data.get("type") != FORM:
        return None
    try:
        name = get(get(data, "data", dict), "custom_id", str)
    except Unreadable:
        return None
    if not name.startswith(FORM_PREFIX):
        return None
    channel, _, message = name.removeprefix(FORM_PREFIX).partition("/")
    return (channel, message) if is_snowflake(channel) and is_snowflake(message) else None


def submitted(data: object, us: Us, scene: Scene, target: Json | None) -> Said | None:
    """A filled form. `target` is the message that it is about, None if that is gone."""
    if not isinstance(data, dict):
        return None
    try:
        said = _said(data, us, scene, storable(_answer(get(data, "data", dict))).strip(), private=False)
        if target is None:
            return said
        files = tuple(brought(target))
        return replace(said, message=replace(said.message, quote=quoted(target, us, scene), attachments=files))
    except Unreadable:
        return None


def used(message: MessageId | None) -> tuple[str, str | None]:
    """The interaction that a message was, if it was one, and who alone sees the answer to it."""
    private, _, rest = (message or "").partition("-")
    user, _, interaction = rest.partition("-")
    return (interaction, user) if private == PRIVATE else (message or "", None)


def channel_of(data: object) -> Json | None:
    """The channel as the interaction tells of it, with its server; None if it tells of none."""
    if not isinstance(data, dict) or not isinstance(data.get("channel"), dict):
        return None
    return {**data["channel"], "guild_id": data.get("guild_id")}


def _command(data: Json, us: Us, scene: Scene, commands: Mapping[str, CommandHelp]) -> Use | None:
    chosen = get(data, "data", dict)
    name = get(chosen, "name", str)
    if opt(chosen, "type", int) == MESSAGE_MENU:
        messages = opt(opt(chosen, "resolved", dict) or {}, "messages", dict) or {}
        target = opt(messages, get(chosen, "target_id", str), dict)
        if target is None:
            return None
        return Asking(token=_token(data), principal=_principal(data, us, scene), target=target)
    given = [str(one["value"]) for one in objects(chosen, "options") if isinstance(one.get("value"), str | int | float)]
    text = storable(" ".join((f"/{name}", *given))).strip()
    help_ = commands.get(name)
    return _said(data, us, scene, text, private=help_ is not None and help_.private)


def _said(data: Json, us: Us, scene: Scene, text: str, *, private: bool) -> Said:
    token, by = _token(data), _sender(data)
    where, kind = _where(us, scene)
    private = private and kind is not ChatKind.DIRECT
    number = MessageId(f"{PRIVATE}-{by.user}-{token.interaction}" if private else token.interaction)
    message = Message(
        event=EventId(token.interaction),
        message=number,
        address=replace(where, reply_to=number),
        kind=kind,
        sender=by,
        text=text,
        sent_at=made_at(token.interaction),
        addressed=True,
        within=scene.place.guild or "",
    )
    return Said(token=token, message=message, private=private)


def _pressed(data: Json, us: Us, scene: Scene) -> Pressed | None:
    name = get(get(data, "data", dict), "custom_id", str)
    if not name.startswith(BUTTON_PREFIX):
        return None
    token = _token(data)
    where, kind = _where(us, scene)
    press = Press(
        event=EventId(token.interaction),
        address=where,
        kind=kind,
        sender=_sender(data),
        data=storable(name.removeprefix(BUTTON_PREFIX)),
        pressed_at=made_at(token.interaction),
        handle=f"{token.interaction}/{token.secret}",
        within=scene.place.guild or "",
    )
    return Pressed(token=token, press=press)


def _typing(data: Json, us: Us, scene: Scene) -> Typing | None:
    chosen = get(data, "data", dict)
    focused = next((one for one in objects(chosen, "options") if one.get("focused") is True), None)
    if focused is None:
        return None
    return Typing(
        token=_token(data),
        principal=_principal(data, us, scene),
        command=get(chosen, "name", str),
        typed=storable(str(focused.get("value") or "")),
    )


def _principal(data: Json, us: Us, scene: Scene) -> Principal:
    where, kind = _where(us, scene)
    return Principal(address=where, kind=kind, sender=_sender(data), within=scene.place.guild or "")


def _where(us: Us, scene: Scene) -> tuple[Address, ChatKind]:
    return address(us, scene.place, None)


def _sender(data: Json) -> Sender:
    """In a server the member who did it, in a direct chat the user."""
    member = opt(data, "member", dict)
    user = get(member, "user", dict) if member is not None else get(data, "user", dict)
    return sender(user, member)


def _token(data: Json) -> Token:
    return Token(interaction=snowflake(data, "id"), secret=get(data, "token", str))


def _answer(form: Json) -> str:
    """What was written into the form: text inputs stand in rows, in newer clients in labels."""
    rows = list(objects(form, "components"))
    inputs = [one for row in rows for one in objects(row, "components")]
    inputs += [inner for row in rows if (inner := opt(row, "component", dict)) is not None]
    written = [opt(one, "value", str) or "" for one in inputs if opt(one, "type", int) == _TEXT_INPUT]
    return "\n".join(written)
