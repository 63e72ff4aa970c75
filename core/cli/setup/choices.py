"""What somebody chose for a desk, and what comes of it: settings to try, secrets to keep, the text of a config."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from config.draft import Line, Table, text_of
from config.secret import Secret
from core.ports import Questions

NONE: Final = "none"
"""How no platform (the terminal only) and no model (the offline agent) are chosen."""
MODEL_KEY: Final = "model_key"
"""What the model's key is called where it is kept."""
_MODEL_TABLES: Final = ("agents.clever", "agents.local")
"""Where the example explains an agent's options."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """A bot on a platform. `secrets`: by option."""

    questions: Questions
    secrets: Mapping[str, str] = field(repr=False)
    api_base: str | None = None

    @property
    def name(self) -> str:
        """NAME of `[bots.NAME]`."""
        return self.questions.platform

    def drafted(self) -> Mapping[str, object]:
        told: dict[str, object] = {name: Secret(value) for name, value in self.secrets.items()}
        return told | ({"api_base": self.api_base} if self.api_base else {})

    def kept(self, option: str) -> str:
        """What the secret of an option is called where it is kept."""
        return f"{self.name}_{option}"

    def table(self, refer: Callable[[str], str]) -> Table:
        secrets = [Line(name=option, value=refer(self.kept(option))) for option in self.secrets]
        base = [Line(name="api_base", value=self.api_base)] if self.api_base else []
        offered = [Line(name=name) for name in self.questions.offer]
        return Table(name=f"bots.{self.name}", lines=[*secrets, *base, *offered])


@dataclass(frozen=True, kw_only=True)
class ChosenModel:
    """Who answers: `provider:model`. `base_url`: another server than the provider's own."""

    name: str
    key: str | None = field(default=None, repr=False)
    base_url: str | None = None

    def drafted(self) -> Mapping[str, object]:
        told: dict[str, object] = {"backend": "model", "model": self.name}
        if self.base_url:
            told["base_url"] = self.base_url
        if self.key:
            told["api_key"] = Secret(self.key)
        return told

    def table(self, refer: Callable[[str], str]) -> Table:
        base = [Line(name="base_url", value=self.base_url)] if self.base_url else []
        key = [Line(name="api_key", value=refer(MODEL_KEY))] if self.key else []
        offered = [Line(name=name) for name in ("models", "fallbacks", "instructions")]
        lines = [Line(name="backend", value="model"), Line(name="model", value=self.name), *base, *key, *offered]
        return Table(name="agents.default", lines=lines, like=_MODEL_TABLES)


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Everything. No account: the terminal only; no model: the offline agent."""

    account: Account | None
    model: ChosenModel | None
    owners: Sequence[str]
    zone: str

    def drafted(self) -> dict[str, object]:
        """As `config.draft.settings_of` takes it."""
        agent = self.model.drafted() if self.model else {"backend": "offline"}
        bots = {self.account.name: self.account.drafted()} if self.account else {}
        return {
            "desk": {"timezone": self.zone}, "access": {"owners": list(self.owners)}, "agents": {"default": agent},
            "bots": bots,
        }  # fmt: skip

    def secrets(self) -> dict[str, str]:
        """Each secret by what it is called where it is kept."""
        account = self.account
        kept = {account.kept(option): value for option, value in account.secrets.items()} if account else {}
        return kept | ({MODEL_KEY: self.model.key} if self.model and self.model.key else {})

    def text(self, refer: Callable[[str], str]) -> str:
        """The config file. `refer`: how a kept secret is written there."""
        offline = Table(
            name="agents.default", lines=[Line(name="backend", value="offline"), Line(name="model")],
            like=_MODEL_TABLES,
        )  # fmt: skip
        tables = [
            Table(name="desk", lines=[Line(name="name"), Line(name="timezone", value=self.zone)]),
            Table(name="access", lines=[Line(name="owners", value=self.owners or None), Line(name="direct")]),
            Table(name="session.reset", lines=[Line(name=name) for name in ("mode", "idle_minutes", "at")]),
            self.model.table(refer) if self.model else offline,
        ]
        return text_of([*tables, *([self.account.table(refer)] if self.account else [])])
