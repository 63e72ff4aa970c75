"""Clicks, commands, shortcuts, views, and what an app answers to them."""

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import Channel, ManualClock, Person, SlackServer
from tests.fakes.slack.conftest import Listener


def button(action_id: str, value: str = "1") -> dict[str, object]:
    label = {"type": "plain_text", "text": action_id}
    return {"type": "button", "action_id": action_id, "value": value, "text": label}


def actions(*action_ids: str) -> list[dict[str, object]]:
    return [{"type": "actions", "block_id": "row", "elements": [button(one) for one in action_ids]}]


async def test_a_click_carries_what_slack_sends(
    server: SlackServer, listener: Listener, web: AsyncWebClient, ada: Person, general: Channel
) -> None:
    asked = server.say(general, ada, "may I?")
    sent = await web.chat_postMessage(channel=general.id, text="?", blocks=actions("yes", "no"), thread_ts=asked.ts)
    clicked = server.click(general, str(sent["ts"]), ada, "no")
    await server.until(lambda: server.acked(clicked))
    payload = listener.requests[-1].payload
    assert (payload["type"], payload["user"]["id"], payload["channel"]["id"]) == ("block_actions", ada.id, general.id)
    assert payload["container"] == {
        "type": "message",
        "message_ts": sent["ts"],
        "channel_id": general.id,
        "is_ephemeral": False,
        "thread_ts": asked.ts,
    }
    (action,) = payload["actions"]
    assert (action["action_id"], action["block_id"], action["value"]) == ("no", "row", "1")
    assert (payload["response_url"], payload["trigger_id"]) == (clicked.response_url, clicked.trigger_id)
    with pytest.raises(ValueError, match="no element"):
        server.click(general, str(sent["ts"]), ada, "maybe")
    await web.chat_update(channel=general.id, ts=str(sent["ts"]), text="answered")
    with pytest.raises(ValueError, match="no element"):
        server.click(general, str(sent["ts"]), ada, "no")
    server.click_stale(general, str(sent["ts"]), ada, "no")


async def test_a_command_is_answered_in_the_acknowledgement(
    server: SlackServer, listener: Listener, ada: Person, general: Channel
) -> None:
    listener.payload = {"text": "only for you"}
    command = server.slash(general, ada, "/ask", "me & you")
    await server.until(lambda: server.acked(command))
    request = listener.requests[-1]
    assert (request.type, request.accepts_response_payload) == ("slash_commands", True)
    assert (request.payload["command"], request.payload["text"]) == ("/ask", "me &amp; you")
    assert "thread_ts" not in request.payload
    await server.until(lambda: len(server.ephemerals(ada)) == 1)
    assert (server.ephemerals(ada)[0].text, server.ephemerals(ada)[0].via) == ("only for you", "ack")


async def test_a_response_url_serves_five_times_within_half_an_hour(
    server: SlackServer, http: aiohttp.ClientSession, clock: ManualClock, ada: Person, general: Channel
) -> None:
    async def respond(url: str, body: dict[str, object]) -> tuple[int, str]:
        async with http.post(url, json=body) as response:
            return response.status, await response.text()

    url = server.slash(general, ada, "/ask").response_url
    assert await respond(url, {"text": "for you"}) == (200, "ok")
    assert await respond(url, {"text": "for all", "response_type": "in_channel"}) == (200, "ok")
    for _ in range(3):
        assert (await respond(url, {"text": "more"}))[0] == 200
    assert (await respond(url, {"text": "too much"}))[0] == 404
    assert (len(server.ephemerals(ada)), server.bot_texts(general)) == (4, ("for all",))
    other = server.slash(general, ada, "/ask").response_url
    assert (await respond(other, {}))[0] == 400
    clock.advance(1801)
    assert (await respond(other, {"text": "late"}))[0] == 404
    assert [problem.rule for problem in server.problems] == ["used_url", "no_text", "expired_url"]


