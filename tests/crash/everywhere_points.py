"""Points on the way of files that an agent sends, and daemons that do not die: one takes the double for Telegram's own
server, one has a clock that can be set. A nursery that imports this module knows them: see `tests.crash.victim`."""

from __future__ import annotations

from typing import Final

import core.delivery.lane
import core.main
from bots.slack.files import Uploads
from bots.telegram import downloads
from tests.crash import victim
from tests.crash.victim import Install, Trap, after, last, replace
from tests.wire.shifted import Shifted


def _with_files(*handed: object, **_: object) -> object:
    posted = last(handed)
    return posted.id if posted.files else False


def public(trap: Trap) -> None:
    """Nobody dies. What has another address is a server of one's own, which takes larger files."""
    replace(downloads, "is_own", lambda settings: False)


def shifted(trap: Trap) -> None:
    """Nobody dies. The clock is ahead by what the file that `tests.wire.shifted` names says."""
    replace(core.main, "SystemClock", Shifted)


POINTS: Final[dict[str, Install]] = {
    "public": public,
    "shifted": shifted,
    "file_unmarked": after(core.delivery.lane, "hand_over", _with_files),
    "file_unshared": after(Uploads, "_upload"),
}

victim.POINTS.update(POINTS)
