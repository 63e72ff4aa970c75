"""Secrets that the options of `init` hand over: in files, in variables of the environment, or as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from core.errors import VerbFailed
from core.ports import Questions

if TYPE_CHECKING:
    from core.cli.setup.given import Given

IN_ORDER: Final = "--token, --token-file and --token-env"


@dataclass(frozen=True, kw_only=True)
class Handed:
    """A platform's secrets. `named`: by the option of `[bots.NAME]`; `in_order`: for the others, as the platform asks
    for them."""

    named: Mapping[str, str] = field(repr=False)
    in_order: Sequence[str] = field(repr=False)

    @classmethod
    def by(cls, given: Given, environ: Mapping[str, str]) -> Self:
        """Raises `VerbFailed` with code 2 for what can't be read."""
        named: dict[str, str] = {}
        for told in given.secret or ():
            option, equals, source = told.partition("=")
            if not equals or not option or option in named:
                form = "write OPTION=file:PATH or OPTION=env:NAME, each OPTION once"
                raise VerbFailed(f"--secret names no option, or one again; {form}", code=2)
            named[option] = _at(source, f"--secret {option}", environ)
        files = [from_file(name, "--token-file") for name in given.token_file or ()]
        variables = [from_environ(name, "--token-env", environ) for name in given.token_env or ()]
        return cls(named=named, in_order=[*(given.token or ()), *files, *variables])

    @property
    def any(self) -> bool:
        return bool(self.named or self.in_order)

    def of(self, questions: Questions) -> dict[str, str]:
        """By option, as far as they are there. Raises `VerbFailed` with code 2 for one too many, and for some in order
        that are too few."""
        wanted = [secret.option for secret in questions.secrets]
        for option in self.named.keys() - wanted:
            told = f"{questions.title} has no secret {option}"
            raise VerbFailed(f"--secret: {told}; there is: {', '.join(wanted)}", code=2)
        rest = [option for option in wanted if option not in self.named]
        if self.in_order and len(self.in_order) != len(rest):
            named = ", ".join(rest) or "none is left"
            told = f"{questions.title} takes {len(rest)} of {IN_ORDER} ({named})"
            raise VerbFailed(f"{told}, and there are {len(self.in_order)}", code=2)
        return {**self.named, **dict(zip(rest, self.in_order, strict=False))}


def lacking(questions: Questions | None, handed: Handed) -> Sequence[str]:
    """The options that would hand over what is not there. Raises `VerbFailed` as `Handed.of` does."""
    if questions is None:
        return [] if handed.any else ["--token-file, --token-env or --token"]
    there = handed.of(questions)
    missing = [secret.option for secret in questions.secrets if secret.option not in there]
    if len(questions.secrets) == 1 and missing:
        return ["--token-file, --token-env or --token"]
    return [f"--secret {option}=file:PATH or {option}=env:NAME" for option in missing]


def from_file(name: str, option: str) -> str:
    """Raises `VerbFailed` with code 2."""
    try:
        value = Path(name).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise VerbFailed(f"{option}: {name} can't be read ({error.strerror}); name another", code=2) from error
    except UnicodeDecodeError as error:
        raise VerbFailed(f"{option}: {name} is no text; name another", code=2) from error
    if not value:
        raise VerbFailed(f"{option}: {name} is empty; write the secret into it", code=2)
    return value


def from_environ(name: str, option: str, environ: Mapping[str, str]) -> str:
    """Raises `VerbFailed` with code 2."""
    value = environ.get(name, "").strip()
    if not value:
        raise VerbFailed(f"{option}: the environment variable {name} is not set; set it", code=2)
    return value


def is_exposed(source: str) -> bool:
    """Whether the secret itself stands on the command line."""
    return not source.startswith(("file:", "env:"))


def _at(source: str, option: str, environ: Mapping[str, str]) -> str:
    scheme, _, name = source.partition(":")
    match scheme:
        case "file":
            return from_file(name, option)
        case "env":
            return from_environ(name, option, environ)
        case _:
            return source.strip()
