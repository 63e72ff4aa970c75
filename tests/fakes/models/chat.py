"""OpenAI's chat completions, as one dialect."""

from collections.abc import Mapping

from tests.fakes.models.chat_reading import read_chat
from tests.fakes.models.chat_writing import ChatWire
from tests.fakes.models.dialect import ApiError, Reading, Wire
from tests.fakes.models.openai_errors import bad, check_bearer, failure, too_long_chat, unknown_model
from tests.fakes.models.payload import JsonObject
from tests.fakes.models.record import Api, Request
from tests.fakes.models.replies import Fail


class ChatDialect:
    """POST /v1/chat/completions."""

    api: Api = "chat"

    def check_key(self, headers: Mapping[str, str], key: str) -> None:
        check_bearer(headers, key)

    def broken_json(self) -> ApiError:
        return bad("We could not parse the JSON body of your request. The OpenAI API expects a JSON payload.")

    def read(self, body: JsonObject, headers: Mapping[str, str]) -> Reading:
        return read_chat(body)

    def unknown_model(self, model: str) -> ApiError:
        return unknown_model(model)

    def too_long(self, tokens: int, limit: int) -> ApiError:
        return too_long_chat(tokens, limit)

    def failure(self, fail: Fail, request: Request) -> ApiError:
        return failure(fail, request)

    def wire(self, request: Request) -> Wire:
        return ChatWire(request)
