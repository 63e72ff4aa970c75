"""A strict test double of the model providers: a real HTTP server on loopback, spoken to by the real SDKs.

It speaks OpenAI's chat completions and responses and Anthropic's messages, refuses what they refuse in their own words,
answers by script, and keeps a record. Sources: https://platform.openai.com/docs/api-reference and
https://docs.claude.com/en/api; the words of refusals from what users of the real services quote in bug reports.

    async with ModelServer() as server:
        server.on("look it up", Steps(Call("search", {"q": "x"}), Say("found")))
        server.on("busy", Attempts(Fail("overloaded"), Say("now")))
        ...
        assert server.requests[-1].talk == (("user", "look it up"), ...)
"""

from tests.fakes.models.payload import JsonObject, JsonValue
from tests.fakes.models.provider import Latch
from tests.fakes.models.record import Request, Shown
from tests.fakes.models.replies import (
    PLANTED_KEY,
    PLANTED_PATH,
    Answer,
    Attempts,
    Call,
    Cut,
    Delayed,
    Empty,
    Fail,
    Filtered,
    Garbage,
    Gate,
    Hang,
    Paced,
    Part,
    Reply,
    Say,
    Steps,
    Think,
    Truncated,
)
from tests.fakes.models.script import Rule
from tests.fakes.models.server import ModelServer, ThreadedModelServer

__all__ = [
    "PLANTED_KEY",
    "PLANTED_PATH",
    "Answer",
    "Attempts",
    "Call",
    "Cut",
    "Delayed",
    "Empty",
    "Fail",
    "Filtered",
    "Garbage",
    "Gate",
    "Hang",
    "JsonObject",
    "JsonValue",
    "Latch",
    "ModelServer",
    "Paced",
    "Part",
    "Reply",
    "Request",
    "Rule",
    "Say",
    "Shown",
    "Steps",
    "Think",
    "ThreadedModelServer",
    "Truncated",
]
