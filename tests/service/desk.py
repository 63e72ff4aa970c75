"""The installed desk on a machine: how it is configured, run and looked at."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.crash.daemon import PATIENCE_S, until
from tests.fakes.telegram import ThreadedTelegramServer
from tests.service.machine import Entry, Machine

CONFIG: Final = "/etc/frontdesk/frontdesk.toml"
SECRETS: Final = "/etc/frontdesk/secrets"
DROPINS: Final = "/etc/systemd/system/frontdesk.service.d"
STATE: Final = "/var/lib/frontdesk"
AGENTS: Final = "/srv/agents"
OPEN: Final = '[access]\ndirect = "open"\n[session.reset]\nmode = "none"\n'
OFFLINE: Final = '[agents.default]\nbackend = "offline"\n'
SLEEPER: Final = '[agents.default]\nbackend = "sleeper:make"\n'
"""The agent of `tests.service.sleeper`."""


def telegram_bot(server: ThreadedTelegramServer, name: str = "telegram") -> str:
    """A bot's section; its token is the credential with its name."""
    begin = f'[bots.{name}]\nplatform = "telegram"\ntoken = "credential:{name}"\n'
    return f'{begin}api_base = "{server.url}"\ndrafts = false\n'


@dataclass
class Desk:
    """The service `frontdesk`, as `make install-service` left it."""

    machine: Machine
    mark: str = field(init=False)
    """The place in the journal where this test begins."""

    def __post_init__(self) -> None:
        self.mark = self.machine.journal_end()

    # what an owner does

    def make(self, target: str, *settings: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`make TARGET` in the checkout."""
        return self.machine.run("make", "--silent", "-C", "/srv/frontdesk", target, *settings, check=check)

    def configure(self, config: str, secrets: Mapping[str, str] | None = None) -> None:
        """Write the config, and hand secrets over as `frontdesk init` does."""
        self.machine.write(CONFIG, config)
        for name, secret in (secrets or {}).items():
            self.machine.write(f"{SECRETS}/{name}", secret + "\n", mode=0o600)
        loads = "".join(f"LoadCredential={name}:{SECRETS}/{name}\n" for name in secrets or {})
        self.add_dropin("credentials", f"[Service]\n{loads}")

    def add_dropin(self, name: str, text: str) -> None:
        self.machine.write(f"{DROPINS}/{name}.conf", text)
        self.machine.run("systemctl", "daemon-reload")

    def systemctl(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.machine.run("systemctl", *words, check=check)

    def start(self) -> None:
        """Returns when it is ready."""
        self.systemctl("start", "frontdesk")

    def stop(self) -> None:
        self.systemctl("stop", "frontdesk")

    def call(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """`sudo frontdesk ...`."""
        return self.machine.run("frontdesk", *words, check=check)

    # how it is

    def show(self, name: str) -> str:
        """One property of the unit."""
        return self.systemctl("show", f"--property={name}", "--value", "frontdesk").stdout.strip()

    @property
    def pid(self) -> int:
        """As known inside."""
        return int(self.show("MainPID"))

    @property
    def restarts(self) -> int:
        """How often systemd started it anew by itself since somebody started it."""
        return int(self.show("NRestarts"))

    @property
    def proc(self) -> str:
        """The folder inside where the kernel tells of the main process (proc(5))."""
        return f"/proc/{self.pid}"

    def state_of(self, bot: str) -> str:
        """How a bot is, in one word; nothing while the desk does not run."""
        told = json.loads(self.call("status", "--json").stdout)
        return next((str(one["state"]) for one in told["bots"] if one["name"] == bot), "")

    def until_bot(self, state: str, bot: str = "telegram") -> None:
        self.until(lambda: self.state_of(bot) == state, f"{bot} is {state}")

    # what it said

    @property
    def entries(self) -> list[Entry]:
        """All that the journal has of it since the test began, systemd's words about it too."""
        return list(self.machine.journal(unit="frontdesk", after=self.mark))

    @property
    def lines(self) -> list[str]:
        """What the program itself wrote."""
        return [str(entry["MESSAGE"]) for entry in self.entries if entry.get("_TRANSPORT") == "stdout"]

    @property
    def log(self) -> str:
        return "\n".join(str(entry["MESSAGE"]) for entry in self.entries)

    def until_logged(self, pattern: str, *, timeout_s: float = PATIENCE_S) -> None:
        self.until(lambda: re.search(pattern, self.log) is not None, f"{pattern} is logged", timeout_s=timeout_s)

    def until(self, holds: Callable[[], bool], what: str, *, timeout_s: float = PATIENCE_S) -> None:
        """Look until it is so; else the journal tells why not."""
        try:
            until(holds, what, timeout_s=timeout_s)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; the journal says: {self.log[-3000:]}") from None
