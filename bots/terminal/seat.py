"""Where this process sits: a person at both ends, or pipes."""

from __future__ import annotations

import sys
from pathlib import Path

from bots.terminal.screen import OwnScreen, PlainScreen


def someone_sits_here() -> bool:
    """Whether input and output are a terminal that can draw."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    from prompt_toolkit.utils import is_dumb_terminal  # slow to import, and rarely needed

    return not is_dumb_terminal()


def own_screen(*, history: Path | None) -> OwnScreen:
    """The screen of this process. `history` is the file that lines typed at a prompt are kept in."""
    if someone_sits_here():
        from bots.terminal.prompt import PromptScreen

        return PromptScreen(history=history)
    return PlainScreen(input_fd=sys.stdin.fileno(), output_fd=sys.stdout.fileno(), error_fd=sys.stderr.fileno())
