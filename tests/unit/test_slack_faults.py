"""What Slack's refusals mean."""

from __future__ import annotations

import pytest

from bots.slack.faults import DEFAULT_WAIT_S, refusal
from core.errors import FloodWait


@pytest.mark.parametrize(("word", "account"), [("ratelimited", False), ("rate_limited", True)])
@pytest.mark.parametrize(("header", "wait_s"), [("3", 3.0), (None, DEFAULT_WAIT_S), ("soon", DEFAULT_WAIT_S)])
def test_t04_the_wait_is_the_one_that_slack_names_wherever_it_does(
    word: str, account: bool, header: str | None, wait_s: float
) -> None:
    fault = refusal("chat.postMessage", {"ok": False, "error": word}, header)
    assert isinstance(fault, FloodWait)
    assert (fault.wait_s, fault.account) == (wait_s, account)
