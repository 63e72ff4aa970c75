"""Anthropic's errors.

Statuses and types: https://docs.claude.com/en/api/errors. The words are those that users of the real service quote in
bug reports.
"""

import secrets
from collections.abc import Mapping

from tests.fakes.models.dialect import ApiError
from tests.fakes.models.payload import JsonObject
from tests.fakes.models.record import Request
from tests.fakes.models.replies import PLANTED_KEY, PLANTED_PATH, Fail

TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
VERSIONS = ("2023-01-01", "2023-06-01", "2026-10-21")  # https://platform.claude.com/docs/en/api/versioning


def anthropic_error(status: int, message: str) -> ApiError:
    """`x-should-retry` is what Anthropic's own SDKs obey before they look at the status."""
    request_id = f"req_{secrets.token_hex(12)}"
    kind = TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    body: JsonObject = {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}
    retry = "true" if status == 429 or status >= 500 else "false"
    return ApiError(status, body, {"request-id": request_id, "x-should-retry": retry})


def bad(message: str) -> ApiError:
    """A 400 for a request that breaks a rule."""
    return anthropic_error(400, message)


def required(at: str) -> ApiError:
    return bad(f"{at}: Field required")


def extra(at: str) -> ApiError:
    return bad(f"{at}: Extra inputs are not permitted")


def no_match(at: str, pattern: str) -> ApiError:
    return bad(f"{at}: String should match pattern '{pattern}'")


def check_headers(headers: Mapping[str, str], key: str) -> None:
    """Raises 401 or 400. The key comes as x-api-key or, from SDKs of October 2026 on, as a bearer token."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    bearer = token if scheme.lower() == "bearer" else ""
    given = headers.get("x-api-key") or bearer
    if not given:
        raise anthropic_error(401, "x-api-key header is required")
    if given != key:
        raise anthropic_error(401, "invalid x-api-key" if given != bearer else "Invalid bearer token")
    version = headers.get("anthropic-version")
    if not version:
        raise bad("anthropic-version: header is required")
    if version not in VERSIONS:
        raise bad(f'anthropic-version: "{version}" is not a valid version')


def unknown_model(model: str) -> ApiError:
    return anthropic_error(404, f"model: {model}")


def too_long_prompt(tokens: int, limit: int) -> ApiError:
    return bad(f"prompt is too long: {tokens} tokens > {limit} maximum")


def failure(fail: Fail, request: Request) -> ApiError:
    """The error that a script asks for."""
    if isinstance(fail.what, int):
        error = anthropic_error(fail.what, fail.message or f"The request failed with status {fail.what}.")
    else:
        error = _kinds(request)[fail.what]
    details = error.body["error"] if isinstance(error.body, dict) else {}
    if isinstance(details, dict):
        details["message"] = fail.message or details["message"]
        if fail.planted:
            details["message"] = f"{details['message']} (upstream key {PLANTED_KEY} from {PLANTED_PATH})"
    if fail.body is not None:
        error.body = fail.body
    if fail.retry_after_s is not None:
        error.headers["retry-after"] = f"{fail.retry_after_s:g}"
    return error


def _kinds(request: Request) -> dict[str, ApiError]:
    rate = (
        "This request would exceed your organization's rate limit of 30,000 input tokens per minute. For details, "
        "refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current usage. "
        "Please reduce the prompt length or the maximum tokens requested, or try again later."
    )
    quota = (
        "Your credit balance is too low to access the Anthropic API. "
        "Please go to Plans & Billing to upgrade or purchase credits."
    )
    return {
        "auth": anthropic_error(401, "invalid x-api-key"),
        "rate_limit": anthropic_error(429, rate),
        "quota": bad(quota),
        "overloaded": anthropic_error(529, "Overloaded"),
        "server_error": anthropic_error(500, "Internal server error"),
        "not_found": unknown_model(request.model),
        "content_filter": bad("Output blocked by content filtering policy"),
        "context_length": too_long_prompt(request.tokens + 200_000, 200_000),
        "bad_request": bad("messages: Input should be a valid list"),
    }
