"""S01: whatever the service's user puts into its state, verbs that root types change and show nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.service.desk import OFFLINE, STATE, Desk

ROOTS: Final = "/root/kept"
GOOD: Final = "/root/good.tar"
SECRET: Final = "root:$6$salt"
DAMAGED: Final = "* * * * * root touch /root/broken-in\n"
COPY: Final = hashlib.blake2b(DAMAGED.encode(), digest_size=8).hexdigest()
DIGEST: Final = "aa" + 62 * "0"
"""As a file of a transcript is called."""

TRAPS: Final[Mapping[str, str]] = {
    "the copy of a damaged database leads out": (
        f"mkdir quarantine; printf '%s' '{DAMAGED}' >frontdesk.db; rm -f frontdesk.db-*;"
        f"ln -s {ROOTS}/cron quarantine/frontdesk-{COPY}.db.part; ln -s {ROOTS}/cron quarantine/frontdesk-{COPY}.db"
    ),
    "the database is a secret of root's": f"rm -f frontdesk.db*; ln -s {ROOTS}/shadow frontdesk.db",
    "the database is a program of root's": f"rm -f frontdesk.db*; ln -s {ROOTS}/shell frontdesk.db",
    "a folder of files is one of root's": (
        f"printf '%s' '{DAMAGED}' >frontdesk.db; rm -rf frontdesk.db-* files; mkdir files; ln -s {ROOTS} files/aa"
    ),
    "the history of the terminal is a file of root's": f"ln -sf {ROOTS}/shadow terminal_history",
    "the lock is a file of root's": f"ln -sf {ROOTS}/shadow frontdesk.lock",
    "its folders are folders of root's": (
        f"rm -rf backups quarantine files; for one in backups quarantine files; do ln -s {ROOTS} $one; done;"
        f"printf '%s' '{DAMAGED}' >frontdesk.db"
    ),
    "a file of a transcript is a pipe": f"mkdir -p files/aa; mkfifo files/aa/{DIGEST}",
    "a backup in its state is a link": f"mkdir -p backups; ln -s {GOOD} backups/x.tar",
}
VERBS: Final = (
    ("sessions", "list"),
    ("status",),
    ("db", "verify"),
    ("db", "upgrade"),
    ("db", "backup", "/root/new.tar", "--force"),
    ("db", "backup", f"{STATE}/new.tar", "--force"),
    ("db", "restore", f"{STATE}/backups/x.tar"),
    ("db", "restore", GOOD),
    ("chat",),
    ("sessions", "list"),
)


@pytest.fixture
def kept(desk: Desk) -> Desk:
    """A stopped desk with a store and a backup of it, and root's own files beside it."""
    desk.configure(OFFLINE)
    desk.start()
    desk.machine.run("rm", "-rf", ROOTS, GOOD, "/root/new.tar")
    desk.call("db", "backup", GOOD)
    desk.stop()
    for name, mode in (("shadow", 0o600), ("shell", 0o755), (DIGEST, 0o600)):
        desk.machine.write(f"{ROOTS}/{name}", SECRET, mode=mode)
    return desk


@pytest.mark.parametrize("trap", TRAPS)
def test_s01_no_verb_of_root_s_leaves_the_state(kept: Desk, trap: str) -> None:
    before = looks(kept.machine.path(ROOTS))
    as_service = ["setpriv", "--reuid=frontdesk", "--regid=frontdesk", "--clear-groups", "sh", "-c"]
    kept.machine.run(*as_service, f"cd {STATE} && {TRAPS[trap]}")
    for verb in VERBS:
        kept.call(*verb, check=False)
        assert looks(kept.machine.path(ROOTS)) == before, verb
    state = kept.machine.path(STATE)
    owner = state.stat().st_uid
    files = [path for path in state.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert {path.lstat().st_uid for path in state.rglob("*")} == {owner}
    assert not kept.machine.path(f"{STATE}/new.tar").exists()


def looks(folder: Path) -> Mapping[str, tuple[object, ...]]:
    """Each file's user, mode, links and content."""
    found = {}
    for path in sorted(folder.iterdir()):
        about = path.lstat()
        found[path.name] = (about.st_uid, about.st_mode, about.st_nlink, path.read_bytes())
    return found
