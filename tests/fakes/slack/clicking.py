"""How tests make people click, command and open things.

Source of the payloads: https://docs.slack.dev/reference/interaction-payloads and
https://docs.slack.dev/interactivity/implementing-slash-commands.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tests.fakes.slack.delivery import Delivery
from tests.fakes.slack.events import message_json
from tests.fakes.slack.model import (
    Bot,
    Channel,
    Ephemeral,
    Interaction,
    JsonObject,
    JsonValue,
    Person,
    Said,
    View,
    objects_of,
    present,
    text_of,
)
from tests.fakes.slack.people import People
from tests.fakes.slack.records import ResponseUrl, Room, Trigger
from tests.fakes.slack.text import typed
from tests.fakes.slack.views import view_json

ROOM_NAMES = {"im": "directmessage", "group": "privategroup"}


class Clicks(People):
    """The acts that reach an app as interactions and commands. `bot` says which app; the default is the first."""

    def slash(
        self, channel: Channel | str, who: Person, command: str, text: str = "", *, bot: Bot | None = None
    ) -> Interaction:
        """Somebody uses a slash command. Slack does not say in which thread; the bot need not be in the channel."""
        with self.platform.lock:
            app_bot, room = (
                bot or self.first_bot(),
                self.platform.rooms[channel if isinstance(channel, str) else channel.id],
            )
            secret = self._response_url(app_bot, room, who, None)
            team = self.platform.teams[app_bot.team_id]
            payload: JsonObject = {
                "token": "legacy-verification-token",
                "team_id": team.id,
                "team_domain": team.domain,
                "enterprise_id": team.enterprise_id,
                "channel_id": room.channel.id,
                "channel_name": ROOM_NAMES.get(room.channel.kind, room.channel.name),
                "user_id": who.id,
                "user_name": who.name,
                "command": command,
                "text": typed(text, self.platform.channel_name),
                "api_app_id": app_bot.app_id,
                "is_enterprise_install": "false",
                "response_url": f"{self.platform.url}/hooks/{secret}",
                "trigger_id": self._trigger(app_bot, who, None),
            }
            delivery = self.platform.courier.add(
                app_bot.app_id, "slash_commands", present(payload), accepts_payload=True
            )
            return self._interaction(delivery)

    def click(
        self, channel: Channel | str, ts: str | Said, who: Person, action_id: str, *, value: str | None = None
    ) -> Interaction:
        """Somebody clicks a button of a message, or picks the option with this value. `ValueError` if it is not
        there: what an edit has taken away cannot be clicked; see `click_stale`."""
        with self.platform.lock:
            room = self.platform.rooms[channel if isinstance(channel, str) else channel.id]
            message = room.messages[ts if isinstance(ts, str) else ts.ts]
            return self._click_message(room, message.ts, who, action_of(list(message.blocks), action_id, value))

    def click_stale(
        self, channel: Channel | str, ts: str | Said, who: Person, action_id: str, *, version: int = 0
    ) -> Interaction:
        """A click on what an earlier version of the message still showed on somebody's screen."""
        with self.platform.lock:
            room = self.platform.rooms[channel if isinstance(channel, str) else channel.id]
            message = room.messages[ts if isinstance(ts, str) else ts.ts]
            blocks = list(message.versions[version].blocks)
            return self._click_message(room, message.ts, who, action_of(blocks, action_id, None))

    def click_ephemeral(self, shown: Ephemeral, action_id: str, *, value: str | None = None) -> Interaction:
        """The one who sees an ephemeral message clicks it. The payload has no `message`, as with Slack."""
        with self.platform.lock:
            room = self.platform.rooms[shown.channel_id]
            who = self.platform.people[shown.user_id]
            bot = self._bot_in(room)
            action = action_of(list(shown.blocks), action_id, value)
            url = self._response_url(bot, room, who, None, ephemeral_ts=shown.ts)
            container: JsonObject = {"message_ts": shown.ts, "channel_id": room.channel.id, "is_ephemeral": True}
            if shown.thread_ts is not None:
                container["thread_ts"] = shown.thread_ts
            where: JsonObject = {
                "container": {"type": "message", **container},
                "channel": _channel(room),
                "response_url": f"{self.platform.url}/hooks/{url}",
            }
            return self._act(bot, who, action, where, None)

    def click_view(
        self, view: View, action_id: str, *, value: str | None = None, as_of: str | None = None
    ) -> Interaction:
        """A click in a Home tab or a modal: no channel, no response_url. `as_of`: the team that it names as theirs."""
        with self.platform.lock:
            bot, who = self._bot_of(view), self.platform.people[view.user_id]
            action = action_of(objects_of(view.body.get("blocks")), action_id, value)
            container: JsonObject = {"type": "view", "view_id": view.id}
            where: JsonObject = {"container": container, "view": view_json(self.platform, view)}
            return self._act(bot, replace(who, team_id=as_of or who.team_id), action, where, view.id)

    def shortcut(
        self, channel: Channel | str, ts: str | Said, who: Person, callback_id: str, *, bot: Bot | None = None
    ) -> Interaction:
        """A shortcut in a message's menu."""
        with self.platform.lock:
            room = self.platform.rooms[channel if isinstance(channel, str) else channel.id]
            message = room.messages[ts if isinstance(ts, str) else ts.ts]
            app_bot = bot or self.first_bot()
            secret = self._response_url(app_bot, room, who, message.ts)
            payload: JsonObject = {
                "type": "message_action",
                "callback_id": callback_id,
                "action_ts": self.platform.new_ts(),
                "message_ts": message.ts,
                "message": message_json(self.platform, room, message),
                "channel": _channel(room),
                "response_url": f"{self.platform.url}/hooks/{secret}",
            }
            return self._interact(app_bot, who, payload, None)

    def global_shortcut(self, who: Person, callback_id: str, *, bot: Bot | None = None) -> Interaction:
        with self.platform.lock:
            payload: JsonObject = {
                "type": "shortcut",
                "callback_id": callback_id,
                "action_ts": self.platform.new_ts(),
            }
            return self._interact(bot or self.first_bot(), who, payload, None)

    def suggest(self, view: View, action_id: str, typed: str = "") -> Interaction:
        """Somebody opens a menu of a modal that the app completes, or types in it; `offered` tells what they see then.
        `ValueError` where Slack would ask nothing: with fewer characters than `min_query_length`, which is 3 unless the
        element says otherwise."""
        with self.platform.lock:
            block_id, element = _element(view, action_id)
            if element["type"] not in {"external_select", "multi_external_select"}:
                raise ValueError(f"{action_id!r} is completed by no app")
            if len(typed) < element.get("min_query_length", 3):  # type: ignore[operator]  # the schema checked it
                raise ValueError("too little is typed for that")
            self.platform.suggested.pop((view.id, action_id), None)
            payload: JsonObject = {
                "type": "block_suggestion",
                "action_id": action_id,
                "block_id": block_id,
                "value": typed,
                "container": {"type": "view", "view_id": view.id},
                "view": view_json(self.platform, view),
            }
            who = self.platform.people[view.user_id]
            return self._interact(self._bot_of(view), who, payload, None, accepts_payload=True)

    def offered(self, view: View, action_id: str) -> list[JsonObject]:
        """The options that the app last answered with."""
        with self.platform.lock:
            return self.platform.suggested.get((view.id, action_id), [])

    def send(self, view: View, chosen: Mapping[str, str]) -> Interaction:
        """Somebody chooses in the menus of a modal, by action_id and value, and submits it. `ValueError` for what Slack
        lets nobody send: what is not offered, and less than is asked for."""
        values: JsonObject = {}
        for block in objects_of(view.body.get("blocks")):
            element = block.get("element")
            if block.get("type") != "input" or not isinstance(element, dict):
                continue
            action_id = text_of(element, "action_id")
            option = self._offered_option(view, element, chosen.get(action_id))
            if option is None and (action_id in chosen or block.get("optional") is not True):
                raise ValueError(f"{action_id!r}: {chosen.get(action_id)!r} is not offered")
            state: JsonObject = {"type": text_of(element, "type"), "selected_option": option}
            values[text_of(block, "block_id")] = {action_id: state}
        if unknown := chosen.keys() - {
            name for one in values.values() for name in (one if isinstance(one, dict) else ())
        }:
            raise ValueError(f"there is no menu {unknown}")
        return self.submit(view, values)

    def _offered_option(self, view: View, element: JsonObject, value: str | None) -> JsonObject | None:
        if element["type"] == "external_select":
            listed = self.offered(view, text_of(element, "action_id"))
            return next((one for one in listed if one.get("value") == value), None)
        return _option(element, value)

    def submit(self, view: View, values: JsonObject | None = None) -> Interaction:
        """Somebody submits a modal. `values` are `state.values`: block_id, then action_id. It closes unless the
        acknowledgement says otherwise."""
        with self.platform.lock:
            self.platform.views[view.id] = replace(view, closed=True)
            shown: JsonObject = {**view_json(self.platform, view), "state": {"values": values or {}}}
            who = self.platform.people[view.user_id]
            payload: JsonObject = {"type": "view_submission", "view": shown, "response_urls": []}
            return self._interact(self._bot_of(view), who, payload, view.id, accepts_payload=True)

    def close(self, view: View) -> Interaction | None:
        """Somebody dismisses a modal. The app is told where it asked for that."""
        with self.platform.lock:
            self.platform.views[view.id] = replace(view, closed=True)
            if view.body.get("notify_on_close") is not True:
                return None
            shown = view_json(self.platform, view)
            payload: JsonObject = {"type": "view_closed", "view": shown, "is_cleared": False}
            return self._interact(self._bot_of(view), self.platform.people[view.user_id], payload, None)

    def first_bot(self) -> Bot:
        return next(iter(self.platform.installations.values())).bot

    def _click_message(self, room: Room, ts: str, who: Person, action: JsonObject) -> Interaction:
        message = room.messages[ts]
        bot = next(one.bot for one in self.platform.installations.values() if one.bot.user_id == message.user_id)
        secret = self._response_url(bot, room, who, ts)
        container: JsonObject = {
            "type": "message",
            "message_ts": ts,
            "channel_id": room.channel.id,
            "is_ephemeral": False,
        }
        if message.thread_ts is not None:
            container["thread_ts"] = message.thread_ts
        where: JsonObject = {
            "container": container,
            "channel": _channel(room),
            "message": message_json(self.platform, room, message),
            "response_url": f"{self.platform.url}/hooks/{secret}",
        }
        return self._act(bot, who, action, where, None)

    def _act(self, bot: Bot, who: Person, action: JsonObject, where: JsonObject, view_id: str | None) -> Interaction:
        body: JsonObject = {**action, "action_ts": self.platform.new_ts()}
        payload: JsonObject = {"type": "block_actions", **where, "state": {"values": {}}, "actions": [body]}
        return self._interact(bot, who, payload, view_id)

    def _interact(
        self, bot: Bot, who: Person, payload: JsonObject, view_id: str | None, *, accepts_payload: bool = False
    ) -> Interaction:
        team = self.platform.teams[bot.team_id]
        full: JsonObject = {
            **payload,
            "user": {"id": who.id, "username": who.name, "name": who.name, "team_id": who.team_id},
            "api_app_id": bot.app_id,
            "token": "legacy-verification-token",
            "team": {"id": team.id, "domain": team.domain},
            "enterprise": None,
            "is_enterprise_install": False,
        }
        if payload["type"] not in {"view_closed", "block_suggestion"}:
            full["trigger_id"] = self._trigger(bot, who, view_id)
        delivery = self.platform.courier.add(bot.app_id, "interactive", full, accepts_payload=accepts_payload)
        return self._interaction(delivery)

    def _interaction(self, delivery: Delivery) -> Interaction:
        self.platform.changed()
        payload = delivery.payload
        return Interaction(
            delivery=delivery.number,
            trigger_id=text_of(payload, "trigger_id"),
            response_url=text_of(payload, "response_url"),
            user_id=text_of(payload, "user", "id") or text_of(payload, "user_id"),
            channel_id=text_of(payload, "channel", "id") or text_of(payload, "channel_id"),
        )

    def _trigger(self, bot: Bot, who: Person, view_id: str | None) -> str:
        trigger_id = f"{len(self.platform.triggers) + 1}.{bot.team_id[1:]}.{self.platform.new_secret('trigger')[:32]}"
        now = self.platform.clock()
        self.platform.triggers[trigger_id] = Trigger(bot.app_id, who.id, bot.team_id, now, view_id)
        return trigger_id

    def _response_url(
        self, bot: Bot, room: Room, who: Person, ts: str | None, *, ephemeral_ts: str | None = None
    ) -> str:
        secret = self.platform.new_secret("response")
        self.platform.response_urls[secret] = ResponseUrl(
            app_id=bot.app_id,
            team_id=bot.team_id,
            channel_id=room.channel.id,
            user_id=who.id,
            at=self.platform.clock(),
            ts=ts,
            ephemeral_ts=ephemeral_ts,
        )
        return secret

    def _bot_in(self, room: Room) -> Bot:
        for one in self.platform.installed(room.channel.team_id):
            if one.bot.user_id in room.members:
                return one.bot
        return self.first_bot()

    def _bot_of(self, view: View) -> Bot:
        team_id = self.platform.people[view.user_id].team_id
        return next(one.bot for one in self.platform.installed(team_id) if one.app.id == view.app_id)


