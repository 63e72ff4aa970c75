"""Refusals in the platform's words: https://docs.discord.com/developers/topics/opcodes-and-status-codes#json."""

from tests.fakes.discord.model import JsonObject


class ApiError(Exception):
    """Becomes {"message", "code"} and, for a form, "errors". `rule` names what the bot broke, if it is its fault."""

    def __init__(
        self, status: int, code: int, message: str, *, rule: str | None = None, errors: JsonObject | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.rule = rule
        self.errors = errors

    def json(self) -> JsonObject:
        body: JsonObject = {"message": self.message, "code": self.code}
        if self.errors is not None:
            body["errors"] = self.errors
        return body

    @property
    def detail(self) -> str:
        return self.message if self.errors is None else f"{self.message}: {self.errors}"


def unauthorized() -> ApiError:
    return ApiError(401, 0, "401: Unauthorized")


def no_such_route() -> ApiError:
    return ApiError(404, 0, "404: Not Found", rule="route")


def wrong_method() -> ApiError:
    return ApiError(405, 0, "405: Method Not Allowed", rule="route")


def unknown(what: str) -> ApiError:
    """What is not there, such as "Channel"."""
    codes = {
        "Application": 10002,
        "Channel": 10003,
        "Guild": 10004,
        "Member": 10007,
        "Message": 10008,
        "User": 10013,
        "Emoji": 10014,
        "Webhook": 10015,
        "interaction": 10062,
        "application command": 10063,
    }
    return ApiError(404, codes[what], f"Unknown {what}")


def missing_access() -> ApiError:
    return ApiError(403, 50001, "Missing Access")


def missing_permissions() -> ApiError:
    return ApiError(403, 50013, "Missing Permissions")


def cannot_send_to_user() -> ApiError:
    return ApiError(403, 50007, "Cannot send messages to this user")


def not_your_message() -> ApiError:
    return ApiError(403, 50005, "Cannot edit a message authored by another user", rule="foreign_message")


def thread_is_archived() -> ApiError:
    return ApiError(400, 50083, "Thread is archived")


def empty_message() -> ApiError:
    return ApiError(400, 50006, "Cannot send an empty message", rule="empty_message")


def too_large() -> ApiError:
    return ApiError(413, 40005, "Request entity too large", rule="too_large")


def already_acknowledged() -> ApiError:
    return ApiError(400, 40060, "Interaction has already been acknowledged.", rule="acknowledged_twice")


def invalid_webhook_token() -> ApiError:
    return ApiError(401, 50027, "Invalid Webhook Token", rule="token_expired")


def invalid_json() -> ApiError:
    return ApiError(400, 50109, "The request body contains invalid JSON.", rule="json")
