"""What an agent may hand over: files of allowed folders, whatever the way that it names them."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from pathlib import Path

import pytest

from core.desk.handing import Hand, Withheld, take
from core.errors import FileRefused, StoreFull
from core.store.files import Files
from core.vocabulary import FileKind
from tests.flow.files import png

MIB = 1024 * 1024
MOST = 4
SECRET = b"what nobody may see"


class Place:
    """A folder from which files may be sent, another from which not, and where sent ones are kept."""

    def __init__(self, home: Path) -> None:
        self.root, self.outside = home / "root", home / "outside"
        self.root.mkdir()
        self.outside.mkdir()
        self.files = Files(home / "kept")
        (self.root / "good.txt").write_bytes(b"good")
        (self.outside / "secret.txt").write_bytes(SECRET)

    def hand(self, *roots: Path, limit: int = MIB) -> Hand:
        return Hand(roots=roots or (self.root,), limit=limit, most=MOST)

    def take(self, *paths: str, hand: Hand | None = None) -> list[bytes]:
        """What would be sent."""
        taken = take(self.files, paths, hand or self.hand())
        return [self.files.get(one.digest) or b"" for one in taken]

    def refused(self, *paths: str, hand: Hand | None = None) -> str:
        with pytest.raises(FileRefused) as refused:
            self.take(*paths, hand=hand)
        return str(refused.value)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_file_of_the_folder_is_taken_by_either_name(place: Place) -> None:
    (place.root / "sub").mkdir()
    (place.root / "sub" / "deep.txt").write_bytes(b"deep")
    names = ["good.txt", str(place.root / "good.txt"), "./sub/../good.txt", "sub/deep.txt"]
    assert place.take(*names) == [b"good", b"good", b"good", b"deep"]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd", "../outside/secret.txt", "good.txt/../../outside/secret.txt", "/proc/self/environ",
        "/proc/self/fd/0", "/proc/self/root/etc/passwd", "/dev/zero", "/dev/null", "/dev/stdin", "", " ",
        "~/.ssh/id_rsa", "nowhere.txt", "good.txt\0.png", "x" * 5000, "MEDIA:/etc/passwd", "file:///etc/passwd",
        "%2e%2e/outside/secret.txt",
        *(".", "..", "/"),
        "\ud800",
    ],
)  # fmt: skip
def test_nothing_else_is(place: Place, path: str) -> None:
    assert SECRET.decode() not in place.refused(path)
    assert not [kept for kept in place.files._root.rglob("*") if kept.is_file()]


def test_a_link_out_of_the_folder_is_not_followed_and_one_within_it_is(place: Place) -> None:
    (place.root / "out.txt").symlink_to(place.outside / "secret.txt")
    (place.root / "passwd").symlink_to("/etc/passwd")
    (place.root / "folder").symlink_to(place.outside)
    (place.root / "twice").symlink_to(place.root / "out.txt")
    (place.root / "loop").symlink_to(place.root / "loop")
    (place.root / "within.txt").symlink_to(place.root / "good.txt")
    for name in ("out.txt", "passwd", "folder/secret.txt", "twice", "loop"):
        place.refused(name)
    assert place.take("within.txt") == [b"good"]


def test_a_link_into_the_folder_from_outside_is_what_it_leads_to(place: Place) -> None:
    (place.outside / "in.txt").symlink_to(place.root / "good.txt")
    assert place.take(str(place.outside / "in.txt")) == [b"good"]


def test_a_folder_that_only_begins_the_same_is_another(place: Place) -> None:
    twin = place.root.with_name("root-private")
    twin.mkdir()
    (twin / "secret.txt").write_bytes(SECRET)
    place.refused(str(twin / "secret.txt"))
    place.refused("../root-private/secret.txt")


def test_a_root_that_is_a_link_is_what_it_leads_to(place: Place, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    linked.symlink_to(place.root)
    assert place.take("good.txt", hand=place.hand(linked)) == [b"good"]
    linked.unlink()
    linked.symlink_to(tmp_path / "nowhere")
    place.refused("good.txt", hand=place.hand(linked))


def test_what_is_no_file_is_refused_and_nothing_hangs(place: Place) -> None:
    os.mkfifo(place.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place.root / "socket"))
        for name in ("pipe", "socket"):
            place.refused(name)


def test_a_folder_is_refused_and_leaves_nothing_open(place: Place) -> None:
    (place.root / "folder").mkdir()
    before = set(os.listdir("/proc/self/fd"))
    try:
        place.refused("folder")
    finally:
        for left in set(os.listdir("/proc/self/fd")) - before:
            with contextlib.suppress(OSError):
                os.close(int(left))


def test_a_pipe_that_somebody_writes_into_is_refused(place: Place) -> None:
    os.mkfifo(place.root / "pipe")
    descriptor = os.open(place.root / "pipe", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(descriptor, SECRET)
        place.refused("pipe")
        assert os.read(descriptor, 100) == SECRET
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("folder", ["outside", "root"])
def test_what_may_not_be_sent_is_not_even_opened(place: Place, folder: str) -> None:
    """Opening by itself does something to some: whoever waits at a pipe goes on, a watchdog starts, a tape rewinds."""
    pipe = place.root.with_name(folder) / "pipe"
    os.mkfifo(pipe)
    met = threading.Event()

    def write() -> None:
        os.close(os.open(pipe, os.O_WRONLY))
        met.set()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    for _ in range(50):
        place.refused(str(pipe))
        if met.wait(0.01):
            break
    seen = met.is_set()
    os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
    writer.join(5)
    assert not seen


def test_a_refusal_does_not_tell_what_there_is_outside(place: Place) -> None:
    told = {
        place.refused(str(place.outside / name)).replace(name, "NAME")
        for name in ("secret.txt", "nothing.txt", "secret.txt/x")
    }
    assert len(told) == 1


def test_a_link_that_is_swapped_all_the_time_never_leads_out(place: Place) -> None:
    link, other = place.root / "link", place.root / "next"
    stop = threading.Event()

    def swap() -> None:
        targets = [place.root / "good.txt", place.outside / "secret.txt"]
        while not stop.is_set():
            for target in targets:
                other.symlink_to(target)
                other.rename(link)

    link.symlink_to(place.root / "good.txt")
    swapper = threading.Thread(target=swap)
    swapper.start()
    taken = 0
    try:
        for _ in range(400):
            try:
                assert place.take("link") == [b"good"]
            except FileRefused:
                continue
            taken += 1
    finally:
        stop.set()
        swapper.join()
    assert taken
    assert not any(SECRET in path.read_bytes() for path in place.files._root.rglob("*") if path.is_file())


def test_a_folder_that_is_swapped_all_the_time_never_leads_out(place: Place) -> None:
    folder, aside = place.root / "folder", place.root / "aside"
    folder.mkdir()
    (folder / "secret.txt").write_bytes(b"harmless")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            folder.rename(aside)
            folder.symlink_to(place.outside)
            folder.unlink()
            aside.rename(folder)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(400):
            try:
                assert place.take("folder/secret.txt") == [b"harmless"]
            except FileRefused:
                continue
    finally:
        stop.set()
        swapper.join()


def test_a_file_that_is_taken_away_while_it_is_read_is_what_it_was(place: Place) -> None:
    path = place.root / "gone.txt"
    path.write_bytes(b"there")
    descriptor = os.open(path, os.O_RDONLY)
    path.unlink()
    try:
        place.refused("gone.txt")
    finally:
        os.close(descriptor)


def test_sizes(place: Place) -> None:
    (place.root / "empty.txt").touch()
    (place.root / "full.bin").write_bytes(bytes(MIB))
    (place.root / "over.bin").write_bytes(bytes(MIB + 1))
    with open(place.root / "sparse.bin", "wb") as sparse:
        sparse.truncate(1 << 40)
    assert "empty" in place.refused("empty.txt")
    assert place.take("full.bin") == [bytes(MIB)]
    for name in ("over.bin", "sparse.bin"):
        assert "1 MiB" in place.refused(name)


def test_a_small_limit_is_told_as_it_is(place: Place) -> None:
    told = place.refused("good.txt", hand=place.hand(limit=3))
    assert "at most 0 MiB" not in told


def test_how_many(place: Place) -> None:
    assert len(place.take(*["good.txt"] * MOST)) == MOST
    for count in (0, MOST + 1):
        assert f"1 to {MOST}" in place.refused(*["good.txt"] * count)


def test_one_that_may_not_be_sent_keeps_the_others_back(place: Place) -> None:
    place.refused("good.txt", "/etc/passwd", "good.txt")


def test_no_folder_means_no_file(place: Place) -> None:
    place.refused(str(place.root / "good.txt"), hand=Hand(roots=(), limit=MIB, most=MOST))


def test_several_folders(place: Place) -> None:
    both = place.hand(place.root, place.outside)
    assert place.take("good.txt", str(place.outside / "secret.txt"), hand=both) == [b"good", SECRET]


@pytest.mark.parametrize(
    ("name", "data", "kind", "media_type"),
    [
        ("a.png", png(), FileKind.IMAGE, "image/png"),
        ("a.txt", png(), FileKind.IMAGE, "image/png"),
        pytest.param("a.png", b"no picture", FileKind.FILE, "application/octet-stream"),
        ("a.pdf", b"%PDF-1.4", FileKind.FILE, "application/pdf"),
        ("a.mp3", b"ID3", FileKind.AUDIO, "audio/mpeg"),
        ("a.mp4", b"....ftyp", FileKind.VIDEO, "video/mp4"),
        ("a", b"x", FileKind.FILE, "application/octet-stream"),
        ("a.svg", b"<svg/>", FileKind.FILE, "image/svg+xml"),
    ],
)
def test_what_it_is_sent_as(place: Place, name: str, data: bytes, kind: FileKind, media_type: str) -> None:
    (place.root / name).write_bytes(data)
    [sent] = take(place.files, [name], place.hand())
    assert (sent.kind, sent.media_type, sent.name, sent.size) == (kind, media_type, name, len(data))


@pytest.mark.parametrize(
    "name",
    [
        "\u202egnp.exe", "line\nbreak.txt", " ", "[brackets].txt", "a" * 100 + ".txt",
        pytest.param(
            "ü" * 120 + ".txt"
        ),
    ],
)  # fmt: skip
def test_names_are_harmless_and_keep_their_ending(place: Place, name: str) -> None:
    (place.root / name).write_bytes(b"x")
    [sent] = take(place.files, [str(place.root / name)], place.hand())
    assert sent.name
    assert sent.name.isprintable()
    assert Path(sent.name).suffix == Path(name).suffix.rstrip()


def test_nothing_is_left_open(place: Place) -> None:
    os.mkfifo(place.root / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        place.take("good.txt")
        for name in ("pipe", "/etc/passwd", "nowhere"):
            place.refused(name)
    assert len(os.listdir("/proc/self/fd")) == before
    assert not list((place.files._root / "partial").iterdir())


def test_a_place_that_takes_nothing_says_so(place: Place, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("in the way")
    with pytest.raises(StoreFull):
        take(Files(blocked), ["good.txt"], place.hand())


# what belongs to the desk


class Kept(Place):
    """The folder holds, against all advice, the config, its secrets and the state."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.state = self.root / "state"
        self.config = self.root / "frontdesk.toml"
        self.token, self.key = self.root / "secrets" / "token", home / "outside" / "key"
        for folder in (self.state, self.token.parent):
            folder.mkdir()
        for path in (self.config, self.token, self.key, self.state / "frontdesk.db", self.root / "mine.txt"):
            path.write_bytes(SECRET)
        self.withheld = Withheld(state=self.state, config=self.config, secrets=frozenset({self.token, self.key}))

    def hand(self, *roots: Path, limit: int = MIB) -> Hand:
        return Hand(roots=roots or (self.root,), limit=limit, most=MOST, withheld=self.withheld)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


