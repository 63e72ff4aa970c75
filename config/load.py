"""From the config file and the environment to `Settings`. The only reader of os.environ."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Self

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from config.document import Document
from config.explain import explain
from config.extras import missing
from config.faults import ConfigFaults, Fault, option_name
from config.lines import KeyPath
from config.places import Written, config_file, own_config_file, state_directory
from config.providers import DEFAULT_MODELS, default_variables
from config.settings import Settings
from config.sources import Sources
from config.zones import LOCAL, machine_zone

# The variables that switch on a bot: its platform, and the option that the variable fills.
_BOT_VARIABLES: Final = {
    "TELEGRAM_BOT_TOKEN": ("telegram", "token"),
    "DISCORD_BOT_TOKEN": ("discord", "token"),
    "SLACK_BOT_TOKEN": ("slack", "bot_token"),
}
# What a bot needs besides: without it the variable switches on nothing.
_NEEDED_BESIDES: Final = {"SLACK_BOT_TOKEN": "SLACK_APP_TOKEN"}
# Variables for a bot that is there, in the file or switched on by those above.
_MORE_VARIABLES: Final = {
    "SLACK_APP_TOKEN": ("slack", "app_token"),
    "SLACK_SIGNING_SECRET": ("slack", "signing_secret"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Manager:
    """The service manager that started us, as it says in the environment (sd_notify(3), sd_watchdog_enabled(3))."""

    socket: str | None = None
    watchdog_s: float | None = None
    """How long it waits for a word; None: it does not."""
    journal: str | None = None
    """Device and inode of the stream that its journal reads; None: there is none."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """What `load` found."""

    settings: Settings
    path: Path | None
    """The config file; None: there is none, and the defaults serve."""
    state_dir: Path
    """Absolute; not yet made."""
    warnings: tuple[Fault, ...]
    """What works and should still be put right."""
    missing: tuple[Fault, ...] = ()
    """What keeps a desk with these settings from working on this installation: extras that are not there."""
    manager: Manager = Manager()
    again: Callable[[], Loaded] = field(repr=False, compare=False)
    """Reads the same file anew, and raises as `load` does: also if it is not there any more."""

    def complete(self) -> Self:
        """These settings, for a desk that is to work with them. Raises `ConfigFaults` if extras are missing."""
        if self.missing:
            raise ConfigFaults(self.missing)
        return self

    def written(self) -> Written | None:
        """The version of the file that is there now."""
        return None if self.path is None else Written.of(self.path)


def state_directory_of(state: Path | None) -> Path:
    """The state directory, absolute, by `--state` and the environment alone: a daemon that runs is found there whatever
    became of the config meanwhile. Raises `ConfigFaults`."""
    return state_directory(state, os.environ)


def name_home(directory: Path) -> None:
    """Libraries ask for a home directory when they are imported. Where neither the environment nor the machine's list
    of users names one, as for systemd's dynamic users, this becomes it."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = str(directory)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Where a config would be written, and what the machine and the environment offer for it."""

    config: Path
    """Absolute; it may not be there yet."""
    zone: str | None
    """The machine's, by its IANA name; None: it has no name."""
    environ: Mapping[str, str] = field(repr=False)

    def load(self, *, config: Path, state: Path | None, credentials: Path | None) -> Loaded:
        """As `load`, with the secrets that systemd would hand over read from where it takes them. Raises
        `ConfigFaults`."""
        handed = {} if credentials is None else {"CREDENTIALS_DIRECTORY": str(credentials)}
        return load(config=config, state=state, environ={**self.environ, **handed})


def surroundings(config: Path | None) -> Surroundings:
    """Looks around, for `--config` as given. Raises `ConfigFaults` if there is nowhere to write a config."""
    path = config_file(config, os.environ) or own_config_file(os.environ)
    return Surroundings(config=path, zone=machine_zone(os.environ), environ=dict(os.environ))


