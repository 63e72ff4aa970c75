"""The same requests without a desk: pydantic-ai and the provider's SDK alone, on the loop that they are called on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from openai import AsyncOpenAI, DefaultAioHttpClient
from pydantic_ai import Agent, AgentRun, ModelRequestNode, ModelSettings
from pydantic_ai.messages import ModelMessage, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_graph import End

from core.agents.transcript import messages_of
from core.store.conversations import SessionId
from core.store.entries import Entry, Kind
from core.vocabulary import TurnId
from tests.bench.agents import ANSWER, RESPONSE
from tests.bench.provider import Provider
from tests.bench.traffic import WORDS
from tests.flow.clock import START


class Alone:
    """One model, asked again and again."""

    def __init__(self, model: OpenAIChatModel) -> None:
        self._model = model
        self._agent = Agent(deps_type=type(None))

    async def answer(
        self, history: Sequence[ModelMessage], hear: Callable[[str], None], asked: str = WORDS
    ) -> list[ModelMessage]:
        """One turn. `hear` is told each piece as it comes. Returns the history with this turn."""
        settings = ModelSettings(max_retries=0)
        run_of = self._agent.iter(asked, message_history=history, model=self._model, model_settings=settings)
        async with run_of as run:
            node = run.next_node
            while not isinstance(node, End):
                if Agent.is_model_request_node(node):
                    await _request(node, run, hear)
                node = await run.next(node)
            return run.all_messages()


async def _request(node: ModelRequestNode[None, str], run: AgentRun[None, str], hear: Callable[[str], None]) -> None:
    async with node.stream(run.ctx) as events:
        async for event in events:
            _tell(event, hear)


def _tell(event: object, hear: Callable[[str], None]) -> None:
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            hear(text)
        case _:
            pass


@asynccontextmanager
async def alone(provider: Provider, model: str, *, over_aiohttp: bool = False) -> AsyncIterator[Alone]:
    """`over_aiohttp`: the SDK's requests are aiohttp's, not httpx2's, which is its default."""
    http = DefaultAioHttpClient() if over_aiohttp else None
    async with AsyncOpenAI(base_url=provider.base_url, api_key=provider.key, max_retries=0, http_client=http) as client:
        yield Alone(OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client)))


def told(messages: int) -> list[ModelMessage]:
    """A history of so many messages, as the model is shown it after turns of `tests.bench.agents:telling`."""
    entries = [_entry(number) for number in range(1, messages + 1)]
    return messages_of(entries, frozenset({"openai"})).messages


def _entry(seq: int) -> Entry:
    says = seq % 2 == 0
    return Entry(
        session=SessionId("s"), seq=seq, kind=Kind.ASSISTANT if says else Kind.USER, text=ANSWER if says else WORDS,
        data={"response": RESPONSE} if says else {"line": "[Mon 2026-06-01 12:00, Ada Lovelace]"}, turn=TurnId("t"),
        sender=None, at=START,
    )  # fmt: skip
