"""Refusals in the platform's words."""

from collections.abc import Sequence

from tests.fakes.slack.model import JsonObject, JsonValue


class ApiError(Exception):
    """Becomes {"ok": false, "error": ...}.

    `problem` names the rule that the client broke, if the refusal is the client's own fault; `extra` are further fields
    of the body.
    """

    def __init__(
        self,
        error: str,
        *,
        problem: str | None = None,
        detail: str = "",
        status: int = 200,
        headers: dict[str, str] | None = None,
        extra: JsonObject | None = None,
    ) -> None:
        super().__init__(error)
        self.error = error
        self.problem = problem
        self.detail = detail
        self.status = status
        self.headers = headers or {}
        self.extra = extra or {}

    def json(self) -> JsonObject:
        return {"ok": False, "error": self.error, **self.extra}


def refused(error: str, detail: str = "") -> ApiError:
    """A refusal that a careful client would not have met: it counts as a problem under the error's own name."""
    return ApiError(error, problem=error, detail=detail)


def with_messages(error: str, faults: Sequence[str]) -> ApiError:
    """A refusal that lists what is wrong, as Slack does for blocks and arguments: `response_metadata.messages`."""
    messages: list[JsonValue] = [f"[ERROR] {fault}" for fault in faults]
    return ApiError(
        error,
        problem=error,
        detail="; ".join(faults),
        extra={"errors": list(faults), "response_metadata": {"messages": messages}},
    )


def bad_arguments(*faults: str) -> ApiError:
    return with_messages("invalid_arguments", faults)


def missing_scope(needed: str, provided: str) -> ApiError:
    return ApiError(
        "missing_scope",
        extra={"needed": needed, "provided": provided},
        headers={"X-Accepted-OAuth-Scopes": needed, "X-OAuth-Scopes": provided},
    )


def rate_limited(retry_after_s: int, *, problem: str | None) -> ApiError:
    return ApiError(
        "ratelimited",
        problem=problem,
        detail=f"retry after {retry_after_s} s",
        status=429,
        headers={"Retry-After": str(retry_after_s)},
    )
