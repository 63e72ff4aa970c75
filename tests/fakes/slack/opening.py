"""How tests make people open the app's places: its Home tab, its direct messages, the assistant pane.

Source: https://docs.slack.dev/reference/events/app_home_opened, .../assistant_thread_started,
.../assistant_thread_context_changed.
"""

from dataclasses import replace

from tests.fakes.slack.assistant import new_thread
from tests.fakes.slack.clicking import Clicks
from tests.fakes.slack.delivery import Delivery
from tests.fakes.slack.events import tell
from tests.fakes.slack.model import Bot, Channel, JsonObject, Person, Reaction, Said, present
from tests.fakes.slack.records import Installation
from tests.fakes.slack.streams import finish
from tests.fakes.slack.views import home_of, view_json


class Openings(Clicks):
    """The acts around Home, assistant threads, streams and reactions."""

    def open_home(self, who: Person, *, tab: str = "home", bot: Bot | None = None) -> Delivery | None:
        """Somebody opens the app. `tab` is "home" or "messages"."""
        with self.platform.lock:
            installation = self._with(bot)
            room = self.platform.im(who.id, installation.bot.user_id)
            view = home_of(self.platform, installation.app.id, who.id)
            event: JsonObject = {
                "type": "app_home_opened",
                "user": who.id,
                "channel": room.channel.id,
                "tab": tab,
                "event_ts": self.platform.new_ts(),
            }
            if view is not None and tab == "home":
                event["view"] = view_json(self.platform, view)
            return tell(self.platform, installation, event)

    def open_assistant(self, who: Person, *, viewing: Channel | None = None, bot: Bot | None = None) -> Said:
        """Somebody opens the assistant pane (`viewing`: the channel behind it): a new thread in the direct messages.
        Answer there, and say with `thread=` what it returned."""
        with self.platform.lock:
            installation = self._with(bot)
            room = self.platform.im(who.id, installation.bot.user_id)
            root = new_thread(self.platform, room, installation)
            told = self._tell_assistant(installation, who, root.ts, viewing, "assistant_thread_started")
            return Said(channel_id=room.channel.id, ts=root.ts, event_ids=told)

    def look_elsewhere(self, who: Person, thread: Said, viewing: Channel, *, bot: Bot | None = None) -> Said:
        """Somebody goes to another channel while the pane stays open."""
        with self.platform.lock:
            installation = self._with(bot)
            told = self._tell_assistant(installation, who, thread.ts, viewing, "assistant_thread_context_changed")
            return replace(thread, event_ids=told)

    def pick_prompt(self, who: Person, thread: Said, title: str) -> Said:
        """Somebody picks one of the prompts that are offered in the thread. `ValueError` if it is not offered."""
        with self.platform.lock:
            for offered in reversed(self.platform.prompts):
                if (offered.channel_id, offered.thread_ts) == (thread.channel_id, thread.ts):
                    found = dict(offered.prompts).get(title)
                    break
            else:
                found = None
            if found is None:
                raise ValueError(f"no prompt {title!r} is offered in {thread.ts}")
            return self.say(thread.channel_id, who, found, thread=thread)

    def stop_stream(self, channel: Channel | str, ts: str) -> None:
        """The person presses stop: what is appended from now on is refused with stopped_by_user."""
        with self.platform.lock:
            stream = self.platform.streams[channel if isinstance(channel, str) else channel.id, ts]
            stream.stopped_by_user = True
            self.platform.changed()

    def end_stream(self, channel: Channel | str, ts: str) -> None:
        """Slack ends the stream by itself, as it does with old ones."""
        with self.platform.lock:
            room = self.platform.rooms[channel if isinstance(channel, str) else channel.id]
            stream = self.platform.streams[room.channel.id, ts]
            stream.stopped_at = self.platform.clock()
            finish(self.platform, room, stream, None)
            self.platform.changed()

    def react(self, channel: Channel | str, ts: str | Said, who: Person, name: str) -> None:
        """Somebody reacts to a message: reaction_added, where the app may read reactions."""
        with self.platform.lock:
            room = self.platform.rooms[channel if isinstance(channel, str) else channel.id]
            message = room.messages[ts if isinstance(ts, str) else ts.ts]
            reaction = Reaction(name=name, user_id=who.id)
            room.messages[message.ts] = replace(message, reactions=(*message.reactions, reaction))
            event: JsonObject = {
                "type": "reaction_added",
                "user": who.id,
                "reaction": name,
                "item_user": message.user_id,
                "item": {"type": "message", "channel": room.channel.id, "ts": message.ts},
                "event_ts": self.platform.new_ts(),
            }
            for one in self.platform.installed(room.channel.team_id):
                if one.bot.user_id in room.members and "reactions:read" in one.scopes:
                    tell(self.platform, one, event)

    def _tell_assistant(
        self, installation: Installation, who: Person, thread_ts: str, viewing: Channel | None, kind: str
    ) -> tuple[str, ...]:
        if "assistant:write" not in installation.scopes or installation.app.surface != "assistant":
            return ()
        team = self.platform.teams[installation.bot.team_id]
        context: JsonObject = {"force_search": False}
        if viewing is not None:
            context = {
                "channel_id": viewing.id,
                "team_id": team.id,
                "enterprise_id": team.enterprise_id,
                "thread_entry_point": "app_icon",
            }
        room = self.platform.im(who.id, installation.bot.user_id)
        event: JsonObject = {
            "type": kind,
            "assistant_thread": {
                "user_id": who.id,
                "context": present(context),
                "channel_id": room.channel.id,
                "thread_ts": thread_ts,
            },
            "event_ts": self.platform.new_ts(),
        }
        delivery = tell(self.platform, installation, event)
        return () if delivery is None else (delivery.event_id,)

    def _with(self, bot: Bot | None) -> Installation:
        return self.platform.installations[(bot or self.first_bot()).token]