def _channel(room: Room) -> JsonObject:
    return {"id": room.channel.id, "name": ROOM_NAMES.get(room.channel.kind, room.channel.name)}


def elements_of(blocks: list[JsonObject]) -> Iterator[tuple[str, JsonObject]]:
    """Every interactive element with the id of its block."""
    for block in blocks:
        listed: list[JsonValue] = [block.get("accessory"), block.get("element")]
        inner = block.get("elements")
        listed += inner if isinstance(inner, list) else []
        yield from ((text_of(block, "block_id"), one) for one in objects_of(listed) if "action_id" in one)


def _element(view: View, action_id: str) -> tuple[str, JsonObject]:
    for block_id, element in elements_of(objects_of(view.body.get("blocks"))):
        if element["action_id"] == action_id:
            return block_id, element
    raise ValueError(f"there is no element {action_id!r}")


def action_of(blocks: list[JsonObject], action_id: str, value: str | None) -> JsonObject:
    """The entry of `actions` for a click. `ValueError` where there is no such element or option."""
    for block_id, element in elements_of(blocks):
        if element["action_id"] != action_id:
            continue
        kind = text_of(element, "type")
        body: JsonObject = {"action_id": action_id, "block_id": block_id, "type": kind}
        if kind in {"button", "icon_button"} and (value is None or element.get("value") == value):
            kept = {name: element.get(name) for name in ("text", "value", "style")}
            return {**body, **present(kept)}
        if option := _option(element, value):
            return {
                **body,
                **({"value": option["value"]} if kind == "feedback_buttons" else {"selected_option": option}),
            }
    raise ValueError(f"there is no element {action_id!r} with the value {value!r} to click")


def _option(element: JsonObject, value: str | None) -> JsonObject | None:
    options: list[JsonValue] = [element.get("positive_button"), element.get("negative_button")]
    for group in [element, *objects_of(element.get("option_groups"))]:
        listed = group.get("options")
        options += listed if isinstance(listed, list) else []
    return next((one for one in objects_of(options) if one.get("value") == value), None)
