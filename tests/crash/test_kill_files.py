"""kill -9 while files come in, are heard and are answered: each message is answered once, with what it brought."""

from __future__ import annotations

import json
import random
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import text as verbatim

from core.desk.porter import MOST_READS
from core.store.deliveries import UNKNOWN_NOTICE
from core.store.open import DATABASE_FILE
from core.store.sql import Sql
from tests.crash.daemon import Daemon, until
from tests.crash.filed import audit_files
from tests.crash.nursery import Nursery
from tests.crash.scene import ROUNDS, UNKNOWN, config, open_work
from tests.fakes.documents import working
from tests.fakes.speech import KEY, ThreadedSpeechServer
from tests.fakes.telegram import Chat, ThreadedTelegramServer, User
from tests.fakes.telegram.images import png

pytestmark = pytest.mark.crash

APART_S: Final = 60
SPEECH: Final = """
[speech.{verb}]
base_url = {url}
api_key = {key}
"""
_PERHAPS = Sql(verbatim("SELECT chat, role FROM deliveries WHERE state = 'unknown'"))


class FileScene:
    """One store, one account, and a daemon that is started again and again."""

    def __init__(
        self, server: ThreadedTelegramServer, speech: ThreadedSpeechServer, home: Path, nursery: Nursery
    ) -> None:
        self.server = server
        self._nursery = nursery
        self.speech = speech
        self.daemon = Daemon(home, config=config(server, home) + self._endpoint("transcribe"))
        self.marks: dict[str, bytes] = {}
        self._people: dict[str, tuple[User, Chat]] = {}

    def _endpoint(self, verb: str) -> str:
        return SPEECH.format(verb=verb, url=json.dumps(self.speech.server.url), key=json.dumps(KEY))

    def speak(self) -> None:
        """From the next start on, who asks by voice is answered by voice."""
        file = self.daemon.config_file
        file.write_text(file.read_text(encoding="utf-8") + self._endpoint("speak"), encoding="utf-8")

    def start(self, point: str = "nowhere") -> None:
        self.daemon.start_in(self._nursery, point, "1", str(self.armed))

    @property
    def armed(self) -> Path:
        return self.daemon.home / "armed"

    def wait_death(self) -> None:
        self.daemon.wait_death()
        self.armed.unlink()

    def send(self, mark: str, kind: str, content: bytes) -> Chat:
        """Somebody new sends a file; its caption is what it is known by, a voice has none."""
        user = self.server.user(f"Ada {mark}")
        chat = self.server.private(user)
        date = int(time.time()) - 40_000 + APART_S * len(self.marks)
        is_pdf = content.startswith(b"%PDF-")
        document = "application/pdf" if is_pdf else "text/plain"
        like = {"voice": "audio/ogg", "photo": "image/png", "document": document}
        caption = "" if kind == "voice" else f"fast {mark}"
        name = f"{mark}.{'pdf' if is_pdf else 'txt'}" if kind == "document" else ""
        self.server.share(
            chat, user, kind,
            {"content": content, "caption": caption, "media_type": like[kind], "name": name}, date=date,
        )  # fmt: skip
        self.marks[mark] = content
        return chat

    @property
    def reads(self) -> bool:
        """A process of the daemon's reads a file."""
        pid = self.daemon.process.pid if self.daemon.process is not None else 0
        children = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
        return any(_is_reader(child) for some in children for child in some)

    def settle(self) -> None:
        """Until all that was sent has its fate, and all answers are out."""

        def settled() -> bool:
            assert self.daemon.lives, f"the daemon has ended: {self.daemon.log[-3000:]}"
            with self.daemon.reading() as tx:
                return not self.server.unconfirmed and open_work(tx) == 0

        until(settled, "all has its fate and is out")

    def audit(self) -> None:
        assert self.server.violations == ()
        audit_files(self.daemon, self.marks.values())

    def perhaps(self) -> set[tuple[str, str]]:
        """(chat, role) of what may have arrived: a notice about that is not followed by another."""
        with self.daemon.reading() as tx:
            return {(row.text("chat"), row.text("role")) for row in tx.all(_PERHAPS)}

    def answers(self, chat: Chat, words: str) -> int:
        return sum(words in text for text in self.server.chat(chat).bot_texts)


