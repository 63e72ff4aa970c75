"""What an agent is: it answers one turn at a time, and never writes to a session. The turn does.

A minimal agent, usable as `backend = "my_module:make"`:

    class Echo:
        async def run(self, turn):
            yield TextDelta(text=turn.message.text)

    def make(spec):
        return Echo()
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from core.store.conversations import SessionId
from core.store.entries import Entry, Json
from core.store.search import Hits
from core.vocabulary import CallClosed, CallOpened, ClientTool, TextDelta, ThinkingDelta, TurnId


class Used(Struct, frozen=True, kw_only=True):
    """What a model request used: counts by name ("input_tokens", "output_tokens"), added up over the turn."""

    counts: Mapping[str, int]


class Responded(Struct, frozen=True, kw_only=True):
    """A model's response has ended: what was said since the last one belongs to it, and so do the calls that follow.
    `data` is stored with them, for the agent to rebuild the response from."""

    data: Mapping[str, Json]


class Unsaid(Struct, frozen=True, kw_only=True):
    """What was said since the last response was thought, and is taken back; `shown`: told as what was thought."""

    shown: bool


class Silent(Struct, frozen=True, kw_only=True):
    """The agent has nothing to say, and means it: nobody is told anything, unless something was said before. `text` is
    what its model said instead, which the model sees again."""

    text: str


class Suspend(Struct, frozen=True, kw_only=True):
    """The turn ends here and waits for somebody to answer its open calls."""


class Remark(Struct, frozen=True, kw_only=True):
    """What people are told behind the answer: a key of the message catalogue. The last one counts."""

    notice: str


AgentEvent = TextDelta | ThinkingDelta | Unsaid | Responded | Used | Remark | Silent | Suspend


class Allowed(Struct, frozen=True, kw_only=True):
    """A person allowed the call: it is to be carried out now."""


class Told(Struct, frozen=True, kw_only=True):
    """The call was answered elsewhere: denied, expired, or carried out by a client. Its result is stored."""


Answer = Allowed | Told


class DeskTools(Protocol):
    """Each answer is for the one who asked the agent: nobody else's sessions are in it."""

    def time(self) -> datetime:
        """Now, in the conversation's zone."""

    async def tokens_today(self) -> int:
        """Tokens, in and out, of the asker's turns in all conversations that were opened since midnight in that zone,
        with what others that still run expect to use; this turn's are not among them."""

    @property
    def tokens_a_day(self) -> int | None:
        """What the asker may use in a day with any agent; None: there is no such limit."""

    async def expect(self, tokens: int, most: int) -> int:
        """What `tokens_today` says. If this turn may use so many on top, of `most` in all, the asker's other turns
        know of them from now on."""

    async def keep(self, data: bytes, media_type: str) -> str:
        """Keep a file for this session; what an entry may refer to it by. Kept when this returned."""

    async def files(self, refs: Iterable[str]) -> Mapping[str, bytes]:
        """What was kept, by reference; without those that are gone."""

    async def hand_over(self, paths: Sequence[str], caption: str, roots: Sequence[Path]) -> Sequence[str]:
        """Send files to where the answer goes, as one message with this text; their names. Only from the folders
        `roots`, links resolved; they are on their way when this returned. Raises `FileRefused` with words for the
        model."""

    async def search(self, words: str) -> Hits:
        """Entries that hold the words as they are written, newest first: of the asker's sessions, or, where others read
        along, of those of this conversation."""


class TurnContext(Protocol):
    """What an agent has while it answers. All calls come from the task that runs it."""

    @property
    def id(self) -> TurnId: ...

    @property
    def session(self) -> SessionId: ...

    @property
    def number(self) -> int:
        """Which message of its session this is, from 1."""

    @property
    def history(self) -> Sequence[Entry]:
        """What the model is shown, before this turn's message."""

    @property
    def message(self) -> Entry:
        """What the person said: the user entry of this turn."""

    @property
    def entries(self) -> Sequence[Entry]:
        """What was stored since the history, the message first: what the model has seen of this turn. Where the turn
        goes on after its calls were answered, that is what its first part stored."""

    @property
    def answers(self) -> Mapping[str, Answer]:
        """Where the turn goes on: what became of each open call, by its id. Else empty."""

    @property
    def client_tools(self) -> Sequence[ClientTool]:
        """Tools that came with the message and that its sender carries out: a call of one suspends the turn."""

    @property
    def desk(self) -> DeskTools:
        """What an agent may ask of the desk, on behalf of whoever asked it."""

    async def opened(self, calls: Sequence[CallOpened]) -> None:
        """Commit what was said so far and these calls, all those of one response. A tool starts only after this
        returned."""

    async def closed(self, call: CallClosed, part: Mapping[str, Json] | None = None) -> None:
        """Commit a call's result. The model sees it only after this returned. `part` is stored with it, for the agent
        to rebuild the result from."""

    async def compacted(self, summary: str, upto: int) -> None:
        """Commit a summary that stands, for the model, in place of all entries up to the seq `upto`, which is in the
        history. `history` is without them when this returned."""

    async def steering(self) -> Sequence[Entry]:
        """What people said to the running turn since the last time; stored when this returns. Ask it between model
        requests, never between a call and its result."""


class Agent(Protocol):
    """Ready to answer in one session."""

    def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        """Answer one turn. Cancelled when the turn is stopped. Raises `AgentError` for what it can name; anything else
        is taken for a fault of the agent and fails this turn only."""


class AgentSpec(Struct, frozen=True, kw_only=True):
    """From what an agent is made. `digest` covers everything in it that changes answers. `models`: what people may
    choose in place of `model`, ids by the names that are listed."""

    name: str
    backend: str
    options: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    instructions: str = ""
    model: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""


class AgentFactory(Protocol):
    def __call__(self, spec: AgentSpec) -> Agent:
        """A new agent for one session. Cheap: what is expensive is shared by all agents of one spec."""
