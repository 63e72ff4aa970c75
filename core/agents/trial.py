"""Can a model and a tool server be had, as configured, right now? One tiny request each, the way that turns take."""

from __future__ import annotations

from pydantic_ai import direct
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel

from config.mcp import McpSettings
from core.agents.configured import Configured
from core.agents.faults import translate
from core.agents.providers import Providers, request_settings
from core.agents.quiet import quieten
from core.errors import ConfigError, ModelUnfit

ASKED = "Answer with the word OK."


async def ask_model(agent: Configured, name: str) -> None:
    """Ask one model, without its fallbacks, and return at its first word. Raises `AgentError`."""
    quieten()
    providers = Providers()
    try:
        try:
            model = _alone(providers.model(agent, name).model)
        except ConfigError as fault:
            raise ModelUnfit(str(fault)) from fault
        await _first_word(model, agent)
    finally:
        await providers.close()


def _alone(model: Model) -> Model:
    return model.models[0] if isinstance(model, FallbackModel) else model


async def _first_word(model: Model, agent: Configured) -> None:
    asked = [ModelRequest(parts=[UserPromptPart(ASKED)])]
    try:
        async with direct.model_request_stream(model, asked, model_settings=request_settings(agent.settings)) as events:
            async for _ in events:
                return
    except Exception as fault:
        raise translate(fault) from fault


async def look_at_tools(server: McpSettings, agent: Configured) -> int:
    """Start the server, count the tools that may be used, and end it. Raises `AgentError`."""
    from core.agents.tool_server import ToolServer  # its libraries come with the extra "mcp"

    quieten()
    return await ToolServer[None](server, agent.name, agent.proxy_url).look()
