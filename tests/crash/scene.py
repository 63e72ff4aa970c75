"""A daemon, the platform that it talks to, and what must be true of both after whatever happened."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from sqlalchemy import text as verbatim

from core.service.notices import ENGLISH
from core.store.checks import check
from core.store.deliveries import UNKNOWN_NOTICE
from core.store.open import DATABASE_FILE
from core.store.sql import Row, Sql, Tx
from tests.crash.daemon import PATIENCE_S, Daemon, until
from tests.crash.dialogue import Dialogue
from tests.crash.nursery import Nursery
from tests.drivers.driver import Driver, Stored
from tests.drivers.telegram import TelegramDriver
from tests.fakes.agents_crash import closing
from tests.fakes.telegram import Chat, ThreadedTelegramServer, User

ROUNDS: Final = int(os.environ.get("FRONTDESK_CRASH_ROUNDS", "3"))
SETTLED_S: Final = 120.0
"""For all that was said: what ran at a death is asked again one after the other."""
NO_DRAFTS: Final = "drafts = false"
"""A draft leaves nothing to be found after a kill."""

CRASH_AGENT: Final = "tests.fakes.agents_crash:make"
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
_KEPT = Sql(verbatim("SELECT chat, message FROM inbox WHERE message IS NOT NULL"))
_PARTS = Sql(verbatim("SELECT chat, role, state, text FROM deliveries ORDER BY id"))
_PREVIEWS = Sql(verbatim("SELECT count(*) FROM deliveries WHERE role = 'preview' AND message IS NOT NULL"))
_SAID = Sql(verbatim("SELECT text FROM entries WHERE kind = 'user' ORDER BY id"))
_ANSWERED: Final[Mapping[str, str]] = {}


def open_work(tx: Tx, but: str = "") -> int:
    """Rows without a fate, turns that run and parts that are not out, those of one chat left aside."""
    return tx.number(_OPEN, but=but)


def config(server: ThreadedTelegramServer, home: Path, *, url: str | None = None) -> str:
    """Everybody may talk to the crash agent, and no hour of the day resets anything."""
    return config_of([TelegramDriver(server, NO_DRAFTS)], home, url=url)


def config_of(
    platforms: Sequence[Driver], home: Path, *, url: str | None = None, backend: str = CRASH_AGENT
) -> str:  # fmt: skip
    """The same with any bots."""
    store = f"[store]\nurl = {json.dumps(url)}\n" if url else ""
    return f"""
{store}
[access]
direct = "open"
consent_by = "asker"
[access.guests]
conversations_per_hour = 1_000_000
[session.reset]
mode = "none"
[agents.default]
backend = "{backend}"
[agents.default.options]
journal = {json.dumps(str(home / "journal"))}
{"".join(platform.table for platform in platforms).strip()}
"""


class Talk(Dialogue):
    """One person's private chat on Telegram, in Telegram's words, too."""

    driver: TelegramDriver[ThreadedTelegramServer]

    @property
    def server(self) -> ThreadedTelegramServer:
        return self.driver.server

    @property
    def user(self) -> User:
        return self.driver.user(self.people[0])

    @property
    def chat(self) -> Chat:
        return self.driver.chat(self.place)

    def type(self, text: str, mark: str = "") -> int:
        """Anything; the id of the update."""
        return self.driver.update_of(self.place, self.put(text, mark))


class Stage:
    """One store, one account on each platform, and daemons that come and go."""

    backend = CRASH_AGENT

    def __init__(
        self, platforms: Sequence[Driver], home: Path, nursery: Nursery, *, url: str | None = None
    ) -> None:  # fmt: skip
        self.platforms = platforms
        self.nursery = nursery
        self.dialogues: list[Dialogue] = []
        self.daemon = Daemon(home, config=config_of(platforms, home, url=url, backend=self.backend), url=url)

    def speak(self, name: str = "Ada") -> Dialogue:
        """A new person in private, on the first platform, who can be heard."""
        platform = self.platforms[0]
        if not platform.keeps_messages:
            self.daemon.until_bot("up", platform.name)
        dialogue = Dialogue.private(platform, name)
        self.dialogues.append(dialogue)
        return dialogue

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

    # the daemon

    def start(self, point: str = "nowhere", fatal: int = 1) -> None:
        """A daemon that will die at the point once it is armed."""
        self.daemon.start_in(self.nursery, point, str(fatal), str(self.armed))

    def arm(self) -> None:
        self.armed.touch()

    def wait_death(self) -> None:
        self.daemon.wait_death()
        self.armed.unlink()

    def settle(self, *, but: Dialogue | None = None, timeout_s: float = SETTLED_S) -> None:
        """Until all that was said has been taken in, has its fate, and all answers are out; one chat left aside."""
        aside = but.place.chat if but is not None else ""

        def settled() -> bool:
            assert self.daemon.lives, f"the daemon has ended: {self.daemon.log[-3000:]}"
            return self.handed_over and self._nothing_open(aside)

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
            self.platforms[0].until(holds, timeout_s=PATIENCE_S)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; the daemon says: {self.daemon.log[-3000:]}") from None

    def taken_in(self) -> None:
        """Until all that was said is durable and confirmed."""
        until(lambda: self.handed_over, "all is taken in")

    @property
    def handed_over(self) -> bool:
        """Is all that was said durable, as far as the platforms can know?"""
        return all(platform.handed_over(self._said_on(platform), self.kept) for platform in self.platforms)

    def kept(self) -> Stored:
        with self.daemon.reading() as tx:
            return {(row.text("chat"), row.text("message")) for row in tx.all(_KEPT)}

    def _said_on(self, platform: Driver) -> Stored:
        mine = (dialogue for dialogue in self.dialogues if dialogue.bot == platform.name)
        return {(dialogue.place.chat, message) for dialogue in mine for message in dialogue.said}

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
        assert [problem for platform in self.platforms for problem in platform.violations] == []
        with self.daemon.reading() as tx:
            assert check(tx) == []
            rows, entries, parts = tx.all(_ROWS), tx.all(_SAID), tx.all(_PARTS)
        self._audit_rows(rows, fates)
        self._audit_entries([row.text("text") for row in entries], fates)
        for talk in self.dialogues:
            _audit_order(talk)
            mine = [row for row in parts if row.text("chat") == talk.place.chat]
            _audit_parts(talk, mine, strays, self.plain)
        assert not {line: n for line, n in self.journal.items() if line.startswith("tool ") and n > 1}

    def _audit_rows(self, rows: list[Row], fates: Mapping[str, str]) -> None:
        """Every message has one row, and every row its fate; a press has one at most."""
        pressed = [row for row in rows if row.text_or_none("message") is None]
        rows = [row for row in rows if row.text_or_none("message") is not None]
        assert len(pressed) <= sum(dialogue.presses for dialogue in self.dialogues)
        assert all(row.text_or_none("fate") for row in pressed)
        kept = Counter((row.text("chat"), row.text_or_none("message"), row.text_or_none("fate")) for row in rows)
        said = Counter(
            (talk.place.chat, message, fates.get(talk.mark_of(message), "answered"))
            for talk in self.dialogues
            for message in talk.said
        )
        assert kept == said

    def _audit_entries(self, texts: list[str], fates: Mapping[str, str]) -> None:
        """What people said stands in the transcripts once."""
        marks = Counter(text.partition(" ")[2] for text in texts)
        assert marks == Counter(mark for talk in self.dialogues for mark in talk.marks if mark not in fates)


class Scene(Stage):
    """On Telegram alone."""

    def __init__(self, server: ThreadedTelegramServer, home: Path, nursery: Nursery, *, url: str | None = None) -> None:
        super().__init__([TelegramDriver(server, NO_DRAFTS)], home, nursery, url=url)
        self.server = server
        self.talks: list[Talk] = []

    def talk(self, name: str = "Ada") -> Talk:
        talk = Talk.private(self.platforms[0], name)
        self.talks.append(talk)
        self.dialogues.append(talk)
        return talk


def _audit_order(talk: Dialogue) -> None:
    """Whole answers stand in the order of the questions, and each at most once."""
    answered = [mark for text in talk.texts for mark in talk.marks if closing(mark) in text]
    assert Counter(answered) <= Counter(talk.marks)
    assert not talk.driver.is_ordered(talk.place) or answered == [mark for mark in talk.marks if mark in answered]


def _audit_parts(talk: Dialogue, parts: list[Row], strays: int, plain: Callable[[str], str]) -> None:
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
