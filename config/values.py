"""The types of single values: what may be written, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import time
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from config.identity import Identity, parse_identity
from config.places import SYSTEM_FOLDERS
from config.secret import PrivateUrl, Secret
from config.sources import ACCOUNT, Sources, shown, wrong
from config.zones import LOCAL, checked_zone

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
_AT: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])\Z")
_GROUP: Final = re.compile(r"-[1-9][0-9]{0,19}\Z")
_SNOWFLAKE: Final = re.compile(r"[1-9][0-9]{0,19}\Z")
_CHANNEL: Final = re.compile(r"[CGT][A-Z0-9]{2,}\Z")
_FACTORY: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*\Z")
_TOKEN: Final = re.compile(r"[A-Za-z0-9:_-]+\Z")
_HOST_NAME: Final = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\Z")
_TEXT_LIMIT_BYTES: Final = 1024 * 1024
_YEAR_S: Final = 366 * 86_400
# `person/ID` is the session key of a linked person, so no bot may be called that.
_RESERVED: Final = frozenset({"person"})


def _zone(name: str, info: ValidationInfo) -> str:
    if name == LOCAL:
        return info.context.zone if isinstance(info.context, Sources) else Sources().zone
    return checked_zone(name)


def _at(given: object) -> time:
    if isinstance(given, str) and (parts := _AT.match(given)):
        return time(int(parts[1]), int(parts[2]))
    if isinstance(given, time) and given == time(given.hour, given.minute):
        return given
    if isinstance(given, int) and 0 <= given <= 23:
        raise wrong("is no time of day", f'write at = "{given:02}:00"')
    raise wrong("is no time of day", 'write HH:MM in quotes, as in at = "04:00"')


def _line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise wrong("must be one line of visible text", 'write it as in name = "Frontdesk"')
    return text


def web_address(text: str) -> SplitResult | None:
    """The parts of an address that HTTP reaches; None if it is none."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if good else None


def _web_root(text: str) -> str:
    parts = web_address(text)
    if parts is None or parts.query or parts.fragment or parts.username or not text.isprintable() or " " in text:
        raise wrong("is no address of a server", 'write it as in "http://127.0.0.1:8081", without password or query')
    return text.rstrip("/")


def _proxy(url: PrivateUrl) -> PrivateUrl:
    if web_address(url.reveal()) is None:
        raise wrong("is no HTTP proxy", 'write it as in "http://127.0.0.1:3128"')
    return url


def _store(url: PrivateUrl) -> PrivateUrl:
    text = url.reveal()
    if text.startswith("sqlite:///") and len(text) > len("sqlite:///") and ":memory:" not in text:
        return url
    if text.startswith(("postgresql://", "postgresql+psycopg://")):
        return url
    raise wrong("is no store", 'write "sqlite:////PATH/TO/FILE" or "postgresql://USER@HOST/DATABASE"')


def _group(given: object) -> str:
    if isinstance(given, int) and not isinstance(given, bool) and given < 0:
        return str(given)
    if isinstance(given, str) and _GROUP.match(given):
        return given
    if isinstance(given, str) and "," in given:
        raise wrong("holds a list inside text", "write each id by itself: [-1001, -1002]")
    raise wrong("is no Telegram group", "write the group's id, a negative number, as in groups = [-1001234567890]")


def _snowflake(given: object) -> str:
    text = str(given) if isinstance(given, int) and not isinstance(given, bool) else given
    if isinstance(text, str) and _SNOWFLAKE.match(text):
        return text
    raise wrong(
        "is no id of a channel or server", 'turn on Developer Mode in Discord, "Copy ID", and write ["1234567890"]'
    )


def _channel(given: object) -> str:
    if isinstance(given, str) and _CHANNEL.match(given):
        return given
    raise wrong(
        "is no id of a channel",
        'it stands at the end of "View channel details" in Slack, as in groups = ["C0123456789"]',
    )


def _slack_token(prefix: str, what: str) -> Callable[[Secret], Secret]:
    def checked(token: Secret) -> Secret:
        if not token.reveal().startswith(prefix):
            raise wrong(f"is no {what}: it does not begin with {prefix}", "copy it from https://api.slack.com/apps")
        return token

    return checked


def _socket_root(text: str) -> str:
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"ws", "wss"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise wrong("is no address of a gateway", 'write it as in "wss://gateway.discord.gg"')
    return text.rstrip("/")


def _public_root(text: str) -> str:
    root = _web_root(text)
    if not root.startswith("https://"):
        raise wrong(
            "begins not with https://", "Telegram delivers to nothing else; put a proxy with TLS before [listen]"
        )
    return root


def _emoji(text: str) -> str:
    if not text.strip() or len(text) > 32 or not text.replace("\ufe0f", "").replace("\u200d", "").isprintable():
        raise wrong("is no emoji", 'write one, as in "\N{EYES}"')
    return text.strip()


def _factory(text: str) -> str:
    if not _FACTORY.match(text):
        raise wrong(f"{shown(text)} is no backend", 'write "model", "offline" or "package.module:factory"')
    return text


def listed(given: object) -> object:
    """What TOML has for a tuple."""
    # A strict tuple takes no list, and TOML has nothing else; a lax one would take a table's keys.
    return tuple(given) if isinstance(given, list) else given


def _text(text: str) -> str:
    if not text.strip():
        raise wrong("is empty", "write a text, or leave the option out")
    return text


def _located(given: object, info: ValidationInfo) -> object:
    if not isinstance(given, str):
        return given
    if not given.strip() or "\0" in given:
        raise wrong("is no path", "write the path of it, relative to the config file, or leave the option out")
    sources = info.context if isinstance(info.context, Sources) else Sources()
    return sources.path(given)


