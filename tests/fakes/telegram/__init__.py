"""A strict test double of the Telegram Bot API: a real HTTP server on loopback, spoken to by the real SDK.

Where Telegram repairs or overlooks, it refuses and records a violation. Sources: https://core.telegram.org/bots/api and
https://core.telegram.org/bots/faq.
"""

from tests.clock import ManualClock
from tests.fakes.faults import Fault
from tests.fakes.telegram.flood import FloodLimits
from tests.fakes.telegram.model import (
    Call,
    Chat,
    ChatView,
    Draft,
    Edit,
    Entity,
    JsonObject,
    JsonValue,
    Message,
    Said,
    User,
    Violation,
)
from tests.fakes.telegram.server import TelegramServer, ThreadedTelegramServer

__all__ = [
    "Call",
    "Chat",
    "ChatView",
    "Draft",
    "Edit",
    "Entity",
    "Fault",
    "FloodLimits",
    "JsonObject",
    "JsonValue",
    "ManualClock",
    "Message",
    "Said",
    "TelegramServer",
    "ThreadedTelegramServer",
    "User",
    "Violation",
]
