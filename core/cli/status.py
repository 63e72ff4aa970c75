"""`status`: how the desk is doing."""

from __future__ import annotations

import typer

from core.cli.asking import ask_desk
from core.cli.options import ConfigOption, JsonOption, StateOption, place_of
from core.cli.tables import Row, print_counts, print_json, print_line, print_rows, row_of, rows_of, second, texts_of
from core.service.socket import Json

_BOTS = {
    "name": "bot",
    "platform": "platform",
    "account": "account",
    "state": "state",
    "last_inbound_at": "last message",
}
"""What a bot says of itself stands below: beside these no terminal has room for it."""
_TOOLS = {"name": "tools of", "agent": "agent", "state": "state", "tools": "tools", "detail": "what is to be known"}


_LIMITS = {"name": "limit met", "count": "times since the start", "last_at": "last"}


def status(
    context: typer.Context, config: ConfigOption = None, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Show bots, turns and queues."""
    found = ask_desk(place_of(context, config, state), "status", {})
    if as_json:
        print_json(found)
    else:
        show(found)


def show(found: Json) -> None:
    """For people: what there is, line by line, on 80 columns."""
    wrong = row_of(row_of(found).get("not_ready"))
    print_line("ready" if row_of(found).get("ready") else "not ready:" if wrong else "not running, or not ready")
    for part, why in wrong.items():
        print_line(f"  {part}: {why}")
    bots = rows_of(found, "bots")
    print_rows(bots, _BOTS, empty="no bots")
    for bot in bots:
        if bot.get("detail"):
            print_line(f"{bot.get('name')}: {bot.get('detail')}")
    if "tools" in row_of(found):
        print_rows(rows_of(found, "tools"), _TOOLS, empty="")
    for fault in texts_of(found, "faults"):
        print_line(f"fault: {fault}")
    if listen := row_of(found, "listen"):
        detail = f" ({listen.get('detail')})" if listen.get("detail") else ""
        print_line(f"listens: {listen.get('address')}, {listen.get('state')}{detail}")
    _print_config(row_of(found, "config"))
    for part in ("turns", "cache", "inbox", "outbox"):
        print_counts(part, row_of(found, part))
    if limits := rows_of(found, "limits"):
        print_rows(limits, _LIMITS, empty="")
    if errors := rows_of(found, "errors"):
        print_line("Last errors:")
    for error in errors:
        facts = ", ".join(f"{name} {value}" for name, value in error.items() if name not in ("at", "event"))
        print_line(f"  {second(error.get('at'))}  {error.get('event')}" + (f": {facts}" if facts else ""))


def _print_config(config: Row) -> None:
    faults = texts_of(config, "faults")
    if faults:
        print_line(
            f"The config was refused at {second(config.get('refused_at'))}; the one from "
            f"{second(config.get('loaded_at'))} holds:"
        )
    for fault in faults:
        print_line(f"  {fault}")
    if waiting := texts_of(config, "next_start"):
        print_line(f"Changed, and in force from the next start on: {', '.join(waiting)}")
