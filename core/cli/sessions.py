"""`sessions ...`: conversations and their sessions."""

from __future__ import annotations

import sys
from typing import Annotated, TypeAlias

import typer

from core.cli.asking import ask_desk
from core.cli.completing import session_keys
from core.cli.options import ConfigOption, JsonOption, StateOption, place_of
from core.cli.tables import Row, counted, print_json, print_line, print_rows, row_of, rows_of, second
from core.errors import VerbFailed
from core.service.socket import Json

KeyArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="KEY", help="A session key, for its current session, or a session id.", autocompletion=session_keys
    ),
]

sessions = typer.Typer(help="Conversations and their sessions.", no_args_is_help=True, rich_markup_mode=None)

_LIST = {
    "key": "key",
    "id": "session",
    "title": "title",
    "source": "source",
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
        show_list(found)


def show_list(found: Json) -> None:
    """For people: a session a row."""
    print_rows(rows_of(found), _LIST, empty="no sessions yet")


@sessions.command("show")
def show_session(
    context: typer.Context,
    key: KeyArgument,
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
    print_line(f"{row_of(found).get('key')}: session {session.get('id')}, since {second(session.get('started_at'))}")
    if session.get("ended_at"):
        print_line(f"ended {second(session.get('ended_at'))} ({session.get('end_reason')})")
    print_rows(rows_of(found, "entries"), _ENTRIES, empty="nothing in it")


@sessions.command("export")
def export_session(
    context: typer.Context,
    key: KeyArgument,
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
    key: KeyArgument,
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


@sessions.command("end")
def end_session(
    context: typer.Context,
    key: KeyArgument,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a session; what runs in it is stopped. The next message begins a new one, and /resume goes back."""
    found = ask_desk(place_of(context, config, state), "sessions.end", {"key": key})
    if as_json:
        print_json(found)
    else:
        print_line(f"{row_of(found).get('id')}: ended {second(row_of(found).get('ended_at'))}")


@sessions.command("delete")
def delete_session(
    context: typer.Context,
    key: KeyArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a session for good: all that was said in it, its files, and what searching finds of it."""
    place = place_of(context, config, state)
    wanted = row_of(ask_desk(place, "sessions.find", {"key": key}))
    if not yes:
        _ask_first(wanted)
    found = ask_desk(place, "sessions.delete", {"key": wanted.get("id")})
    if as_json:
        print_json(found)
    else:
        print_line(f"{wanted.get('id')}: deleted, with {_messages(wanted)}")


def _ask_first(wanted: Row) -> None:
    """Raises `VerbFailed` where nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise VerbFailed(f"that deletes {_messages(wanted)} for good: say --yes", code=2)
    title = f" “{wanted.get('title')}”" if wanted.get("title") else ""
    if not typer.confirm(f"delete {wanted.get('key')}{title} with {_messages(wanted)}?", err=True):
        print_line("nothing was deleted")
        raise typer.Exit(1)


def _messages(wanted: Row) -> str:
    count = wanted.get("messages")
    return counted(count if isinstance(count, int) else 0, "message")
