"""Who answers with a model."""

from __future__ import annotations

from msgspec import Struct

from config.agents import ModelAgentSettings
from core.agents.preparation import Preparation
from core.agents.providers import Chosen
from core.agents.toolbox import Toolbox


class Role(Struct, frozen=True, kw_only=True):
    """Who answers: an agent of the configuration with the model that was chosen for the conversation."""

    settings: ModelAgentSettings
    chosen: Chosen
    instructions: str
    toolbox: Toolbox
    preparation: Preparation
