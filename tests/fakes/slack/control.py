"""The control surface that tests hold: on top of the cast, faults, sockets, deliveries and the record."""

import json
from typing import TypedDict, Unpack

from tests.fakes.faults import Answer, Delay, Drop, Effect, Fault, Hang
from tests.fakes.slack.cast import Cast
from tests.fakes.slack.delivery import Delivery, Kind
from tests.fakes.slack.events import tell
from tests.fakes.slack.model import Bot, Interaction, JsonObject, JsonValue, Said
from tests.fakes.slack.posting import Signing, request_of
from tests.fakes.slack.rates import Injected, RateLimits
from tests.fakes.slack.records import App
from tests.fakes.slack.sockets import Close, Ping, Socket, goodbye, live_sockets


class Where(TypedDict, total=False):
    """Which calls a fault hits: in one channel only, how many of them (None: all), after how many that pass."""

    channel: str | None
    count: int | None
    after: int


class Faults(Cast):
    """What a test may do to the wire."""

    def answer(
        self, method: str, status: int, body: JsonValue | bytes, *, content_type: str = "", **where: Unpack[Where]
    ) -> Fault:
        """Calls of the method ("*": any) get this answer and have no effect. Bytes go out as they are."""
        raw = isinstance(body, bytes)
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = content_type or ("text/html" if raw else "application/json")
        return self._fault(method, Answer(status=status, body=payload, content_type=kind), where)

    def error(self, method: str, error: str, **where: Unpack[Where]) -> Fault:
        """Slack's own refusal, such as "fatal_error" or "internal_error", without an effect."""
        return self.answer(method, 200, {"ok": False, "error": error}, **where)

    def drop(self, method: str, *, applied: bool, **where: Unpack[Where]) -> Fault:
        """The connection is reset without an answer: after the call took effect (`applied`) or instead of it."""
        return self._fault(method, Drop(applied=applied), where)

    def delay(
        self, method: str, seconds: float | None = None, *, applied: bool = True, **where: Unpack[Where]
    ) -> Fault:
        """The answer comes after `seconds` of the server's clock, or at `release()`. See `Delay`."""
        return self._fault(method, Delay(seconds=seconds, applied=applied), where)

    def hang(self, method: str, *, applied: bool = False, **where: Unpack[Where]) -> Fault:
        """The connection stays open and no answer ever comes; `release()` cuts it."""
        return self._fault(method, Hang(applied=applied), where)

    def rate_limit(self, method: str, retry_after: int, *, channel: str | None = None, after: int = 0) -> None:
        """One 429 after `after` more calls; again 429 for whoever calls before `retry_after` seconds are over."""
        with self.platform.lock:
            self.platform.rates.inject(Injected(method=method, channel=channel, retry_after_s=retry_after, after=after))

    def set_limits(self, limits: RateLimits | None) -> None:
        with self.platform.lock:
            self.platform.rates.limits = limits

    def clear_faults(self) -> None:
        """Takes every fault and injected 429 away and releases the calls that are being held."""
        with self.platform.lock:
            self.platform.faults.clear()
            self.platform.rates.clear()

    def _fault(self, method: str, effect: Effect, where: Where) -> Fault:
        with self.platform.lock:
            fault = Fault(
                method=method,
                effect=effect,
                on_change=self.platform.changed,
                place=where.get("channel"),
                count=where.get("count", 1),
                after=where.get("after", 0),
            )
            return self.platform.faults.add(fault)


