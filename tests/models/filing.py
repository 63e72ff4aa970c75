"""Houses whose agent is a model and whose bot has files, and the pictures in what the model is sent."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.models.payload import JsonValue, as_list, as_object, as_text
from tests.fakes.models.record import Request
from tests.fakes.models.server import ModelServer
from tests.flow.files import FilingBot, bot_of
from tests.flow.house import House, opened
from tests.models.conftest import agent_of
from tests.models.watching import sent


@asynccontextmanager
async def filed(state: Path, server: ModelServer, **options: object) -> AsyncIterator[House]:
    """`options` are the agent's."""
    guests = {"guests": {"tokens_per_day": 10**9}}
    tables = {"agents": {"default": agent_of(server, **options)}, "access": guests}
    async with opened(state, tables, FilingBot()) as house:
        bot_of(house).clock = house.clock
        yield house


def pictures(request: Request) -> list[tuple[str, bytes]]:
    """(media type, content) of every picture that the model is shown, in order, whatever the API."""
    return [shown for message in sent(request) for shown in _in_content(as_object(message).get("content"))]


def _in_content(content: JsonValue) -> Iterator[tuple[str, bytes]]:
    for part in as_list(content) if isinstance(content, list) else []:
        block = as_object(part)
        match as_text(block.get("type")):
            case "image_url":
                yield _from_url(as_text(as_object(block["image_url"])["url"]))
            case "input_image":
                yield _from_url(as_text(block["image_url"]))
            case "image":
                source = as_object(block["source"])
                assert source["type"] == "base64"
                yield as_text(source["media_type"]), base64.b64decode(as_text(source["data"]), validate=True)


def _from_url(url: str) -> tuple[str, bytes]:
    head, _, encoded = url.partition(";base64,")
    assert head.startswith("data:")
    return head.removeprefix("data:"), base64.b64decode(encoded, validate=True)
