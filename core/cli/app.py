"""The `frontdesk` command: its verbs, and what their failures are to a shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated, Final, NoReturn

import typer

from config.faults import ConfigFaults
from core.cli.daemon import run
from core.cli.options import ConfigOption, JsonOption, StateOption, place_of
from core.cli.tables import print_json
from core.errors import ConfigError, FrontdeskError, VerbFailed

FAILED: Final = 1
CONFIG: Final = 78
"""EX_CONFIG of sysexits.h."""


def version(as_json: JsonOption = False) -> None:
    """Print the version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        words = installed("frontdesk")
    except PackageNotFoundError:
        words = "unknown: this copy is not installed"
    if as_json:
        print_json({"version": words})
    else:
        print(words, flush=True)


def _version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


def _frontdesk(
    context: typer.Context,
    config: ConfigOption = None,
    state: StateOption = None,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    context.obj = place_of(context, config, state)


def command(arguments: Sequence[str]) -> typer.Typer:
    """The verbs. Where `run` comes first it is the only one: all others' modules and parsers take 40 ms of a start."""
    app = typer.Typer(
        name="frontdesk",
        help="A front desk for chat bots: people message an agent on many platforms.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_frontdesk)
    app.command()(run)
    if arguments[:1] != ["run"]:
        from core.cli.verbs import add_verbs

        add_verbs(app)
        app.command()(version)
    return app


def main() -> None:
    """The console script. Exit codes: 0 done, 1 failed, 2 usage, 78 config."""
    _fill_closed_streams()
    _write_anywhere()
    try:
        command(sys.argv[1:])(prog_name="frontdesk")
    except (ConfigFaults, ConfigError) as fault:
        _end(CONFIG, str(fault))
    except VerbFailed as fault:
        _end(fault.code, f"frontdesk: {fault}")
    except FrontdeskError as fault:
        _end(FAILED, f"frontdesk: {fault}")
    except OSError as fault:
        _end(FAILED, f"frontdesk: {_what_failed(fault)}")


def _what_failed(fault: OSError) -> str:
    """A file that can't be used, or, where no file is named, the output that nobody takes."""
    if fault.filename is not None:
        return f"{fault.filename} can't be used: {fault.strerror}"
    return f"what there is to say can't be written: {fault.strerror}; look at where standard output goes"


def _end(code: int, words: str) -> NoReturn:
    """What was not written stays unwritten: the interpreter would try once more at its end, and say so at length."""
    with suppress(OSError):
        print(words, file=sys.stderr, flush=True)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _write_anywhere() -> None:
    """What the terminal's encoding lacks is shown by its code, and costs no verb its end."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def _fill_closed_streams() -> None:
    """A closed standard stream leaves its number to the next file that is opened: answers would go into the store."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
