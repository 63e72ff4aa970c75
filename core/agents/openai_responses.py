"""`core.agents.openai_client` for the Responses API, in a module of its own so that it can stay unimported."""

from __future__ import annotations

from openai import omit
from openai.resources.responses import AsyncResponses

from core.agents.openai_client import Body


class Responses(AsyncResponses):
    async def create(  # type: ignore[override]  # as pydantic-ai calls it
        self, *, input: object, tools: object = omit, extra_body: Body = None, **others: object
    ) -> object:
        ready = {"input": input, "tools": tools, **(extra_body or {})}
        return await super().create(extra_body=ready, **others)  # type: ignore[call-overload]
