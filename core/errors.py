"""Every error that one part of Frontdesk raises for another.

FrontdeskError                what, and what to tell the person (`user_notice`)
+-- ConfigError               the configuration or the machine is wrong; the process ends with 78
+-- StoreError
|   +-- StoreLocked           another process owns the store
|   +-- StoreCorrupt          the file is damaged; never opened, never replaced
|   +-- StoreTooNew           a newer Frontdesk wrote it
|   +-- StoreFull             no space left; certain: nothing was written
|   +-- StoreUncertain        the connection broke during a commit: it may have happened
|   +-- FenceLost             another owner took over the conversation
+-- BotError
|   +-- BotRejected           the platform refuses the account (token): this bot only
|   +-- PollConflict          somebody else receives this account's updates
|   +-- SendError             `certain`: it did not arrive; `retryable`: the same may be tried again
|       +-- NotSent           never left, or the platform said "not now"
|       +-- FloodWait         the platform names a wait
|       +-- Unreachable       nobody is there; tried again when somebody shows up
|       +-- Rejected          the platform refuses this message for good
|       +-- ChatDead          the platform refuses this chat
|       +-- Unknown           no answer: it may have arrived
+-- AgentError                the agent failed; told in the notice's words, never in its own
+-- NotRunning                no daemon listens on the socket
+-- VerbFailed                a verb of the command line was not carried out; `code` is the exit code
+-- Refused                   a person asked for what is not allowed or not there
"""

from __future__ import annotations

from typing import ClassVar, Literal


class FrontdeskError(Exception):
    """The root. `user_notice` is a key of the message catalogue, or "" where nobody is told."""

    retryable: ClassVar[bool] = False
    certain: ClassVar[bool] = True
    user_notice: ClassVar[str] = ""


class ConfigError(FrontdeskError):
    """Says what is wrong and what to do; ends the process with exit code 78."""


class StoreError(FrontdeskError):
    """The store can't do what it was asked."""


class StoreLocked(StoreError):
    """Another process owns the store."""


class StoreCorrupt(StoreError):
    """The database file is damaged."""


class StoreTooNew(StoreError):
    """The schema is newer than this program."""


class StoreFull(StoreError):
    """The disk is full; the transaction left nothing."""

    retryable = True
    user_notice = "disk_full"


class StoreUncertain(StoreError):
    """The connection to the database broke during the commit: it may have happened."""

    certain = False


class FenceLost(StoreError):
    """The caller no longer owns the conversation; whatever it did not commit is void."""


class BotError(FrontdeskError):
    """A bot can't go on as it is."""


class BotRejected(BotError):
    """The platform refuses the account. The text says what to fix."""


class PollConflict(BotError):
    """Another process receives this account's updates."""

    retryable = True


class SendError(BotError):
    """A delivery did not go through."""


class NotSent(SendError):
    """It certainly did not arrive: the connection was never made, or the platform said so."""

    retryable = True


class FloodWait(NotSent):
    """The platform names the wait in seconds."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"flood wait of {wait_s:g} s")
        self.wait_s = wait_s


class Unreachable(NotSent):
    """Nobody is there to receive; the lane rests until the chat is heard of again."""


class Rejected(SendError):
    """The platform refuses this message for good."""


class ChatDead(SendError):
    """The platform refuses the chat: blocked, kicked, deleted."""


class Unknown(SendError):
    """The request left and no answer came: it may have arrived."""

    certain = False


class AgentError(FrontdeskError):
    """An agent can't answer. The text is for the log; people get `user_notice` and a reference id."""

    user_notice = "agent_failed"


class NotRunning(FrontdeskError):
    """No daemon listens on the socket of this state directory."""


class VerbFailed(FrontdeskError):
    """A verb of the command line was not carried out. The text is for the one who typed it."""

    def __init__(self, words: str, *, code: Literal[1, 2] = 1) -> None:
        """`code` is the exit code: 1 it failed, 2 it was asked wrongly."""
        super().__init__(words)
        self.code: Literal[1, 2] = code


class Refused(FrontdeskError):
    """What a person asked for is not allowed or not there. `args[0]` is a key of the message catalogue."""
