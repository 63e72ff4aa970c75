"""What the composition root hands to the parts, and what a bot's health says."""

from __future__ import annotations

from pathlib import Path

from bots.telegram.bot import TelegramBot
from config.bots import TelegramSettings
from config.load import load
from config.secret import Secret
from core.chance import SystemRandom
from core.clock import SystemClock
from core.main import Daemon
from core.service.logs import Logs, Mask, Troubles
from core.service.signals import Signals
from core.service.supervisor import BotHealth
from core.store.engine import Store
from core.vocabulary import BotName

CONFIG = """\
[network]
proxy = "http://127.0.0.1:3128"
[bots.one]
platform = "telegram"
token = "123456:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
[bots.two]
platform = "telegram"
token = "123457:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
proxy = "http://127.0.0.1:3129"
"""


def test_the_network_s_proxy_reaches_every_bot_that_names_none(tmp_path: Path, sqlite_store: Store) -> None:
    file = tmp_path / "frontdesk.toml"
    file.write_text(CONFIG, encoding="utf-8")
    loaded = load(config=file, state=tmp_path, environ={})
    daemon = Daemon(loaded, sqlite_store, Logs(mask=Mask(()), troubles=Troubles()), Signals(), stdin=False)
    found = []
    for name in ("one", "two"):
        bot = daemon.bots[BotName(name)]
        assert isinstance(bot, TelegramBot)
        assert bot._settings.proxy is not None
        found.append(bot._settings.proxy.reveal())
    assert found == ["http://127.0.0.1:3128", "http://127.0.0.1:3129"]


def test_another_account_under_an_old_name_is_said() -> None:
    token = Secret("123456:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc")
    settings = TelegramSettings(name="main", token=token)
    clock = SystemClock()
    bot = TelegramBot(BotName("main"), settings=settings, clock=clock, random=SystemRandom(clock))
    health = BotHealth({BotName("main"): bot}, {BotName("main"): "1"})
    health.account(BotName("main"), "2")
    health.up(BotName("main"))
    state = health.states[BotName("main")]
    assert (state.account, state.state) == ("2", "up")
    assert "another account than before (1)" in state.detail
