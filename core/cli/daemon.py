"""`run`, `chat`, `check`: the verbs that are the desk, or come before it."""

from __future__ import annotations

import asyncio
import gc
import os
import stat
import sys
from typing import TYPE_CHECKING, Annotated, cast

import typer

from config.first_steps import HOW_TO_ADD, HOW_TO_ADD_A_MODEL
from core.cli.options import ConfigOption, JsonOption, Place, StateOption, place_of
from core.errors import NotRunning
from core.service.signals import Signals

if TYPE_CHECKING:
    from types import ModuleType

    from config.load import Loaded


def run(context: typer.Context, config: ConfigOption = None, state: StateOption = None) -> None:
    """Run the desk until it is told to stop."""
    signals = Signals()
    gc.disable()  # a collection over what is imported now costs more than the start itself
    loaded = place_of(context, config, state).load().complete()
    spare_rich()
    from core.main import serve

    for warning in loaded.warnings:
        print(f"note: {warning}", file=sys.stderr, flush=True)
    stdin = _has_no_bots(loaded) and stdin_is_open()
    if stdin:
        person = sys.stdin.isatty() and sys.stdout.isatty()
        offline = all(agent.backend == "offline" for agent in loaded.settings.agents.values())
        said = HOW_TO_ADD + HOW_TO_ADD_A_MODEL if offline else HOW_TO_ADD
        print(said, file=sys.stdout if person else sys.stderr, flush=True)
    code = asyncio.run(serve(loaded, signals, stdin=stdin))
    signals.over()
    raise typer.Exit(code)


def chat(context: typer.Context, config: ConfigOption = None, state: StateOption = None) -> None:
    """Chat here: with the desk that runs, else with one of your own for as long."""
    raise typer.Exit(_chat(place_of(context, config, state)))


def check(
    context: typer.Context,
    config: ConfigOption = None,
    state: StateOption = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Go out and ask as well: platforms, models, tools, voices, this machine.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the config: "ok" and what to be warned of, or every fault and exit code 78.

    With --probe each thing is asked for, within about ten seconds, and has its line: ok, warning or fault, and what to
    do. Nothing is changed, and no message is taken from a platform. Exit code 0: no fault; 78: a fault of the config or
    of this machine; 1: only a platform, a provider or the network fails.
    """
    place = place_of(context, config, state)
    if probe or as_json:
        from core.cli.probe import report

        raise typer.Exit(report(place, probe=probe, as_json=as_json))
    loaded = place.load().complete()
    from core.assembly import agents_of

    agents_of(loaded.settings).check()
    print("ok", *(f"warning: {warning}" for warning in loaded.warnings), sep="\n", flush=True)


def spare_rich() -> None:
    """structlog imports it for tracebacks in color, which nobody sees here, and httpx for a command of its own. Both do
    without what can't be imported: 4 MiB, and 50 ms of every start. Afterwards rich can be imported."""
    absent = cast("ModuleType", None)  # this is how sys.modules says that a module can't be imported
    sys.modules.setdefault("httpx._main", absent)
    if "rich" not in sys.modules:
        sys.modules["rich"] = absent
        import structlog  # noqa: F401  # it looks for rich now, and never again

        del sys.modules["rich"]


def stdin_is_open(descriptor: int = 0) -> bool:
    """Whether lines can come: not from /dev/null, and not from a terminal that is somebody else's for now."""
    found = os.fstat(descriptor)
    if stat.S_ISCHR(found.st_mode) and found.st_rdev == os.stat(os.devnull).st_rdev:
        return False
    return not os.isatty(descriptor) or _is_in_front(descriptor)


def _is_in_front(terminal: int) -> bool:
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:  # another session's
        return False


def _chat(place: Place) -> int:
    from core.main import attach, serve

    try:
        return asyncio.run(attach(place.state_directory()))
    except NotRunning:
        # Until here, a daemon that runs is to be reached whatever became of its config.
        loaded = place.load().complete()
    return asyncio.run(serve(loaded, Signals(), stdin=True))


def _has_no_bots(loaded: Loaded) -> bool:
    return all(bot.platform == "terminal" for bot in loaded.settings.bots.values())
