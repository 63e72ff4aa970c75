"""One agent that a model answers for, as it is configured."""

from __future__ import annotations

from msgspec import Struct

from config.agents import ModelAgentSettings
from config.secret import Secret


class Configured(Struct, frozen=True, kw_only=True):
    """`digest` changes with everything that is configured here, and stands for it: what is made for one digest serves
    as long as the digest is configured."""

    name: str
    digest: str
    settings: ModelAgentSettings
    proxy: Secret | None = None

    @property
    def proxy_url(self) -> str | None:
        """The HTTP proxy on the way out, password included."""
        return None if self.proxy is None else self.proxy.reveal()