def load(
    *, config: Path | None, state: Path | None, environ: Mapping[str, str] | None = None, again: bool = False
) -> Loaded:
    """Reads the config: `--config` and `--state` as given, the rest from `environ` (None: the process's).

    It changes nothing, so it serves a reload as well as a start; `again`: a daemon runs on what was read before, so
    that a file with nothing in it is one that somebody is about to write. Reads files: call it before the loop runs, or
    on a thread. Raises `ConfigFaults` with every fault at once.
    """
    environ = os.environ if environ is None else environ
    faults: list[Fault] = []
    state_dir, document = Path(), Document()
    try:
        state_dir = state_directory(state, environ)
    except ConfigFaults as found:
        faults += found.faults
    try:
        if path := config_file(config, environ):
            document = Document.read(path)
    except ConfigFaults as found:
        raise ConfigFaults([*faults, *found.faults]) from None
    if again and document.blank:
        faults.append(Fault(file=document.name, line=None, option="", message="is empty", hint="write it, and reload"))
    reading = _Reading(document, environ, state_dir)
    settings = reading.settings()
    if settings is None or faults:
        raise ConfigFaults([*faults, *reading.faults])
    return Loaded(
        settings=settings, path=document.path, state_dir=state_dir, warnings=tuple(reading.warnings),
        missing=tuple(reading.missing(settings)), manager=_manager(environ),
        again=partial(load, config=document.path or config, state=state, environ=environ, again=True),
    )  # fmt: skip


def _manager(environ: Mapping[str, str]) -> Manager:
    wait_us = environ.get("WATCHDOG_USEC", "")
    ours = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    watched = ours and wait_us.isdecimal() and int(wait_us) > 0
    return Manager(
        socket=environ.get("NOTIFY_SOCKET") or None,
        watchdog_s=int(wait_us) / 1_000_000 if watched else None,
        journal=environ.get("JOURNAL_STREAM") or None,
    )


