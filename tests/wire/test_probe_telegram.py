"""A Telegram account looked at from outside: against the double, by the real SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta

import pytest

from bots.telegram.probe import TelegramProbe
from core.clock import SystemClock
from core.errors import BotError, BotRejected
from core.ports import Finding
from tests.clock import PATIENCE_S, ShiftedClock
from tests.drivers.telegram import NAME, settings_for
from tests.fakes.telegram import JsonObject, TelegramServer


@pytest.fixture
async def server() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(limits=None) as made:
        yield made
        assert made.violations == ()


def probe(server: TelegramServer, *, skew_s: float = 0.0, poll_s: int = 1, **settings: object) -> TelegramProbe:
    clock = ShiftedClock(timedelta(seconds=skew_s))
    return TelegramProbe(NAME, settings=settings_for(server, **settings), clock=clock, poll_s=poll_s)


async def found(looked: TelegramProbe, *, alone: bool = True) -> Mapping[str, Finding]:
    """By what was looked at, below the bot's table."""
    findings = await looked.findings(alone=alone)
    return {one.what.removeprefix("[bots.telegram] "): one for one in findings}


async def test_all_is_well_with_a_good_token(server: TelegramServer) -> None:
    findings = await found(probe(server))
    assert list(findings) == ["token", "clock", "webhook", "messages"]
    assert {one.state for one in findings.values()} == {"ok"}
    assert "@frontdesk_test_bot" in findings["token"].detail


async def test_nothing_is_confirmed_and_no_setting_changed(server: TelegramServer) -> None:
    ada = server.user("Ada")
    server.say(server.private(ada), ada, "hi")
    before = server.unconfirmed
    await found(probe(server))
    assert server.unconfirmed == before != ()
    assert {call.method for call in server.calls} == {"getMe", "getWebhookInfo", "getUpdates"}
    assert all("allowed_updates" not in call.params and "offset" not in call.params for call in server.calls)


async def test_a_refused_token_is_a_fault_of_the_config(server: TelegramServer) -> None:
    old = settings_for(server)
    server.revoke()
    looked = TelegramProbe(NAME, settings=old, clock=SystemClock())
    [finding] = await looked.findings(alone=True)
    assert (finding.state, finding.blames) == ("fault", "config")
    assert "https://t.me/BotFather" in finding.do
    with pytest.raises(BotRejected):
        await looked.introduce()


async def test_a_telegram_that_can_not_be_reached_is_no_fault_of_the_config(server: TelegramServer) -> None:
    looked = probe(server)
    await server.pause()
    [finding] = await looked.findings(alone=True)
    assert (finding.state, finding.blames) == ("fault", "world")
    assert server.url in finding.do
    with pytest.raises(BotError):
        await looked.introduce()
    await server.resume()


async def test_a_webhook_elsewhere_is_told_with_its_host_only(server: TelegramServer) -> None:
    server.platform.webhook.url = f"https://elsewhere.example/{server.token}"
    ada = server.user("Ada")
    server.say(server.private(ada), ada, "hi")
    findings = await found(probe(server))
    assert findings["webhook"].state == "warning"
    assert "elsewhere.example; 1 updates wait" in findings["webhook"].detail
    assert server.token not in str(findings)
    assert server.calls_of("getUpdates") == ()


async def test_another_poller_is_noticed(server: TelegramServer) -> None:
    looked = asyncio.create_task(found(probe(server, poll_s=8)))
    await server.until(lambda: server.polling)
    other = asyncio.create_task(probe(server, poll_s=0).writers())
    async with asyncio.timeout(PATIENCE_S):
        findings = await looked
        await other
    assert (findings["messages"].state, findings["messages"].blames) == ("fault", "config")
    assert "another process" in findings["messages"].detail


async def test_a_desk_that_runs_is_not_disturbed(server: TelegramServer) -> None:
    findings = await found(probe(server), alone=False)
    assert "messages" not in findings
    assert server.calls_of("getUpdates") == ()


@pytest.mark.parametrize(("skew_s", "words"), [(3602.0, "1:00:0"), (-125.0, "0:02:0")])
async def test_a_clock_that_is_wrong_is_a_fault_that_says_what_it_breaks(
    server: TelegramServer, skew_s: float, words: str
) -> None:
    finding = (await found(probe(server, skew_s=skew_s)))["clock"]
    assert finding.state == "fault"
    assert f"clock is {words}" in finding.detail  # Date tells whole seconds
    assert ("ahead" if skew_s > 0 else "behind") in finding.detail
    assert "resets" in finding.detail


