"""The control surface that tests hold: the script, the gates, and the record. Thread-safe throughout."""

from typing import TypedDict, Unpack

from tests.fakes.models.provider import Latch, Provider
from tests.fakes.models.record import Request
from tests.fakes.models.replies import Part, Reply
from tests.fakes.models.script import Rule, When
from tests.secrets import keep

KEY = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz"
CONTEXT_TOKENS = 200_000  # https://docs.claude.com/en/docs/build-with-claude/context-windows


class ServerOptions(TypedDict, total=False):
    """`context_tokens=None`: no limit. `models=None`: every name is accepted; else others get 404."""

    key: str
    context_tokens: int | None
    models: tuple[str, ...] | None


class Control:
    """What a test may ask of, and do to, the provider."""

    def __init__(self, **options: Unpack[ServerOptions]) -> None:
        self.provider = Provider(
            key=keep(options.get("key", KEY)),
            context_tokens=options.get("context_tokens", CONTEXT_TOKENS),
            models=options.get("models"),
        )

    def on(self, when: When, *reply: Reply) -> Rule:
        """From now on, requests whose last user message contains the text (or that fit) get this reply.

        Several parts are one answer, played in order. The newest rule that fits wins.
        """
        with self.provider.lock:
            return self.provider.script.add(when, _one(reply))

    def always(self, *reply: Reply) -> Rule:
        """What answers where no rule fits. At first "re: " and the last line of what the user said."""
        with self.provider.lock:
            return self.provider.script.set_default(_one(reply))

    def forget_rules(self) -> None:
        """Takes all rules of `on` away."""
        with self.provider.lock:
            self.provider.script.clear()

    def gate(self, name: str) -> Latch:
        """The gate at which answers with `Gate(name)` wait; `waiting` says how many do."""
        return self.provider.latch(name)

    def set_key(self, key: str) -> None:
        """The old key is revoked."""
        with self.provider.lock:
            self.provider.key = keep(key)

    def set_context(self, tokens: int | None) -> None:
        """The context limit from now on."""
        with self.provider.lock:
            self.provider.context_tokens = tokens

    def hold_connections(self, held: bool = True) -> None:
        """New TCP connections are accepted and never served, as behind a dead load balancer."""
        with self.provider.lock:
            self.provider.connections_held = held

    @property
    def key(self) -> str:
        with self.provider.lock:
            return self.provider.key

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request so far, in order of arrival, as it stands now."""
        with self.provider.lock:
            return tuple(self.provider.requests)

    @property
    def connections(self) -> int:
        """How many TCP connections were accepted."""
        with self.provider.lock:
            return self.provider.connections

    @property
    def open_streams(self) -> int:
        """Streams whose headers were sent and whose end was not."""
        with self.provider.lock:
            return self.provider.open_streams

    @property
    def in_flight(self) -> int:
        """Requests that arrived and are not answered yet, streams among them."""
        with self.provider.lock:
            return self.provider.in_flight


def _one(reply: tuple[Reply, ...]) -> Reply:
    """One reply stays what it is; several have to be parts."""
    if len(reply) == 1:
        return reply[0]
    parts: list[Part] = []
    for part in reply:
        if not isinstance(part, Part):
            raise TypeError(f"{part!r} can only be a reply by itself")
        parts.append(part)
    return tuple(parts)
