"""Somebody's home where a desk is to be set up, and whom it will speak to."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.crash.daemon import ROOT, called
from tests.fakes.faults import Answer, Fault
from tests.fakes.models import ThreadedModelServer
from tests.fakes.slack import ThreadedSlackServer
from tests.fakes.telegram import ThreadedTelegramServer

WRONG_TOKEN: Final = "7123456789:AAwrong-wrong-wrong-wrong-wrong-wrong0"
WRONG_KEY: Final = "sk-wrong-wrong-wrong-wrong-wrong-wrong-wrong"


@dataclass
class Home:
    """A folder that is somebody's home."""

    path: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        return self.path / ".config/frontdesk/frontdesk.toml"

    @property
    def state(self) -> Path:
        return self.path / ".local/share/frontdesk"

    @property
    def secrets(self) -> Path:
        return self.config.parent / "secrets"

    @property
    def environment(self) -> dict[str, str]:
        plain = {"PATH": os.environ["PATH"], "HOME": str(self.path), "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
        return {**plain, "TZ": "Europe/Berlin", "TERM": "xterm-256color", **self.environ}

    @property
    def files(self) -> Mapping[str, str]:
        """All that a desk's config and secrets are made of, by path below the home."""
        paths = (path for path in (self.path / ".config").rglob("*") if path.is_file())
        return {str(path.relative_to(self.path)): path.read_text() for path in paths}

    def keep(self, name: str, text: str) -> Path:
        """A file of one's own, such as one with a token."""
        path = self.path / name
        path.write_text(f"{text}\n")
        return path

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`frontdesk ...` to its end, with nobody at the terminal."""
        return called(words, self.environment, self.path)


def answers(
    home: Home, telegram: ThreadedTelegramServer, model: ThreadedModelServer, *, token: str = "", key: str = ""
) -> list[str]:
    """What `init` is to be told to be asked nothing more."""
    return [
        "init", "--platform", "telegram", "--api-base", telegram.url,
        "--token-file", str(home.keep("token.txt", token or telegram.token)),
        "--model", "openai:gpt-test", "--base-url", model.openai_url,
        "--key-file", str(home.keep("key.txt", key or model.key)),
    ]  # fmt: skip


def telling_scopes(server: ThreadedSlackServer, scopes: Iterable[str]) -> None:
    """From now on `auth.test` says in its header, as Slack does, that the bot token has these scopes."""
    bot = server.bot
    body = {"ok": True, "user": bot.name, "user_id": bot.user_id, "team_id": bot.team_id, "bot_id": bot.bot_id}
    answer = Answer(status=200, body=json.dumps(body).encode(), headers=(("X-OAuth-Scopes", ",".join(scopes)),))
    with server.platform.lock:
        fault = Fault(method="auth.test", effect=answer, on_change=server.platform.changed, count=None)
        server.platform.faults.add(fault)


def findings_of(done: subprocess.CompletedProcess[str]) -> Mapping[str, Mapping[str, str]]:
    """What `check --probe --json` found, by what it looked at, in its order."""
    assert done.stdout, done.stderr
    found: Sequence[Mapping[str, str]] = json.loads(done.stdout)
    assert all(set(one) == {"what", "state", "detail", "do"} for one in found)
    return {one["what"]: one for one in found}
