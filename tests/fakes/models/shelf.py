"""What the responses API keeps on its side: the items of answers that were stored, and who followed whose reasoning.

Sources: https://platform.openai.com/docs/guides/conversation-state, https://platform.openai.com/docs/guides/reasoning.
Answers are stored unless the request says `store: false`. What reasoning was is sealed into `encrypted_content`, which
holds on every server of this kind.
"""

import base64
import hashlib
import hmac
import itertools

from tests.fakes.models.payload import JsonObject, JsonValue, as_object, as_text

SECRET = b"the double's own"
HEAD = "gAAAAAB"  # how the real ones begin


class Shelf:
    """One per server, used under its lock."""

    def __init__(self) -> None:
        self.items: dict[str, JsonObject] = {}
        self.responses: dict[str, list[JsonValue]] = {}
        self.follower_of: dict[str, str] = {}
        self.reasoning_of: dict[str, str] = {}

    def store(self, response_id: str, heard: list[JsonValue], said: list[JsonObject]) -> None:
        """`heard`: the input with everything before it. `said`: the output items."""
        self.responses[response_id] = [*heard, *said]
        self.items |= {as_text(item["id"]): item for item in said}
        for item, following in itertools.pairwise(said):
            if item["type"] == "reasoning":
                self.follower_of[as_text(item["id"])] = as_text(following["id"])
                self.reasoning_of[as_text(following["id"])] = as_text(item["id"])


def encrypt(thought: str) -> str:
    """The encrypted content of a thought."""
    sealed = base64.urlsafe_b64encode(f"{_mark(thought)}{thought}".encode()).decode()
    return f"{HEAD}{sealed}"


def is_ours(encrypted: JsonValue) -> bool:
    """Whether the double encrypted this."""
    text = as_text(encrypted)
    try:
        opened = base64.b64decode(text.removeprefix(HEAD), altchars=b"-_", validate=True).decode()
    except ValueError:
        return False
    return text.startswith(HEAD) and hmac.compare_digest(opened[:64], _mark(opened[64:]))


def item_id(item: JsonValue) -> str:
    return as_text(as_object(item).get("id"))


def _mark(thought: str) -> str:
    return hmac.new(SECRET, thought.encode(), hashlib.sha256).hexdigest()
