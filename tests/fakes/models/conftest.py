"""A server and the real SDKs' clients, for the tests of the double that live here."""

from collections.abc import AsyncIterator

import anthropic as anthropic_sdk
import openai as openai_sdk
import pytest

from tests.fakes.models import ModelServer


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


@pytest.fixture
async def openai(server: ModelServer) -> AsyncIterator[openai_sdk.AsyncOpenAI]:
    """Without certificates: there is nothing to verify on loopback, and to load them takes longer than a test."""
    http = openai_sdk.DefaultAsyncHttpxClient(verify=False, trust_env=False)
    async with openai_sdk.AsyncOpenAI(
        api_key=server.key, base_url=server.openai_url, max_retries=0, timeout=5.0, http_client=http
    ) as client:
        yield client


@pytest.fixture
async def anthropic(server: ModelServer) -> AsyncIterator[anthropic_sdk.AsyncAnthropic]:
    """See `openai`."""
    http = anthropic_sdk.DefaultAsyncHttpxClient(verify=False, trust_env=False)
    async with anthropic_sdk.AsyncAnthropic(
        api_key=server.key, base_url=server.anthropic_url, max_retries=0, timeout=5.0, http_client=http
    ) as client:
        yield client
