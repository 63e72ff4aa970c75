"""A machine that boots systemd: root's own namespaces, a small Debian, and the network of the computer around it.

What listens on the loopback of the tests can be reached from inside, and the other way round.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from tests.crash.daemon import until

_BOOT: Final = """
mount --make-rprivate / && mount -t tmpfs tmpfs /run &&
exec systemd-nspawn --quiet --directory="$1" --machine=frontdesk-test --register=no --keep-unit --boot --console=pipe
"""
_BOOT_S: Final = 90.0
_HALT_S: Final = 60.0
_COMMAND_S: Final = 180.0
_ENVIRON: Final = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": "/srv/packages",
}

Entry: TypeAlias = Mapping[str, object]
"""One entry of the journal, by its field names (systemd.journal-fields(7))."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One that runs."""

    init: int
    """The id, outside, of the process that is 1 inside."""

    def path(self, inside: str) -> Path:
        """A path of the machine as seen from outside, what is mounted inside included. A link that is absolute leads
        out of the machine: name what it leads to."""
        return Path(f"/proc/{self.init}/root{inside}")

    def run(
        self, *words: str, environ: Mapping[str, str] | None = None, check: bool = True, timeout_s: float = _COMMAND_S
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as root inside, to its end. Raises `AssertionError` with its words if `check` and it fails."""
        settings = [f"{name}={value}" for name, value in {**_ENVIRON, **(environ or {})}.items()]
        spaces = ["--mount", "--uts", "--ipc", "--pid", "--root", "--wd"]
        done = subprocess.run(
            ["nsenter", f"--target={self.init}", *spaces, "env", "--ignore-environment", *settings, *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=timeout_s,
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def write(self, inside: str, text: str, *, mode: int = 0o644) -> None:
        """Write a file, and the folders above it."""
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)

    def journal(self, *, unit: str, after: str) -> Sequence[Entry]:
        """What stands in the journal about a unit after a place that `journal_end` named, oldest first."""
        said = self.run(
            "journalctl", f"--unit={unit}", f"--after-cursor={after}", "--output=json", "--all", "--no-pager"
        )
        return [json.loads(line) for line in said.stdout.splitlines()]

    def journal_end(self) -> str:
        """The place after the last entry."""
        self.run("journalctl", "--sync")
        said = self.run("journalctl", "--lines=0", "--show-cursor", "--quiet", "--no-pager").stdout
        return said.strip().removeprefix("-- cursor: ")


@contextmanager
def booted(root: Path, console: Path) -> Iterator[Machine]:
    """Boot the machine, and halt it in the end. What it prints while it boots goes into the file `console`.

    Raises `TimeoutError` or `AssertionError` with its last words if it does not come up.
    """
    with console.open("wb") as out:
        process = subprocess.Popen(
            # It ends with the tests, however these end.
            ["setpriv", "--pdeathsig=TERM", "unshare", "--mount", "sh", "-c", _BOOT, "sh", str(root)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        yield _come_up(process, console)
    finally:
        _halt(process)


def _come_up(process: subprocess.Popen[bytes], console: Path) -> Machine:
    found: list[Machine] = []

    def runs() -> bool:
        assert process.poll() is None, f"the machine has ended: {console.read_text(errors='replace')[-2000:]}"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        # The one child that is 1 inside; before it, nspawn has others for a moment.
        found[:] = [Machine(init=int(child)) for child in children if _is_init(int(child))]
        return bool(found) and _state(found[0]) in ("running", "degraded")

    until(runs, f"the machine runs; see {console}", timeout_s=_BOOT_S)
    return found[0]


def _is_init(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
    [spaces] = [line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:")]
    return len(spaces) > 1 and spaces[-1] == "1"


def _state(machine: Machine) -> str:
    return machine.run("systemctl", "is-system-running", check=False).stdout.strip()


def _halt(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_HALT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_HALT_S)
