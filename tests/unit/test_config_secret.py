"""Secrets come from where the config says, and show themselves to nobody."""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import Mapping
from pathlib import Path

import pytest

from config.bots import TelegramSettings
from config.faults import ConfigFaults
from config.load import Loaded, load
from config.settings import Settings

_TOKEN = "123456:AAE-not-to-be-seen_anywhere"
_TAIL = "not-to-be-seen"


def load_text(directory: Path, text: str, environ: Mapping[str, str] | None = None) -> Loaded:
    file = directory / "frontdesk.toml"
    file.write_text(text, encoding="utf-8")
    return load(config=file, state=directory, environ={"HOME": str(directory), "TZ": "UTC", **(environ or {})})


def load_token(directory: Path, written: str, environ: Mapping[str, str] | None = None) -> str:
    loaded = load_text(directory, f"[bots.telegram]\ntoken = {json.dumps(written)}\n", environ)
    bot = loaded.settings.bots["telegram"]
    assert isinstance(bot, TelegramSettings)
    return bot.token.reveal()


def fault_of(directory: Path, text: str, environ: Mapping[str, str] | None = None) -> str:
    with pytest.raises(ConfigFaults) as raised:
        load_text(directory, text, environ)
    assert _TAIL not in "".join(traceback.format_exception(raised.value))
    assert _TAIL not in repr(raised.value.faults)
    cause = raised.value.__cause__ or raised.value.__context__
    while cause is not None:
        assert _TAIL not in str(cause) + repr(vars(cause))
        cause = cause.__cause__ or cause.__context__
    (fault,) = raised.value.faults
    return f"{fault.line}: {fault.option}: {fault.message}; {fault.hint}"


