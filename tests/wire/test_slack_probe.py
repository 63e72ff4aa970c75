"""A Slack app looked at from outside: the real SDK against the strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from bots.slack.manifest import scopes
from bots.slack.probe import SlackProbe
from config.secret import Secret
from core.errors import BotRejected, NotSent
from core.ports import Finding
from core.vocabulary import BotName
from tests.drivers.slack import settings_for
from tests.wire.slack_world import World, opened


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


def probe(world: World, **settings: object) -> SlackProbe:
    return SlackProbe(BotName("slack"), settings=settings_for(world.server, **settings), clock=world.clock)


def states(findings: Sequence[Finding]) -> dict[str, str]:
    return {finding.what.partition("] ")[2]: finding.state for finding in findings}


async def test_it_says_who_the_app_is(world: World) -> None:
    assert await probe(world).introduce() == "@frontdesk"


async def test_a_refused_token_is_named(world: World) -> None:
    world.server.set_token_state("token_revoked")
    with pytest.raises(BotRejected, match="token_revoked"):
        await probe(world).introduce()
    (finding,) = await probe(world).findings(alone=True)
    assert (finding.state, finding.blames) == ("fault", "config")
    assert "api.slack.com" in finding.do


async def test_an_unreachable_slack_is_the_worlds_fault(world: World) -> None:
    await world.server.pause()
    with pytest.raises(NotSent):
        await probe(world).introduce()
    (finding,) = await probe(world).findings(alone=True)
    assert finding.blames == "world"
    assert "api_base" in finding.do


async def test_all_is_well(world: World) -> None:
    found = states(await probe(world, groups=[world.general.id, world.server.team.id]).findings(alone=True))
    groups = {f"group {world.general.id}": "ok", f"group {world.server.team.id}": "ok"}
    assert found["bot_token"] == found["app_token"] == found["scopes"] == "ok"
    assert {name: found[name] for name in groups} == groups
    assert not world.server.sockets()


async def test_scopes_that_the_token_lacks_are_named(world: World) -> None:
    world.server.remove_scope("im:history", "reactions:write")
    [scopes_found] = [one for one in await probe(world).findings(alone=True) if one.what.endswith("scopes")]
    assert scopes_found.state == "fault"
    assert "im:history, reactions:write" in scopes_found.detail
    assert "install the app again" in scopes_found.do


async def test_tokens_of_two_apps_are_told_apart(world: World) -> None:
    """Both are good, and what is said to one app would be answered by the other."""
    other = world.server.add_bot("other")
    mixed = probe(world, app_token=Secret(other.app_token))
    [finding] = [one for one in await mixed.findings(alone=True) if one.what.endswith("app_token")]
    assert (finding.state, finding.blames) == ("fault", "config")
    assert other.app_id in finding.detail
    assert world.server.bot.app_id in finding.detail
    assert f"replace app_token by one of https://api.slack.com/apps/{world.server.bot.app_id}" in finding.do
    assert other.app_token not in finding.detail + finding.do


async def test_tokens_whose_app_is_not_known_are_no_fault(world: World) -> None:
    world.server.error("bots.info", "bot_not_found")
    assert states(await probe(world).findings(alone=True))["app_token"] == "ok"


async def test_what_is_wrong_is_said_with_what_to_do(world: World) -> None:
    outside = world.server.channel("outside", with_bot=False)
    wrong = probe(world, groups=[outside.id, "C0NOWHERE", "T0OTHER"], app_token=Secret("xapp-wrong"))
    findings = await wrong.findings(alone=True)
    found = states(findings)
    assert found[f"group {outside.id}"] == found["group C0NOWHERE"] == found["group T0OTHER"] == "fault"
    assert found["app_token"] == "fault"
    assert all(finding.do for finding in findings if finding.state == "fault")
    assert "/invite @frontdesk" in next(one.do for one in findings if outside.id in one.what)


async def test_a_refusal_says_what_it_is_that_helps(world: World) -> None:
    """Neither the network nor the token is at fault where a scope is missing or the app was removed."""
    world.server.remove_scope("channels:read", "groups:read", "im:read", "mpim:read")
    [group] = [one for one in await probe(world, groups=[world.general.id]).findings(alone=True) if "group" in one.what]
    assert (group.state, group.blames) == ("fault", "config")
    assert "channels:read" in group.detail
    assert "add it at https://api.slack.com/apps" in group.do
    assert "network" not in group.do
    world.server.set_token_state("account_inactive")
    [token] = await probe(world).findings(alone=True)
    assert "install it again" in token.do
    assert "copy it again" not in token.do


async def test_by_http_no_socket_is_opened(world: World) -> None:
    served = probe(world, mode="http", signing_secret=Secret("s" * 32), app_token=None)
    findings = await served.findings(alone=True)
    assert any("/slack/slack" in finding.detail for finding in findings)
    assert not world.server.calls_of("apps.connections.open")


async def test_whoever_waits_for_an_answer_is_found_the_last_first(world: World) -> None:
    bob, carol = world.server.person("Bob"), world.server.person("Carol")
    world.say("first")
    world.clock.advance(1)
    world.server.say(world.server.im(bob), bob, "second")
    world.clock.advance(1)
    world.server.say(world.server.im(carol), carol, "answered")
    world.server.say(world.server.im(carol), world.server.as_person(world.server.bot), "there you are")
    found = await probe(world).writers()
    assert [(one.identity, one.name, one.text) for one in found] == [
        (f"slack:{world.server.team.id}/{bob.id}", "bob", "second"),
        (f"slack:{world.server.team.id}/{world.ada.id}", "ada", "first"),
    ]


def test_the_scopes_that_are_looked_for_are_the_manifests() -> None:
    assert "chat:write" in scopes()
    assert "commands" in scopes()
