"""The finished daemon, the Telegram that it talks to, and people there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.crash.daemon import PATIENCE_S, Daemon
from tests.crash.scene import Talk
from tests.drivers.telegram import TelegramDriver
from tests.fakes.telegram import Chat, ThreadedTelegramServer, User

OFFLINE = '[agents.default]\nbackend = "offline"\n'
CALM = '[session.reset]\nmode = "none"\n'


def crash_agent(home: Path) -> str:
    """The agent of `tests.fakes.agents_crash`."""
    journal = json.dumps(str(home / "journal"))
    return f'[agents.default]\nbackend = "tests.fakes.agents_crash:make"\noptions = {{ journal = {journal} }}\n'


def telegram_bot(server: ThreadedTelegramServer, name: str = "telegram", **options: object) -> str:
    """One bot's section. The token is read from a file beside the config, as it should be."""
    told = {"platform": "telegram", "token": f"file:{name}.token", "api_base": server.url, "drafts": False, **options}
    return f"[bots.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in told.items())


def desk(home: Path, servers: Sequence[tuple[str, ThreadedTelegramServer]], config: str) -> Daemon:
    """A daemon that is not started yet, with the tokens of its bots beside its config."""
    daemon = Daemon(home, config=CALM + config)
    for name, server in servers:
        (home / f"{name}.token").write_text(server.token)
    return daemon


@contextmanager
def no_secret_shown(daemon: Daemon, *servers: ThreadedTelegramServer) -> Iterator[None]:
    """Within, no token may reach standard output or error, or any file of the state."""
    tokens = {server.token for server in servers}
    yield
    tokens |= {server.token for server in servers} | {path.read_text() for path in daemon.home.glob("*.token")}
    written = daemon.everything_written.encode()
    kept = [path.read_bytes() for path in daemon.state.rglob("*") if path.is_file()]
    for token in tokens:
        secret = token.partition(":")[2].encode()
        assert secret not in written, "a token was written out"
        assert not any(secret in content for content in kept), "a token was stored"


def person(server: ThreadedTelegramServer, name: str = "Ada") -> Talk:
    return Talk.private(TelegramDriver(server), name)


def wait_for(server: ThreadedTelegramServer, daemon: Daemon, holds: Callable[[], bool]) -> None:
    """Until it is so on the platform; else the daemon's log tells why not."""
    try:
        server.until(holds, timeout_s=PATIENCE_S)
    except TimeoutError as error:
        raise TimeoutError(f"{error}; the daemon says: {daemon.log[-3000:]}") from None


class Room:
    """A group and what the bot said there."""

    def __init__(self, server: ThreadedTelegramServer, chat: Chat) -> None:
        self.server = server
        self.chat = chat

    def say(self, user: User, text: str, *, reply_to: int | None = None) -> int:
        if reply_to is None:
            return self.server.say(self.chat, user, text).message_id
        return self.server.say(self.chat, user, text, reply_to=reply_to).message_id

    @property
    def texts(self) -> tuple[str, ...]:
        return self.server.chat(self.chat).bot_texts

    @property
    def last_message(self) -> int:
        return self.server.chat(self.chat).from_bot[-1].message_id