def test_a_secret_comes_from_the_environment_a_file_or_a_credential(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{_TOKEN}\n")
    environ = {"BOT": f"{_TOKEN}\n", "CREDENTIALS_DIRECTORY": str(tmp_path)}

    for written in (
        "env:BOT",
        "file:token",
        f"file:{tmp_path}/token",
        "file:~/token",
        "credential:token",
        f" {_TOKEN} ",
    ):
        assert load_token(tmp_path, written, environ) == _TOKEN


def test_a_relative_file_is_looked_for_beside_the_config_whatever_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "token").write_text(_TOKEN)
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert load_token(tmp_path, "file:token") == _TOKEN


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("env:NOWHERE", "the environment variable NOWHERE is not set; set NOWHERE, or name another source"),
        ("env:BLANK", "the environment variable BLANK is empty; set BLANK, or name another source"),
        ("env:", 'names no environment variable; write "env:NAME"'),
        ("env:A B", 'names no environment variable; write "env:NAME"'),
        ("file:", 'names no file; write "file:/PATH/TO/SECRET"'),
        ("file:\0", 'names no file; write "file:/PATH/TO/SECRET"'),
        ("file:/nowhere/token", "/nowhere/token cannot be read: No such file or directory; write the secret into it"),
        ("file:blank", "blank is empty; write the secret into it"),
        ("file:.", "cannot be read: Is a directory; write the secret into it"),
        ("file:binary", "binary is not UTF-8 text; write the secret into it"),
        ("file:huge", "huge is no secret: it is larger than 64 KiB; write the secret into it"),
        ("credential:nowhere", "nowhere cannot be read: No such file or directory; add LoadCredential=nowhere:"),
        ("credential:../etc/passwd", 'names no credential; write "credential:NAME"'),
        ("", 'is empty; write "env:NAME", "file:PATH" or "credential:NAME"'),
        (" \t", 'is empty; write "env:NAME", "file:PATH" or "credential:NAME"'),
        ("${BOT}", 'a config file knows no $ variables; write "env:BOT"'),
        (f"{_TOKEN} {_TOKEN}", "holds white space or control characters inside; copy it again"),
        (f"https://t.me/{_TOKEN}", "is no bot token; copy it again from https://t.me/BotFather"),
    ],
)
def test_c49_a_secret_that_is_missing_empty_or_unfit_is_a_fault_that_says_what_to_do(
    tmp_path: Path, written: str, words: str
) -> None:
    (tmp_path / "blank").write_text(" \n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "huge").write_text("x" * 70_000)
    environ = {"BLANK": "  ", "CREDENTIALS_DIRECTORY": str(tmp_path)}

    fault = fault_of(tmp_path, f"[bots.telegram]\ntoken = {json.dumps(written)}\n", environ)

    assert fault.startswith("2: [bots.telegram] token: ")
    assert words in fault


def test_a_credential_outside_systemd_is_a_fault_that_says_what_to_do(tmp_path: Path) -> None:
    fault = fault_of(tmp_path, '[bots.telegram]\ntoken = "credential:bot"\n')

    assert "$CREDENTIALS_DIRECTORY is not set; add LoadCredential=bot:/PATH/TO/SECRET to the systemd unit" in fault


@pytest.mark.parametrize(
    "text",
    [
        f'[bots.telegram]\ntokn = "{_TOKEN}"\ntoken = "1:a"\n',
        f'[bots.telegram]\ntoken = ["{_TOKEN}"]\n',
        f'[bots.telegram]\ntoken = "{_TOKEN}"\nstream = "{_TOKEN}"\n',
        f'[bots.telegram]\ntoken = "{_TOKEN}"\ngroups = "{_TOKEN}"\n',
        f'[bots.telegram]\ntoken = "{_TOKEN}"\nagent = "{_TOKEN}"\n',
        f'[bots.other]\ntoken = "{_TOKEN}"\n',
        f'[bots.other]\nplatform = "{_TOKEN}"\n',
        f'[bots]\nother = "{_TOKEN}"\n',
        f'[access]\nallow = "{_TOKEN}"\n',
        f'[access]\nallow = ["{_TOKEN}"]\n',
        f'[desk]\ntimezone = "{_TOKEN}"\n',
        f'[agents.default]\nbackend = "{_TOKEN}"\n',
        f'[agents.default]\nmodel = "{_TOKEN.replace(":", "-")}"\n',
        f'[agents.default]\nmodel = "a:b"\nmodels = {{x = "{_TOKEN} x"}}\n',
        f'[agents.default]\nmodel = "a:b"\nfallbacks = "{_TOKEN}"\n',
        f'[agents.default]\nmodel = "a:b"\napi_key = "{_TOKEN} {_TOKEN}"\n',
        f'[agents.default]\nmodel = "a:b"\nsettings = {{reasoning = "{_TOKEN}"}}\n',
        f'[agents.default]\nmodel = "a:b"\nmcp = [{{name = "{_TOKEN}", command = "x"}}]\n',
        f'[agents.default]\nmodel = "a:b"\nmcp = [{{name = "x", command = "x \'{_TOKEN}"}}]\n',
        f'[agents.default]\nmodel = "a:b"\nmcp = [{{name = "x", url = "{_TOKEN}"}}]\n',
        f'[agents.default]\nmodel = "a:b"\nmcp = [{{name = "x", command = "x", env = {{A = "{_TOKEN}\\n"}}}}]\n',
        f'[agents.default]\nmodel = "a:b"\nmcp = [{{name = "x", url = "http://h", env = {{A = "{_TOKEN}"}}}}]\n',
        f'[store]\nurl = "mysql://u:{_TAIL}@h/d"\n',
        f'[network]\nproxy = "socks5://u:{_TAIL}@h:1"\n',
        f"[bots.telegram]\ntoken = {_TOKEN}\n",
        f'[bots.telegram]\ntoken = "{_TOKEN}\n',
        f'[bots.a]\nplatform = "telegram"\ntoken = "{_TOKEN}"\n[bots.b]\nplatform = "telegram"\ntoken = "{_TOKEN}"\n',
    ],
)
def test_no_fault_shows_a_secret_wherever_it_was_put(tmp_path: Path, text: str) -> None:
    assert _TAIL not in fault_of(tmp_path, text)


def test_settings_show_no_secret(tmp_path: Path) -> None:
    text = f"""\
[store]
url = "postgresql://desk:{_TAIL}@db/desk"
[network]
proxy = "http://desk:{_TAIL}@proxy:3128"
[bots.telegram]
token = "{_TOKEN}"
"""
    loaded = load_text(tmp_path, text)
    settings = loaded.settings

    for shown in (
        repr(loaded),
        str(settings),
        repr(settings),
        f"{settings.bots['telegram']!r}",
        str(settings.model_dump()),
        repr(settings.model_dump()),
        settings.model_dump_json(),
        repr(list(settings.walk_secrets())),
        "\n".join(map(str, loaded.warnings)),
    ):
        assert _TAIL not in shown
    assert "postgresql://desk:***@db/desk" in repr(settings)


def test_what_logs_must_mask_are_the_secrets_in_every_form(tmp_path: Path) -> None:
    text = f"""\
[store]
url = "postgresql://desk:p%40ss@db/desk"
[network]
proxy = "http://proxy:3128"
[bots.telegram]
token = "{_TOKEN}"
"""
    settings = load_text(tmp_path, text).settings

    assert {_TOKEN, _TOKEN.replace(":", "%3A"), "p@ss", "p%40ss"} <= settings.secrets
    assert not any("proxy" in secret for secret in settings.secrets)
    assert Settings().secrets == frozenset()


def test_a_literal_secret_works_and_is_warned_of(tmp_path: Path) -> None:
    (warning,) = load_text(tmp_path, f'[bots.telegram]\n\ntoken = "{_TOKEN}"\n').warnings

    assert (warning.line, warning.option) == (3, "[bots.telegram] token")
    assert str(warning).endswith(
        'the secret itself stands in the file; write "env:NAME", "file:PATH" or "credential:NAME"'
    )


def test_only_an_address_with_a_password_is_warned_of(tmp_path: Path) -> None:
    text = '[store]\nurl = "postgresql://desk:pw@db/desk"\n[network]\nproxy = "http://proxy:3128"\n'

    assert [warning.option for warning in load_text(tmp_path, text).warnings] == ["[store] url"]
    assert load_text(tmp_path, '[store]\nurl = "env:DB"\n', {"DB": "postgresql://d:pw@db/d"}).warnings == ()


def test_settings_with_equal_secrets_are_equal_and_with_others_are_not(tmp_path: Path) -> None:
    text = '[bots.telegram]\ntoken = "env:BOT"\n'

    assert load_text(tmp_path, text, {"BOT": "1:a"}) == load_text(tmp_path, text, {"BOT": "1:a"})
    assert load_text(tmp_path, text, {"BOT": "1:a"}) != load_text(tmp_path, text, {"BOT": "1:b"})


def test_settings_cannot_be_changed(tmp_path: Path) -> None:
    settings = load_text(tmp_path, "[desk]\n").settings

    with pytest.raises(ValueError, match="frozen"):
        settings.desk.name = "x"
    assert pickle.loads(pickle.dumps(settings)) == settings
