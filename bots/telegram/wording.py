"""A text or a caption on its way to Telegram."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import telegram
from telegram import error as sdk
from telegram.constants import MessageLimit

from bots.telegram import markup
from bots.telegram.api import call
from core.delivery.split import is_blank, utf16_units

CAPTION_UTF16: Final = MessageLimit.CAPTION_LENGTH
"""Length of a caption in UTF-16 code units after entities."""
_NO_PREVIEW: Final = {"is_disabled": True}


async def say(api: telegram.Bot, method: str, source: str, where: Mapping[str, object]) -> Any:
    """Send or edit a text. Raises `telegram.error.TelegramError`."""
    return await plainer(
        lambda plainly: call(api, method, {**where, **text(source, plainly), "link_preview_options": _NO_PREVIEW})
    )


async def say_draft(api: telegram.Bot, source: str, where: Mapping[str, object]) -> None:
    """Show a text that vanishes. Raises `telegram.error.TelegramError`."""
    await plainer(lambda plainly: call(api, "send_Message_Draft", {**where, **text(source, plainly)}))


async def caption_anew(api: telegram.Bot, source: str, where: Mapping[str, object]) -> None:
    """Replace a caption. Raises `telegram.error.TelegramError`."""
    await plainer(lambda plainly: call(api, "edit_Message_Caption", {**where, **caption(source, plainly)}))


async def plainer(act: Callable[[bool], Awaitable[Any]]) -> Any:
    """With what was rendered; where Telegram can't take that, with the same words plainly."""
    try:
        return await act(False)
    except sdk.BadRequest as error:
        if not about_rendering(error):
            raise
    return await act(True)


def text(source: str, plainly: bool) -> dict[str, object]:
    rendered = markup.plain(source) if plainly else markup.render(source)
    return {"text": rendered.text, "entities": [_entity(entity) for entity in rendered.entities]}


def caption(source: str, plainly: bool) -> dict[str, object]:
    """Nothing for a blank one. What is too long once it is rendered is left as it was written."""
    if is_blank(source):
        return {}
    rendered = markup.plain(source) if plainly else markup.render(source)
    if utf16_units(rendered.text) > CAPTION_UTF16:
        rendered = markup.plain(source)
    return {"caption": rendered.text, "caption_entities": [_entity(entity) for entity in rendered.entities]}


def _entity(entity: markup.Entity) -> dict[str, object]:
    written: dict[str, object] = {"type": entity.type, "offset": entity.offset, "length": entity.length}
    if entity.url is not None:
        written["url"] = entity.url
    if entity.language is not None:
        written["language"] = entity.language
    return written


def about_rendering(error: sdk.BadRequest) -> bool:
    words = error.message.lower()
    return "entit" in words or "text is empty" in words or "text must be non-empty" in words
