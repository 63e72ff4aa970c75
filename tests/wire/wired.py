"""`run --config FILE --state DIR` of a daemon that is built with other parts: see `core.main.Wiring`."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import NoReturn

from config.load import load
from core.main import Wiring, serve
from core.service.signals import Signals


def run(wiring: Wiring) -> NoReturn:
    """To its end, as `frontdesk` does with the arguments of this process."""
    parser = ArgumentParser()
    parser.add_argument("verb", choices=["run"])
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    told = parser.parse_args()
    signals = Signals()
    code = asyncio.run(serve(load(config=told.config, state=told.state), signals, stdin=False, wiring=wiring))
    signals.over()
    sys.exit(code)