class _Reading:
    """One pass over one document: collects faults and warnings on its way to the settings."""

    def __init__(self, document: Document, environ: Mapping[str, str], state: Path) -> None:
        self.faults: list[Fault] = []
        self.warnings: list[Fault] = []
        self._document = document
        self._environ = environ
        self._state = state
        self._from_environ: set[KeyPath] = set()

    def settings(self) -> Settings | None:
        """The settings, or None if there are faults."""
        tables = self._document.tables
        if self._document.path and not tables:
            self._warn((), "sets nothing: the defaults serve", "uncomment what you need")
        bots = tables.setdefault("bots", {})
        if isinstance(bots, dict):
            self._refuse_names(bots)
            for variable, (platform, option) in _BOT_VARIABLES.items():
                self._fill_from(variable, platform, option, bots)
            for variable, (platform, option) in _MORE_VARIABLES.items():
                self._fill_from(variable, platform, option, bots, begins=False)
        if "agents" not in tables:
            self._add_agent(tables)
        # Tables that are not there are not validated, and so "local" would not be resolved in them.
        tables.setdefault("desk", {})
        found = _validated(tables, self._sources(tables))
        if not isinstance(found, Settings):
            self.faults += map(self._fault, found)
        if self.faults or not isinstance(found, Settings):
            return None
        self._warn_of_literals(found)
        return found

    def _sources(self, tables: Mapping[str, object]) -> Sources:
        agents = tables.get("agents", {"default": {}})
        path = self._document.path
        return Sources(
            environ=self._environ,
            directory=path.parent if path else Path("/"),
            config=path,
            state=self._state if self._state != Path() else None,
            zone=self._zone(tables),
            agents=frozenset(map(str, agents)) if isinstance(agents, dict) else None,
        )

    def _zone(self, tables: Mapping[str, object]) -> str:
        zone = machine_zone(self._environ)
        desk = tables.get("desk")
        if zone is None and isinstance(desk, dict) and desk.get("timezone", LOCAL) == LOCAL:
            path = ("desk", "timezone")
            self._warn(path, "the machine's time zone has no name: UTC serves", 'write timezone = "Europe/Berlin"')
        return zone or "UTC"

    def _refuse_names(self, bots: Mapping[str, object]) -> None:
        # The models carry NAME in `name`, so pydantic would take it for an option.
        for name, table in bots.items():
            if isinstance(table, dict) and table.pop("name", None) is not None:
                hint = "the bot's name is NAME of [bots.NAME]"
                self.faults.append(self._entry(("bots", name, "name"), "unknown option", hint))

    def _fill_from(
        self, variable: str, platform: str, option: str, bots: dict[str, object], *, begins: bool = True
    ) -> None:
        value, besides = self._environ.get(variable), _NEEDED_BESIDES.get(variable)
        begins = begins and (besides is None or bool(self._environ.get(besides)))
        ours = {
            name: table
            for name, table in bots.items()
            if isinstance(table, dict) and table.get("platform", name) == platform
        }
        if value and not ours and besides is not None and not begins:
            self._warn((), f"{variable} alone switches on no bot", f"set {besides} too, or unset {variable}")
        if value == "" and not ours and begins:
            self._warn((), f"{variable} is empty: it switches on no bot", f"set or unset {variable}")
        if not value:
            return
        if not ours and platform not in bots and begins:
            bots[platform] = {option: f"env:{variable}"}
            self._from_environ.add(("bots", platform))
        elif len(ours) == 1:
            name, table = ours.popitem()
            if option not in table:
                table[option] = f"env:{variable}"
                self._from_environ.add(("bots", name, option))

    def _add_agent(self, tables: dict[str, object]) -> None:
        variables = default_variables(self._environ)
        if not variables:
            return
        variable, *unused = variables
        model = DEFAULT_MODELS[variable]
        tables["agents"] = {"default": {"backend": "model", "model": model, "api_key": f"env:{variable}"}}
        self._from_environ.add(("agents",))
        also = "".join(f"{name} is set too and not used; " for name in unused)
        hint = f"{also}write [agents.default] to choose another"
        path = ("agents", "default")
        self.warnings.append(self._entry(path, f"model {model}, because {variable} is set", hint, is_table=True))

    def missing(self, settings: Settings) -> Iterator[Fault]:
        """The extras that the settings need and that are not installed."""
        tables = dict(self._document.tables)
        if settings.store.url is not None:
            tables["store"] = {"url": settings.store.url.reveal()}
        if ("agents",) in self._from_environ:
            del tables["agents"]
        for need in missing(tables, self._environ):
            yield self._entry(need.path, need.message, need.hint)

    def _fault(self, error: ErrorDetails) -> Fault:
        found = explain(error)
        return self._entry(found.path, found.message, found.hint, is_table=found.is_table)

    def _warn(self, path: KeyPath, message: str, hint: str) -> None:
        self.warnings.append(self._entry(path, message, hint))

    def _warn_of_literals(self, settings: Settings) -> None:
        for path, secret in settings.walk_secrets():
            if secret.exposed:
                self._warn(
                    path, "the secret itself stands in the file", 'write "env:NAME", "file:PATH" or "credential:NAME"'
                )

    def _entry(self, path: KeyPath, message: str, hint: str, *, is_table: bool = False) -> Fault:
        environment = any(path[: len(origin)] == origin for origin in self._from_environ)
        return Fault(
            file="environment" if environment else self._document.name,
            line=None if environment else self._document.line_of(path),
            option=option_name(path, is_table=is_table),
            message=message,
            hint=hint,
        )


def _validated(tables: Mapping[str, object], sources: Sources) -> Settings | Sequence[ErrorDetails]:
    # The error itself is dropped: it holds the values, and would hang on to the exception that we raise.
    try:
        return Settings.model_validate(tables, context=sources)
    except ValidationError as error:
        return error.errors(include_url=False)
