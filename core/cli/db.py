"""`db ...`: the store itself: its schema, its soundness, its backups."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from core.cli.asking import ask_desk
from core.cli.options import ConfigOption, JsonOption, Place, StateOption, place_of
from core.cli.progress import Shown
from core.cli.tables import Row, counted, print_json, print_line, row_of, rows_of
from core.errors import NotRunning, VerbFailed
from core.service.socket import Json

if TYPE_CHECKING:
    from config.load import Loaded
    from core.desk.restored import Held
    from core.store.postgres import PostgresDatabase
    from core.store.restore import Restored
    from core.store.sqlite import SqliteDatabase

    Database = SqliteDatabase | PostgresDatabase

db = typer.Typer(help="The store: schema, soundness, backups.", no_args_is_help=True, rich_markup_mode=None)

MIB = 1024 * 1024
_CHECKED = {
    "conversations": ("conversation",),
    "sessions": ("session",),
    "entries": ("entry", "entries"),
    "turns": ("turn",),
    "inbox": ("message",),
    "deliveries": ("delivery", "deliveries"),
    "entries_search": ("row of the search index", "rows of the search index"),
    "files": ("file",),
}


@db.callback()
def _db(context: typer.Context, config: ConfigOption = None, state: StateOption = None) -> None:
    context.obj = place_of(context, config, state)


@db.command("upgrade")
def upgrade(
    context: typer.Context, config: ConfigOption = None, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Bring the schema up to this version's, after a backup. The desk must be stopped; a start does the same."""
    from core.store.upkeep import bring_up

    loaded = place_of(context, config, state).load()
    before, now = bring_up(_store_of(loaded), loaded.state_dir)
    if as_json:
        print_json({"from": before, "to": now, "upgraded": before != now})
    elif before == now:
        print_line(f"schema {now}: up to date")
    else:
        print_line(f"schema {before or 'none'} -> {now}; the store from before is in {loaded.state_dir / 'backups'}")


@db.command("verify")
def verify(
    context: typer.Context, config: ConfigOption = None, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Look for anything that can't be true of a sound store. Exit 0: sound; 1: it is not, and what to do is said."""
    found = ask_desk(place_of(context, config, state), "db.verify", {})
    sound = row_of(found).get("sound") is True
    if as_json:
        print_json(found)
    else:
        for finding in rows_of(found, "findings"):
            print_line(f"{finding['subject']}: broken is “{finding['rule']}”. {finding['means']} {finding['advice']}")
        print_line(f"{'sound' if sound else 'NOT SOUND'}: looked at {_looked_at(row_of(found, 'checked'))}")
    if not sound:
        raise typer.Exit(1)


def _looked_at(checked: Row) -> str:
    words = {name: checked.get(name) for name in _CHECKED}
    return ", ".join(counted(count, *_CHECKED[name]) for name, count in words.items() if isinstance(count, int))


@db.command("backup")
def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where it goes; never replaced without --force.")],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")] = False,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the store into one file: the database and all files of transcripts, checked, whether a desk runs or not.

    FILE goes where whoever types this may write, outside the state directory. The configuration and its secrets are not
    in it. It is a tar file; `db restore` also reads it compressed with gzip, bzip2 or xz.
    """
    from core.clock import SystemClock
    from core.store.backup import Order, back_up, written

    place = place_of(context, config, state)
    if place.owns(file.absolute().parent):
        raise VerbFailed(f"{file.absolute().parent} is the desk's own; choose a folder that belongs to somebody else")
    with Shown() as shown, written(file, force=force) as out, place.stepped_down():
        database = _running_store(place) or _store_of(place.load())
        order = Order(made_at=SystemClock().now(), program=_program(), progress=shown)
        made = back_up(database, place.state_directory(), out, order)
    if as_json:
        print_json(
            {
                "file": str(file.absolute()), "made_at": made.made_at, "schema": made.schema, "dialect": made.dialect,
                "bytes": made.size, "files": len(made.files), "missing": list(made.missing),
            }
        )  # fmt: skip
        return
    size = f"{made.size / MIB:,.1f} MiB"
    print_line(f"{file}: {size}, schema {made.schema}, {counted(len(made.files), 'file')}; read back, and sound")
    for digest in made.missing:
        print_line(f"note: a transcript or a message that waits refers to the file {digest}, which was not on the disk")


@db.command("restore")
def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup, as `db backup` makes them.")],
    moved: Annotated[
        bool,
        typer.Option("--moved", help="The desk that made it never ran again since: what waited then is done now."),
    ] = False,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a backup in the store's place. The desk must be stopped; what is there goes to STATE/backups first.

    Messages that waited when the backup was made, and answers that were not sent yet, are not acted on: the desk went
    on after it and has done that. Where it has not, since it moved here, say --moved.
    """
    from core.store.archive import opened

    place = place_of(context, config, state)
    if place.owns(file.absolute().parent):
        place.state_directory()
    with opened(file) as source:
        done, held = _restore(place.load(), source, file, moved=moved)
    told: dict[str, Json] = {
        "file": str(file.absolute()), "made_at": done.manifest.made_at, "schema": done.manifest.schema,
        "files": len(done.manifest.files), "replaced": str(done.replaced) if done.replaced is not None else None,
        "held_back": {"messages": held.messages, "turns": held.turns, "deliveries": held.deliveries},
    }  # fmt: skip
    if as_json:
        print_json(told)
        return
    print_line(f"restored {file}, made {done.manifest.made_at}, with {counted(len(done.manifest.files), 'file')}")
    if done.replaced is not None:
        print_line(f"the store that was here is in {done.replaced}")
    if held.messages or held.deliveries:
        waited = f"{counted(held.messages, 'message')} and {counted(held.deliveries, 'delivery', 'deliveries')}"
        print_line(f"not acted on again, since the desk went on after the backup: {waited} that waited then")
    service = "" if place.config or place.state else " (or systemctl start frontdesk)"
    print_line(f"start it with: {place.command('run')}{service}")


