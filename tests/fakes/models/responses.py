"""OpenAI's responses, as one dialect."""

from collections.abc import Mapping

from tests.fakes.models.dialect import ApiError, Reading, Wire
from tests.fakes.models.openai_errors import bad, check_bearer, failure, too_long_input, unknown_model
from tests.fakes.models.payload import JsonObject
from tests.fakes.models.record import Api, Request
from tests.fakes.models.replies import Fail
from tests.fakes.models.responses_reading import input_items, read_responses
from tests.fakes.models.responses_writing import ResponsesWire
from tests.fakes.models.shelf import Shelf


class ResponsesDialect:
    """POST /v1/responses."""

    api: Api = "responses"

    def __init__(self) -> None:
        self._shelf = Shelf()

    def check_key(self, headers: Mapping[str, str], key: str) -> None:
        check_bearer(headers, key)

    def broken_json(self) -> ApiError:
        return bad("We could not parse the JSON body of your request. The OpenAI API expects a JSON payload.")

    def read(self, body: JsonObject, headers: Mapping[str, str]) -> Reading:
        return read_responses(body, self._shelf)

    def unknown_model(self, model: str) -> ApiError:
        return unknown_model(model)

    def too_long(self, tokens: int, limit: int) -> ApiError:
        return too_long_input()

    def failure(self, fail: Fail, request: Request) -> ApiError:
        return too_long_input() if fail == Fail("context_length") else failure(fail, request)

    def wire(self, request: Request) -> Wire:
        heard = input_items(request.body, self._shelf)
        return ResponsesWire(request, lambda response_id, said: self._shelf.store(response_id, heard, said))
