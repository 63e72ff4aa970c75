"""Points on the way of what messages bring. A nursery that imports this module knows them: see `tests.crash.victim`."""

from __future__ import annotations

from typing import Final

from core.agents.speech import Speech
from core.desk import voices
from core.desk.owner import Owner
from core.desk.porter import Porter
from core.store import inbox
from core.store.files import Files, Incoming
from tests.crash import victim
from tests.crash.victim import Install, after, before

POINTS: Final[dict[str, Install]] = {
    "fetch_begun": after(Files, "receive"),
    "fetch_written": after(Incoming, "write"),
    "fetch_whole": before(Files, "adopt"),
    "fetched": after(Files, "adopt"),
    "kept": after(Porter, "_kept"),
    "inside_enclose": after(inbox, "enclose"),
    "enclosed": before(Owner, "admit"),
    "listening": before(Speech, "transcribe"),
    "heard": after(Speech, "transcribe"),
    "spoken": after(Speech, "speak"),
    "voice_posted": after(voices, "_post"),
}

victim.POINTS.update(POINTS)