def _restore(loaded: Loaded, source: IO[bytes], file: Path, *, moved: bool) -> tuple[Restored, Held]:
    from core.clock import SystemClock
    from core.desk.restored import go_on, hold_back
    from core.service.notices import Notices
    from core.store.backup import Order
    from core.store.open import database_at
    from core.store.restore import Aside
    from core.store.restore import restore as put_in_place

    now, notices = SystemClock().now(), Notices(loaded.settings.desk.language)
    database = database_at(loaded.settings.store.url_in(loaded.state_dir), loaded.state_dir)
    with Shown() as shown:
        order = Order(made_at=now, program=_program(), progress=shown)
        aside = Aside(name=f"replaced-{now:%Y%m%d-%H%M%S}", order=order)
        ready = go_on if moved else hold_back
        return put_in_place(database, loaded.state_dir, source, file, aside, lambda tx: ready(tx, notices, now))


def _program() -> str:
    from importlib.metadata import version

    return version("frontdesk")


def _store_of(loaded: Loaded) -> Database:
    """As the config says. Raises `VerbFailed` where there is none."""
    from core.store.open import database_at, exists

    url = loaded.settings.store.url_in(loaded.state_dir)
    if not exists(url, loaded.state_dir):
        raise VerbFailed(f"there is no store in {loaded.state_dir}; name another with --state")
    return database_at(url, loaded.state_dir)


def _running_store(place: Place) -> SqliteDatabase | None:
    """The file that the running desk has open, whatever became of its config meanwhile; None where none runs, or where
    its store is on a server: how to reach that is in the config."""
    try:
        found = row_of(asyncio.run(_where(place)))
    except NotRunning:
        return None
    if not isinstance(path := found.get("path"), str):
        return None
    from core.store.sqlite import SqliteDatabase

    beside = place.state_directory() / Path(path).name  # a service may see its state under another name
    return SqliteDatabase(beside if beside.exists() else Path(path))


async def _where(place: Place) -> Json:
    from core.service.socket import SOCKET_NAME
    from core.service.socket_client import ask

    return await ask(place.state_directory() / SOCKET_NAME, "db.where", {})
