"""A daemon, the Telegram that it talks to, and what must be true of both after whatever happened."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from core.store.checks import check
from core.store.sql import Row, Sql, Tx
from sqlalchemy import text as verbatim

from tests.crash.daemon import Daemon, until
from tests.fakes.agents_crash import closing, opening
from tests.fakes.telegram import Chat, FloodLimits, ThreadedTelegramServer, User

VICTIM: Final = (sys.executable, "-m", "tests.crash.victim")
APART_S: Final = 60
"""Between the send times of two messages, so that they are never taken for one."""
