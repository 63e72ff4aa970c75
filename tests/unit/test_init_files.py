"""What `init` writes: all of it or nothing, for its owner only."""

from __future__ import annotations

import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from core.cli.setup.placing import File, place

STAMP = "2026-01-02T030405Z"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def everything_in(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def pair(folder: Path, secret: str = "s", config: str = "c", *, kept: bool = True) -> list[File]:
    return [
        File(path=folder / "secrets/token", text=secret, kept=kept),
        File(path=folder / "some.toml", text=config, kept=kept),
    ]


def accept(config: Path) -> None:
    assert config.is_file()


def refuse(config: Path) -> None:
    raise ValueError(config.name)


def test_new_files_and_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    assert place(pair(tmp_path / "new"), accept, stamp=STAMP) == []
    assert everything_in(tmp_path / "new") == {"secrets/token": "s", "some.toml": "c"}
    assert mode_of(tmp_path / "new") == mode_of(tmp_path / "new/secrets") == 0o700
    assert mode_of(tmp_path / "new/secrets/token") == mode_of(tmp_path / "new/some.toml") == 0o600


def test_files_that_others_may_read_stand_in_folders_that_others_may_enter(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        place([File(path=tmp_path / "new/some.conf", text="x", mode=0o644)], accept, stamp=STAMP)
    finally:
        os.umask(before)
    assert (mode_of(tmp_path / "new"), mode_of(tmp_path / "new/some.conf")) == (0o755, 0o644)


def test_what_is_replaced_stays_under_a_dated_name(tmp_path: Path) -> None:
    place(pair(tmp_path), accept, stamp="before")
    replaced = place(pair(tmp_path, config="changed"), accept, stamp=STAMP)
    assert replaced == [tmp_path / f"some.toml.{STAMP}"]
    assert everything_in(tmp_path) == {"secrets/token": "s", "some.toml": "changed", f"some.toml.{STAMP}": "c"}


def test_what_is_not_worth_keeping_goes(tmp_path: Path) -> None:
    place(pair(tmp_path), accept, stamp="before")
    assert place(pair(tmp_path, "t", "changed", kept=False), accept, stamp=STAMP) == []
    assert everything_in(tmp_path) == {"secrets/token": "t", "some.toml": "changed"}


def test_a_config_that_proves_bad_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"some\.toml"):
        place(pair(tmp_path / "deep/new"), refuse, stamp=STAMP)
    assert list(tmp_path.iterdir()) == []


def test_a_config_that_proves_bad_leaves_what_was_there(tmp_path: Path) -> None:
    place(pair(tmp_path), accept, stamp="before")
    with pytest.raises(ValueError, match=r"some\.toml"):
        place(pair(tmp_path, "t", "changed"), refuse, stamp=STAMP)
    assert everything_in(tmp_path) == {"secrets/token": "s", "some.toml": "c"}


def test_a_config_that_stays_as_it_is_is_proved_with_the_new_secret(tmp_path: Path) -> None:
    place(pair(tmp_path), accept, stamp="before")
    seen: list[str] = []
    place(
        pair(tmp_path, "t"),
        lambda config: seen.append(f"{config.name}: {tmp_path.joinpath('secrets/token').read_text()}"),
        stamp=STAMP,
    )
    assert seen == ["some.toml: t"]


def test_a_place_that_can_not_be_written_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "some.toml").mkdir()
    with pytest.raises(OSError, match=r"some\.toml"):
        place(pair(tmp_path), accept, stamp=STAMP)
    assert everything_in(tmp_path) == {}
    assert not (tmp_path / "secrets").exists()


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text("old")
    (tmp_path / "some.toml").symlink_to("real.toml")
    place(pair(tmp_path), accept, stamp=STAMP)
    assert (tmp_path / "some.toml").is_symlink()
    assert (tmp_path / "real.toml").read_text() == "c"
    assert (tmp_path / f"real.toml.{STAMP}").read_text() == "old"


def test_an_interrupt_waits_until_all_is_in_place(tmp_path: Path) -> None:
    def interrupt(config: Path) -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        place(pair(tmp_path), interrupt, stamp=STAMP)
    assert everything_in(tmp_path) == {"secrets/token": "s", "some.toml": "c"}


def test_a_secret_that_others_may_read_is_written_anew(tmp_path: Path) -> None:
    place(pair(tmp_path), accept, stamp="before")
    (tmp_path / "secrets/token").chmod(0o644)
    assert not pair(tmp_path)[0].is_there
    place(pair(tmp_path, kept=False), accept, stamp=STAMP)
    assert mode_of(tmp_path / "secrets/token") == 0o600
