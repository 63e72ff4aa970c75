"""Commands that get no answer of their own leave no waiting sign behind: the finished daemon, on Discord."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.daemon import PATIENCE_S, Daemon
from tests.fakes.discord import GatewayRules, ThreadedDiscordServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ThreadedDiscordServer]:
    journal = json.dumps(str(tmp_path / "journal"))
    with ThreadedDiscordServer(gateway=GatewayRules(identify_every_s=0.0)) as made:
        config = (
            '[access]\ndirect = "open"\n[session.reset]\nmode = "none"\n'
            f'[agents.default]\nbackend = "tests.fakes.agents_crash:make"\noptions = {{ journal = {journal} }}\n'
            f'[bots.discord]\nplatform = "discord"\ntoken = "file:discord.token"\napi_base = "{made.api_base}"\n'
        )
        with Daemon(tmp_path, config=config) as daemon:
            (tmp_path / "discord.token").write_text(made.token)
            daemon.start()
            yield made
            daemon.terminate()
            assert daemon.wait_exit() == 0
        assert made.problems == ()


def test_a_waiting_command_that_is_closed_shows_no_sign_any_more(server: ThreadedDiscordServer) -> None:
    ada = server.person("ada")
    server.guild("Team", [ada])
    direct = server.dm(ada)
    server.until(lambda: server.connected() and bool(server.commands()), timeout_s=PATIENCE_S)
    server.say(direct, ada, "hold it")
    server.until(lambda: bool(server.texts(direct)), timeout_s=PATIENCE_S)
    queued = server.command(ada, direct, "queue", {"text": "fast one"})
    server.until(lambda: queued.acknowledged, timeout_s=PATIENCE_S)
    stop = server.command(ada, direct, "stop")
    server.until(
        lambda: bool(server.message(stop.original_id or 0).content) if stop.original_id else False, timeout_s=PATIENCE_S
    )
    server.until(lambda: server.message(queued.original_id or 0).deleted, timeout_s=PATIENCE_S)
    assert [one.content for one in server.sent(direct) if not one.content and not one.deleted] == []
