"""What a test may ask of the platform: what people see, and what the app did. Thread-safe throughout."""

from tests.fakes.slack.control import Wires
from tests.fakes.slack.model import (
    Bot,
    Call,
    Channel,
    Ephemeral,
    Message,
    Person,
    Problem,
    Prompts,
    Said,
    Status,
    Stream,
    Title,
    View,
)
from tests.fakes.slack.views import home_of


class Control(Wires):
    """All that a test holds."""

    def messages(self, channel: Channel | str, *, thread: str | Said | None = None) -> tuple[Message, ...]:
        """The messages that stand, oldest first: all of the channel, or a thread with its root."""
        with self.platform.lock:
            room = self.platform.rooms[channel if isinstance(channel, str) else channel.id]
            standing = [one for one in sorted(room.messages.values(), key=lambda one: one.ts) if not one.deleted]
            root = thread.ts if isinstance(thread, Said) else thread
            return tuple(one for one in standing if root is None or root in {one.ts, one.thread_ts})

    def message(self, channel: Channel | str, ts: str | Said) -> Message:
        """One message, though it be deleted. `KeyError` if there never was one."""
        with self.platform.lock:
            room = self.platform.rooms[channel if isinstance(channel, str) else channel.id]
            return room.messages[ts if isinstance(ts, str) else ts.ts]

    def from_bot(
        self, channel: Channel | str, *, thread: str | Said | None = None, bot: Bot | None = None
    ) -> tuple[Message, ...]:
        """What our bot said and what stands."""
        user_id = (bot or self.bot).user_id
        return tuple(one for one in self.messages(channel, thread=thread) if one.user_id == user_id)

    def bot_texts(
        self, channel: Channel | str, *, thread: str | Said | None = None, bot: Bot | None = None
    ) -> tuple[str, ...]:
        """Texts in Slack's form, as sent; of a finished stream its markdown."""
        return tuple(one.text for one in self.from_bot(channel, thread=thread, bot=bot))

    def pinged(self, who: Person | str) -> tuple[Message, ...]:
        """The messages of our bots that ping this person, or "here", "channel", "everyone"."""
        target = who if isinstance(who, str) else who.id
        with self.platform.lock:
            return tuple(
                message
                for room in self.platform.rooms.values()
                for message in room.messages.values()
                if message.app_id in self.platform.apps and target in message.pings
            )

    def ephemerals(self, who: Person | None = None) -> tuple[Ephemeral, ...]:
        """Those that are still shown; all, or those that one person sees."""
        with self.platform.lock:
            shown = (one for one in self.platform.ephemerals if not one.gone)
            return tuple(one for one in shown if who is None or one.user_id == who.id)

    def stream(self, channel: Channel | str, ts: str | Said) -> Stream:
        with self.platform.lock:
            channel_id = channel if isinstance(channel, str) else channel.id
            return self.platform.streams[channel_id, ts if isinstance(ts, str) else ts.ts]

    @property
    def streams(self) -> tuple[Stream, ...]:
        with self.platform.lock:
            return tuple(self.platform.streams.values())

    @property
    def statuses(self) -> tuple[Status, ...]:
        """Every assistant.threads.setStatus in order."""
        with self.platform.lock:
            return tuple(self.platform.statuses)

    def status(self, channel: Channel | str, thread: str | Said) -> str:
        """What people see under the thread now; empty if nothing."""
        with self.platform.lock:
            channel_id = channel if isinstance(channel, str) else channel.id
            return self.platform.visible_status(channel_id, thread if isinstance(thread, str) else thread.ts)

    @property
    def prompts(self) -> tuple[Prompts, ...]:
        with self.platform.lock:
            return tuple(self.platform.prompts)

    @property
    def titles(self) -> tuple[Title, ...]:
        with self.platform.lock:
            return tuple(self.platform.titles)

    def home(self, who: Person, bot: Bot | None = None) -> View | None:
        """What this person sees on the app's Home tab."""
        with self.platform.lock:
            return home_of(self.platform, (bot or self.bot).app_id, who.id)

    def modals(self, who: Person) -> tuple[View, ...]:
        """The open modals of this person, the lowest first."""
        with self.platform.lock:
            found = self.platform.views.values()
            return tuple(one for one in found if one.kind == "modal" and one.user_id == who.id and not one.closed)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call in the order of arrival, refused and lost ones too. Besides Slack's methods: "socket" (a
        handshake), "upload", "download", "response_url", "ack" (a payload in an acknowledgement)."""
        with self.platform.lock:
            return tuple(self.platform.journal.calls)

    def calls_of(self, method: str) -> tuple[Call, ...]:
        return tuple(call for call in self.calls if call.method == method)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every documented limit or rule that the app broke."""
        with self.platform.lock:
            return tuple(self.platform.journal.problems)

    def problems_of(self, rule: str) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.rule == rule)
