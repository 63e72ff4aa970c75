"""What the README names is there: commands, options, files, configs; and what is there it names."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import typer.main

from config.load import load
from core.cli import app
from core.cli.platforms import known_platforms
from core.desk.commands.table import BY_NAME
from tests.crash.daemon import ROOT

README: Final = (ROOT / "README.md").read_text()
ENVIRON: Final = {
    "TELEGRAM_BOT_TOKEN": "7123456789:AAFrontdesk-loopback_test-token-000000",
    "DISCORD_BOT_TOKEN": "d",
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_APP_TOKEN": "xapp-1",
    "SLACK_SIGNING_SECRET": "s",
    "OPENAI_API_KEY": "o",
    "ANTHROPIC_API_KEY": "a",
    "TZ": "UTC",
}
FILES: Final = {
    "sales.token": ENVIRON["TELEGRAM_BOT_TOKEN"],
    "team.bot": "xoxb-2",
    "team.app": "xapp-2",
    "instructions.md": "Be brief.",
}
CODE: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def options_of(command: object) -> set[str]:
    params = getattr(command, "params", [])
    return {name for one in params for name in (*one.opts, *one.secondary_opts) if name.startswith("-")}


def verbs() -> Iterator[tuple[str, set[str]]]:
    """Each verb as it is typed behind `frontdesk`, with its options."""
    root = typer.main.get_command(app.command([]))
    for name, command in getattr(root, "commands", {}).items():
        yield name, options_of(command)
        for inner, sub in getattr(command, "commands", {}).items():
            yield f"{name} {inner}", options_of(sub)


VERBS: Final = dict(verbs())
EVERYWHERE: Final = options_of(typer.main.get_command(app.command([]))) | {"--install-completion", "--json"}


def blocks() -> list[str]:
    """What is indented as code."""
    found = re.findall(r"(?:^(?: {4}.*)?\n)+", README, re.MULTILINE)
    return [textwrap.dedent(one) for one in found if one.strip()]


def typed() -> list[str]:
    """Every command line of ours, in code of either kind; what stands in one cell of a table after the first is of the
    same family."""
    spans = [" ".join(span.split()) for span in CODE.findall(README)]
    lines = [line.split("#")[0].strip() for block in blocks() for line in block.splitlines()]
    return [line.removeprefix("sudo ") for line in (*spans, *lines) if re.match(r"(sudo )?frontdesk( |$)", line)]


def verb_in(line: str) -> str:
    words = line.split()[1:]
    two = " ".join(words[:2])
    return two if two in VERBS else words[0] if words else ""


def configs() -> list[str]:
    return [block for block in blocks() if re.search(r"^\[\[?[a-z]", block, re.MULTILINE)]


def test_every_command_that_is_named_is_there_with_its_options() -> None:
    lines = [line for line in typed() if line != "frontdesk"]
    assert len(lines) > 25
    unknown = [line for line in lines if verb_in(line) not in VERBS]
    assert not unknown
    for line in lines:
        named = set(re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", line))
        assert named <= VERBS[verb_in(line)] | EVERYWHERE | {"--help"}, line


def test_every_option_that_is_named_alone_is_somebody_s() -> None:
    named = {name for span in CODE.findall(README) for name in re.findall(r"^(--[a-z][a-z-]*)(?: [A-Z]+)?$", span)}
    known = EVERYWHERE.union(*VERBS.values())
    assert {"--config", "--secret", "--token-file", "--moved", "--probe"} <= named
    assert named <= known


def test_every_verb_is_told_in_the_table() -> None:
    rows = [row for row in README.splitlines() if row.startswith("| `frontdesk ")]
    families = {verb.split()[0] for verb in VERBS if " " in verb}
    wanted = VERBS.keys() - families - {"version"}
    assert not [verb for verb in wanted if not any(_tells(row, verb) for row in rows)]


def _tells(row: str, verb: str) -> bool:
    """A row that begins with one verb of a family tells the others by their own word."""
    family, _, inner = verb.partition(" ")
    words = f"(?:frontdesk )?(?:{family} )?{inner}" if inner else f"frontdesk {family}"
    return f"`frontdesk {family}" in row and re.search(rf"`{words}[` ]", row) is not None


@pytest.mark.parametrize("config", configs(), ids=lambda text: re.search(r"\[+([\w.]+)", text)[1])  # type: ignore[index]
def test_every_config_that_is_shown_loads(config: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    path = tmp_path / "frontdesk.toml"
    path.write_text(config)
    assert load(config=path, state=tmp_path, environ=ENVIRON).path == path


def test_every_platform_has_its_five_minutes_and_its_column() -> None:
    head = next(row for row in README.splitlines() if row.startswith("| |"))
    for one in known_platforms().values():
        assert f"## {one.title} in five minutes" in README
        assert one.title in head
        assert all(f"{secret.option} = " in README for secret in one.secrets)
        assert one.paper is None or f"`frontdesk manifest {one.platform}`" in README


def test_commands_of_chats_and_paths_that_are_named_are_there() -> None:
    spans = CODE.findall(README)
    commands = {span[1:].split()[0] for span in spans if re.fullmatch(r"/[a-z]+( [A-Z]+)?", span)}
    assert commands - {"livez", "readyz", "metrics", "newbot", "setprivacy", "frontdesk", "invite"} <= BY_NAME.keys()
    links = re.findall(r"\]\(([^):#]+)\)", README)
    assert links
    assert all((ROOT / link).exists() for link in links)
