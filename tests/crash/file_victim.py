"""The daemon that dies over files: `python -m tests.crash.file_victim POINT PASS ARMED run --config FILE --state DIR`.

As `tests.crash.victim`, with points on the way of what messages bring.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from core.agents.speech import Speech
from core.cli import app
from core.desk import voices
from core.desk.owner import Owner
from core.desk.porter import Porter
from core.store import inbox
from core.store.files import Files, Incoming
from tests.crash.victim import Install, Trap, after, before

POINTS: Final[dict[str, Install]] = {
    "nowhere": lambda trap: None,
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


def main() -> None:
    point, fatal, armed, *arguments = sys.argv[1:]
    POINTS[point](Trap(Path(armed), int(fatal)))
    sys.argv = ["frontdesk", *arguments]
    app.main()


if __name__ == "__main__":
    main()
