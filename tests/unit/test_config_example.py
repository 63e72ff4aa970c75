"""The example file holds every option there is, with its default, and loads as it is and with everything set."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import time
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import config
from config.agents import AGENT_BACKENDS
from config.bots import BotPart, DiscordSettings, ResetOverride, SlackSettings, TelegramSettings, TerminalSettings
from config.load import load
from config.settings import Settings

_EXAMPLE = Path(config.__file__).with_name("frontdesk.example.toml")
_OPTION = re.compile(r"^#(?=\[|[a-z_]+ = )", re.MULTILINE)
_ENVIRON = {
    "TELEGRAM_BOT_TOKEN": "123456:ABC-def",
    "OPENAI_API_KEY": "a",
    "ANTHROPIC_API_KEY": "b",
    "FILES_TOKEN": "c",
    "TICKETS_AUTHORIZATION": "Bearer d",
    "DISCORD_BOT_TOKEN": "e",
    "SLACK_BOT_TOKEN": "xoxb-f",
    "SLACK_APP_TOKEN": "xapp-g",
    "SLACK_SIGNING_SECRET": "h",
    "TZ": "UTC",
}
# An option stands in one of its tables at least: some exclude each other.
_TABLES: list[tuple[tuple[str, ...], type[BaseModel]]] = [
    ((), Settings),
    (("agents", "default"), AGENT_BACKENDS["offline"]),
    (("agents", "clever|local"), AGENT_BACKENDS["model"]),
    (("agents", "mine"), AGENT_BACKENDS["module"]),
    (("bots", "telegram"), TelegramSettings),
    (("bots", "discord"), DiscordSettings),
    (("bots", "slack"), SlackSettings),
    (("bots", "terminal"), TerminalSettings),
]
_LISTS_WITH_EXAMPLES = {"groups", "models", "fallbacks", "files"}


def everything_set() -> str:
    return _OPTION.sub("", _EXAMPLE.read_text(encoding="utf-8"))


def options(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Every option of the model and of the tables in it. Overrides repeat [session.reset] and need not be complete."""
    for name, field in model.model_fields.items():
        inner = [kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type)]
        table = next((kind for kind in inner if issubclass(kind, BaseModel)), None)
        if table and table is not ResetOverride:
            yield from options(table, (*path, name))
        elif not (issubclass(model, BotPart) and name == "name"):
            yield (*path, name), field


def shown_at(path: tuple[str, ...]) -> list[object]:
    """Every value that stands at the option, in all of its tables."""
    values: list[object] = [tomllib.loads(everything_set())]
    for names in path:
        items = [item for value in values for item in (value if isinstance(value, list) else [value])]
        tables = [item for item in items if isinstance(item, dict)]
        values = [table[name] for table in tables for name in names.split("|") if name in table]
    assert values, f"{'.'.join(path)} is not in the example"
    return values


def test_the_example_as_shipped_loads_to_the_defaults(tmp_path: Path) -> None:
    loaded = load(config=_EXAMPLE, state=tmp_path, environ={"TZ": "UTC"})

    assert loaded.settings == Settings()
    assert loaded.warnings == ()


def test_the_example_with_everything_set_loads(tmp_path: Path) -> None:
    file = tmp_path / "frontdesk.toml"
    file.write_text(everything_set(), encoding="utf-8")
    (tmp_path / "instructions.md").write_text("Be brief.", encoding="utf-8")
    (tmp_path / "outbox").mkdir()

    loaded = load(config=file, state=tmp_path / "state", environ=_ENVIRON)

    assert set(loaded.settings.bots) == {"telegram", "discord", "slack", "terminal"}
    assert set(loaded.settings.agents) == {"default", "clever", "local", "mine"}
    assert loaded.warnings == ()


@pytest.mark.parametrize(("path", "model"), _TABLES)
def test_the_example_shows_every_option_with_its_default(path: tuple[str, ...], model: type[BaseModel]) -> None:
    for option, field in options(model, path):
        shown, default = shown_at(option), field.default
        if isinstance(default, time):
            default = f"{default:%H:%M}"
        if isinstance(default, str | int | float):
            assert default in shown, option
        if default == ():
            assert shown == [[]] or option[-1] in _LISTS_WITH_EXAMPLES, option


def test_the_example_says_why_at_every_option() -> None:
    blocks = re.split(r"\n\n|^#?\[.*\n", _EXAMPLE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    rows = [row for block in blocks for row in zip(["", *block.split("\n")], block.split("\n"), strict=False)]
    unexplained = {row for above, row in rows if re.match(r"#[a-z_]+ = ", row) and not above.startswith("# ")}

    # Tables that repeat another need not say it again; what is left needs no word.
    assert {row.split(" = ")[0] for row in unexplained} <= {
        *("#mode", "#idle_minutes", "#at", "#timezone", "#announce"),
        *("#platform", "#backend", "#greeting", "#agent", "#model", "#name", "#voice"),
    }
