"""OpenAI's errors.

Statuses and codes: https://platform.openai.com/docs/guides/error-codes. The words are those that users of the real
service quote in bug reports.
"""

from collections.abc import Mapping

from tests.fakes.models.dialect import ApiError
from tests.fakes.models.payload import JsonObject, JsonValue, type_name
from tests.fakes.models.record import Request
from tests.fakes.models.replies import PLANTED_KEY, PLANTED_PATH, Fail

KEYS_PAGE = "https://platform.openai.com/account/api-keys"
SHOWN_HEAD, SHOWN_TAIL = 8, 4  # how much of a wrong key the real service repeats


def openai_error(
    status: int,
    message: str,
    *,
    kind: str | None = "invalid_request_error",
    param: str | None = None,
    code: str | None = None,
) -> ApiError:
    body: JsonObject = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return ApiError(status, body)


def bad(message: str, param: str | None = None, code: str | None = None) -> ApiError:
    """A 400 for a request that breaks a rule."""
    return openai_error(400, message, param=param, code=code)


def missing(param: str) -> ApiError:
    return bad(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")


def unknown(param: str) -> ApiError:
    return bad(f"Unknown parameter: '{param}'.", param, "unknown_parameter")


def wrong_type(param: str, expected: str, value: JsonValue) -> ApiError:
    """`expected` with its article: "a string"."""
    words = f"Invalid type for '{param}': expected {expected}, but got {type_name(value)} instead."
    return bad(words, param, "invalid_type")


def empty_string(param: str) -> ApiError:
    words = "empty string. Expected a string with minimum length 1, but got an empty string instead."
    return bad(f"Invalid '{param}': {words}", param, "empty_string")


def empty_array(param: str) -> ApiError:
    words = "empty array. Expected an array with minimum length 1, but got an empty array instead."
    return bad(f"Invalid '{param}': {words}", param, "empty_array")


def too_long_string(param: str, limit: int, length: int) -> ApiError:
    words = f"Expected a string with maximum length {limit}, but got a string with length {length} instead."
    return bad(f"Invalid '{param}': string too long. {words}", param, "string_above_max_length")


def no_match(param: str, pattern: str) -> ApiError:
    words = f"string does not match pattern. Expected a string that matches the pattern '{pattern}'."
    return bad(f"Invalid '{param}': {words}", param, "invalid_value")


def check_bearer(headers: Mapping[str, str], key: str) -> None:
    """Raises 401. A wrong key is repeated in part, as the real service does."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not given:
        words = (
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer "
            f"auth (i.e. Authorization: Bearer YOUR_KEY). You can obtain an API key from {KEYS_PAGE}."
        )
        raise openai_error(401, words)
    if given != key:
        raise _wrong_key(given)


def _wrong_key(given: str) -> ApiError:
    hidden = max(0, len(given) - SHOWN_HEAD - SHOWN_TAIL)
    shown = f"{given[:SHOWN_HEAD]}{'*' * hidden}{given[-SHOWN_TAIL:]}"
    words = f"Incorrect API key provided: {shown}. You can find your API key at {KEYS_PAGE}."
    return openai_error(401, words, code="invalid_api_key")


def unknown_model(model: str) -> ApiError:
    words = f"The model `{model}` does not exist or you do not have access to it."
    return openai_error(404, words, code="model_not_found")


def failure(fail: Fail, request: Request) -> ApiError:
    """The error that a script asks for."""
    error = _bare(fail.what, fail.message) if isinstance(fail.what, int) else _kinds(fail, request)[fail.what]
    body = error.body["error"] if isinstance(error.body, dict) else {}
    if isinstance(body, dict):
        body["message"] = fail.message or body["message"]
        if fail.planted:
            body["message"] = f"{body['message']} (upstream key {PLANTED_KEY} from {PLANTED_PATH})"
    if fail.body is not None:
        error.body = fail.body
    if fail.retry_after_s is not None:
        error.headers["retry-after"] = f"{fail.retry_after_s:g}"
    return error


def _bare(status: int, message: str) -> ApiError:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return openai_error(status, message or f"The request failed with status {status}.", kind=kind)


def _kinds(fail: Fail, request: Request) -> dict[str, ApiError]:
    seconds = f"{fail.retry_after_s or 1:g}s"
    rate = (
        f"Rate limit reached for {request.model} in organization org-double on tokens per min (TPM): Limit 30000, "
        f"Used 29500, Requested 1200. Please try again in {seconds}. "
        "Visit https://platform.openai.com/account/rate-limits to learn more."
    )
    quota = (
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
    )
    server = (
        "The server had an error while processing your request. Sorry about that! You can retry your request, or "
        "contact us through our help center at help.openai.com if the error persists."
    )
    filtered = (
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. "
        "Please modify your prompt and retry."
    )
    overloaded = "The engine is currently overloaded, please try again later."
    return {
        "auth": _wrong_key(request.headers.get("authorization", "").rpartition(" ")[2]),
        "rate_limit": openai_error(429, rate, kind="tokens", code="rate_limit_exceeded"),
        "quota": openai_error(429, quota, kind="insufficient_quota", code="insufficient_quota"),
        "overloaded": openai_error(503, overloaded, kind="server_error"),
        "server_error": openai_error(500, server, kind="server_error"),
        "not_found": unknown_model(request.model),
        "content_filter": openai_error(400, filtered, kind=None, param="prompt", code="content_filter"),
        "context_length": too_long_chat(request.tokens + 130_000, 128_000),
        "bad_request": bad("Invalid 'messages': the request could not be understood.", "messages", "invalid_value"),
    }


def too_long_chat(tokens: int, limit: int) -> ApiError:
    words = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens. "
        "Please reduce the length of the messages."
    )
    return bad(words, "messages", "context_length_exceeded")


def too_long_input() -> ApiError:
    words = "Your input exceeds the context window of this model. Please adjust your input and try again."
    return bad(words, "input", "context_length_exceeded")
