"""What `check --probe` says of a bot that is to listen at a webhook."""

from __future__ import annotations

import pytest

from bots.telegram.probe import TelegramProbe
from core.clock import SystemClock
from core.ports import Finding
from tests.drivers.telegram import NAME, settings_for
from tests.fakes.telegram import TelegramServer
from tests.fakes.telegram.platform import Webhook

OURS = "https://bots.example.com/telegram/telegram"


async def webhook_of(server: TelegramServer) -> Finding:
    settings = settings_for(server, mode="webhook", webhook_url="https://bots.example.com")
    findings = await TelegramProbe(NAME, settings=settings, clock=SystemClock(), poll_s=1).findings(alone=True)
    named = {one.what.removeprefix("[bots.telegram] "): one for one in findings}
    assert list(named) == ["token", "clock", "webhook"]
    return named["webhook"]


@pytest.mark.parametrize(
    ("url", "error", "state", "words"),
    [
        ("", None, "ok", "none is set yet: `run` sets it; 1 updates wait"),
        (OURS, None, "ok", "bots.example.com; 1 updates wait"),
        (OURS, "Wrong response from the webhook: 502 Bad Gateway", "warning", "502 Bad Gateway; 1 updates wait"),
        ("https://elsewhere.example/TOKEN", None, "warning", "elsewhere.example; 1 updates wait"),
    ],
)
async def test_the_webhook_that_is_wanted_is_looked_at(url: str, error: str | None, state: str, words: str) -> None:
    async with TelegramServer(limits=None) as server:
        server.say(server.private(ada := server.user("Ada")), ada, "hi")
        server.platform.webhook = Webhook(url=url, last_error_message=error, last_error_date=1 if error else None)
        finding = await webhook_of(server)
        assert finding.state == state
        assert words in finding.detail
        assert "TOKEN" not in finding.detail
        assert bool(finding.do) is (state == "warning")
        assert not server.calls_of("getUpdates")
        assert server.violations == ()


async def test_an_old_error_counts_no_more_once_nothing_waits() -> None:
    async with TelegramServer(limits=None) as server:
        server.platform.webhook = Webhook(url=OURS, last_error_message="Connection refused", last_error_date=1)
        assert (await webhook_of(server)).state == "ok"
