"""Anthropic's messages, as one dialect."""

from collections.abc import Mapping

from tests.fakes.models.anthropic_errors import bad, check_headers, failure, too_long_prompt, unknown_model
from tests.fakes.models.dialect import ApiError, Reading, Wire
from tests.fakes.models.messages_reading import read_messages
from tests.fakes.models.messages_writing import MessagesWire
from tests.fakes.models.payload import JsonObject
from tests.fakes.models.record import Api, Request
from tests.fakes.models.replies import Fail


class MessagesDialect:
    """POST /v1/messages."""

    api: Api = "messages"

    def check_key(self, headers: Mapping[str, str], key: str) -> None:
        check_headers(headers, key)

    def broken_json(self) -> ApiError:
        return bad("The request body is not valid JSON")

    def read(self, body: JsonObject, headers: Mapping[str, str]) -> Reading:
        return read_messages(body, headers)

    def unknown_model(self, model: str) -> ApiError:
        return unknown_model(model)

    def too_long(self, tokens: int, limit: int) -> ApiError:
        return too_long_prompt(tokens, limit)

    def failure(self, fail: Fail, request: Request) -> ApiError:
        return failure(fail, request)

    def wire(self, request: Request) -> Wire:
        return MessagesWire(request)
