"""How people press buttons, use commands and menus, and ask for suggestions."""

import secrets
from dataclasses import dataclass

from tests.fakes.discord import permissions as may
from tests.fakes.discord.acts import Acts
from tests.fakes.discord.commands import CHAT_INPUT, MESSAGE_MENU, USER_MENU, offered
from tests.fakes.discord.events import dispatch
from tests.fakes.discord.interaction_state import AUTOCOMPLETE, COMMAND, COMPONENT, MODAL, Interaction
from tests.fakes.discord.model import Channel, JsonObject, JsonValue, Message, User, objects
from tests.fakes.discord.platform import Account, Room
from tests.fakes.discord.wire import channel_json, member_json, message_json


@dataclass(frozen=True, kw_only=True)
class _Use:
    """What somebody does with a bot, before it is an interaction."""

    type: int
    account: Account
    user: User
    room: Room
    data: JsonObject
    source: Message | None = None


class Commanding(Acts):
    """Each act returns its interaction, which goes on changing while the bot answers."""

    def press(self, user: User, message: Message | int, custom_id: str, *, check: bool = True) -> Interaction:
        """Somebody presses a button. `check=False` allows one that the message doesn't have (any more)."""
        with self.platform.lock:
            found = self._found(message)
            if check and custom_id not in found.buttons:
                raise ValueError(f"message {found.id} has no button {custom_id!r}: {found.buttons}")
            if check and (found.deleted or (found.ephemeral and found.visible_to != user.id)):
                raise ValueError(f"{user.username} does not see message {found.id}")
            account = self._account(found.author)
            data: JsonObject = {"custom_id": custom_id, "component_type": 2, "id": 2}
            room = self.platform.rooms[found.channel_id]
            return self._use(_Use(type=COMPONENT, account=account, user=user, room=room, data=data, source=found))

    def command(
        self,
        user: User,
        channel: Channel,
        name: str,
        options: dict[str, JsonValue] | None = None,
        *,
        bot: User | None = None,
    ) -> Interaction:
        """Somebody uses a slash command that the bot has registered. Sub-commands: "group sub" as the name."""
        with self.platform.lock:
            account = self._account_or_first(bot)
            room = self.platform.rooms[channel.id]
            command, path = self._registered(account, room, name.split())
            self._refuse_forbidden(user, room, command)
            given = [self._option(command, path, key, value) for key, value in (options or {}).items()]
            self._refuse_incomplete(command, path, options or {})
            data = self._command_data(command, path, given)
            return self._use(_Use(type=COMMAND, account=account, user=user, room=room, data=data))

    def autocomplete(
        self, user: User, channel: Channel, name: str, focused: str, text: str, *, bot: User | None = None
    ) -> Interaction:
        """Somebody types into an option; `choices` of the interaction are what is suggested."""
        with self.platform.lock:
            account = self._account_or_first(bot)
            room = self.platform.rooms[channel.id]
            command, path = self._registered(account, room, name.split())
            option = self._option(command, path, focused, text)
            if not self._declared(command, path, focused).get("autocomplete"):
                raise ValueError(f"{focused} of /{name} has no suggestions")
            data = self._command_data(command, path, [option | {"focused": True}])
            return self._use(_Use(type=AUTOCOMPLETE, account=account, user=user, room=room, data=data))

    def use_message_menu(self, user: User, message: Message, name: str, *, bot: User | None = None) -> Interaction:
        """Somebody picks a bot's entry in the menu of a message; its content comes along whatever the intents."""
        with self.platform.lock:
            account = self._account_or_first(bot)
            found = self._found(message)
            room = self.platform.rooms[found.channel_id]
            command = self._of_kind(account, room, name, MESSAGE_MENU)
            data: JsonObject = {"id": command["id"], "name": name, "type": MESSAGE_MENU, "target_id": str(found.id)}
            data["resolved"] = {"messages": {str(found.id): message_json(self.platform, found)}}
            return self._use(_Use(type=COMMAND, account=account, user=user, room=room, data=data))

    def use_user_menu(
        self, user: User, channel: Channel, target: User, name: str, *, bot: User | None = None
    ) -> Interaction:
        with self.platform.lock:
            account = self._account_or_first(bot)
            room = self.platform.rooms[channel.id]
            command = self._of_kind(account, room, name, USER_MENU)
            data: JsonObject = {"id": command["id"], "name": name, "type": USER_MENU, "target_id": str(target.id)}
            data["resolved"] = {"users": {str(target.id): self.platform.users[target.id].json()}}
            return self._use(_Use(type=COMMAND, account=account, user=user, room=room, data=data))

    def submit(self, interaction: Interaction, values: dict[str, str]) -> Interaction:
        """Somebody fills the form that a bot opened as the answer to `interaction`."""
        with self.platform.lock:
            if interaction.modal is None:
                raise ValueError("no form was opened")
            rows: list[JsonValue] = [
                {"type": 1, "components": [{"type": 4, "custom_id": key, "value": value}]}
                for key, value in values.items()
            ]
            data: JsonObject = {"custom_id": interaction.modal["custom_id"], "components": rows}
            account = self._account(interaction.bot_id)
            user = self.platform.users[interaction.user_id]
            room = self.platform.rooms[interaction.channel_id]
            source = self.platform.find_message(interaction.message_id or 0)
            return self._use(_Use(type=MODAL, account=account, user=user, room=room, data=data, source=source))

    def _use(self, use: _Use) -> Interaction:
        account, room, user, source = use.account, use.room, use.user, use.source
        if not self.platform.sees(room, account.user_id) and room.guild_id is None:
            raise ValueError("the bot is not in this direct conversation")
        interaction = Interaction(
            id=self.platform.new_id(),
            token=f"aW50ZXJhY3Rpb246{secrets.token_urlsafe(60)}",
            type=use.type,
            bot_id=account.user_id,
            application_id=account.application_id,
            user_id=user.id,
            channel_id=room.id,
            guild_id=room.guild_id,
            data=use.data,
            made_at=self.platform.clock(),
            message_id=None if source is None else source.id,
        )
        self.platform.interactions[interaction.id] = interaction
        body = self._body(interaction, user, room, source)
        interaction.delivered = dispatch(
            self.platform, account, "INTERACTION_CREATE", body, intent=0, guild_id=room.guild_id
        )
        return interaction

    def _body(self, interaction: Interaction, user: User, room: Room, source: Message | None) -> JsonObject:
        guild = self.platform.guild_of(room)
        account = self.platform.account_of_user(interaction.bot_id)
        rights = str(self.platform.permissions(room, interaction.bot_id))
        body: JsonObject = {
            "id": str(interaction.id),
            "application_id": str(interaction.application_id),
            "type": interaction.type,
            "data": interaction.data,
            "channel_id": str(room.id),
            "channel": channel_json(self.platform, room, account),
            "token": interaction.token,
            "version": 1,
            "app_permissions": rights,
            "locale": "en-US",
            "entitlements": [],
            "entitlement_sku_ids": [],
            "authorizing_integration_owners": {"0": "0" if guild is None else str(guild.id)},
            "context": 1 if guild is None else 0,
            "attachment_size_limit": 10 * 1024 * 1024,
        }
        if source is not None:
            body["message"] = message_json(self.platform, source)
        who = self.platform.users[user.id]
        if guild is None:
            return body | {"user": who.json()}
        member = member_json(self.platform, guild.members[user.id])
        member["permissions"] = str(self.platform.permissions(room, user.id))
        shown: JsonObject = {"id": str(guild.id), "locale": "en-US", "features": []}
        return body | {"guild_id": str(guild.id), "guild": shown, "guild_locale": "en-US", "member": member}

    def _account_or_first(self, bot: User | None) -> Account:
        return self.platform.accounts[0] if bot is None else self._account(bot)

    def _found(self, message: Message | int) -> Message:
        found = self.platform.find_message(message if isinstance(message, int) else message.id)
        if found is None:
            raise KeyError(f"there is no message {message}")
        return found

    def _of_kind(self, account: Account, room: Room, name: str, kind: int) -> JsonObject:
        for command in offered(account, room.guild_id):
            if (command["name"], command["type"]) == (name, kind):
                return command
        known = [command["name"] for command in offered(account, room.guild_id)]
        raise ValueError(f"nobody offers {name!r} here, only {known}")

    def _registered(self, account: Account, room: Room, words: list[str]) -> tuple[JsonObject, list[str]]:
        return self._of_kind(account, room, words[0], CHAT_INPUT), words[1:]

    def _declared(self, command: JsonObject, path: list[str], name: str) -> JsonObject:
        inner = objects(command.get("options"))
        for word in path:
            inner = next(objects(one.get("options")) for one in inner if one["name"] == word)
        for option in inner:
            if option["name"] == name:
                return option
        raise ValueError(f"/{command['name']} has no option {name!r}")

    def _option(self, command: JsonObject, path: list[str], name: str, value: JsonValue) -> JsonObject:
        declared = self._declared(command, path, name)
        choices = [choice["value"] for choice in objects(declared.get("choices"))]
        if choices and value not in choices:
            raise ValueError(f"{value!r} is none of {choices}")
        return {"name": name, "type": declared["type"], "value": value}

    def _refuse_forbidden(self, user: User, room: Room, command: JsonObject) -> None:
        wanted = command.get("default_member_permissions")
        bits = self.platform.permissions(room, user.id)
        hidden = wanted is not None and (bits & int(str(wanted)) != int(str(wanted)) or int(str(wanted)) == 0)
        if room.guild_id is not None and hidden and not bits & may.ADMINISTRATOR:
            raise ValueError(f"{user.username} may not use /{command['name']}")

    def _refuse_incomplete(self, command: JsonObject, path: list[str], given: dict[str, JsonValue]) -> None:
        inner = objects(command.get("options"))
        for word in path:
            inner = next(objects(one.get("options")) for one in inner if one["name"] == word)
        missing = [one["name"] for one in inner if one.get("required") and one["name"] not in given]
        if missing:
            raise ValueError(f"/{command['name']} needs {missing}")

    def _command_data(self, command: JsonObject, path: list[str], given: list[JsonObject]) -> JsonObject:
        options: list[JsonValue] = list(given)
        for depth, word in reversed(list(enumerate(path))):
            kind = 1 if depth == len(path) - 1 else 2
            options = [{"name": word, "type": kind, "options": options}]
        data: JsonObject = {"id": command["id"], "name": command["name"], "type": CHAT_INPUT, "options": options}
        return data | ({"guild_id": command["guild_id"]} if "guild_id" in command else {})
