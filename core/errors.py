"""Every error that one part of Frontdesk raises for another.

FrontdeskError                what, and what to tell the person (`user_notice`)
+-- ConfigError               the configuration or the machine is wrong; the process ends with 78
+-- StoreError
|   +-- StoreLocked           another process owns the store
|   +-- StoreCorrupt          the file is damaged; never opened, never replaced
|   +-- ValueDamaged          a row holds what no version of ours wrote there; the others can be read
|   +-- StoreTooNew           a newer Frontdesk wrote it
|   +-- StoreFull             no space left; certain: nothing was written
|   +-- StoreUncertain        the connection broke during a commit: it may have happened
|   +-- FenceLost             another owner took over the conversation
+-- BotError
|   +-- BotRejected           the platform refuses the account (token): this bot only
|   +-- PollConflict          somebody else receives this account's updates
|   +-- SendError             `certain`: it did not arrive; `retryable`: the same may be tried again
|       +-- NotSent           never left, or the platform said "not now"
|       +-- FloodWait         the platform names a wait, for the chat or for the whole account
|       +-- Unreachable       nobody is there; tried again when somebody shows up
|       +-- Rejected          the platform refuses this message for good
|       |   +-- ThreadGone    the thread takes nothing any more, the chat around it may
|       +-- ChatDead          the platform refuses this chat
|       +-- Unknown           no answer: it may have arrived
+-- AgentError                the agent failed; told in the notice's words, never in its own
|   +-- ModelBusy             too many requests; `wait_s` where the provider names it
|   +-- ModelOverloaded       the provider can't just now
|   +-- ModelUnreachable      no connection, or it broke
|   |   +-- ModelBrokeOff     it broke, or the stream ended, in the middle of an answer
|   +-- ModelSilent           no word in time
|   +-- ModelKeyRefused       the key is wrong or may not use the model
|   +-- ModelQuota            the account's money or quota is used up
|   +-- ModelMissing          no model of this name
|   +-- ModelRejected         the provider refuses the request
|   +-- ModelUseless          what came is no answer: nothing, or nothing that can be read
|   +-- ModelUnfit            the model can't be made as it is configured
|   +-- ContextFull           the conversation is too long for the model
|   +-- ContentFiltered       the provider's filter stopped it
|   +-- TurnLimit             the turn's own limits: requests, tokens
|   +-- DayLimit              the person's tokens of the day are used up
+-- NotRunning                no daemon listens on the socket
+-- VerbFailed                a verb of the command line was not carried out; `code` is the exit code
+-- FileRefused               a file that an agent wanted to hand over; the words are for the agent
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


class ValueDamaged(StoreError):
    """A row holds what no version of ours wrote there. The words say where; `frontdesk db verify` does, too."""


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
    """The platform names the wait in seconds. `account`: it holds for every chat of the account, not for this alone."""

    def __init__(self, wait_s: float, *, account: bool = False) -> None:
        super().__init__(f"flood wait of {wait_s:g} s{' for the whole account' if account else ''}")
        self.wait_s = wait_s
        self.account = account


class Unreachable(NotSent):
    """Nobody is there to receive; the lane rests until the chat is heard of again."""


class Rejected(SendError):
    """The platform refuses this message for good."""


class ThreadGone(Rejected):
    """The thread is deleted or closed for good. Whoever could read it can read the chat around it, so that what was to
    be said there may be said in the chat."""


class ChatDead(SendError):
    """The platform refuses the chat: blocked, kicked, deleted."""


class Unknown(SendError):
    """The request left and no answer came: it may have arrived. `for_good`: nor will the platform ever tell."""

    certain = False

    def __init__(self, words: str, *, for_good: bool = False) -> None:
        super().__init__(words)
        self.for_good = for_good


class AgentError(FrontdeskError):
    """An agent can't answer. The text is for the log; people get `user_notice` and a reference id."""

    user_notice = "agent_failed"


class ModelBusy(AgentError):
    """Too many requests. `wait_s` is the wait that the provider names, in seconds."""

    retryable = True
    user_notice = "model_busy"

    def __init__(self, words: str, wait_s: float | None = None) -> None:
        super().__init__(words)
        self.wait_s = wait_s


class ModelOverloaded(AgentError):
    """The provider can't answer just now: overloaded, or a fault of its own."""

    retryable = True
    user_notice = "model_overloaded"


class ModelUnreachable(AgentError):
    """The provider can't be reached, or the connection broke."""

    retryable = True
    user_notice = "model_unreachable"


class ModelBrokeOff(ModelUnreachable):
    """The connection or the stream ended in the middle of an answer."""

    user_notice = "model_broke_off"


class ModelSilent(AgentError):
    """The provider said nothing for too long."""

    retryable = True
    user_notice = "model_silent"


class ModelKeyRefused(AgentError):
    """The provider refuses the key. Tried once more, since a key may just have been renewed."""

    retryable = True
    user_notice = "model_key_refused"


class ModelQuota(AgentError):
    """The account has nothing left to pay with."""

    user_notice = "model_quota"


class ModelMissing(AgentError):
    """The provider has no model of this name."""

    user_notice = "model_missing"


class ModelRejected(AgentError):
    """The provider refuses the request as it is."""

    user_notice = "model_rejected"


class ModelUseless(AgentError):
    """What came is no answer: nothing, or nothing that can be read."""

    user_notice = "model_useless"


class ModelUnfit(AgentError):
    """The model can't be made as it is configured. The words say what to do."""

    user_notice = "model_unfit"


class ContextFull(AgentError):
    """The conversation is too long for the model."""

    user_notice = "model_context_full"


class ContentFiltered(AgentError):
    """The provider's filter stopped the question or the answer."""

    user_notice = "model_filtered"


class TurnLimit(AgentError):
    """The turn needed more requests or tokens than it may have."""

    user_notice = "turn_limit"


class DayLimit(AgentError):
    """The person has used up the tokens of the day."""

    user_notice = "day_limit"


class DayLimitAhead(DayLimit):
    """The next request would use more than is left of the tokens of the day."""

    user_notice = "day_limit_ahead"


class NotRunning(FrontdeskError):
    """No daemon listens on the socket of this state directory."""


class VerbFailed(FrontdeskError):
    """A verb of the command line was not carried out. The text is for the one who typed it."""

    def __init__(self, words: str, *, code: Literal[1, 2] = 1) -> None:
        """`code` is the exit code: 1 it failed, 2 it was asked wrongly."""
        super().__init__(words)
        self.code: Literal[1, 2] = code


class FileRefused(FrontdeskError):
    """A file can't be handed over. The text is for the agent that wanted to."""


class Refused(FrontdeskError):
    """What a person asked for is not allowed or not there. `args[0]` is a key of the message catalogue."""
