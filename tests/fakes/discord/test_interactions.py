"""Commands, buttons, menus, suggestions, and their answers."""

import json
from typing import Any

import discord
import pytest
from discord import app_commands

from tests.fakes.discord import Channel, DiscordServer, Guild, Interaction, ManualClock, User
from tests.fakes.discord.raw import Raw
from tests.fakes.discord.redirected import Bot

PING: Any = {"name": "ping", "description": "Is it there?"}


@pytest.fixture
async def ping(raw: Raw, ada: User, channel: Channel) -> Interaction:
    """Somebody has used a command."""
    await raw.call("POST", f"/applications/{raw.server.application_id}/commands", PING)
    return raw.server.command(ada, channel, "ping")


async def answer(raw: Raw, interaction: Interaction, body: Any, query: str = "") -> Any:
    path = f"/interactions/{interaction.id}/{interaction.token}/callback{query}"
    return await raw.call("POST", path, body, authorization="")


def hook(interaction: Interaction, rest: str = "") -> str:
    return f"/webhooks/{interaction.application_id}/{interaction.token}{rest}"


# --- answers


async def test_the_first_answer_is_given_once(raw: Raw, ping: Interaction, channel: Channel) -> None:
    answered = await answer(raw, ping, {"type": 4, "data": {"content": "here"}}, "?with_response=true")
    assert answered.status == 200
    assert answered.body["resource"]["message"]["content"] == "here"
    assert (ping.acknowledged_after_s, ping.callback_type) == (0, 4)
    again = await answer(raw, ping, {"type": 4, "data": {"content": "here"}})
    assert (again.status, again.code) == (400, 40060)
    assert raw.server.texts(channel) == ("here",)
    assert [problem.rule for problem in raw.server.problems] == ["acknowledged_twice"]


async def test_the_first_answer_has_three_seconds(raw: Raw, ping: Interaction, clock: ManualClock) -> None:
    clock.advance(3.1)
    late = await answer(raw, ping, {"type": 5})
    assert (late.status, late.code) == (404, 10062)
    assert not ping.acknowledged
    assert (await raw.call("POST", hook(ping), {"content": "x"}, authorization="")).code == 10015
    assert [problem.rule for problem in raw.server.problems] == ["acknowledged_late", "followup_before_answer"]


@pytest.mark.parametrize("kind", [1, 6, 7, 8, 10, 99])
async def test_a_command_takes_only_its_kinds_of_answers(raw: Raw, ping: Interaction, kind: int) -> None:
    assert (await answer(raw, ping, {"type": kind})).code == 50035
    assert not ping.acknowledged


@pytest.mark.parametrize(
    ("data", "code"), [({"content": "x" * 2001}, 50035), ({}, 50006), ({"content": "x", "flags": 1 << 20}, 50035)]
)
async def test_an_answer_is_checked_like_a_message(raw: Raw, ping: Interaction, data: Any, code: int) -> None:
    assert (await answer(raw, ping, {"type": 4, "data": data})).code == code
    assert not ping.acknowledged


