"""Models and tool servers: one tiny request to each, as turns make them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from config.mcp import McpSettings
from config.providers import key_variable, provider_of
from core import errors
from core.agents import tool_names
from core.agents.configured import Configured
from core.errors import AgentError
from core.ports import Blamed, Clock, Finding, State

PATIENCE_S: Final = 10.0
"""For a model's first word, and for a tool server's start."""

TOOLLESS: Final = "answers, but takes no tools, so it is asked without them"
NO_TOOLS: Final = "write tools = false to say so for good, or choose a model that takes tools"

_UNREACHED: Final = re.compile("connect|timed? ?out", re.IGNORECASE)
"""What the client says of a server that never answered; of one that did, it keeps no status."""


class _Asked(Struct, frozen=True, kw_only=True):
    """One model to ask. `option`: where it is named."""

    agent: Configured
    option: str
    name: str

    @property
    def what(self) -> str:
        return f"[agents.{self.agent.name}] {self.option}: {self.name}"

    @property
    def has_own_server(self) -> bool:
        """Whether it is asked where `base_url` says."""
        settings = self.agent.settings
        return settings.base_url is not None and self._variable == key_variable(provider_of(settings.model))

    @property
    def key(self) -> str:
        """Where the key that is sent comes from, in the config's words."""
        settings = self.agent.settings
        if settings.api_key is not None and self._variable == key_variable(provider_of(settings.model)):
            return f"api_key ({settings.api_key.origin})" if not settings.api_key.exposed else "api_key"
        return self._variable

    @property
    def _variable(self) -> str:
        return key_variable(provider_of(self.name))

    @property
    def same(self) -> tuple[object, ...]:
        """Equal for two that would be one request."""
        settings, provider = self.agent.settings, provider_of(self.name)
        own = settings.api_key if self.key.startswith("api_key") else settings.keys.get(provider)
        return self.name, settings.base_url if self.has_own_server else None, own, self.agent.proxy


async def load() -> None:
    """Import what the requests need, before anybody's patience begins to run."""
    await asyncio.to_thread(import_module, "core.agents.trial")


async def look_at_models(agents: Sequence[Configured], clock: Clock) -> list[Finding]:
    """Every model of `model`, `fallbacks` and `models`, each provider and model once, all at the same time. Models'
    SDKs must be loaded."""
    asked: dict[tuple[object, ...], _Asked] = {}
    for agent in agents:
        for one in _named(agent):
            asked.setdefault(one.same, one)
    return await asyncio.gather(*(_look_at_model(one, clock) for one in asked.values()))


def _named(agent: Configured) -> Iterator[_Asked]:
    settings = agent.settings
    yield _Asked(agent=agent, option="model", name=settings.model)
    for name in settings.fallbacks:
        yield _Asked(agent=agent, option="fallbacks", name=name)
    for name in settings.choices.values():
        yield _Asked(agent=agent, option="models", name=name)


async def _look_at_model(asked: _Asked, clock: Clock) -> Finding:
    from core.agents.trial import ask_model

    began = clock.monotonic()
    try:
        async with asyncio.timeout(PATIENCE_S):
            refused = await ask_model(asked.agent, asked.name)
    except TimeoutError:
        detail = f"it took the request and said nothing for {PATIENCE_S:.0f} s"
        return Finding(what=asked.what, state="warning", detail=detail, do="try again; it may be loading or thinking")
    except AgentError as fault:
        state, blames, words, do = judge(fault, key=asked.key, own_server=asked.has_own_server)
        return Finding(what=asked.what, state=state, detail=words, do=do, blames=blames)
    first = f"first word after {clock.monotonic() - began:.1f} s"
    if refused:
        return Finding(what=asked.what, state="warning", detail=f"{TOOLLESS} (“{refused}”); {first}", do=NO_TOOLS)
    return Finding(what=asked.what, state="ok", detail=f"answers; {first}")


