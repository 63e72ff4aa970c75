"""All verbs of `frontdesk` but `run`: what a daemon's start does without."""

from __future__ import annotations

import typer

from core.cli.daemon import chat, check
from core.cli.db import db
from core.cli.explain import explain
from core.cli.init import init
from core.cli.manifest import manifest
from core.cli.people import people
from core.cli.reload import reload
from core.cli.send import send
from core.cli.sessions import sessions
from core.cli.status import status


def add_verbs(app: typer.Typer) -> None:
    for verb in (chat, init, manifest, check, status, reload, send, explain):
        app.command()(verb)
    app.add_typer(sessions, name="sessions")
    app.add_typer(people, name="people")
    app.add_typer(db, name="db")