def _is_reader(pid: str) -> bool:
    try:
        return b"core.desk.pdf_text" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended meanwhile
        return False


@pytest.fixture
def scene(sqlite_template: Path, tmp_path: Path, nursery: Nursery) -> Iterator[FileScene]:
    with ThreadedTelegramServer() as server, ThreadedSpeechServer() as speech:
        server.set_limits(None)
        made = FileScene(server, speech, tmp_path, nursery)
        made.daemon.state.mkdir(mode=0o700)
        shutil.copy(sqlite_template, made.daemon.state / DATABASE_FILE)
        with made.daemon:
            yield made


FETCHING = (
    "file.created",
    "piece.written",
    "file.synced",
    "file.kept",
    "attachment.fetched",
    "attachments.written",
    "admission.begun",
)


@pytest.mark.parametrize("point", FETCHING)
@pytest.mark.parametrize("kind", ["photo", "document"])
def test_killed_while_a_file_comes(scene: FileScene, point: str, kind: str) -> None:
    content = png(90, 60, padding=300_000) if kind == "photo" else b"some words " * 1000
    scene.start(point)
    for number in range(1 + ROUNDS // 10):
        mark = f"m{number}"
        scene.armed.touch()
        chat = scene.send(mark, kind, content + mark.encode())
        scene.wait_death()
        scene.start(point)
        scene.settle()
        assert scene.answers(chat, f"end({mark}") == 1
        assert scene.answers(chat, "could not get") == 0
    scene.audit()


@pytest.mark.parametrize(
    "point", ["file.kept", "transcription.begun", "transcription.received", "attachments.written", "admission.begun"]
)
def test_killed_while_a_voice_is_heard(scene: FileScene, point: str) -> None:
    scene.start(point)
    scene.armed.touch()
    chat = scene.send("voice", "voice", b"OggS" + bytes(5000))
    scene.wait_death()
    scene.start()
    scene.settle()
    assert scene.answers(chat, "end(what was said)") == 1
    scene.audit()
    assert scene.speech.server.refusals == []


@pytest.mark.parametrize("point", ["speech.received", "voice.written"])
def test_killed_while_an_answer_is_spoken(scene: FileScene, point: str) -> None:
    """The words have been sent, or are known to have been on their way."""
    scene.speak()
    scene.start(point)
    scene.armed.touch()
    chat = scene.send("voice", "voice", b"OggS" + bytes(5000))
    scene.wait_death()
    scene.start()
    scene.settle()
    assert scene.answers(chat, "end(what was said)") == 1 or scene.answers(chat, UNKNOWN) == 1
    scene.audit()


def test_s09_a_pdf_is_read_in_three_processes_that_are_killed_and_in_no_fourth(scene: FileScene) -> None:
    """Killed from outside while the reader works, six times in a row if it would be begun as often."""
    scene.start()
    scene.daemon.until_bot("up")
    chat = scene.send("long", "document", working(8))
    begun = 0
    for _ in range(6):
        until(lambda: scene.reads or scene.answers(chat, "end(long") > 0, "it is read, or there is an answer")
        if scene.answers(chat, "end(long"):
            break
        begun += 1
        scene.daemon.kill()
        scene.start()
    scene.settle()
    assert begun == MOST_READS
    assert scene.answers(chat, "end(long") == 1
    scene.audit()


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_at_any_instant(scene: FileScene, seed: int) -> None:
    chance, pause = random.Random(seed), threading.Event()
    chats: dict[str, Chat] = {}
    for round_ in range(6):
        scene.start()
        scene.daemon.until_bot("up")
        for number in range(4):
            mark = f"r{round_}n{number}"
            chats[mark] = scene.send(
                mark, chance.choice(["photo", "document"]), png(9, 9, padding=200_000) + mark.encode()
            )
        pause.wait(chance.uniform(0.0, 0.4))
        scene.daemon.kill()
    scene.start()
    scene.settle()
    scene.audit()
    perhaps = scene.perhaps()
    for mark, chat in chats.items():
        answers, told = scene.answers(chat, f"end({mark}"), scene.answers(chat, UNKNOWN)
        assert answers <= 1
        assert answers or told == 1 or (str(chat.id), UNKNOWN_NOTICE) in perhaps, scene.server.chat(chat).bot_texts