@pytest.mark.parametrize(
    "path", ["state/frontdesk.db", "frontdesk.toml", "secrets/token", "./secrets/../secrets/token"]
)
def test_s03_nothing_of_the_desk_is_handed_over(kept: Kept, path: str) -> None:
    assert "belongs to the desk" in kept.refused(path)
    assert kept.take("mine.txt") == [SECRET]


def test_s03_nor_by_a_link_or_from_another_folder(kept: Kept) -> None:
    (kept.root / "link").symlink_to(kept.token)
    (kept.root / "folder").symlink_to(kept.state)
    for path in ("link", "folder/frontdesk.db"):
        assert "belongs to the desk" in kept.refused(path)
    assert "belongs to the desk" in kept.refused("key", hand=kept.hand(kept.outside))


def test_s03_a_secret_that_is_named_by_a_link_is_the_file_that_it_leads_to(kept: Kept) -> None:
    real = kept.root / "real"
    kept.key.rename(real)
    kept.key.symlink_to(real)
    assert "belongs to the desk" in kept.refused("real")


def test_s03_what_has_a_second_name_is_not_handed_over(kept: Kept) -> None:
    os.link(kept.outside / "secret.txt", kept.root / "harmless.txt")
    assert "hard link" in kept.refused("harmless.txt")
    (kept.outside / "secret.txt").unlink()
    assert kept.take("harmless.txt") == [SECRET]


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_s03_what_its_owner_alone_may_read_beside_the_config_is_not(kept: Kept, mode: int) -> None:
    (kept.root / "deep").mkdir()
    for path in (kept.root / "mine.txt", kept.root / "deep" / "other.txt", kept.outside / "apart.txt"):
        path.write_bytes(SECRET)
        path.chmod(mode)
    for name in ("mine.txt", "deep/other.txt"):
        assert "by its owner alone" in kept.refused(name)
    assert kept.take(str(kept.outside / "apart.txt"), hand=kept.hand(kept.root, kept.outside)) == [SECRET]
    (kept.root / "mine.txt").chmod(0o640)
    assert kept.take("mine.txt") == [SECRET]


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"])
def test_s03_what_belongs_to_the_system_is_not(kept: Kept, path: str) -> None:
    told = kept.refused(path, hand=kept.hand(Path("/")))
    assert "belongs to the system" in told or "can't be read" in told
    assert not (Path(path).exists() and "can't be read" in told)
