"""The end of `init`: start the installed service, or say how the desk is started."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from core.errors import VerbFailed

if TYPE_CHECKING:
    from core.cli.setup.choices import Choices
    from core.cli.setup.plan import Plan
    from core.cli.setup.seat import Seat

UNIT: Final = "frontdesk"
PATIENCE_S: Final = 150.0
"""For systemd, which itself gives the service 60 s to stop and as long as it takes to be ready."""


class Service:
    """`wanted`: whether it is to be started; None: that is asked."""

    def __init__(self, plan: Plan, seat: Seat, *, wanted: bool | None) -> None:
        """Raises `VerbFailed` if what is wanted can't be had."""
        self._plan = plan
        self._seat = seat
        self._wanted = wanted
        if wanted and not plan.for_service:
            raise VerbFailed(
                "--start is for the installed service, as root: sudo make install-service, then sudo frontdesk init",
                code=2,
            )

    def serve(self, choices: Choices, called: str | None) -> None:
        """Start it if that is wanted, and say what comes next. Raises `VerbFailed` if it does not start."""
        if not self._plan.for_service:
            self._say_next([*self._by_hand(), *self._first_words(choices, called)])
            return
        self._systemctl("daemon-reload")
        runs = self._systemctl("is-active", "--quiet", UNIT, check=False) == 0
        verb = "restart" if runs else "start"
        if self._is_wanted(verb):
            self._systemctl(verb, UNIT)
            self._seat.say("The service runs.")
            self._say_next(self._first_words(choices, called))
            return
        start = ("start it with what was written", f"sudo systemctl {verb} {UNIT}")
        self._say_next([start, *self._first_words(choices, called)])

    def _is_wanted(self, verb: str) -> bool:
        if self._wanted is not None:
            return self._wanted
        return self._seat.asks and self._seat.confirm(f"{verb.capitalize()} the service now?", default=True)

    def _say_next(self, steps: Sequence[tuple[str, str]]) -> None:
        self._seat.say("", "Next:", *(f"  {f'{what}:':<32} {how}" for what, how in steps))

    def _by_hand(self) -> list[tuple[str, str]]:
        run = ("start the desk here", self._plan.command("run"))
        service = ("or as a service of this machine", "sudo make install-service, then sudo frontdesk init")
        return [run] if self._plan.unit.installed else [run, service]

    def _first_words(self, choices: Choices, called: str | None) -> list[tuple[str, str]]:
        """What to do once it runs."""
        again = ("try everything, at any time", self._plan.command("check --probe"))
        if choices.account is None:
            return [("talk to it here", self._plan.command("chat")), again]
        name = called or f"the bot, on {choices.account.questions.title}"
        if choices.owners:
            return [("write to", name), again]
        approve = self._plan.command("people approve CODE")
        return [("write to, and be told a code", name), ("let yourself in, as the owner", approve), again]

    def _systemctl(self, *words: str, check: bool = True) -> int:
        program = shutil.which("systemctl")
        if program is None:
            raise VerbFailed("there is no systemctl here; the files are written, start the service by hand")
        try:
            done = subprocess.run([program, *words], check=False, timeout=PATIENCE_S)  # noqa: S603  # words of ours
        except subprocess.TimeoutExpired as late:
            raise VerbFailed(f"systemctl {' '.join(words)} took too long; systemctl status {UNIT} tells more") from late
        if check and done.returncode != 0:
            failed = f"systemctl {' '.join(words)} failed; the files are written"
            raise VerbFailed(f"{failed}. journalctl -u {UNIT} -n 50 tells why")
        return done.returncode
