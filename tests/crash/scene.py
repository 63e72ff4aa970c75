"""A daemon, the Telegram that it talks to, and what must be true of both after whatever happened."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy import text as verbatim

from core.service.notices import ENGLISH
from core.store.checks import check
from core.store.deliveries import UNKNOWN_NOTICE
from core.store.open import DATABASE_FILE
from core.store.sql import Row, Sql, Tx
from tests.crash.daemon import PATIENCE_S, Daemon, until
from tests.crash.nursery import Nursery
from tests.fakes.agents_crash import closing, opening
from tests.fakes.telegram import Chat, ThreadedTelegramServer, User

ROUNDS: Final = int(os.environ.get("FRONTDESK_CRASH_ROUNDS", "3"))
APART_S: Final = 60
"""Between the send times of two messages, so that they are never taken for one."""

INTERRUPTED: Final = ENGLISH["interrupted"]
UNKNOWN: Final = ENGLISH["unknown_delivery"]
RESET: Final = ENGLISH["reset_command"]

_OPEN = Sql(
    verbatim("""
        SELECT (SELECT count(*) FROM inbox WHERE state <> 'done' AND chat <> :but)
            + (SELECT count(*) FROM turns WHERE state = 'running' AND chat <> :but)
            + (SELECT count(*) FROM deliveries WHERE state IN ('queued', 'sending') AND chat <> :but) AS n
    """)
)
_ROWS = Sql(verbatim("SELECT chat, message, state, fate, detail, lane FROM inbox ORDER BY id"))
_PARTS = Sql(verbatim("SELECT chat, role, state, text FROM deliveries ORDER BY id"))
_PREVIEWS = Sql(verbatim("SELECT count(*) FROM deliveries WHERE role = 'preview' AND message IS NOT NULL"))
_SAID = Sql(verbatim("SELECT text FROM entries WHERE kind = 'user' ORDER BY id"))
_ANSWERED: Final[Mapping[str, str]] = {}


def open_work(tx: Tx, but: str = "") -> int:
    """Rows without a fate, turns that run and parts that are not out, those of one chat left aside."""
    return tx.number(_OPEN, but=but)


def config(server: ThreadedTelegramServer, home: Path, *, url: str | None = None) -> str:
    """Everybody may talk to the crash agent, and no hour of the day resets anything."""
    store = f"[store]\nurl = {json.dumps(url)}\n" if url else ""
    return f"""
{store}
[access]
direct = "open"
[session.reset]
mode = "none"
[agents.default]
backend = "tests.fakes.agents_crash:make"
[agents.default.options]
journal = {json.dumps(str(home / "journal"))}
[bots.telegram]
token = "{server.token}"
api_base = "{server.url}"
"""


@dataclass
class Talk:
    """One person's private chat: what was said there, and what came back."""

    server: ThreadedTelegramServer
    user: User
    chat: Chat
    said: dict[int, str] = field(default_factory=dict)
    """The ids of all messages, with the mark of each that is for the agent."""

    @property
    def marks(self) -> list[str]:
        """Of the messages for the agent, in the order in which they were said."""
        return [mark for mark in self.said.values() if mark]

    def mark_of(self, message: int) -> str:
        return self.said[message]

    def say(self, kind: str) -> str:
        """A message for the agent; its mark is unique."""
        mark = f"{self.user.id % 10_000}x{len(self.said)}"
        self.type(f"{kind} {mark}", mark)
        return mark

    def type(self, text: str, mark: str = "") -> int:
        """Anything; the id of the update."""
        date = int(time.time()) - 40_000 + APART_S * len(self.said)
        said = self.server.say(self.chat, self.user, text, date=date)
        assert said.update_id is not None
        self.said[said.message_id] = mark
        return said.update_id

    @property
    def texts(self) -> tuple[str, ...]:
        """The bot's messages, as they can be read now."""
        return self.server.chat(self.chat).bot_texts

    def count(self, words: str) -> int:
        return sum(text.count(words) for text in self.texts)

    def answers(self, mark: str) -> int:
        """How many whole answers there are."""
        return self.count(closing(mark))

    def begun(self, mark: str) -> int:
        """How many messages hold an answer's beginning."""
        return self.count(opening(mark))


