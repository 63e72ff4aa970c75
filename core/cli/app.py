"""The `frontdesk` command: its verbs, and what their failures are to a shell."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Final

import typer

from config.faults import ConfigFaults
from core.cli.daemon import chat, check, run
from core.cli.options import ConfigOption, StateOption, place_of
from core.cli.people import people
from core.cli.sessions import sessions
from core.cli.status import status
from core.errors import ConfigError, FrontdeskError, VerbFailed

FAILED: Final = 1
CONFIG: Final = 78
"""EX_CONFIG of sysexits.h."""

app = typer.Typer(
    name="frontdesk",
    help="A front desk for chat bots: people message an agent on many platforms.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verb in (run, chat, check, status):
    app.command()(verb)
app.add_typer(sessions, name="sessions")
app.add_typer(people, name="people")


@app.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        words = installed("frontdesk")
    except PackageNotFoundError:
        words = "unknown: this copy is not installed"
    print(words, flush=True)


def _version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def _frontdesk(
    context: typer.Context,
    config: ConfigOption = None,
    state: StateOption = None,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    context.obj = place_of(context, config, state)


def main() -> None:
    """The console script. Exit codes: 0 done, 1 failed, 2 usage, 78 config."""
    _fill_closed_streams()
    try:
        app(prog_name="frontdesk")
    except (ConfigFaults, ConfigError) as fault:
        _end(CONFIG, str(fault))
    except VerbFailed as fault:
        _end(fault.code, f"frontdesk: {fault}")
    except FrontdeskError as fault:
        _end(FAILED, f"frontdesk: {fault}")


def _end(code: int, words: str) -> None:
    print(words, file=sys.stderr, flush=True)
    sys.exit(code)


def _fill_closed_streams() -> None:
    """A closed standard stream leaves its number to the next file that is opened: answers would go into the store."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
