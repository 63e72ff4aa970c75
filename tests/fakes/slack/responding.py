"""What an app answers to a command or a click: at its response_url, or in the acknowledgement itself.

Source: https://docs.slack.dev/interactivity/handling-user-interaction#message_responses.
"""

from dataclasses import replace

from tests.fakes.slack.chat import erase
from tests.fakes.slack.composing import by_bot, composed, thread_of
from tests.fakes.slack.delivery import Delivery
from tests.fakes.slack.errors import ApiError, refused
from tests.fakes.slack.events import tell_change, tell_message
from tests.fakes.slack.model import Ephemeral, JsonValue, Version, text_of
from tests.fakes.slack.params import Params
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Installation, ResponseUrl, Room
from tests.fakes.slack.views import take_options, take_view_answer

USES = 5
LIFE_S = 30 * 60.0
RESPONSE_FIELDS = frozenset(
    [
        "text",
        "blocks",
        "attachments",
        "response_type",
        "replace_original",
        "delete_original",
        "thread_ts",
        "mrkdwn",
        "unfurl_links",
        "unfurl_media",
        "metadata",
    ]
)


def use_response_url(platform: Platform, secret: str, params: Params) -> None:
    """One POST. Raises `ApiError` with the status that Slack's hooks give."""
    url = platform.response_urls.get(secret)
    if url is None:
        raise ApiError("no_service", problem="response_url", status=404)
    if platform.clock() - url.at > LIFE_S:
        raise ApiError("expired_url", problem="expired_url", status=404)
    if url.uses >= USES:
        raise ApiError("used_url", problem="used_url", status=404)
    url.uses += 1
    if unknown := sorted(params.values.keys() - RESPONSE_FIELDS):
        platform.remark("unknown_parameter", params.number, ", ".join(unknown))
    respond(platform, url, params, via="response_url")


def take_answer(platform: Platform, delivery: Delivery, payload: JsonValue) -> None:
    """What came with an acknowledgement in time."""
    if not isinstance(payload, dict) or not payload:
        return
    number = platform.journal.arrived("ack", payload)
    try:
        if delivery.kind == "slash_commands":
            url = platform.response_urls.get(text_of(delivery.payload, "response_url").rpartition("/")[2])
            if url is None:
                raise ApiError("no_service", problem="response_url")
            respond(platform, url, Params(payload, number), via="ack")
        elif delivery.payload.get("type") == "block_suggestion":
            take_options(platform, delivery, payload)
        elif delivery.kind == "interactive":
            take_view_answer(platform, delivery, payload)
    except ApiError as error:
        platform.refuse(number, error)
        platform.journal.unanswered(number, error.error)
    else:
        platform.journal.applied(number, {})
    platform.changed()


def respond(platform: Platform, url: ResponseUrl, params: Params, *, via: str) -> None:
    room = platform.rooms[url.channel_id]
    caller = _installation(platform, url)
    if params.flag("delete_original"):
        _delete_original(platform, url, room)
        return
    version = composed(platform, params)
    if params.flag("replace_original"):
        _replace_original(platform, url, room, version)
        return
    thread_ts = thread_of(platform, room, params)
    kind = params.text("response_type") or "ephemeral"
    if kind not in {"ephemeral", "in_channel"}:
        raise refused("invalid_arguments", f"response_type {kind}")
    if kind == "in_channel":
        tell_message(platform, room, platform.keep(room, by_bot(caller, room, version, thread_ts)))
        return
    platform.ephemerals.append(
        Ephemeral(
            channel_id=room.channel.id,
            user_id=url.user_id,
            ts=platform.new_ts(),
            text=version.text,
            blocks=version.blocks,
            thread_ts=thread_ts,
            via=via,
            at=version.at,
            pings=version.pings,
        )
    )


def _installation(platform: Platform, url: ResponseUrl) -> Installation:
    for one in platform.installed(url.team_id):
        if one.app.id == url.app_id:
            return one
    raise ApiError("no_service", status=404)


def _delete_original(platform: Platform, url: ResponseUrl, room: Room) -> None:
    message = room.standing(url.ts or "")
    if message is not None and message.app_id == url.app_id:
        erase(platform, room, message)
    elif url.ephemeral_ts is not None:
        _change_ephemeral(platform, url, None)
    else:
        raise ApiError("message_not_found", problem="message_not_found", status=404)


def _replace_original(platform: Platform, url: ResponseUrl, room: Room, version: Version) -> None:
    message = room.standing(url.ts or "")
    if message is not None and message.app_id == url.app_id:
        kept = replace(version, metadata=message.metadata if version.metadata is None else version.metadata)
        tell_change(platform, room, message, platform.revise(room, message, kept))
    elif url.ephemeral_ts is not None:
        _change_ephemeral(platform, url, version)
    else:
        raise ApiError("message_not_found", problem="message_not_found", status=404)


def _change_ephemeral(platform: Platform, url: ResponseUrl, version: Version | None) -> None:
    for place, shown in enumerate(platform.ephemerals):
        if shown.ts != url.ephemeral_ts:
            continue
        if version is None:
            platform.ephemerals[place] = replace(shown, gone=True)
            continue
        platform.ephemerals[place] = replace(
            shown, text=version.text, blocks=version.blocks, pings=shown.pings | version.pings
        )
