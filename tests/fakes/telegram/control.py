"""The control surface that tests hold: people, faults, and the record. Thread-safe throughout."""

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict, Unpack

from tests.fakes.faults import Answer, Delay, Drop, Effect, Fault, Hang
from tests.fakes.telegram.chats import commands_slot
from tests.fakes.telegram.flood import FloodLimits, Injected
from tests.fakes.telegram.model import Call, Chat, ChatView, JsonObject, JsonValue, Violation
from tests.fakes.telegram.platform import Platform
from tests.fakes.telegram.sharing import Sharing
from tests.secrets import keep

TOKEN = "7123456789:AAFrontdesk-loopback_test-token-000000"
USERNAME = "frontdesk_test_bot"


class Where(TypedDict, total=False):
    """Which calls a fault hits: in one chat only, how many of them (None: all), after how many that pass."""

    chat_id: int | None
    count: int | None
    after: int


class ServerOptions(TypedDict, total=False):
    """`limits=None` switches the platform's own flood limits off; injected floods still work. `local`: a server in
    local mode that keeps its files in this folder; it also serves them, as the web server beside it would."""

    token: str
    username: str
    clock: Callable[[], float]
    wall_clock: Callable[[], float]
    limits: FloodLimits | None
    local: Path | None


class Control(Sharing):
    """What a test may ask of, and do to, the platform."""

    def __init__(self, **options: Unpack[ServerOptions]) -> None:
        options.setdefault("token", TOKEN)
        options.setdefault("username", USERNAME)
        options.setdefault("limits", FloodLimits())
        keep(options["token"])
        super().__init__(Platform(**options))

    @property
    def token(self) -> str:
        with self.platform.lock:
            return self.platform.token

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every API call in the order of arrival, those that were refused or lost among them."""
        with self.platform.lock:
            return tuple(self.platform.journal.calls)

    def calls_of(self, method: str) -> tuple[Call, ...]:
        return tuple(call for call in self.calls if call.method.lower() == method.lower())

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Every documented limit or rule that the bot broke."""
        with self.platform.lock:
            return tuple(self.platform.journal.violations)

    def violations_of(self, rule: str) -> tuple[Violation, ...]:
        return tuple(violation for violation in self.violations if violation.rule == rule)

    def chat(self, chat: Chat | int) -> ChatView:
        """The chat as people see it now."""
        with self.platform.lock:
            room = self.platform.room(chat if isinstance(chat, int) else chat.id)
            return ChatView(
                chat=room.chat,
                messages=tuple(room.messages.values()),
                drafts=tuple(room.drafts),
                draft=self.platform.visible_draft(room),
                actions=tuple(room.actions),
            )

    @property
    def polling(self) -> bool:
        """Whether a getUpdates call is waiting for updates right now: the bot is up and has nothing to fetch."""
        with self.platform.lock:
            return self.platform.poll_number in self.platform.waiting_polls

    @property
    def unconfirmed(self) -> tuple[int, ...]:
        """The ids of the updates that no offset has confirmed yet (those that expired after 24 h left out)."""
        with self.platform.lock:
            return self.platform.updates.unconfirmed

    @property
    def answered_callbacks(self) -> tuple[JsonObject, ...]:
        """The parameters of every answerCallbackQuery that took effect."""
        with self.platform.lock:
            return tuple(self.platform.answered_callbacks)

    def commands(self, scope: JsonObject | None = None, language_code: str = "") -> JsonValue:
        """The command list that people are offered in this scope."""
        with self.platform.lock:
            return self.platform.commands.get(commands_slot(scope or {"type": "default"}, language_code), [])

    def webhook_post(self, update_id: int) -> tuple[dict[str, str], bytes]:
        """The headers and the body with which Telegram would post this update to the webhook that is set."""
        with self.platform.lock:
            headers = {"Content-Type": "application/json"}
            if self.platform.webhook.secret_token is not None:
                headers["X-Telegram-Bot-Api-Secret-Token"] = self.platform.webhook.secret_token
            return headers, json.dumps(self.platform.updates.body(update_id)).encode()

    def put_file(self, file_id: str, content: bytes) -> None:
        """Makes a file available to getFile and under /file/bot<token>/<file_id>."""
        with self.platform.lock:
            self.platform.files[file_id] = content

    def revoke(self, token: str | None = None) -> str:
        """The token is revoked and replaced; calls and polls with the old one get 401. Returns the new token."""
        with self.platform.lock:
            self.platform.token = keep(token or f"{self.bot.id}:AA{secrets.token_urlsafe(24)}")
            self.platform.changed()
            return self.platform.token

    def flood(self, chat: Chat | int | None, retry_after: int, *, after: int = 0, method: str | None = None) -> None:
        """One 429 after `after` more calls; again 429 for whoever calls before `retry_after` seconds are over.

        `chat=None` hits every chat. Without a method, messages and edits are hit.
        """
        chat_id = chat.id if isinstance(chat, Chat) else chat
        with self.platform.lock:
            self.platform.flood.inject(
                Injected(chat_id=chat_id, method=method and method.lower(), retry_after_s=retry_after, after=after)
            )

    def hold_offsets(self, held: bool) -> None:
        """While it does, a getUpdates that would confirm an update is not heard: it waits, and one whose client is gone
        has no effect."""
        with self.platform.lock:
            self.platform.offsets_held = held
        self.platform.changed()

    def set_limits(self, limits: FloodLimits | None) -> None:
        with self.platform.lock:
            self.platform.flood.limits = limits

    def answer(
        self, method: str, status: int, body: JsonValue | bytes, *, content_type: str = "", **where: Unpack[Where]
    ) -> Fault:
        """Calls of the method ("*": any) get this answer and have no effect. Bytes go out as they are."""
        raw = isinstance(body, bytes)
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        default = "text/html" if raw else "application/json"
        effect = Answer(status=status, body=payload, content_type=content_type or default)
        return self._fault(method, effect, where)

    def answer_error(
        self, method: str, code: int, description: str, *, retry_after: int | None = None, **where: Unpack[Where]
    ) -> Fault:
        """An error in the platform's JSON. A 429 without `retry_after` comes without parameters."""
        body: JsonObject = {"ok": False, "error_code": code, "description": description}
        if retry_after is not None:
            body["parameters"] = {"retry_after": retry_after}
        return self.answer(method, code, body, **where)

    def drop(self, method: str, *, applied: bool, **where: Unpack[Where]) -> Fault:
        """The connection is closed without an answer: after the call took effect (`applied`) or instead of it."""
        return self._fault(method, Drop(applied=applied), where)

    def delay(
        self, method: str, seconds: float | None = None, *, applied: bool = True, **where: Unpack[Where]
    ) -> Fault:
        """The answer comes after `seconds` of the server's clock, or at `release()`. See `Delay`."""
        return self._fault(method, Delay(seconds=seconds, applied=applied), where)

    def hang(self, method: str, *, applied: bool = False, **where: Unpack[Where]) -> Fault:
        """The connection stays open and no answer ever comes; `release()` cuts it."""
        return self._fault(method, Hang(applied=applied), where)

    def clear_faults(self) -> None:
        """Takes every fault and injected flood away and releases the calls that are being held."""
        with self.platform.lock:
            self.platform.faults.clear()
            self.platform.flood.clear()

    def _fault(self, method: str, effect: Effect, where: Where) -> Fault:
        with self.platform.lock:
            fault = Fault(
                method=method,
                effect=effect,
                on_change=self.platform.changed,
                place=where.get("chat_id"),
                count=where.get("count", 1),
                after=where.get("after", 0),
            )
            return self.platform.faults.add(fault)