@pytest.mark.parametrize("skew_s", [0.0, 50.0, -50.0])
async def test_a_clock_that_is_a_little_off_is_good_enough(server: TelegramServer, skew_s: float) -> None:
    assert (await found(probe(server, skew_s=skew_s)))["clock"].state == "ok"


# groups


def private(server: TelegramServer, **more: bool) -> None:
    """The bot is in privacy mode, as new ones are."""
    me: JsonObject = {**server.bot.json(), "can_join_groups": True, "can_read_all_group_messages": False, **more}
    answer: JsonObject = {"ok": True, "result": me}
    server.answer("getMe", 200, answer, count=None)


async def test_each_group_is_told_with_its_name(server: TelegramServer) -> None:
    inside, gone = server.group("Inside"), server.group("Gone")
    server.kick(gone, server.user("Eve"))
    groups = [inside.id, gone.id, -100123]
    findings = await found(probe(server, groups=groups))
    states = {group: findings[f"group {group}"].state for group in groups}
    assert states == {inside.id: "ok", gone.id: "fault", -100123: "fault"}
    assert "“Inside” as member" in findings[f"group {inside.id}"].detail
    assert "add the bot" in findings[f"group {gone.id}"].do
    assert findings["groups"].state == "ok"


async def test_a_group_that_moved_is_told_with_its_new_id(server: TelegramServer) -> None:
    old = server.group("Old", supergroup=False)
    new = server.migrate(old, server.user("Eve"))
    finding = (await found(probe(server, groups=[old.id])))[f"group {old.id}"]
    assert finding.state == "fault"
    assert str(new.id) in finding.do


async def test_privacy_mode_is_told_where_there_are_groups(server: TelegramServer) -> None:
    private(server)
    group = server.group("Team")
    assert "groups" not in await found(probe(server))
    finding = (await found(probe(server, groups=[group.id])))["groups"]
    assert finding.state == "warning"
    assert "/setprivacy" in finding.do


async def test_privacy_mode_does_not_matter_to_an_administrator(server: TelegramServer) -> None:
    private(server)
    group = server.group("Team")
    server.appoint(group, server.bot)
    assert (await found(probe(server, groups=[group.id])))["groups"].state == "ok"


async def test_a_bot_that_may_not_join_groups_is_told(server: TelegramServer) -> None:
    private(server, can_join_groups=False)
    finding = (await found(probe(server, groups=[server.group("Team").id])))["groups"]
    assert finding.state == "warning"
    assert "/setjoingroups" in finding.do


async def test_a_group_that_can_not_be_asked_for_is_no_fault_of_the_config(server: TelegramServer) -> None:
    group = server.group("Team")
    server.answer("getChatMember", 502, b"<html>bad gateway</html>", count=None)
    finding = (await found(probe(server, groups=[group.id])))[f"group {group.id}"]
    assert (finding.state, finding.blames) == ("fault", "world")


# who wrote


async def test_those_who_wrote_are_told_once_the_last_one_first_and_stay_at_telegram(server: TelegramServer) -> None:
    ada, bob = server.user("Ada"), server.user("Bob")
    for person, text in ((ada, "one"), (bob, "two"), (ada, "three")):
        server.say(server.private(person), person, text)
    server.say(server.group("Team"), server.user("Eve"), "not to the bot")
    before = server.unconfirmed
    writers = await probe(server).writers()
    assert [(writer.identity, writer.name, writer.text) for writer in writers] == [
        (f"telegram:{ada.id}", "Ada", "three"), (f"telegram:{bob.id}", "Bob", "two"),
    ]  # fmt: skip
    assert server.unconfirmed == before


async def test_it_is_waited_for_somebody_to_write(server: TelegramServer) -> None:
    ada = server.user("Ada")
    looked = asyncio.create_task(probe(server, poll_s=8).writers())
    await server.until(lambda: server.polling)
    server.say(server.private(ada), ada, "now")
    async with asyncio.timeout(PATIENCE_S):
        assert [writer.text for writer in await looked] == ["now"]


async def test_nobody_wrote(server: TelegramServer) -> None:
    assert await probe(server, poll_s=0).writers() == []
