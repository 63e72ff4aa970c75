"""Where `init` writes, in whose words, and what it does with the installed service."""

from __future__ import annotations

import os
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from config.bots import TelegramSettings
from config.draft import Line, Table, settings_of, text_of
from config.example import Example
from config.faults import ConfigFaults
from config.load import load, surroundings
from core.cli.options import Place
from core.cli.platforms import known_platforms
from core.cli.setup.choices import Account, Choices, ChosenModel
from core.cli.setup.plan import Plan
from core.cli.setup.seat import Seat
from core.cli.setup.service import Service
from core.errors import VerbFailed
from core.probing.unit import Unit
from tests.crash.daemon import ROOT

TOKEN = "7123456789:AAFrontdesk-loopback_test-token-000000"
SECRETS = {
    "telegram": {"token": TOKEN},
    "discord": {"token": "planted-discord-token"},
    "slack": {"bot_token": "xoxb-planted-1", "app_token": "xapp-planted-2"},
}
KEY = "sk-planted-key"
NOBODY = Seat(asks=False)
UNIT = ROOT / "systemd/frontdesk.service"


def choices(*, owners: tuple[str, ...] = ("telegram:42",), platform: str = "telegram") -> Choices:
    asked = known_platforms()[platform]
    account = Account(questions=asked, secrets=SECRETS[platform], api_base="http://127.0.0.1:9")
    model = ChosenModel(name="openai:gpt-test", key=KEY, base_url="http://127.0.0.1:9/v1")
    return Choices(account=account, model=model, owners=owners, zone="Europe/Berlin")


def nothing_chosen() -> Choices:
    return Choices(account=None, model=None, owners=(), zone="UTC")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A user's own."""
    return Plan.here(Place(config=tmp_path / "home/frontdesk.toml", state=tmp_path / "state"))