async def test_a_deferred_answer_is_filled_and_followed_up(
    raw: Raw, ping: Interaction, clock: ManualClock, ada: User, channel: Channel
) -> None:
    server = raw.server
    assert (await answer(raw, ping, {"type": 5})).status == 204
    (waiting,) = server.sent(channel)
    assert (waiting.flags, server.texts(channel)) == (128, ())
    original = hook(ping, "/messages/@original")
    text = f"<@{ada.id}> @everyone"
    filled = await raw.call("PATCH", original, {"content": text}, authorization="")
    assert (filled.body["content"], filled.body["flags"]) == (text, 0)
    assert server.pings(ada) == ()  # it counts as an edit
    more = (await raw.call("POST", hook(ping), {"content": "more"}, authorization="")).body["id"]
    loud = await raw.call("POST", hook(ping), {"content": f"<@{ada.id}> @everyone"}, authorization="")
    assert [one.id for one in server.pings(ada)] == [int(loud.body["id"])]
    await raw.call("DELETE", hook(ping, f"/messages/{loud.body['id']}"), authorization="")
    whispered = await raw.call("POST", hook(ping), {"content": "psst", "flags": 64}, authorization="")
    assert (await raw.call("GET", f"/channels/{channel.id}/messages/{whispered.body['id']}")).code == 10008
    assert server.texts(channel) == (text, "more")
    assert [one.content for one in server.whispers(ada)] == ["psst"]
    assert (await raw.call("GET", original, authorization="")).body["content"] == text
    edited = await raw.call("PATCH", hook(ping, f"/messages/{more}"), {"content": "less"}, authorization="")
    assert edited.body["content"] == "less"
    assert (await raw.call("DELETE", original, authorization="")).status == 204
    assert (await raw.call("GET", original, authorization="")).code == 10008
    clock.advance(15 * 60 + 1)
    expired = await raw.call("POST", hook(ping), {"content": "x"}, authorization="")
    assert (expired.status, expired.body) == (401, {"message": "Invalid Webhook Token", "code": 50027})


async def test_ephemeral_answers_come_back_as_direct_messages_without_a_guild(
    raw: Raw, ping: Interaction, channel: Channel
) -> None:
    gateway = await raw.connect()
    await gateway.take()
    await gateway.identify()
    await gateway.take_event("READY")
    answered = await answer(raw, ping, {"type": 4, "data": {"content": "psst", "flags": 64}}, "?with_response=1")
    assert answered.body["interaction"]["response_message_ephemeral"] is True
    told = (await gateway.take_event("MESSAGE_CREATE"))["d"]
    assert (told["content"], told["flags"], told["channel_id"]) == ("psst", 64, str(channel.id))
    assert "guild_id" not in told
    assert (await raw.call("DELETE", hook(ping, "/messages/@original"), authorization="")).status == 204
    assert (await gateway.take_event("MESSAGE_DELETE"))["d"]["channel_id"] == str(channel.id)


async def test_what_was_not_answered_is_listed(raw: Raw, ada: User, channel: Channel, ping: Interaction) -> None:
    assert ping not in raw.server.unacknowledged  # nobody was connected
    gateway = await raw.connect()
    await gateway.take()
    await gateway.identify()
    await raw.server.until(raw.server.connected)
    missed = raw.server.command(ada, channel, "ping")
    assert missed in raw.server.unacknowledged
    await answer(raw, missed, {"type": 5})
    assert missed.acknowledged
    assert missed not in raw.server.unacknowledged


async def test_files_can_be_answers(raw: Raw, ping: Interaction, channel: Channel) -> None:
    path = f"/interactions/{ping.id}/{ping.token}/callback"
    payload = json.dumps({"type": 4, "data": {"attachments": [{"id": 0, "filename": "a.txt"}]}})
    assert (await raw.upload(path, payload, {"files[0]": ("a.txt", b"x")})).status == 204
    (sent,) = raw.server.sent(channel)
    assert [one.filename for one in sent.now.attachments] == ["a.txt"]


async def test_wrong_tokens_are_unknown(raw: Raw, ping: Interaction) -> None:
    wrong = await raw.call("POST", f"/interactions/{ping.id}/none/callback", {"type": 5}, authorization="")
    assert wrong.code == 10062
    assert (await raw.call("POST", f"/webhooks/{ping.application_id}/none", {"content": "x"})).code == 10015


# --- registering


async def put(raw: Raw, *commands: Any) -> Any:
    return await raw.call("PUT", f"/applications/{raw.server.application_id}/commands", list(commands))


def option(name: str = "o", kind: int = 3, **more: Any) -> Any:
    return {"name": name, "description": "x", "type": kind, **more}


