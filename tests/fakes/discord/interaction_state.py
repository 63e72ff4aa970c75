"""One interaction: a button, a command, a menu entry or a request for suggestions, and what became of it."""

from dataclasses import dataclass, field

from tests.fakes.discord.model import JsonObject

COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 2, 3, 4, 5
ANSWER_S = 3.0  # docs, "Interaction Callback": an initial response within 3 seconds, else the token is invalidated
TOKEN_S = 15 * 60.0  # the same place: tokens are valid for 15 minutes


@dataclass
class Interaction:
    """`made_at` and `acknowledged_at` are of the server's clock."""

    id: int
    token: str
    type: int
    bot_id: int
    application_id: int
    user_id: int
    channel_id: int
    guild_id: int | None
    data: JsonObject
    made_at: float
    message_id: int | None = None
    delivered: bool = False
    acknowledged_at: float | None = None
    callback_type: int | None = None
    original_id: int | None = None
    choices: list[JsonObject] = field(default_factory=list)
    modal: JsonObject | None = None
    followups: list[int] = field(default_factory=list)

    @property
    def acknowledged(self) -> bool:
        return self.acknowledged_at is not None

    @property
    def acknowledged_after_s(self) -> float | None:
        return None if self.acknowledged_at is None else self.acknowledged_at - self.made_at