async def test_originals_are_replaced_and_deleted(
    server: SlackServer, web: AsyncWebClient, http: aiohttp.ClientSession, ada: Person, general: Channel
) -> None:
    await web.chat_postEphemeral(channel=general.id, user=ada.id, text="?", blocks=actions("go"))
    (shown,) = server.ephemerals(ada)
    clicked = server.click_ephemeral(shown, "go")
    await http.post(clicked.response_url, json={"replace_original": True, "text": "gone"})
    assert [one.text for one in server.ephemerals(ada)] == ["gone"]
    await http.post(clicked.response_url, json={"delete_original": True})
    assert server.ephemerals(ada) == ()
    sent = await web.chat_postMessage(channel=general.id, text="?", blocks=actions("go"))
    clicked = server.click(general, str(sent["ts"]), ada, "go")
    await http.post(clicked.response_url, json={"replace_original": "true", "text": "done"})
    assert server.bot_texts(general) == ("done",)
    await http.post(clicked.response_url, json={"delete_original": True})
    assert server.bot_texts(general) == ()


async def test_shortcuts(server: SlackServer, listener: Listener, ada: Person, general: Channel) -> None:
    said = server.say(general, ada, "look into this")
    server.shortcut(general, said, ada, "investigate")
    server.global_shortcut(ada, "new")
    await server.until(server.acked)
    first, second = (one.payload for one in listener.requests if one.type == "interactive")
    assert (first["type"], first["callback_id"], first["message"]["text"]) == (
        "message_action",
        "investigate",
        "look into this",
    )
    assert (second["type"], second["callback_id"]) == ("shortcut", "new")


MODAL: dict[str, object] = {
    "type": "modal",
    "title": {"type": "plain_text", "text": "Form"},
    "submit": {"type": "plain_text", "text": "Send"},
    "blocks": [
        {
            "type": "input",
            "block_id": "name",
            "label": {"type": "plain_text", "text": "Name"},
            "element": {"type": "plain_text_input", "action_id": "text"},
        }
    ],
}


async def test_a_trigger_opens_one_modal_within_three_seconds(
    server: SlackServer, listener: Listener, web: AsyncWebClient, clock: ManualClock, ada: Person
) -> None:
    trigger = server.global_shortcut(ada, "new").trigger_id
    await web.views_open(trigger_id=trigger, view=MODAL)
    with pytest.raises(SlackApiError, match="exchanged_trigger_id"):
        await web.views_open(trigger_id=trigger, view=MODAL)
    with pytest.raises(SlackApiError, match="invalid_trigger_id"):
        await web.views_open(trigger_id="1.2.3", view=MODAL)
    late = server.global_shortcut(ada, "new").trigger_id
    clock.advance(3.1)
    with pytest.raises(SlackApiError, match="expired_trigger_id"):
        await web.views_open(trigger_id=late, view=MODAL)
    (view,) = server.modals(ada)
    await server.until(server.settled)
    listener.payload = {"response_action": "errors", "errors": {"name": "too short"}}
    submitted = server.submit(view, {"name": {"text": {"type": "plain_text_input", "value": "A"}}})
    await server.until(lambda: server.acked(submitted))
    await server.until(lambda: len(server.modals(ada)) == 1)
    assert listener.requests[-1].payload["view"]["state"]["values"]["name"]["text"]["value"] == "A"
    listener.payload = None
    submitted = server.submit(view)
    await server.until(lambda: server.acked(submitted))
    assert server.modals(ada) == ()


async def test_a_home_tab(server: SlackServer, listener: Listener, web: AsyncWebClient, ada: Person) -> None:
    server.open_home(ada)
    await server.until(server.acked)
    assert (listener.events[0]["type"], listener.events[0]["tab"]) == ("app_home_opened", "home")
    view: dict[str, object] = {"type": "home", "blocks": actions("approve")}
    published = await web.views_publish(user_id=ada.id, view=view)
    with pytest.raises(SlackApiError, match="hash_conflict"):
        await web.views_publish(user_id=ada.id, view=view, hash="1.2")
    await web.views_publish(user_id=ada.id, view=view, hash=published["view"]["hash"])
    home = server.home(ada)
    assert home is not None
    clicked = server.click_view(home, "approve")
    await server.until(lambda: server.acked(clicked))
    payload = listener.requests[-1].payload
    assert (payload["view"]["id"], "response_url" in payload, "channel" in payload) == (home.id, False, False)
    for wrong in (
        {"type": "modal", "blocks": []},
        {"type": "home", "blocks": [{"type": "markdown", "text": "x"}]},
        {"type": "home", "blocks": [{"type": "divider"}] * 101},
        {"type": "home"},
    ):
        with pytest.raises(SlackApiError, match="invalid_arguments"):
            await web.views_publish(user_id=ada.id, view=wrong)
