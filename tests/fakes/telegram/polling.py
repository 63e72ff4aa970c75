"""getUpdates and the webhook methods. Source: https://core.telegram.org/bots/api#getupdates, #setwebhook."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.fakes.telegram.errors import ApiError, bad_request, conflict, unauthorized
from tests.fakes.telegram.model import JsonObject, JsonValue
from tests.fakes.telegram.params import Params
from tests.fakes.telegram.platform import Platform, Webhook
from tests.fakes.telegram.updates import UPDATE_KINDS

MAX_TIMEOUT_S = 50  # telegram-bot-api cuts longer polls to this
OTHER_POLLER = "terminated by other getUpdates request; make sure that only one bot instance is running"
WEBHOOK_ACTIVE = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
PORTS = frozenset({None, 443, 80, 88, 8443})  # https://core.telegram.org/bots/api#setwebhook


@dataclass(frozen=True, kw_only=True)
class Poll:
    """A getUpdates call that may have to wait. Only the newest poll of a bot lives."""

    number: int
    token: str
    limit: int
    until: float


def begin_poll(platform: Platform, params: Params) -> Poll:
    """Confirms by offset and puts an end to the poll before. Raises `ApiError`."""
    if platform.webhook.url:
        raise conflict(WEBHOOK_ACTIVE)
    call = platform.journal.calls[params.number]
    limit = params.integer("limit")
    timeout_s = params.integer("timeout") or 0
    if limit is not None and not 1 <= limit <= 100:
        platform.journal.violated("params", call, f"limit {limit} is not within 1..100")
        limit = min(max(limit, 1), 100)
    if not 0 <= timeout_s <= MAX_TIMEOUT_S:
        platform.journal.violated("params", call, f"timeout {timeout_s} is not within 0..{MAX_TIMEOUT_S}")
        timeout_s = min(max(timeout_s, 0), MAX_TIMEOUT_S)
    offset = params.integer("offset") or 0
    _remember_allowed(platform, params)
    platform.updates.confirm(offset)
    platform.poll_number += 1
    return Poll(
        number=platform.poll_number,
        token=platform.token,
        limit=100 if limit is None else limit,
        until=platform.clock() + timeout_s,
    )


def poll_result(platform: Platform, poll: Poll) -> list[JsonValue] | None:
    """The updates for this poll, or None while it has to wait. Raises `ApiError` when it was ended from outside."""
    if poll.token != platform.token:
        raise unauthorized()
    if platform.webhook.url:
        raise conflict("terminated by setWebhook request")
    if poll.number != platform.poll_number:
        raise conflict(OTHER_POLLER)
    if platform.updates.waiting or platform.clock() >= poll.until:
        return list(platform.updates.take(poll.limit))
    return None


def _remember_allowed(platform: Platform, params: Params) -> None:
    kinds = params.array("allowed_updates")
    if kinds is None:
        return
    names = [kind for kind in kinds if isinstance(kind, str)]
    if unknown := [kind for kind in kinds if not isinstance(kind, str) or kind not in UPDATE_KINDS]:
        call = platform.journal.calls[params.number]
        platform.journal.violated("allowed_updates", call, f"unknown kinds of updates: {unknown}")
    platform.updates.allow(names)


def set_webhook(platform: Platform, params: Params) -> JsonValue:
    url = params.text("url") or ""
    if not url:
        return delete_webhook(platform, params)
    if not url.startswith("https://"):
        raise _bad_webhook("An HTTPS URL must be provided for webhook")
    if urlsplit(url).port not in PORTS:
        raise _bad_webhook("Webhook can be set up only on ports 80, 88, 443 or 8443")
    secret = params.text("secret_token")
    if secret is not None and not _SECRET.fullmatch(secret):
        raise bad_request("secret token contains unallowed characters", rule="webhook")
    connections = params.integer("max_connections") or 40
    if not 1 <= connections <= 100:
        raise _bad_webhook("max_connections must be within 1..100")
    _remember_allowed(platform, params)
    if params.flag("drop_pending_updates"):
        platform.updates.clear()
    platform.webhook = Webhook(
        url=url, secret_token=secret, max_connections=connections, ip_address=params.text("ip_address")
    )
    platform.changed()
    return True


def _bad_webhook(reason: str) -> ApiError:
    return bad_request(f"bad webhook: {reason}", rule="webhook")


def delete_webhook(platform: Platform, params: Params) -> JsonValue:
    if params.flag("drop_pending_updates"):
        platform.updates.clear()
    platform.webhook = Webhook()
    return True


def get_webhook_info(platform: Platform, _params: Params) -> JsonValue:
    info: JsonObject = {
        "url": platform.webhook.url,
        "has_custom_certificate": False,
        "pending_update_count": len(platform.updates.unconfirmed),
    }
    if platform.webhook.url:
        info["max_connections"] = platform.webhook.max_connections
    if platform.webhook.ip_address is not None:
        info["ip_address"] = platform.webhook.ip_address
    if platform.webhook.last_error_date is not None:
        info["last_error_date"] = platform.webhook.last_error_date
        info["last_error_message"] = platform.webhook.last_error_message
    allowed: list[JsonValue] = [*sorted(platform.updates.allowed)]
    return {**info, "allowed_updates": allowed}
