"""C51, C52: what a provider says, and what only looks like a secret, through the installed service."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.crash.scene import Talk
from tests.fakes.models import Fail, Say, ThreadedModelServer
from tests.fakes.models.replies import PLANTED_KEY, PLANTED_PATH
from tests.fakes.telegram import ThreadedTelegramServer
from tests.service.desk import OPEN, STATE, Desk, telegram_bot
from tests.wire.daemon_world import person

HARMLESS = ("am_example_identifier", "sk_example.png", "3f2504e0-4f89-11d3-9a0c-0305e82c3301")


@pytest.fixture
def model() -> Iterator[ThreadedModelServer]:
    with ThreadedModelServer() as made:
        yield made


@pytest.fixture
def talk() -> Iterator[Talk]:
    with ThreadedTelegramServer() as server:
        yield person(server)


@pytest.fixture
def running(desk: Desk, model: ThreadedModelServer, talk: Talk) -> Iterator[Desk]:
    agent = (
        f'[agents.default]\nmodel = "openai:gpt-test"\nbase_url = "{model.openai_url}"\napi_key = "credential:model"\n'
    )
    secrets = {"telegram": talk.server.token, "model": model.key}
    desk.configure(OPEN + agent + telegram_bot(talk.server), secrets)
    desk.start()
    yield desk
    desk.stop()


def test_c51_a_provider_s_words_reach_neither_the_chat_nor_the_journal(
    running: Desk, model: ThreadedModelServer, talk: Talk
) -> None:
    model.on("hello", Fail("bad_request", planted=True))
    talk.type("hello")
    running.until(lambda: talk.count("reference ") == 1, "told that something is wrong")
    [reference] = re.findall(r"\(reference ([A-Z0-9]{8})\)", talk.texts[-1])
    assert reference in running.log
    kept = b"".join(path.read_bytes() for path in running.machine.path(STATE).glob("frontdesk.db*"))
    written = "\n".join([*talk.texts, json.dumps(running.entries)])
    for secret in (PLANTED_KEY, PLANTED_PATH, model.key, talk.server.token.partition(":")[2]):
        assert secret not in written
        assert secret.encode() not in kept


def test_c52_what_only_looks_like_a_secret_stays_as_it_is(
    running: Desk, model: ThreadedModelServer, talk: Talk
) -> None:
    model.on("names", Say(f"They are {', '.join(HARMLESS)}."))
    talk.type(f"names such as {' '.join(HARMLESS)}")
    running.until(lambda: talk.count(f"{HARMLESS[-1]}.") == 1, "answered to the end")
    shown = json.loads(running.call("sessions", "show", f"telegram/dm/{talk.chat.id}", "--json").stdout)
    [said] = [entry["text"] for entry in shown["entries"] if entry["kind"] == "user"]
    [answer] = [entry["text"] for entry in shown["entries"] if entry["kind"] == "assistant"]
    for word in HARMLESS:
        assert word in said
        assert word in answer
        assert talk.count(word) == 1
