"""What models bring into the process: what is used, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.models.server import ModelServer
from tests.flow.house import House

ROOT = Path(__file__).parents[2]
CODE = """
import sys
from config.agents import ModelAgentSettings
from config.secret import Secret
from core.agents.backend import ModelBackend
before = set(sys.modules)
from core.agents.configured import Configured
from core.agents.engine import Engine
settings = ModelAgentSettings(model="{model}", api_key=Secret("k"), base_url="http://127.0.0.1:9")
engine = Engine([Configured(name="default", digest="1", settings=settings)])
heavy = {{"pydantic_ai", "openai", "anthropic", "mcp", "fastmcp", "genai_prices.data", "openai.resources.responses"}}
print(*sorted(heavy & before), "|", *sorted(heavy & set(sys.modules)))
import logging, pydantic_ai
print("banner", pydantic_ai.BANNER_ENABLED, "quotes", logging.getLogger("mcp").propagate)
"""


@pytest.mark.parametrize(("model", "sdk"), [("openai:m", "openai"), ("anthropic:claude-haiku-4-5", "anthropic")])
def test_only_the_sdk_in_use_is_imported_and_nothing_by_the_backend_itself(model: str, sdk: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE.format(model=model)],
        capture_output=True, text=True, timeout=60, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    loaded, quiet = done.stdout.strip().splitlines()
    assert loaded == f"| {' '.join(sorted([sdk, 'pydantic_ai']))}"
    assert quiet == "banner False quotes False"


async def test_all_conversations_share_one_client(house: House, server: ModelServer) -> None:
    for user in range(20, 26):
        await house.ask("hello", user=f"{user}")
    assert len(server.requests) == 6
    assert server.connections == 1