@pytest.mark.parametrize(
    "commands",
    [
        [{"name": "Ping", "description": "x"}],
        [{"name": "p ing", "description": "x"}],
        [{"name": "p" * 33, "description": "x"}],
        [{"name": "", "description": "x"}],
        [{"name": "ping"}],
        [{"name": "ping", "description": "x" * 101}],
        [PING, PING],
        [{"name": f"c{number}", "description": "x"} for number in range(101)],
        [{**PING, "options": [option(), option()]}],
        [{**PING, "options": [option("Big")]}],
        [{**PING, "options": [option(str(number)) for number in range(26)]}],
        [{**PING, "options": [option("a"), option("b", required=True)]}],
        [{**PING, "options": [option(kind=12)]}],
        [{**PING, "options": [option(choices=[{"name": "x", "value": "x"}] * 26)]}],
        [{**PING, "options": [option(choices=[{"name": "x", "value": 1}])]}],
        [{**PING, "options": [option(autocomplete=True, choices=[{"name": "x", "value": "x"}])]}],
        [{**PING, "options": [option("sub", 1), option("plain")]}],
        [{"name": "Menu", "type": 3, "description": "none wanted"}],
        [{"name": "x", "type": 4, "description": "x"}],
    ],
)
async def test_commands_that_break_a_rule_are_refused(raw: Raw, commands: Any) -> None:
    refused = await put(raw, *commands)
    assert (refused.status, refused.code) == (400, 50035)
    assert raw.server.commands() == ()
    assert raw.server.command_writes == 0


async def test_commands_are_registered_globally_and_for_guilds(
    raw: Raw, ada: User, guild: Guild, channel: Channel
) -> None:
    server, root = raw.server, f"/applications/{raw.server.application_id}"
    stored = (await put(raw, PING, {"name": "größe-2", "description": "x"}, {"name": "Ask Me", "type": 3})).body
    assert [one["type"] for one in stored] == [1, 1, 3]
    assert [one["id"] for one in (await put(raw, PING)).body] == [stored[0]["id"]]
    assert (await raw.call("POST", f"{root}/commands", PING)).status == 200
    made = await raw.call("POST", f"{root}/guilds/{guild.id}/commands", {**PING, "description": "here"})
    assert (made.status, made.body["guild_id"]) == (201, str(guild.id))
    assert [one["description"] for one in server.commands(channel)] == ["here"]
    assert [one["description"] for one in server.commands(server.dm(ada))] == ["Is it there?"]
    one = f"{root}/commands/{stored[0]['id']}"
    assert (await raw.call("PATCH", one, {"description": "Hm?"})).body["description"] == "Hm?"
    assert (await raw.call("DELETE", one)).status == 204
    assert (await raw.call("GET", one)).code == 10063
    assert (await raw.call("GET", f"/applications/{server.bot.id}/commands")).code == 20012
    assert server.command_writes == 6


async def test_commands_may_be_for_some_only(raw: Raw, ada: User, guild: Guild, channel: Channel) -> None:
    await put(raw, {**PING, "default_member_permissions": str(1 << 5)})
    with pytest.raises(ValueError, match="may not use"):
        raw.server.command(ada, channel, "ping")
    raw.server.give(guild, ada, raw.server.role(guild, "managers", 1 << 5))
    assert raw.server.command(ada, channel, "ping").user_id == ada.id


async def test_people_use_only_what_is_offered(raw: Raw, ada: User, channel: Channel) -> None:
    await put(raw, {**PING, "options": [option("size", required=True, choices=[{"name": "S", "value": "s"}])]})
    uses: Any = (("pong", {}), ("ping", {}), ("ping", {"size": "xl"}), ("ping", {"size": "s", "colour": "x"}))
    for name, given in uses:
        with pytest.raises((ValueError, KeyError)):
            raw.server.command(ada, channel, name, given)
    assert not raw.server.command(ada, channel, "ping", {"size": "s"}).delivered  # nobody is connected


