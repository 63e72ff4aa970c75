"""From a `Delivery` to calls of Slack's API (https://docs.slack.dev/reference/methods).

A message is sent and edited whole here: an edit always says all of it, and may be repeated. What grows in a thread of
a direct chat may be a stream (`streaming`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from bots.slack import markup
from bots.slack.emoji import name_of
from bots.slack.faults import Unrenderable
from bots.slack.inbound import Account
from bots.slack.line import Line
from core.errors import Rejected, Unknown
from core.fields import Json, part
from core.vocabulary import Address, Capabilities, ChatId, Delivery, MessageId, Pace, TextUnit, UserId

DELIVERED: Final = "frontdesk_delivery"
"""The type of the metadata that a delivery carries (https://docs.slack.dev/messaging/message-metadata)."""
QUIET: Final = {"unfurl_links": False, "unfurl_media": False}
"""No previews: https://docs.slack.dev/messaging/unfurling-links-in-messages. Slack makes them when a message is posted,
and none for a link that an edit brings: https://github.com/NousResearch/hermes-agent/pull/97957 measured that."""
STATUS_S: Final = 100.0
"""A status is gone after two minutes: https://docs.slack.dev/reference/methods/assistant.threads.setStatus."""
THINKING: Final = "is thinking…"
STATUS_LIMIT: Final = 100
_TS: Final = re.compile(r"\d+\.\d+", re.ASCII)
TITLE_LIMIT: Final = 200

CAPABILITIES: Final = Capabilities(
    text_limit=markup.LIMIT_UTF16,
    text_unit=TextUnit.UTF16,
    edit_interval_s=1.0,  # chat.update is of tier 3, 50 a minute and more: one at a time, and 429s are obeyed
    # https://docs.slack.dev/apis/web-api/rate-limits: one message a second in a channel, with short bursts, and several
    # hundred a minute in a workspace.
    direct_pace=Pace(interval_s=1.0, burst=3),
    group_pace=Pace(interval_s=1.0, burst=3),
    account_pace=Pace(interval_s=0.25, burst=20),
    typing_interval_s=STATUS_S,
    buttons=True,
    download_limit_bytes=1024**3,  # https://docs.slack.dev/messaging/working-with-files: 1 GB
    upload_limit_bytes=1024**3,
    caption_limit=markup.TEXT_LIMIT // 2,
    idempotent_for_s=3_600.0,  # and longer, but nobody waits for what fails all that time
)


async def send(line: Line, delivery: Delivery) -> MessageId:
    """Send one part as a message and return its id. Raises `BotError`."""
    where = {"channel": delivery.address.chat, **QUIET, **_thread(delivery.address), "metadata": metadata(delivery)}
    return message_id(await _say(line, "chat.postMessage", delivery, where))


async def show(line: Line, delivery: Delivery, user: str) -> None:
    """Send one part so that one person sees it, for as long as their client runs. Raises `BotError`."""
    where = {"channel": delivery.address.chat, "user": user, **_thread(delivery.address)}
    await _say(line, "chat.postEphemeral", delivery, where)


async def edit(line: Line, delivery: Delivery, message: MessageId) -> None:
    """Replace what a message says and its buttons. Raises `BotError`."""
    # Unlike with a new message, Slack would look for names in the text by itself: "parse" is "client".
    where = {"channel": delivery.address.chat, "ts": message, "parse": "none", "link_names": False}
    await _say(line, "chat.update", delivery, {**where, "metadata": metadata(delivery)})


async def _say(line: Line, method: str, delivery: Delivery, where: Mapping[str, object]) -> dict[str, Any]:
    """As Markdown; where Slack can't take that, the same words plainly."""
    arguments = {**where, "text": markup.notification(delivery.text)}
    try:
        return await line.call(method, {**arguments, "blocks": markup.blocks(delivery.text, delivery.buttons)})
    except Unrenderable:
        plain = markup.plain_blocks(delivery.text, delivery.buttons)
    try:
        return await line.call(method, {**arguments, "blocks": plain})
    except Unrenderable as refusal:
        raise Rejected(str(refusal)) from None


def metadata(delivery: Delivery) -> dict[str, object]:
    """By what a delivery is recognised."""
    told = {"id": str(delivery.id), **({"beginning": True} if delivery.beginning else {})}
    return {"event_type": DELIVERED, "event_payload": told}


def message_id(answer: Mapping[str, object]) -> MessageId:
    """The id in what a method that sends answers. Raises `Unknown`."""
    ts = answer.get("ts")
    if not isinstance(ts, str):
        raise Unknown("Slack's answer names no message")
    return MessageId(ts)


async def show_status(line: Line, address: Address, words: str) -> None:
    """What is being done there; Slack shows that in threads alone. Raises `BotError`."""
    if address.thread is None:
        return
    arguments = {"channel_id": address.chat, "thread_ts": address.thread, "status": words[:STATUS_LIMIT]}
    await line.call("assistant.threads.setStatus", arguments, telling=False)


async def entitle(line: Line, address: Address, title: str) -> None:
    """Name a thread of the assistant; others have no names. Raises `BotError`."""
    if address.thread is None or not address.chat.startswith("D") or not title.strip():
        return
    arguments = {"channel_id": address.chat, "thread_ts": address.thread, "title": title.strip()[:TITLE_LIMIT]}
    await line.call("assistant.threads.setTitle", arguments, telling=False)


async def is_admin(line: Line, us: Account, chat: ChatId, user: UserId) -> bool:
    """Whether a person runs our workspace or our organization, or is ours and made the channel. Raises `BotError`.

    What Slack says of somebody else's workspace counts for nothing here: a channel may be shared with it
    (https://docs.slack.dev/apis/slack-connect).
    """
    told = part(await line.call("users.info", {"user": user}, telling=False), "user") or {}
    organized = part(told, "enterprise_user") or {}
    of_ours = us.enterprise != "" and organized.get("enterprise_id") == us.enterprise
    at_home = told.get("team_id") in {us.team, us.enterprise} - {""}
    if (at_home and _runs(told)) or (of_ours and _runs(organized)):
        return True
    if not (at_home or of_ours):
        return False
    channel = part(await line.call("conversations.info", {"channel": chat}, telling=False), "channel") or {}
    return channel.get("creator") == user


def _runs(told: Json) -> bool:
    """https://docs.slack.dev/reference/objects/user-object: of the workspace that `team_id` names, or, in
    `enterprise_user`, of the organization."""
    return any(told.get(role) is True for role in ("is_admin", "is_owner", "is_primary_owner"))


async def react(line: Line, address: Address, message: MessageId, emoji: str) -> None:
    """Put a reaction on a message; one that is there already is success. Raises `BotError`."""
    name = name_of(emoji)
    if name is None or not _TS.fullmatch(message):
        raise Rejected("Slack has no name for the emoji, or no such message")
    arguments = {"channel": address.chat, "timestamp": message, "name": name}
    try:
        await line.call("reactions.add", arguments, telling=False)
    except Rejected as refusal:
        if "already_reacted" not in str(refusal):
            raise


def _thread(address: Address) -> dict[str, str]:
    return {"thread_ts": address.thread} if address.thread is not None else {}
