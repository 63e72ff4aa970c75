"""Imported first, the standard library's sqlite3 serves in place of pysqlite3, as where that has no wheel.

A plugin of pytest, too: `-p tests.standard_sqlite`. The machine's own SQLite may be one that is refused; so on Linux
the functions of the one inside pysqlite3 are made known to the whole process first, and sqlite3 takes those.
"""

from __future__ import annotations

import ctypes
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import cast


def _serve() -> None:
    found = find_spec("pysqlite3")
    if sys.platform == "linux" and found is not None and found.origin is not None:
        (library,) = Path(found.origin).parent.glob("_sqlite3*.so")
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    assert not {"sqlite3", "pysqlite3"} & sys.modules.keys(), "too late"
    sys.modules["pysqlite3"] = cast("ModuleType", None)  # none is found


_serve()
