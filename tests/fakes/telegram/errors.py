"""Refusals in the platform's words."""

from tests.fakes.telegram.model import JsonObject


class ApiError(Exception):
    """Becomes {"ok": false, ...}. `rule` names the limit that the bot broke, if refusing it is the bot's fault."""

    def __init__(
        self, code: int, description: str, *, rule: str | None = None, parameters: JsonObject | None = None
    ) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.rule = rule
        self.parameters = parameters

    def json(self) -> JsonObject:
        body: JsonObject = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters is not None:
            body["parameters"] = self.parameters
        return body


def bad_request(reason: str, *, rule: str | None = None) -> ApiError:
    return ApiError(400, f"Bad Request: {reason}", rule=rule)


def forbidden(reason: str) -> ApiError:
    return ApiError(403, f"Forbidden: {reason}")


def conflict(reason: str) -> ApiError:
    return ApiError(409, f"Conflict: {reason}")


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized")


def not_found() -> ApiError:
    return ApiError(404, "Not Found")


def too_many_requests(retry_after_s: int, *, rule: str | None) -> ApiError:
    return ApiError(
        429,
        f"Too Many Requests: retry after {retry_after_s}",
        rule=rule,
        parameters={"retry_after": retry_after_s},
    )


def migrated(new_chat_id: int) -> ApiError:
    return ApiError(
        400,
        "Bad Request: group chat was upgraded to a supergroup chat",
        parameters={"migrate_to_chat_id": new_chat_id},
    )