class Wires(Faults):
    """Sockets, request URLs and deliveries."""

    def sockets(self, bot: Bot | None = None) -> tuple[Socket, ...]:
        """The open sockets of the app, oldest first; those that were told to go are not among them."""
        with self.platform.lock:
            return tuple(live_sockets(self.platform, (bot or self.bot).app_id))

    def connected(self, count: int = 1, bot: Bot | None = None) -> bool:
        """Whether so many sockets are open."""
        return len(self.sockets(bot)) == count

    def disconnect(
        self,
        reason: str = "refresh_requested",
        *,
        close: bool = False,
        only: Socket | None = None,
        bot: Bot | None = None,
    ) -> None:
        """Every socket of the app, or `only` one, gets `disconnect` with "warning", "refresh_requested" or
        "link_disabled", which turns Socket Mode off (`app().socket_mode`). `close` closes the connection as well, as
        Slack does some seconds later."""
        with self.platform.lock:
            if reason == "link_disabled":
                self.app(bot).socket_mode = False
            for socket in self._sockets(only, bot):
                goodbye(socket, reason)
                if close or reason == "link_disabled":
                    socket.put(Close())

    def cut_sockets(self, *, only: Socket | None = None, bot: Bot | None = None) -> None:
        """The connections are reset."""
        with self.platform.lock:
            for socket in self._sockets(only, bot):
                socket.leaving = True
                socket.put(Close(abort=True))

    def lose_acks(self, lost: bool) -> None:
        """While it does, no acknowledgement on a socket arrives; all else does."""
        with self.platform.lock:
            self.platform.acks_lost = lost

    def silence(self, *, only: Socket | None = None, bot: Bot | None = None) -> tuple[Socket, ...]:
        """The open sockets are half-dead from now on: nothing goes out, not even pongs, and what comes in is lost.
        Envelopes still go to them and are tried again when nobody acknowledges. Returns them, to end it."""
        with self.platform.lock:
            silenced = self._sockets(only, bot)
            for socket in silenced:
                socket.silent = True
            return silenced

    def _sockets(self, only: Socket | None, bot: Bot | None) -> tuple[Socket, ...]:
        return self.sockets(bot) if only is None else (only,)

    def ping(self, bot: Bot | None = None) -> None:
        """Slack's ping frame to each socket; `Socket.pongs` counts the answers."""
        with self.platform.lock:
            for socket in self.sockets(bot):
                socket.put(Ping("Ping from applink-test"))

    def use_http(
        self,
        url: str,
        *,
        commands: str | None = None,
        interactivity: str | None = None,
        options: str | None = None,
        bot: Bot | None = None,
    ) -> Delivery:
        """The app takes events at this URL instead of sockets; commands, interactions and what menus ask for there too,
        unless they have URLs of their own. Slack verifies the first: `app().request_url_verified`."""
        with self.platform.lock:
            app = self.app(bot)
            app.socket_mode, app.request_url = False, url
            app.command_url, app.interactivity_url, app.options_url = commands, interactivity, options
            challenge = self.platform.new_secret("challenge")
            payload: JsonObject = {
                "token": "legacy-verification-token",
                "challenge": challenge,
                "type": "url_verification",
            }
            delivery = self.platform.courier.add(app.id, "url_verification", payload)
            self.platform.changed()
            return delivery

    def request(self, delivery: Delivery | int, signing: Signing | None = None) -> tuple[dict[str, str], bytes]:
        """Headers and body with which Slack would post this delivery now: to forge, to age, to replay."""
        with self.platform.lock:
            found = self.platform.courier.deliveries[delivery] if isinstance(delivery, int) else delivery
            return request_of(self._app_of(found), found, self.platform.clock(), signing or Signing())

    def redeliver(self, delivery: Delivery | Said | str) -> None:
        """The event comes once more although it was acknowledged, as a retry with its own event_id."""
        with self.platform.lock:
            if isinstance(delivery, Delivery):
                found = [delivery]
            else:
                found = self._of(delivery) if isinstance(delivery, Said) else [self.delivery(delivery)]
            for one in found:
                self.platform.courier.again(one)
            self.platform.changed()

    def send_event(self, event: JsonObject, bot: Bot | None = None) -> Delivery:
        """Any event at all, in the outer shape of the Events API."""
        with self.platform.lock:
            delivery = tell(self.platform, self._installation(bot), event)
            if delivery is None:
                raise ValueError("the bot's token does not work: it is told nothing")
            return delivery

    def raw(self, kind: Kind, payload: JsonObject, bot: Bot | None = None) -> Delivery:
        """Any object at all as what an envelope of this kind brings."""
        with self.platform.lock:
            answered = kind in {"slash_commands", "interactive"}
            app_id = (bot or self.bot).app_id
            delivery = self.platform.courier.add(app_id, kind, payload, accepts_payload=answered)
            self.platform.changed()
            return delivery

    def delivery(self, which: Interaction | str | int) -> Delivery:
        """By interaction, event_id or number."""
        with self.platform.lock:
            if isinstance(which, Interaction):
                return self.platform.courier.deliveries[which.delivery]
            if isinstance(which, int):
                return self.platform.courier.deliveries[which]
            return next(one for one in self.platform.courier.deliveries if one.event_id == which)

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        """All events, commands and interactions so far, with their attempts and acknowledgements."""
        with self.platform.lock:
            return tuple(self.platform.courier.deliveries)

    def acked(self, what: Said | Interaction | None = None) -> bool:
        """Whether the app has acknowledged all deliveries of this act, or all there ever were."""
        with self.platform.lock:
            return all(one.state == "acked" for one in self._of(what))

    def settled(self, what: Said | Interaction | None = None) -> bool:
        """Whether nothing of it is on its way any more: acknowledged, or lost."""
        with self.platform.lock:
            return all(one.state in {"acked", "lost"} for one in self._of(what))

    def _of(self, what: Said | Interaction | None) -> list[Delivery]:
        if isinstance(what, Interaction):
            return [self.platform.courier.deliveries[what.delivery]]
        if isinstance(what, Said):
            return [one for one in self.platform.courier.deliveries if one.event_id in what.event_ids]
        return self.platform.courier.deliveries

    def _app_of(self, delivery: Delivery) -> App:
        return self.platform.apps[delivery.app_id]