def judge(fault: AgentError, *, key: str, own_server: bool) -> tuple[State, Blamed, str, str]:
    """What a model's failure is, whose fault it is, and what to do. `key`: where its key comes from; `own_server`: it
    is asked where `base_url` says."""
    server = "base_url" if own_server else "the network"
    match fault:
        case errors.ModelKeyRefused():
            return "fault", "config", f"the provider refuses the key ({fault})", f"put a valid key into {key}"
        case errors.ModelMissing():
            also = ", or the server's address, base_url, which may have to end in /v1" if own_server else ""
            return "fault", "config", f"there is no such model ({fault})", f"mend the model's name{also}"
        case errors.ModelQuota():
            return "fault", "world", f"the account's money or quota is used up ({fault})", "add to it at the provider's"
        case errors.ModelUnfit():
            return "fault", "config", str(fault), "mend the model's name"
        case errors.ModelUnreachable():
            return "fault", "world", f"it can't be reached ({fault})", f"look at {server}, and try again"
        case errors.ModelBusy() | errors.ModelOverloaded() | errors.ModelSilent():
            return "warning", "world", f"it can't answer just now ({fault})", "try again in a minute"
        case errors.ModelUseless() if own_server:
            return "fault", "config", f"what answers there is no model ({fault})", "mend base_url; it may end in /v1"
        case _:
            do = (
                "take out of `settings` what this model does not take"
                if not own_server
                else "mend base_url or `settings`"
            )
            return "fault", "config", f"the request is refused ({fault})", do


async def look_at_tools(agents: Sequence[Configured]) -> list[Finding]:
    """Every tool server, started and ended again, all at the same time."""
    each = await asyncio.gather(*(_look_at_servers(agent) for agent in agents))
    return [finding for findings in each for finding in findings]


async def _look_at_servers(agent: Configured) -> list[Finding]:
    """Those of one agent, which names their tools in order."""
    servers = agent.settings.mcp
    found = await asyncio.gather(*(_look_at_server(agent, server) for server in servers))
    taken, findings = set(tool_names.DESK_TOOLS), list[Finding]()
    for server, (finding, tools) in zip(servers, found, strict=True):
        named = tool_names.distinct(server.name, tools, taken)
        taken.update(named.values())
        odd = tool_names.told(tool_names.renamed(server.name, named))
        findings.append(replace(finding, detail=f"{finding.detail}; {odd}") if odd else finding)
    return findings


async def _look_at_server(agent: Configured, server: McpSettings) -> tuple[Finding, Sequence[str]]:
    """What is found, and the names of its tools."""
    from core.agents import trial

    what = f"[[agents.{agent.name}.mcp]] {server.name}"
    way = "command" if server.url is None else "url"
    try:
        async with asyncio.timeout(PATIENCE_S):
            tools = await trial.look_at_tools(server, agent)
    except TimeoutError:
        late: State = "fault" if server.timeout_s <= PATIENCE_S else "warning"
        detail = f"it was not there within {PATIENCE_S:.0f} s; a turn waits {server.timeout_s:g} s (timeout_s)"
        do = f"run its {way} by hand, and see what it says"
        return Finding(what=what, state=late, detail=detail, do=do), ()
    except AgentError as fault:
        return _failed_server(what, way, str(fault)), ()
    if not tools:
        return Finding(what=what, state="warning", detail="it offers no tool", do="look at its allow and deny"), ()
    count = f"{len(tools)} {'tool' if len(tools) == 1 else 'tools'} may be used"
    return Finding(what=what, state="ok", detail=count), tools


def _failed_server(what: str, way: str, words: str) -> Finding:
    detail = f"it does not serve tools: {words}"
    if way == "url" and _UNREACHED.search(words):
        do = "see that it runs and can be reached, and look at url"
        return Finding(what=what, state="fault", detail=detail, do=do, blames="world")
    do = f"mend {way}, or what it is given by {'env' if way == 'command' else 'headers'}"
    return Finding(what=what, state="fault", detail=detail, do=do)