class Scene:
    """One store, one account, and daemons that come and go."""

    def __init__(self, server: ThreadedTelegramServer, home: Path, nursery: Nursery, *, url: str | None = None) -> None:
        self.server = server
        self.nursery = nursery
        self.talks: list[Talk] = []
        self.daemon = Daemon(home, config=config(server, home, url=url), url=url)

    @property
    def armed(self) -> Path:
        return self.daemon.home / "armed"

    @property
    def journal(self) -> Counter[str]:
        """How often each line stands in the agent's journal."""
        path = self.daemon.home / "journal"
        return Counter(path.read_text().splitlines() if path.exists() else [])

    def runs(self, mark: str) -> int:
        """How often the agent was asked."""
        return self.journal[f"run {mark}"]

    def tool_uses(self, mark: str) -> int:
        return self.journal[f"tool {mark}"]

    def put_store(self, template: Path) -> None:
        """Begin with the present schema, so that no test pays for the migrations."""
        self.daemon.state.mkdir(mode=0o700)
        shutil.copy(template, self.daemon.state / DATABASE_FILE)

    def talk(self, name: str = "Ada") -> Talk:
        user = self.server.user(name)
        talk = Talk(self.server, user, self.server.private(user))
        self.talks.append(talk)
        return talk

    # the daemon

    def start(self, point: str = "nowhere", fatal: int = 1) -> None:
        """A daemon that will die at the point once it is armed."""
        self.daemon.start_in(self.nursery, point, str(fatal), str(self.armed))

    def arm(self) -> None:
        self.armed.touch()

    def wait_death(self) -> None:
        self.daemon.wait_death()
        self.armed.unlink()

    def settle(self, *, but: Talk | None = None, timeout_s: float = PATIENCE_S) -> None:
        """Until all that was said has been taken in, has its fate, and all answers are out; one chat left aside."""
        aside = str(but.chat.id) if but is not None else ""

        def settled() -> bool:
            assert self.daemon.lives, f"the daemon has ended: {self.daemon.log[-3000:]}"
            return not self.server.unconfirmed and self._nothing_open(aside)

        until(settled, "all has its fate and is out", timeout_s=timeout_s)

    def until_previewed(self) -> None:
        """Until an answer is shown while it grows, and the store knows the message."""

        def previewed() -> bool:
            with self.daemon.reading() as tx:
                return tx.number(_PREVIEWS) > 0

        until(previewed, "a preview is known")

    def until(self, holds: Callable[[], bool]) -> None:
        """Until it is so on the platform; else the daemon's log tells why not."""
        try:
            self.server.until(holds, timeout_s=PATIENCE_S)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; the daemon says: {self.daemon.log[-3000:]}") from None

    def taken_in(self) -> None:
        """Until all that was said is durable and confirmed."""
        self.until(lambda: not self.server.unconfirmed)

    def _nothing_open(self, but: str) -> bool:
        with self.daemon.reading() as tx:
            return open_work(tx, but) == 0

    # what must hold

    def plain(self, text: str) -> str:
        """What is compared of a part in the store and of a message that people see."""
        return text.strip()

    def audit(self, fates: Mapping[str, str] = _ANSWERED, *, strays: int = 0) -> None:
        """Nothing lost, nothing doubled, order kept, and the platform's rules obeyed.

        `fates`: of messages, by mark, that were not answered. `strays`: messages that the store may know nothing of,
        at most, because the process died between a preview's sending and its id.
        """
        assert self.server.violations == ()
        with self.daemon.reading() as tx:
            assert check(tx) == []
            rows, entries, parts = tx.all(_ROWS), tx.all(_SAID), tx.all(_PARTS)
        self._audit_rows(rows, fates)
        self._audit_entries([row.text("text") for row in entries], fates)
        for talk in self.talks:
            _audit_order(talk)
            mine = [row for row in parts if row.text("chat") == str(talk.chat.id)]
            _audit_parts(talk, mine, strays, self.plain)
        assert not {line: n for line, n in self.journal.items() if line.startswith("tool ") and n > 1}

    def _audit_rows(self, rows: list[Row], fates: Mapping[str, str]) -> None:
        """Every message has one row, and every row its fate."""
        kept = Counter((row.text("chat"), row.text_or_none("message"), row.text_or_none("fate")) for row in rows)
        said = Counter(
            (str(talk.chat.id), str(message), fates.get(talk.mark_of(message), "answered"))
            for talk in self.talks
            for message in talk.said
        )
        assert kept == said

    def _audit_entries(self, texts: list[str], fates: Mapping[str, str]) -> None:
        """What people said stands in the transcripts once."""
        marks = Counter(text.partition(" ")[2] for text in texts)
        assert marks == Counter(mark for talk in self.talks for mark in talk.marks if mark not in fates)


def _audit_order(talk: Talk) -> None:
    """Whole answers stand in the order of the questions, and each at most once."""
    answered = [mark for text in talk.texts for mark in talk.marks if closing(mark) in text]
    assert answered == [mark for mark in talk.marks if mark in answered]


def _audit_parts(talk: Talk, parts: list[Row], strays: int, plain: Callable[[str], str]) -> None:
    """People see each sent part once, an unknown one perhaps, and of unknown ones they were told."""
    sent, unknown, notices = Counter[str](), Counter[str](), 0
    for part in parts:
        is_notice = part.text("role") == UNKNOWN_NOTICE
        notices += is_notice
        (sent if part.text("state") == "sent" else unknown)[plain(part.text("text"))] += 1
        assert part.text("state") in ("sent", "unknown")
    seen = Counter(map(plain, talk.texts))
    more = list((seen - sent).elements())
    for text in (sent - seen).elements():  # of a preview the store holds what it said first; it grows with each attempt
        grown = next((one for one in more if one.startswith(text) or text.startswith(one)), None)
        assert grown is not None, f"{text!r} counts as sent and is not there, but {more}"
        more.remove(grown)
    assert (Counter(more) - unknown).total() <= strays, f"the store does not know that these are there: {more}"
    lost = sum(part.text("state") == "unknown" and part.text("role") != UNKNOWN_NOTICE for part in parts)
    assert (notices > 0) == (lost > 0)
    assert notices <= lost
