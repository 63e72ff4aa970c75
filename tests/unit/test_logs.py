"""What is logged: one line of facts each, and never a secret, whatever carries it."""

from __future__ import annotations

import json
import subprocess
import sys

TOKEN = "123456:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
SCRIPT = f"""
import logging, structlog
from core.service import logs

logs.set_up(["{TOKEN}", ""])
log = structlog.get_logger("frontdesk")
log.info("asked", url="https://api.telegram.org/bot{TOKEN}/getMe", lines="a\\nb", number=3,
         nested={{"token": "{TOKEN}"}})
try:
    raise OSError("https://api.telegram.org/bot{TOKEN}/getMe refused")
except OSError:
    log.exception("failed")
    logging.getLogger("httpx").warning("POST https://api.telegram.org/bot{TOKEN}/x", exc_info=True)
logging.getLogger("httpx").info("a whole address, which nobody wants")
logging.getLogger("bots.telegram.bot").info("of ours", extra={{"bot": "main", "wait_s": 1.5}})
"""


def logged() -> tuple[str, list[dict[str, object]]]:
    """What a process writes that is no terminal, raw and as events. In a process of its own: set-up is global."""
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=60)
    return ran.stderr, [json.loads(line) for line in ran.stderr.splitlines()]


def test_no_secret_is_in_any_line_not_even_in_a_traceback() -> None:
    raw, events = logged()
    assert TOKEN not in raw
    assert events[0]["url"] == "https://api.telegram.org/bot[secret]/getMe"
    assert "bot[secret]/getMe refused" in str(events[1]["exception"])
    assert "bot[secret]/x" in str(events[2]["event"])


def test_events_are_one_line_of_json_with_their_facts() -> None:
    _, events = logged()
    assert [event["event"] for event in events[:2]] == ["asked", "failed"]
    assert (events[0]["lines"], events[0]["number"], events[0]["level"]) == ("a\\nb", 3, "info")
    assert str(events[0]["timestamp"]).endswith("Z")
    assert (events[3]["event"], events[3]["bot"], events[3]["wait_s"]) == ("of ours", "main", 1.5)
    assert len(events) == 4


def test_the_journal_is_told_how_urgent_each_line_is() -> None:
    """Only where standard error is the stream that the journal reads."""
    script = (
        "import os, structlog\n"
        "from core.service import logs\n"
        "found = os.fstat(2)\n"
        "made = logs.set_up([], journal=f'{found.st_dev}:{found.st_ino}')\n"
        "log = structlog.get_logger('frontdesk')\n"
        "log.info('calm', bots=['one', 'two']); log.error('bad', reference='ABCD')\n"
        "logs.set_up([], journal='1:2')\n"
        "structlog.get_logger('another').warning('elsewhere')\n"
        "print(made.troubles.last[0])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    calm, bad, elsewhere = ran.stderr.splitlines()
    assert calm.startswith('<6>{"bots": ["one", "two"], "event": "calm"')
    assert bad.startswith('<3>{"reference": "ABCD"')
    assert elsewhere.startswith("{")
    assert "'event': 'bad'" in ran.stdout
