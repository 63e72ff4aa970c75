"""`people ...`: who may talk to the desk."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from core.cli.asking import ask_desk
from core.cli.completing import people_ids
from core.cli.options import ConfigOption, JsonOption, Place, StateOption, place_of
from core.cli.tables import Row, print_json, print_line, print_rows, row_of, rows_of, rows_or_values
from core.errors import VerbFailed
from core.service.socket import Json

people = typer.Typer(help="Who may talk to the desk.", no_args_is_help=True, rich_markup_mode=None)

_PEOPLE = {"id": "id", "name": "name", "role": "role", "source": "from", "identities": "identities"}
_PENDING = {"code": "code", "platform": "platform", "name": "name", "expires_at": "until"}


@people.callback()
def _people(context: typer.Context, config: ConfigOption = None, state: StateOption = None) -> None:
    context.obj = place_of(context, config, state)


@people.command("list")
def list_people(
    context: typer.Context, config: ConfigOption = None, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """List the people, and who waits for approval."""
    found = ask_desk(place_of(context, config, state), "people.list", {})
    if as_json:
        print_json(found)
        return
    print_rows(rows_of(found, "people"), _PEOPLE, empty="nobody yet")
    if pending := rows_of(found, "pending"):
        print_line("Waiting for: frontdesk people approve CODE")
        print_rows(pending, _PENDING, empty="")


@people.command("approve")
def approve(
    context: typer.Context,
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code that the desk sent them.")],
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask, also where they become the owner.")] = False,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let somebody in who wrote to a bot, after showing who it is.

    The first one becomes the owner; without a terminal that takes --yes.
    """
    place = place_of(context, config, state)
    found = row_of(ask_desk(place, "people.waiting", {"code": code}))
    _show_stranger(found, yes=yes)
    wanted: dict[str, Json] = {"code": code, "becomes": str(found.get("becomes"))}
    _change(place, "people.approve", wanted, as_json=as_json)


def _show_stranger(found: Row, *, yes: bool) -> None:
    """Who would come in. Raises `VerbFailed` where nobody can be asked about an owner."""
    owner = found.get("becomes") == "owner"
    as_what = "becomes the OWNER, who decides about everybody else" if owner else "becomes a user"
    print_line(f'{found.get("name")} ({found.get("identity")}), who wrote to the bot "{found.get("bot")}", {as_what}.',
               aside=True)  # fmt: skip
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        if owner:
            raise VerbFailed("nobody can be asked here whether they are to be the owner: say --yes", code=2)
        return
    if not typer.confirm("Let them in?", err=True):
        print_line("nobody was let in")
        raise typer.Exit(1)


@people.command("role")
def give_role(
    context: typer.Context,
    person: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="A person's id, as in: frontdesk people list; or an identity, PLATFORM:USER, as /whoami shows it.",
            autocompletion=people_ids,
        ),
    ],
    role: Annotated[Literal["owner", "user", "guest", "blocked"], typer.Argument(metavar="ROLE")],
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give somebody another role: owner, user, guest or blocked."""
    _change(place_of(context, config, state), "people.role", {"id": person, "role": role}, as_json=as_json)


@people.command("block")
def block(
    context: typer.Context,
    who: Annotated[
        str, typer.Argument(metavar="ID", help="A person's id, or an identity, PLATFORM:USER, as /whoami shows it.")
    ],
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Shut somebody out, whoever else may write."""
    _change(place_of(context, config, state), "people.block", {"who": who}, as_json=as_json)


@people.command("link")
def link(
    context: typer.Context,
    person: Annotated[
        str, typer.Argument(metavar="ID", help="As in: frontdesk people list", autocompletion=people_ids)
    ],
    other: Annotated[
        str, typer.Argument(metavar="IDENTITY", help="PLATFORM:USER, as /whoami shows it, or another person's id.")
    ],
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say that two are one human: the first keeps name and role, and has the other's identities from now on."""
    found = ask_desk(place_of(context, config, state), "people.link", {"id": person, "other": other})
    _print_known(found, as_json=as_json)


@people.command("unlink")
def unlink(
    context: typer.Context,
    identity: Annotated[str, typer.Argument(metavar="IDENTITY", help="PLATFORM:USER, one of a person's identities.")],
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a link back: the identity is a person of its own again. An owner's becomes a user."""
    found = ask_desk(place_of(context, config, state), "people.unlink", {"identity": identity})
    _print_known(found, as_json=as_json)


def _print_known(found: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        person = row_of(found)
        identities = ", ".join(map(str, rows_or_values(person.get("identities"))))
        print_line(f"{person.get('name')} ({person.get('id')}): {person.get('role')}, known as {identities}")


def _change(place: Place, verb: str, args: dict[str, Json], *, as_json: bool) -> None:
    found = ask_desk(place, verb, args)
    if as_json:
        print_json(found)
    else:
        person = row_of(found)
        print_line(f"{person.get('name')} ({person.get('id')}): {person.get('role')}")
