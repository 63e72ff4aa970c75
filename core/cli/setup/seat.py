"""Whoever sits at the terminal, or nobody: what is said and asked there."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from getpass import getpass

import typer

from core.cli.tables import print_line


@dataclass(frozen=True, kw_only=True)
class Seat:
    """`asks`: somebody is there. Nothing may be asked else."""

    asks: bool

    def say(self, *lines: str) -> None:
        for line in lines:
            print_line(line)

    def note(self, line: str) -> None:
        """What is of no use to a program that reads along."""
        print(f"note: {line}", file=sys.stderr, flush=True)

    def ask(self, question: str, default: str | None = None) -> str:
        """One line, without white space around it. Raises `typer.Abort`."""
        told = typer.prompt(question, default=default, show_default=bool(default))
        return str(told).strip()

    def ask_secret(self, question: str) -> str:
        """The same, not shown while it is typed; may be empty. Raises `typer.Abort`."""
        try:
            return getpass(f"{question} (not shown): ").strip()  # hides before it asks; typer's asks first
        except (KeyboardInterrupt, EOFError):
            print(flush=True)
            raise typer.Abort from None

    def confirm(self, question: str, *, default: bool) -> bool:
        """Raises `typer.Abort`."""
        return typer.confirm(question, default=default)