# --- the real library


async def test_slash_commands_of_discord_py(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    @bot.tree.command(name="reset", description="Start afresh")
    async def reset(interaction: discord.Interaction[Any], why: str, hard: bool = False) -> None:
        await interaction.response.defer(ephemeral=True)
        await interaction.followup.send(f"{interaction.user.name}: {why} {hard}")
        await interaction.followup.send("for all", ephemeral=False)

    await bot.tree.sync()
    used = server.command(ada, channel, "reset", {"why": "bored", "hard": True})
    await server.until(lambda: len(server.sent(channel)) == 2)
    assert [one.content for one in server.whispers(ada)] == ["ada: bored True"]
    assert (used.callback_type, server.texts(channel), server.command_writes) == (5, ("for all",), 1)
    assert [one.name for one in await bot.tree.fetch_commands()] == ["reset"]
    assert server.problems == ()


async def test_suggestions_of_discord_py(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    @bot.tree.command(name="resume", description="Go on")
    async def resume(interaction: discord.Interaction[Any], title: str) -> None:
        await interaction.response.send_message(title)

    @resume.autocomplete("title")
    async def complete(interaction: discord.Interaction[Any], typed: str) -> list[app_commands.Choice[str]]:
        return [app_commands.Choice(name=f"{typed}!", value=typed)] * (26 if typed == "many" else 1)

    await bot.tree.sync()
    asked = server.autocomplete(ada, channel, "resume", "title", "tri")
    await server.until(lambda: asked.acknowledged)
    assert asked.choices == [{"name": "tri!", "value": "tri"}]
    server.command(ada, server.dm(ada), "resume", {"title": "trip"})
    await server.until(lambda: server.texts(server.dm(ada)) == ("trip",))
    assert server.problems == ()


async def test_message_menus_show_the_message(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    @bot.tree.context_menu(name="Ask about this")
    async def ask(interaction: discord.Interaction[Any], message: discord.Message) -> None:
        await interaction.response.send_message(f"about: {message.content}", ephemeral=True)

    await bot.tree.sync()
    said = server.say(channel, ada, "the weather")
    server.use_message_menu(ada, said, "Ask about this")
    await server.until(lambda: len(server.whispers(ada)) == 1)
    assert server.whispers(ada)[0].content == "about: the weather"
    assert server.problems == ()


async def test_buttons_that_change_their_message(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="Yes", custom_id="yes"))
    sent = await bot.get_partial_messageable(channel.id).send("sure?", view=view)
    server.press(ada, sent.id, "yes")
    await bot.until(lambda: bot.pressed)
    await bot.pressed[0].response.edit_message(content="done", view=None)
    assert (server.message(sent.id).texts, server.message(sent.id).buttons) == (("sure?", "done"), {})
    with pytest.raises(ValueError, match="no button"):
        server.press(ada, sent.id, "yes")
    late = server.press(ada, sent.id, "yes", check=False)
    await bot.until(lambda: len(bot.pressed) == 2)
    await bot.pressed[1].response.defer()
    await bot.pressed[1].edit_original_response(content="done already")
    assert late.callback_type == 6
    assert server.texts(channel) == ("done already",)
    assert server.problems == ()


async def test_forms(server: DiscordServer, bot: Bot, ada: User, channel: Channel, raw: Raw, ping: Interaction) -> None:
    class Form(discord.ui.Modal, title="Why?"):
        reason: discord.ui.TextInput[Any] = discord.ui.TextInput(label="Reason", custom_id="reason")

        async def on_submit(self, interaction: discord.Interaction[Any]) -> None:
            await interaction.response.send_message(f"because {self.reason.value}")

    await bot.until(lambda: bot.pressed)
    await bot.pressed[0].response.send_modal(Form())
    server.submit(ping, {"reason": "so"})
    await server.until(lambda: server.texts(channel) == ("because so",))
    assert server.problems == ()