def _text_file(path: Path, info: ValidationInfo) -> Path:
    if not isinstance(info.context, Sources):
        return path
    try:
        with path.open("rb") as stream:
            content = stream.read(_TEXT_LIMIT_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        hint = f"write the path of a text that {ACCOUNT} can read"
        raise wrong(f"{path} cannot be read: {error.strerror or 'no such file'}", hint) from None
    except UnicodeDecodeError:
        raise wrong(f"{path} is not UTF-8 text", "save it as UTF-8") from None
    if len(content) > _TEXT_LIMIT_BYTES:
        raise wrong(f"{path} is larger than 1 MiB", "shorten it")
    if not text.strip():
        raise wrong(f"{path} is empty", "write a text into it, or leave the option out")
    return path


def _directory(path: Path, info: ValidationInfo) -> Path:
    if isinstance(info.context, Sources) and not path.is_dir():
        raise wrong(f"{path} is no directory", "make it, or name another")
    return path


def _root(path: Path, info: ValidationInfo) -> Path:
    """A folder from which files may be sent holds nothing that keeps the desk going."""
    sources = info.context if isinstance(info.context, Sources) else Sources()
    root, config, state = path.resolve(), sources.config, sources.state and sources.state.resolve()
    homes = () if config is None else (config.parent.resolve(), config.resolve().parent)
    why = ""
    if any(home.is_relative_to(root) for home in homes):
        why = "holds the config file, and secrets lie beside it"
    elif state is not None and state.is_relative_to(root):
        why = "holds the state directory, with every conversation"
    elif state is not None and root.is_relative_to(state):
        why = "is in the state directory, where every conversation is"
    elif any(root.is_relative_to(system) for system in SYSTEM_FOLDERS):
        why = "belongs to the system, and holds no files to send"
    if why:
        raise wrong(f"{path} {why}", 'make a folder for what may be sent, and name that: files = ["outbox"]')
    return path


def _scalar(given: object) -> object:
    if isinstance(given, str | int | float):
        return given
    raise wrong("must be text, a number, true or false", "write lists and dates as text")


def _name(name: str) -> str:
    if not _NAME.match(name):
        raise wrong("is no name", "write letters, digits, -, _ and ., at most 64")
    if name in _RESERVED:
        raise wrong("is a reserved name", "choose another")
    return name


def _address(address: str) -> str:
    try:
        if address != "*":
            ip_network(address)
    except ValueError as error:
        raise wrong(f"{address} is no address: {error}", 'write "10.0.0.7", "10.0.0.0/8", or "*" for any') from None
    return address


def _host_name(name: str) -> str:
    if not _HOST_NAME.match(name):
        raise wrong(f"{name} is no name of a host", 'write it without scheme, port and path, as in "desk.example.com"')
    return name


def _bot_token(token: Secret) -> Secret:
    if not _TOKEN.match(token.reveal()):
        raise wrong("is no bot token", "copy it again from https://t.me/BotFather, as in 123456:ABC-def")
    return token


Name = Annotated[str, AfterValidator(_name)]
ShownName = Annotated[str, Field(max_length=64), AfterValidator(_line)]
ZoneName = Annotated[str, AfterValidator(_zone)]
TimeOfDay = Annotated[time, BeforeValidator(_at)]
Seconds = Annotated[float, Field(gt=0, le=_YEAR_S, allow_inf_nan=False)]
Text = Annotated[str, AfterValidator(_text)]
TextFile = Annotated[Path, BeforeValidator(_located), AfterValidator(_text_file)]
"""Absolute, and text when the config was loaded."""
Directory = Annotated[Path, BeforeValidator(_located), AfterValidator(_directory)]
"""Absolute, and there when the config was loaded."""
Roots = Annotated[tuple[Annotated[Directory, AfterValidator(_root)], ...], BeforeValidator(listed)]
"""Folders apart from the config's and the state's."""
Minutes = Annotated[float, Field(gt=0, le=10 * _YEAR_S / 60, allow_inf_nan=False)]
Hours = Annotated[float, Field(gt=0, le=10 * _YEAR_S / 3600, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=10_000_000)]
Tokens = Annotated[int, Field(ge=1, le=10_000_000_000)]
WebRoot = Annotated[str, AfterValidator(_web_root)]
Scalar = Annotated[str | int | float | bool, BeforeValidator(_scalar)]
Backend = Annotated[str, AfterValidator(_factory)]
BotToken = Annotated[Secret, AfterValidator(_bot_token)]
StoreUrl = Annotated[PrivateUrl, AfterValidator(_store)]
Proxy = Annotated[PrivateUrl, AfterValidator(_proxy)]
Identities = Annotated[tuple[Annotated[Identity, BeforeValidator(parse_identity)], ...], BeforeValidator(listed)]
Groups = Annotated[tuple[Annotated[str, BeforeValidator(_group)], ...], BeforeValidator(listed)]
Snowflakes = Annotated[tuple[Annotated[str, BeforeValidator(_snowflake)], ...], BeforeValidator(listed)]
Channels = Annotated[tuple[Annotated[str, BeforeValidator(_channel)], ...], BeforeValidator(listed)]
SlackBotToken = Annotated[Secret, AfterValidator(_slack_token("xoxb-", "bot token"))]
SlackAppToken = Annotated[Secret, AfterValidator(_slack_token("xapp-", "app-level token"))]
SocketRoot = Annotated[str, AfterValidator(_socket_root)]
PublicRoot = Annotated[str, AfterValidator(_public_root)]
Emoji = Annotated[str, AfterValidator(_emoji)]
Addresses = Annotated[tuple[Annotated[str, AfterValidator(_address)], ...], BeforeValidator(listed)]
HostNames = Annotated[tuple[Annotated[str, AfterValidator(_host_name)], ...], BeforeValidator(listed)]