@pytest.fixture
def service_plan(tmp_path: Path) -> Plan:
    """Root's, on a machine with the service installed as `make install-service` leaves it."""
    unit = Unit(root=tmp_path)
    unit.file.parent.mkdir(parents=True)
    unit.file.write_text(UNIT.read_text())
    unit.secrets.mkdir(parents=True, mode=0o700)
    unit.config.write_text((ROOT / "config/frontdesk.example.toml").read_text())
    place = Place(config=unit.config, state=tmp_path / "state")
    return Plan(around=surroundings(unit.config), state=tmp_path / "state", place=place, unit=unit, for_service=True)


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Writes down how it is called; `is-active` says no until something was started."""
    folder = tmp_path / "bin"
    folder.mkdir()
    calls = tmp_path / "calls"
    program = folder / "systemctl"
    program.write_text(
        f'#!/bin/sh\necho "$@" >>{calls}\n[ ! -e {tmp_path}/fails ] || exit 1\n'
        f'[ "$1" != is-active ] || grep -q "^start" {calls}\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return calls


def test_every_platform_that_is_asked_for_is_tried_here() -> None:
    assert set(known_platforms()) == set(SECRETS)
    for name, asked in known_platforms().items():
        assert [secret.option for secret in asked.secrets] == list(SECRETS[name])
        assert all(secret.title and secret.source for secret in asked.secrets)
        assert asked.own_id


@pytest.mark.parametrize("platform", SECRETS)
def test_every_text_of_the_config_comes_from_the_example(platform: str) -> None:
    example = Example.read()
    rows = choices(platform=platform).text(lambda name: f"file:secrets/{name}").splitlines()
    comments = [row for row in rows[4:] if row.startswith("# ")]
    known = {line for shown in example.options.values() for line in shown.why}
    assert comments
    assert set(comments) <= known


@pytest.mark.parametrize("platform", SECRETS)
def test_every_option_that_is_shown_unset_can_be_set_as_it_stands(plan: Plan, tmp_path: Path, platform: str) -> None:
    plan.write(plan.written(choices(platform=platform)), NOBODY)
    text = plan.config.read_text()
    shown = [row for row in text.splitlines() if row.startswith("#") and not row.startswith("# ")]
    assert len(shown) >= 8
    for row in shown:
        plan.config.write_text(text.replace(row, row[1:]))
        environ = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b", "HOME": str(tmp_path)}
        assert load(config=plan.config, state=tmp_path, environ=environ).path == plan.config, row


def test_what_was_chosen_is_what_loads(plan: Plan, tmp_path: Path) -> None:
    plan.write(plan.written(choices()), NOBODY)
    loaded = load(config=plan.config, state=tmp_path, environ={})
    bot = loaded.settings.bots["telegram"]
    assert isinstance(bot, TelegramSettings)
    assert (bot.token.reveal(), bot.token.origin) == (TOKEN, "file:secrets/telegram_token")
    assert [str(owner) for owner in loaded.settings.access.owners] == ["telegram:42"]
    assert loaded.settings.desk.timezone == "Europe/Berlin"
    assert loaded.settings.agents["default"].backend == "model"
    assert loaded.warnings == ()


@pytest.mark.parametrize("platform", SECRETS)
def test_each_secret_of_a_platform_is_kept_in_a_file_of_its_own(plan: Plan, tmp_path: Path, platform: str) -> None:
    plan.write(plan.written(choices(platform=platform)), NOBODY)
    loaded = load(config=plan.config, state=tmp_path, environ={})
    assert set(SECRETS[platform].values()) <= loaded.settings.secrets
    assert loaded.warnings == ()
    kept = {path.name: path.read_text().strip() for path in (plan.config.parent / "secrets").iterdir()}
    assert kept == {f"{platform}_{option}": value for option, value in SECRETS[platform].items()} | {"model_key": KEY}


def test_no_secret_stands_in_the_config_or_in_what_is_shown(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    written = plan.written(choices())
    plan.write(written, NOBODY)
    shown = plan.config.read_text() + "".join(capsys.readouterr()) + repr(choices()) + repr(written)
    assert TOKEN not in shown
    assert KEY not in shown


def test_a_secret_is_kept_alone_for_its_owner(plan: Plan) -> None:
    plan.write(plan.written(choices()), NOBODY)
    folder = plan.config.parent / "secrets"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "telegram_token": f"{TOKEN}\n", "model_key": f"{KEY}\n",
    }  # fmt: skip
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_desk_without_platform_and_model_needs_no_secret(plan: Plan) -> None:
    plan.write(plan.written(nothing_chosen()), NOBODY)
    assert [path.name for path in plan.config.parent.iterdir()] == ["frontdesk.toml"]
    assert tomllib.loads(plan.config.read_text()) == {
        "desk": {"timezone": "UTC"}, "access": {}, "session": {"reset": {}},
        "agents": {"default": {"backend": "offline"}},
    }  # fmt: skip


def test_what_sets_nothing_may_be_replaced_and_what_sets_something_is_left(plan: Plan) -> None:
    plan.config.parent.mkdir()
    for text in ("", "# a comment\n", "[desk]\n[session.reset]\n"):
        plan.config.write_text(text)
        plan.check(replaces=False)
    for text in ('[desk]\nname = "Ours"\n', "[session.reset]\nannounce = false\n", "[bots.telegram]\n", "no TOML"):
        plan.config.write_text(text)
        with pytest.raises(VerbFailed, match="--force"):
            plan.check(replaces=False)
        plan.check(replaces=True)


def test_the_same_again_is_there_already(plan: Plan) -> None:
    plan.write(plan.written(choices()), NOBODY)
    assert plan.is_there(plan.written(choices()))
    assert not plan.is_there(plan.written(choices(owners=())))


def test_a_draft_says_every_fault_without_the_values() -> None:
    with pytest.raises(ConfigFaults) as caught:
        settings_of({"desk": {"timezone": "Europe/Berln"}, "access": {"owners": ["@ada"]}})
    assert len(caught.value.faults) == 2
    assert 'did you mean "Europe/Berlin"?' in str(caught.value)


def test_text_is_written_so_that_toml_reads_the_same() -> None:
    name = 'a "quoted" \\ and \x7f ü'
    text = text_of([Table(name="desk", lines=[Line(name="name", value=name)])])
    assert tomllib.loads(text) == {"desk": {"name": name}}


# the installed service


def test_the_service_s_secrets_are_handed_over_by_systemd(service_plan: Plan, tmp_path: Path) -> None:
    plan, unit = service_plan, service_plan.unit
    plan.check(replaces=False)
    plan.write(plan.written(choices()), NOBODY)
    assert tomllib.loads(plan.config.read_text())["bots"]["telegram"]["token"] == "credential:telegram_token"
    assert {path.name for path in unit.secrets.iterdir()} == {"telegram_token", "model_key"}
    assert {path.stat().st_mode & 0o777 for path in unit.secrets.iterdir()} == {0o600}
    assert unit.credentials_file.read_text() == (
        "[Service]\n"
        "LoadCredential=telegram_token:/etc/frontdesk/secrets/telegram_token\n"
        "LoadCredential=model_key:/etc/frontdesk/secrets/model_key\n"
    )
    assert unit.credentials() == {name: unit.secrets / name for name in ("telegram_token", "model_key")}
    assert plan.config.stat().st_mode & 0o777 == 0o644
    environ = {"CREDENTIALS_DIRECTORY": str(unit.secrets)}
    assert TOKEN in load(config=plan.config, state=tmp_path, environ=environ).settings.secrets
    assert {path.name for path in plan.config.parent.iterdir()} == {"secrets", "frontdesk.toml"}


def test_what_the_unit_hands_over_besides_stays(service_plan: Plan) -> None:
    file = service_plan.unit.credentials_file
    file.parent.mkdir()
    file.write_text("[Service]\nLoadCredential=other:/srv/other\nLoadCredential=model_key:/srv/old\n")
    service_plan.write(service_plan.written(choices()), NOBODY)
    known = service_plan.unit.credentials()
    assert known.keys() == {"other", "telegram_token", "model_key"}
    assert known["model_key"] == service_plan.unit.secrets / "model_key"


def test_the_service_is_started_and_then_restarted(service_plan: Plan, systemctl: Path) -> None:
    for _ in range(2):
        Service(service_plan, NOBODY, wanted=True).serve(choices(), "@bot")
    assert systemctl.read_text().splitlines() == [
        "daemon-reload", "is-active --quiet frontdesk", "start frontdesk",
        "daemon-reload", "is-active --quiet frontdesk", "restart frontdesk",
    ]  # fmt: skip


@pytest.mark.parametrize("wanted", [False, None])
def test_nobody_s_service_is_started_unasked(
    service_plan: Plan, systemctl: Path, capsys: pytest.CaptureFixture[str], wanted: bool | None
) -> None:
    Service(service_plan, NOBODY, wanted=wanted).serve(choices(owners=()), "@bot")
    assert "start frontdesk" not in systemctl.read_text()
    said = capsys.readouterr().out
    assert "sudo systemctl start frontdesk" in said
    assert "sudo frontdesk people approve CODE" in said


def test_a_service_that_does_not_start_says_where_to_look(service_plan: Plan, systemctl: Path, tmp_path: Path) -> None:
    (tmp_path / "fails").touch()
    with pytest.raises(VerbFailed, match="systemctl daemon-reload failed; the files are written"):
        Service(service_plan, NOBODY, wanted=True).serve(choices(), "@bot")


def test_a_service_that_is_not_there_can_not_be_started(plan: Plan) -> None:
    with pytest.raises(VerbFailed, match="sudo make install-service") as caught:
        Service(plan, NOBODY, wanted=True)
    assert caught.value.code == 2


def test_a_config_of_its_own_is_not_the_service_s(service_plan: Plan, tmp_path: Path) -> None:
    place = replace(service_plan.place, config=tmp_path / "mine.toml")
    assert not Plan.here(place, service_plan.unit).for_service


def test_each_config_of_a_folder_has_secrets_of_its_own(plan: Plan, tmp_path: Path) -> None:
    other = Plan.here(Place(config=tmp_path / "home/second.toml", state=tmp_path / "state"))
    usual = {file.path for file in plan.written(choices()).secrets}
    others = {file.path for file in other.written(choices()).secrets}
    assert {path.parent for path in usual} == {tmp_path / "home/secrets"}
    assert {path.parent for path in others} == {tmp_path / "home/second.secrets"}
    assert "file:second.secrets/" in other.written(choices()).config.text
