"""Can a model and a tool server be had, as configured, right now? One tiny request each, the way that turns take."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai import direct
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters

from config.mcp import McpSettings
from core.agents.configured import Configured
from core.agents.faults import translate
from core.agents.providers import Providers, request_settings
from core.agents.quiet import quieten
from core.agents.toolbox import desk_tools
from core.errors import ConfigError, ModelUnfit

ASKED = "Answer with the word OK."


async def ask_model(agent: Configured, name: str) -> str:
    """Ask one model, without its fallbacks, as a turn asks: with the instructions and the desk's own tools. Returns at
    its first word; what the provider said where it refused the tools and answered without them, else "". Raises
    `AgentError`."""
    quieten()
    providers = Providers()
    try:
        try:
            model = providers.model(agent, name).each[0]
        except ConfigError as fault:
            raise ModelUnfit(str(fault)) from fault
        await _first_word(model, agent)
        return model.refused
    finally:
        await providers.close()


async def _first_word(model: Model, agent: Configured) -> None:
    settings = agent.settings
    asked = [ModelRequest(parts=[UserPromptPart(ASKED)], instructions=settings.instructions or None)]
    offered = ModelRequestParameters(function_tools=[one.tool_def for one in desk_tools(settings).tools.values()])
    try:
        async with direct.model_request_stream(
            model, asked, model_settings=request_settings(settings), model_request_parameters=offered
        ) as events:
            async for _ in events:
                return
    except Exception as fault:
        raise translate(fault, settings.secrets) from fault


async def look_at_tools(server: McpSettings, agent: Configured) -> Sequence[str]:
    """Start the server, ask for the names of the tools that may be used, and end it. Raises `AgentError`."""
    from core.agents.tool_server import ToolServer  # its libraries come with the extra "mcp"

    quieten()
    return await ToolServer[None](server, agent.name, agent.proxy_url).look()
