"""From a `Delivery` to what Discord's API takes. Pure. https://docs.discord.com/developers/resources/message"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from bots.discord import markup
from bots.discord.files import VOICE
from bots.discord.interactions import BUTTON_PREFIX
from bots.discord.places import UPLOAD_BYTES
from bots.discord.reading import is_snowflake
from bots.discord.sdk import discord
from bots.discord.sound import Sound
from core.vocabulary import Address, Button, Capabilities, Delivery, Pace, TextUnit

FILES_PER_MESSAGE: Final = 10
"""https://docs.discord.com/developers/reference#uploading-files"""
CAPABILITIES: Final = Capabilities(
    text_limit=markup.LIMIT,
    files_limit=FILES_PER_MESSAGE,
    text_unit=TextUnit.CODE_POINTS,
    # Discord announces its limits with each answer (https://docs.discord.com/developers/topics/rate-limits); for sends
    # and for edits it has long been 5 in 5 s and channel, each by itself, and 50 calls a second in all.
    edit_interval_s=1.25,
    direct_pace=Pace(interval_s=1.25, burst=3),
    group_pace=Pace(interval_s=1.25, burst=3),
    account_pace=Pace(interval_s=1 / 30, burst=5),  # the rest is for signs and questions
    typing_interval_s=9.0,  # it lasts 10 s: https://docs.discord.com/developers/resources/channel#trigger-typing-indicator
    buttons=True,
    download_limit_bytes=500 * 1024 * 1024,  # what people may upload with Nitro
    upload_limit_bytes=UPLOAD_BYTES,
    caption_limit=markup.LIMIT,
    idempotent_for_s=3600.0,  # by the nonce, then by what stands in the channel, of which some pages are read
)
NONCE_S: Final = 60.0
"""A nonce is known for "the past few minutes" (the page above, `enforce_nonce`), of which a repeat may take one."""

EPHEMERAL: Final = discord.MessageFlags.ephemeral.flag
_SUPPRESS_EMBEDS: Final = discord.MessageFlags.suppress_embeds.flag
"""Previews of links would ask strangers' servers for whatever address a model writes."""
_BUTTONS_IN_ROW: Final = 5
_ROW: Final = discord.ComponentType.action_row.value
_BUTTON: Final = discord.ComponentType.button.value
_STYLES: Final = {
    "plain": discord.ButtonStyle.secondary.value,
    "good": discord.ButtonStyle.success.value,
    "bad": discord.ButtonStyle.danger.value,
}
_NONCE_CHARACTERS: Final = 25


def channel_of(address: Address) -> str:
    """Where it is sent to: a thread is a channel of its own."""
    return address.thread or address.chat


def nonce(salt: str, delivery: Delivery) -> str:
    """The same for each try of a delivery, and another for every other delivery, also those of another desk with the
    same account: `salt` is the desk's own. What is sent where a beginning can't grow on is no try of that."""
    address, what = delivery.address, "beginning" if delivery.beginning else ""
    named = "\0".join((salt, address.bot, address.chat, address.thread or "", str(delivery.id), what))
    return hashlib.sha256(named.encode()).hexdigest()[:_NONCE_CHARACTERS]


def message(delivery: Delivery, salt: str) -> dict[str, object]:
    """A new message. A question that was deleted meanwhile is not pointed at, and nobody but its author is pinged."""
    made = {**_said(delivery), "nonce": nonce(salt, delivery), "enforce_nonce": True, "flags": _SUPPRESS_EMBEDS}
    if is_snowflake(delivery.address.reply_to):
        made["message_reference"] = {"message_id": delivery.address.reply_to, "fail_if_not_exists": False}
    if delivery.files:
        made["attachments"] = described(delivery)
    return made


def voice(delivery: Delivery, salt: str, sound: Sound) -> dict[str, object]:
    """As a new message, to be played where it stands: nothing but the sound may be in it."""
    made = {name: value for name, value in message(delivery, salt).items() if name not in ("content", "components")}
    told = {"duration_secs": sound.seconds, "waveform": sound.waveform}
    return {**made, "flags": VOICE, "attachments": [{**one, **told} for one in described(delivery)]}


def edit(delivery: Delivery) -> dict[str, object]:
    """The new state of a message; its files stay."""
    return _said(delivery)


def answer(delivery: Delivery, *, private: bool) -> dict[str, object]:
    """What an interaction is answered with, first or later."""
    return {**_said(delivery), "flags": _SUPPRESS_EMBEDS | (EPHEMERAL if private else 0)}


def whisper(text: str) -> dict[str, object]:
    """A word for the one who pressed a button."""
    shown = markup.render(text)[: markup.LIMIT]
    return {"content": shown, "flags": _SUPPRESS_EMBEDS | EPHEMERAL, "allowed_mentions": _nobody()}


def described(delivery: Delivery) -> list[dict[str, object]]:
    """The files of a message, by the numbers under which they are uploaded."""
    return [{"id": number, "filename": file.name} for number, file in enumerate(delivery.files)]


def words(delivery: Delivery) -> str:
    return markup.beginning(delivery.text) if delivery.beginning else markup.render(delivery.text)


def _said(delivery: Delivery) -> dict[str, object]:
    return {
        "content": words(delivery),
        "allowed_mentions": {**_nobody(), "replied_user": True},
        "components": _rows(delivery.buttons),
    }


def _nobody() -> dict[str, object]:
    """https://docs.discord.com/developers/resources/message#allowed-mentions-object"""
    return {"parse": []}


def _rows(buttons: Sequence[Button]) -> list[dict[str, object]]:
    made = [
        {"type": _BUTTON, "style": _STYLES[one.style], "label": one.label, "custom_id": f"{BUTTON_PREFIX}{one.data}"}
        for one in buttons
    ]
    return [{"type": _ROW, "components": row} for row in _in_rows(made)]


def _in_rows(buttons: list[dict[str, object]]) -> list[list[dict[str, object]]]:
    return [buttons[at : at + _BUTTONS_IN_ROW] for at in range(0, len(buttons), _BUTTONS_IN_ROW)]
