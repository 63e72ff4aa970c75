"""How tests make people act. Every method is thread-safe and wakes a waiting poll."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from tests.fakes.telegram.chats import member_json
from tests.fakes.telegram.markup import callback_values
from tests.fakes.telegram.messages import GENERAL
from tests.fakes.telegram.model import (
    CHANNEL_BOT_ID,
    GROUP_ANONYMOUS_BOT_ID,
    SERVICE_ACCOUNT_ID,
    Chat,
    Edit,
    Entity,
    JsonObject,
    Message,
    Said,
    User,
)
from tests.fakes.telegram.platform import Platform, Room
from tests.fakes.telegram.text import finished_text

SUPERGROUP_BASE = -1_000_000_000_000


class MessageOptions(TypedDict, total=False):
    """`date` is in Unix seconds. `extra` holds further fields of the Message object, such as "photo" or "quote".

    A thread id that the chat does not know yet becomes known. `is_topic_message` defaults to whether the chat is a
    forum or private. In a forum's topic, what replies to nothing replies to the message that opened the topic.
    """

    entities: Sequence[Entity]
    reply_to: int
    date: int
    message_thread_id: int
    is_topic_message: bool
    extra: JsonObject


class People:
    """The acts of people, administrators, channels and other bots."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self._last_user_id = 5_000_000_000  # above 2^32, as real ids are
        self._last_group_id = 4_000
        self._last_callback_id = 0

    @property
    def bot(self) -> User:
        """Our own bot."""
        return self.platform.bot

    def user(
        self,
        first_name: str = "Ada",
        *,
        username: str | None = None,
        is_bot: bool = False,
        language_code: str | None = "en",
        id: int | None = None,
    ) -> User:
        with self.platform.lock:
            self._last_user_id += 1
            user_id = self._last_user_id if id is None else id
            user = User(
                id=user_id, first_name=first_name, username=username, is_bot=is_bot, language_code=language_code
            )
            self.platform.users[user_id] = user
            return user

    def private(self, user: User) -> Chat:
        """The private chat with a user who has started the bot."""
        chat = Chat(id=user.id, type="private", first_name=user.first_name, username=user.username)
        with self.platform.lock:
            return self.platform.add_room(chat).chat

    def group(self, title: str = "Group", *, supergroup: bool = True, forum: bool = False) -> Chat:
        """A group that our bot is a member of."""
        with self.platform.lock:
            self._last_group_id += 1
            base = SUPERGROUP_BASE if supergroup else 0
            chat = Chat(
                id=base - self._last_group_id,
                type="supergroup" if supergroup else "group",
                title=title,
                is_forum=forum,
            )
            self.platform.add_room(chat).statuses[self.bot.id] = "member"
            return chat

    def channel(self, title: str = "Channel", *, username: str | None = None) -> Chat:
        """A channel in which our bot is an administrator."""
        with self.platform.lock:
            self._last_group_id += 1
            chat = Chat(id=SUPERGROUP_BASE - self._last_group_id, type="channel", title=title, username=username)
            self.platform.add_room(chat).statuses[self.bot.id] = "administrator"
            return chat

    def topic(self, chat: Chat, user: User, name: str = "Topic") -> int:
        """A new forum topic; returns its message_thread_id."""
        body: JsonObject = {"forum_topic_created": {"name": name, "icon_color": 7322096}}
        with self.platform.lock:
            room = self.platform.room(chat.id)
            room.last_message_id = max(room.last_message_id, GENERAL)
            thread_id = room.last_message_id + 1
            room.threads.add(thread_id)
            self.service(chat, user, body, message_thread_id=thread_id, reply_to=0)
            return thread_id

    def say(self, chat: Chat, user: User, text: str | None, **options: Unpack[MessageOptions]) -> Said:
        """Somebody writes. Commands, mentions, hashtags and links in the text get their entities by themselves."""
        with self.platform.lock:
            self.platform.room(chat.id).statuses.setdefault(user.id, "member")
        return self.posted(chat, self.draft_of(chat, text, options, sender=user))

    def say_anonymously(self, group: Chat, text: str, **options: Unpack[MessageOptions]) -> Said:
        """An anonymous administrator writes: GroupAnonymousBot with the group as sender_chat."""
        sender = User(id=GROUP_ANONYMOUS_BOT_ID, first_name="Group", username="GroupAnonymousBot", is_bot=True)
        return self.posted(group, self.draft_of(group, text, options, sender=sender, sender_chat=group))

    def say_as_channel(self, group: Chat, channel: Chat, text: str, **options: Unpack[MessageOptions]) -> Said:
        """Somebody writes in a group on behalf of a channel: Channel Bot with the channel as sender_chat."""
        sender = User(id=CHANNEL_BOT_ID, first_name="Channel", username="Channel_Bot", is_bot=True)
        return self.posted(group, self.draft_of(group, text, options, sender=sender, sender_chat=channel))

    def say_without_from(self, chat: Chat, sender_chat: Chat, text: str, **options: Unpack[MessageOptions]) -> Said:
        """A message that has a sender_chat and no `from`."""
        return self.posted(chat, self.draft_of(chat, text, options, sender_chat=sender_chat))

    def channel_post(self, channel: Chat, text: str, **options: Unpack[MessageOptions]) -> Said:
        return self.posted(channel, self.draft_of(channel, text, options, sender_chat=channel))

    def auto_forward(self, group: Chat, channel: Chat, text: str, **options: Unpack[MessageOptions]) -> Said:
        """A channel post arrives in the linked discussion group, from the account 777000."""
        sender = User(id=SERVICE_ACCOUNT_ID, first_name="Telegram")
        message = self.draft_of(group, text, options, sender=sender, sender_chat=channel)
        origin: JsonObject = {"type": "channel", "chat": channel.json(), "message_id": 1, "date": message.date}
        extra: JsonObject = {"is_automatic_forward": True, "forward_origin": origin}
        return self.posted(group, replace(message, extra={**extra, **message.extra}))

    def service(self, chat: Chat, user: User | None, body: JsonObject, **options: Unpack[MessageOptions]) -> Said:
        """A service message, such as {"pinned_message": ...} or {"new_chat_title": ...}."""
        message = self.draft_of(chat, None, options, sender=user)
        return self.posted(chat, replace(message, extra={**message.extra, **body}))

    def join(self, chat: Chat, user: User) -> Said:
        with self.platform.lock:
            self.platform.room(chat.id).statuses[user.id] = "member"
        return self.service(chat, user, {"new_chat_members": [user.json()]})

    def leave(self, chat: Chat, user: User) -> Said:
        with self.platform.lock:
            self.platform.room(chat.id).statuses[user.id] = "left"
        return self.service(chat, user, {"left_chat_member": user.json()})

    def pin(self, chat: Chat, user: User, message_id: int) -> Said:
        with self.platform.lock:
            pinned = self.platform.message_json(self.platform.room(chat.id).messages[message_id], deep=False)
            return self.service(chat, user, {"pinned_message": pinned})

    def edit(self, chat: Chat, message_id: int, text: str, entities: Sequence[Entity] = ()) -> Said:
        """Somebody changes a message that was said before."""
        with self.platform.lock:
            room = self.platform.room(chat.id)
            message = room.messages[message_id]
            before = Edit(text=message.text or "", entities=message.entities, at=self.platform.clock())
            new_text, new_entities = finished_text(text, entities)
            edited = replace(
                message,
                text=new_text,
                entities=new_entities,
                edits=(*message.edits, before),
                edit_date=self.platform.date(),
            )
            room.messages[message_id] = edited
            kind = "edited_channel_post" if chat.type == "channel" else "edited_message"
            return Said(update_id=self._update(kind, self.platform.message_json(edited)), message_id=message_id)

    def delete(self, chat: Chat, message_id: int) -> None:
        """A message disappears. Bots are not told."""
        with self.platform.lock:
            room = self.platform.room(chat.id)
            room.messages[message_id] = replace(room.messages[message_id], deleted=True)
            self.platform.changed()

    def press(self, chat: Chat, user: User, message_id: int, data: str, *, check: bool = True) -> Said:
        """Somebody presses a button of the bot's message. `check=False` allows data that no button carries."""
        with self.platform.lock:
            message = self.platform.room(chat.id).messages[message_id]
            if check and data not in callback_values(message.reply_markup):
                raise ValueError(f"message {message_id} has no button with the data {data!r}")
            self._last_callback_id += 1
            body: JsonObject = {
                "id": str(4_382_000_000_000_000_000 + self._last_callback_id),
                "from": user.json(),
                "message": self.platform.message_json(message),
                "chat_instance": str(-chat.id * 7919),
                "data": data,
            }
            if message.deleted:
                body["message"] = {"chat": chat.json(), "message_id": message_id, "date": 0}
            self.platform.callbacks[str(body["id"])] = body
            return Said(update_id=self._update("callback_query", body), message_id=message_id)

    def react(self, chat: Chat, user: User, message_id: int, emoji: str) -> Said:
        body: JsonObject = {
            "chat": chat.json(),
            "message_id": message_id,
            "user": user.json(),
            "date": self.platform.date(),
            "old_reaction": [],
            "new_reaction": [{"type": "emoji", "emoji": emoji}],
        }
        return Said(update_id=self._update("message_reaction", body), message_id=message_id)

    def block(self, user: User) -> int | None:
        """The user blocks the bot: my_chat_member, and 403 from now on."""
        return self._member(self.platform.room(user.id), user, "kicked")

    def unblock(self, user: User) -> int | None:
        return self._member(self.platform.room(user.id), user, "member")

    def kick(self, chat: Chat, by: User) -> int | None:
        """Our bot is removed from a group or channel: my_chat_member, and 403 from now on."""
        return self._member(self.platform.room(chat.id), by, "kicked")

    def set_status(self, chat: Chat, by: User, status: str) -> int | None:
        """Our bot becomes "member", "administrator", "restricted", "left" or "kicked" in the chat."""
        return self._member(self.platform.room(chat.id), by, status)

    def appoint(self, chat: Chat, user: User, status: str = "administrator") -> None:
        """Sets somebody's status for getChatMember and getChatAdministrators, without an update."""
        with self.platform.lock:
            self.platform.room(chat.id).statuses[user.id] = status

    def migrate(self, group: Chat, by: User) -> Chat:
        """A basic group becomes a supergroup, with service messages on both sides. Returns the new chat."""
        with self.platform.lock:
            room = self.platform.room(group.id)
            supergroup = self.group(group.title or "", supergroup=True)
            self.platform.room(supergroup.id).statuses.update(room.statuses)
            self.service(group, by, {"migrate_to_chat_id": supergroup.id})
            room.migrated_to = supergroup.id
            self.service(supergroup, by, {"migrate_from_chat_id": group.id})
            return supergroup

    def raw(self, update: JsonObject) -> int:
        """Any object at all as an update; it gets the next update_id unless it brings one."""
        with self.platform.lock:
            update_id = self.platform.updates.add_raw(update)
            self.platform.changed()
            return update_id

    def redeliver(self, update_id: int) -> None:
        """The next getUpdates that answers brings this update once more, although it was confirmed."""
        with self.platform.lock:
            self.platform.updates.redeliver(update_id)
            self.platform.changed()

    def _member(self, room: Room, by: User, status: str) -> int | None:
        with self.platform.lock:
            old = self.platform.status_of(room, self.bot.id)
            room.statuses[self.bot.id] = status
            room.blocked = room.chat.type == "private" and status == "kicked"
            room.bot_removed = room.chat.type != "private" and status in {"kicked", "left"}
            body: JsonObject = {
                "chat": room.chat.json(),
                "from": by.json(),
                "date": self.platform.date(),
                "old_chat_member": member_json(self.platform, room, self.bot.id, old),
                "new_chat_member": member_json(self.platform, room, self.bot.id, status),
            }
            return self._update("my_chat_member", body)

    def draft_of(
        self,
        chat: Chat,
        text: str | None,
        options: MessageOptions,
        *,
        sender: User | None = None,
        sender_chat: Chat | None = None,
    ) -> Message:
        thread_id = options.get("message_thread_id")
        in_topic = options.get("is_topic_message", thread_id is not None and (chat.is_forum or chat.type == "private"))
        body, entities = (None, ()) if text is None else finished_text(text, options.get("entities", ()))
        return Message(
            chat_id=chat.id,
            message_id=0,
            date=options.get("date", self.platform.date()),
            at=self.platform.clock(),
            text=body,
            entities=entities,
            sender=sender,
            sender_chat=sender_chat,
            reply_to=options.get("reply_to", thread_id if in_topic and chat.is_forum else None),
            thread_id=thread_id,
            is_topic_message=in_topic,
            extra=options.get("extra", {}),
        )

    def posted(self, chat: Chat, message: Message) -> Said:
        with self.platform.lock:
            room = self.platform.room(chat.id)
            if message.thread_id is not None:
                room.threads.add(message.thread_id)
            kept = self.platform.post(room, message)
            kind = "channel_post" if chat.type == "channel" else "message"
            return Said(
                update_id=self._update(kind, self.platform.message_json(kept)),
                message_id=kept.message_id,
            )

    def _update(self, kind: str, payload: JsonObject) -> int | None:
        with self.platform.lock:
            update_id = self.platform.updates.add(kind, payload)
            self.platform.changed()
            return update_id
