"""The queue of updates for getUpdates. Source: https://core.telegram.org/bots/api#getting-updates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.fakes.telegram.model import JsonObject

KEPT_S = 24 * 3600.0  # "Incoming updates are stored on the server [...] not longer than 24 hours"

UPDATE_KINDS = frozenset(
    [
        "message",
        "edited_message",
        "channel_post",
        "edited_channel_post",
        "business_connection",
        "business_message",
        "edited_business_message",
        "deleted_business_messages",
        "message_reaction",
        "message_reaction_count",
        "inline_query",
        "chosen_inline_result",
        "callback_query",
        "shipping_query",
        "pre_checkout_query",
        "purchased_paid_media",
        "poll",
        "poll_answer",
        "my_chat_member",
        "chat_member",
        "chat_join_request",
        "chat_boost",
        "removed_chat_boost",
        "managed_bot",
        "guest_message",
    ]
)
NOT_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})


@dataclass(frozen=True)
class _Waiting:
    update_id: int
    body: JsonObject
    at: float


class UpdateQueue:
    """Updates in the order of their ids. An update is delivered again and again until a higher offset confirms it."""

    def __init__(self, clock: Callable[[], float], first_update_id: int) -> None:
        self.allowed: frozenset[str] = UPDATE_KINDS - NOT_BY_DEFAULT
        self._clock = clock
        self._next_id = first_update_id
        self._pending: list[_Waiting] = []
        self._again: list[int] = []
        self._history: dict[int, JsonObject] = {}

    def add(self, kind: str, payload: JsonObject) -> int | None:
        """Queues an update of a known kind; None if the bot has not asked for this kind."""
        if kind not in self.allowed:
            return None
        return self.add_raw({kind: payload})

    def add_raw(self, body: JsonObject) -> int:
        """Queues whatever it is given, with the next id unless it has one of its own."""
        given = body.get("update_id")
        update_id = given if isinstance(given, int) else self._next_id
        self._next_id = max(self._next_id, update_id + 1)
        whole: JsonObject = {"update_id": update_id, **body}
        self._history[update_id] = whole
        self._pending.append(_Waiting(update_id, whole, self._clock()))
        self._pending.sort(key=lambda waiting: waiting.update_id)
        return update_id

    def redeliver(self, update_id: int) -> None:
        """The next answer that carries updates brings this one once more, whatever the offset."""
        if update_id not in self._history:
            raise KeyError(f"there never was an update {update_id}")
        self._again.append(update_id)

    def body(self, update_id: int) -> JsonObject:
        """Any update there ever was, confirmed or not."""
        return self._history[update_id]

    def allow(self, kinds: Sequence[str]) -> None:
        self.allowed = frozenset(kinds) or UPDATE_KINDS - NOT_BY_DEFAULT

    def confirms(self, offset: int) -> bool:
        """Would this offset make it forget anything?"""
        self._expire()
        return any(waiting.update_id < offset for waiting in self._pending)

    def confirm(self, offset: int) -> None:
        """Forgets what lies below the offset; a negative one keeps that many updates from the end."""
        self._expire()
        if offset < 0:
            self._pending = self._pending[offset:]
        elif offset > 0:
            self._pending = [waiting for waiting in self._pending if waiting.update_id >= offset]

    def take(self, limit: int) -> list[JsonObject]:
        """The first updates, which stay in the queue. Empty if there are none."""
        self._expire()
        bodies = [self._history[update_id] for update_id in self._again[:limit]]
        del self._again[:limit]
        return bodies + [waiting.body for waiting in self._pending[: limit - len(bodies)]]

    def delivered(self, update_id: int) -> None:
        """A webhook took it."""
        self._pending = [waiting for waiting in self._pending if waiting.update_id != update_id]

    def pending(self) -> list[JsonObject]:
        """All that waits, in the order of the ids."""
        self._expire()
        return [waiting.body for waiting in self._pending]

    def clear(self) -> None:
        self._pending.clear()
        self._again.clear()

    @property
    def waiting(self) -> bool:
        self._expire()
        return bool(self._pending or self._again)

    @property
    def unconfirmed(self) -> tuple[int, ...]:
        self._expire()
        return tuple(waiting.update_id for waiting in self._pending)

    def _expire(self) -> None:
        oldest = self._clock() - KEPT_S
        self._pending = [waiting for waiting in self._pending if waiting.at > oldest]
