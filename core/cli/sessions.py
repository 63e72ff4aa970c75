"""`sessions ...`: conversations and their sessions."""

from __future__ import annotations

from typing import Annotated

import typer

from core.cli.asking import ask_desk
from core.cli.options import ConfigOption, JsonOption, StateOption, place_of
from core.cli.tables import print_json, print_line, print_rows, row_of, rows_of

sessions = typer.Typer(help="Conversations and their sessions.", no_args_is_help=True, rich_markup_mode=None)

_LIST = {
    "key": "key",
    "id": "session",
    "title": "title",
    "messages": "messages",
    "last_at": "last",
    "ended_at": "ended",
}
_ENTRIES = {"seq": "seq", "at": "at", "kind": "kind", "sender": "sender", "text": "text"}


@sessions.callback()
def _sessions(context: typer.Context, config: ConfigOption = None, state: StateOption = None) -> None:
    context.obj = place_of(context, config, state)


@sessions.command("list")
def list_sessions(
    context: typer.Context, config: ConfigOption = None, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """List the sessions."""
    found = ask_desk(place_of(context, config, state), "sessions.list", {})
    if as_json:
        print_json(found)
    else:
        print_rows(rows_of(found), _LIST, empty="no sessions yet")


@sessions.command("show")
def show_session(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="A session key, for its current session, or a session id.")],
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show everything in a session."""
    found = ask_desk(place_of(context, config, state), "sessions.show", {"key": key})
    if as_json:
        print_json(found)
        return
    session = row_of(found, "session")
    print_line(f"{row_of(found).get('key')}: session {session.get('id')}, since {session.get('started_at')}")
    if session.get("ended_at"):
        print_line(f"ended {session.get('ended_at')} ({session.get('end_reason')})")
    print_rows(rows_of(found, "entries"), _ENTRIES, empty="nothing in it")


@sessions.command("export")
def export_session(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="A session key, for its current session, or a session id.")],
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a session as Markdown; with --json every entry, so that nothing is lost."""
    found = row_of(ask_desk(place_of(context, config, state), "sessions.export", {"key": key}))
    if as_json:
        print_json({"session": found.get("session"), "entries": found.get("entries")})
    else:
        print_line(f"{found.get('markdown')}")


@sessions.command("rename")
def rename_session(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="A session key, for its current session, or a session id.")],
    title: Annotated[str, typer.Argument(metavar="TITLE")],
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a session another title."""
    found = ask_desk(place_of(context, config, state), "sessions.rename", {"key": key, "title": title})
    if as_json:
        print_json(found)
    else:
        print_line(f"{row_of(found).get('id')}: {row_of(found).get('title')}")
