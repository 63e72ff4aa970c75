"""OpenAI's SDK without what costs CPU at each request and changes nothing.

The SDK walks through every message and every tool to rename keys that are never renamed there, in proportion to the
history. What is in `extra_body` goes out as it is. And pydantic-ai copies a client to set its number of retries; the
copy then asks the machine again, in a thread, what platform it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import httpx2
from openai import AsyncOpenAI, omit
from openai.resources.chat import AsyncChat, AsyncCompletions
from pydantic_ai.providers import Provider

if TYPE_CHECKING:
    from openai.resources.responses import AsyncResponses

Body = Mapping[str, object] | None


class Client(AsyncOpenAI):
    """Made with the number of retries that its requests ask for."""

    @property
    def chat(self) -> AsyncChat:
        return _Chat(self)

    @property
    def responses(self) -> AsyncResponses:
        from core.agents.openai_responses import Responses  # 4 MiB; `Providers` has imported it for models that need it

        return Responses(self)

    def with_options(self, *, max_retries: int, **others: object) -> AsyncOpenAI:  # type: ignore[override]  # as pydantic-ai calls it
        """This client itself, which is what is asked for."""
        return self if max_retries == self.max_retries else self.copy(max_retries=max_retries, **others)  # type: ignore[arg-type]


class _Chat(AsyncChat):
    @property
    def completions(self) -> AsyncCompletions:
        return _Completions(self._client)


class _Completions(AsyncCompletions):
    async def create(  # type: ignore[override]  # as pydantic-ai calls it
        self, *, messages: object, tools: object = omit, extra_body: Body = None, **others: object
    ) -> object:
        ready = {"messages": messages, "tools": tools, **(extra_body or {})}
        return await super().create(messages=(), extra_body=ready, **others)  # type: ignore[call-overload]


def lean(opened: Provider[object], http: httpx2.AsyncClient) -> Provider[object]:
    """The same provider by this client. It was opened before, so that what the environment says of it holds."""
    sdk = opened.client
    if not isinstance(sdk, AsyncOpenAI):
        return opened
    client = Client(base_url=sdk.base_url, api_key=sdk.api_key, http_client=http, max_retries=0)
    return type(opened)(openai_client=client)  # type: ignore[call-arg]
