"""The access table holds on each platform, with the real daemon; and what reaches the agent is what it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from core.desk.commands.table import BY_NAME
from core.service.notices import ENGLISH
from tests.drivers.driver import Person, Place, Saying
from tests.fakes.agents_crash import closing
from tests.wire.access_buttons import RESET_SOON, press_all
from tests.wire.access_opening import NO_RESET, begin, driving, furnished
from tests.wire.access_play import Play
from tests.wire.access_seen import Seen
from tests.wire.access_table import (
    DOORS,
    EVERYWHERE,
    EXPLAINED,
    HEARD,
    ON,
    ONLY,
    OTHER_DOORS,
    OTHER_DOORS_ON,
    REASONS,
    SILENT,
    Cell,
    buttons_on,
    doors_on,
    rows_of,
    table_on,
)

PLATFORMS: Final = ("telegram", "discord", "slack")
SLICES: Final = 2
"""Rows are played in so many parts, side by side: a bot of Discord makes 45 calls in 1.25 s at most."""

FILES: Final = ("photo", "file", "sound")


@contextmanager
def playing(
    platform: str, home: Path, cells: Sequence[Cell], direct: str = "pairing", more: str = NO_RESET
) -> Iterator[Play]:
    """Ready to play; in the end no rule of the platform was broken."""
    with driving(platform) as driver:
        play = furnished(driver, home, cells, direct, more)
        with play.daemon:
            begin(play)
            yield play
        assert driver.violations == ()


def check(play: Play, seen: Sequence[Seen]) -> None:
    """Each cell is as expected; nothing is left over; nobody who is not heard reached an agent or the store."""
    wrong = [str(one) for one in seen if one.letter != one.part.cell.expected]
    assert not wrong, "\n".join(wrong)
    assert play.loose_ends() == []
    kept, journal = play.kept(), play.asked()
    heard = {one.part.mark for one in seen if one.part.cell.expected == "A"}
    told = {one.part.mark for one in seen if one.part.mark in journal or one.part.mark in kept}
    assert told <= heard
    fetched = [str(one) for one in seen if one.fetched and one.part.cell.expected not in "AV"]
    assert not fetched, "\n".join(fetched)
    untold = [str(one) for one in seen if one.letter == "A" and one.part.told not in "\n".join(one.said)]
    assert not untold, "\n".join(untold)


@pytest.mark.endurance
@pytest.mark.parametrize("slice_", range(SLICES))
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_table(platform: str, slice_: int, tmp_path: Path) -> None:
    table = table_on(platform)
    kinds = list(dict.fromkeys(cell.kind for cell in table))[slice_::SLICES]
    cells = [cell for cell in table if cell.kind in kinds]
    with playing(platform, tmp_path, cells) as play:
        seen = play.play()
        check(play, seen)
        heard = [one for one in seen if one.letter == "A"]
        unfetched = [one for one in heard if one.part.cell.kind.startswith(FILES) and not one.fetched]
        assert not unfetched, "what is heard is fetched"
        explain_each(play, seen)


def explain_each(play: Play, seen: Sequence[Seen]) -> None:
    """One of each kind of silence is told of as the table means it."""
    silent = {one.letter: one.rows[0] for one in seen if one.rows and one.letter in EXPLAINED}
    assert silent
    for letter, row in silent.items():
        assert EXPLAINED[letter] in play.explained(row)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("direct", DOORS)
def test_other_doors(platform: str, direct: str, tmp_path: Path) -> None:
    cells = [cell for cell in doors_on(platform) if cell.place == direct]
    with playing(platform, tmp_path, cells, direct) as play:
        seen = play.play()
        check(play, seen)
        explain_each(play, seen)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_buttons(platform: str, tmp_path: Path) -> None:
    """Each does what it says for the one whom it is for, and nothing for anybody else."""
    with playing(platform, tmp_path, buttons_on(platform), more=RESET_SOON) as play:
        seen = press_all(play)
        check(play, seen)
        done = [one for one in seen if one.letter == "C"]
        assert not [str(one) for one in done if effect(one) not in "\n".join((*one.said, *one.said_aside))]
        paid = {line.removeprefix("paid ") for line in play.asked().splitlines() if line.startswith("paid ")}
        assert paid == {one.part.asked for one in done if one.part.cell.kind.startswith("Allow")}


def effect(done: Seen) -> str:
    """What is said once a button did what it says: an answer in its place, or that it did."""
    match done.part.cell.kind.partition(":")[0]:
        case "Allow" | "Don't allow":
            return closing(done.part.asked)
        case "Let in":
            return ENGLISH["paired"].partition(".")[0]
        case _:
            return ENGLISH["resumed"].partition("{")[0]


def test_the_table_has_every_command() -> None:
    rows = rows_of(EVERYWHERE)
    assert {f"/{name}" for name in BY_NAME} == {
        kind.partition(",")[0].partition(" ")[0] for kind in rows if kind.startswith("/")
    } - {"/nosuch"}
    for platform, table in ON.items():
        assert set(rows_of(table)) <= set(rows), platform
        assert not set(rows_of(ONLY[platform])) & set(rows), platform
        assert not set(rows_of(OTHER_DOORS_ON[platform])) & set(rows_of(OTHER_DOORS)), platform
        assert all(cell.expected in HEARD + SILENT for cell in (*table_on(platform), *buttons_on(platform)))
    assert set(EXPLAINED) == set(REASONS.values())


# C47, C48


class Hall:
    """People who say one thing after the other."""

    def __init__(self, play: Play) -> None:
        self.play = play

    def ask(self, room: Place, who: Person, text: str, aside: Place | None = None) -> str:
        """What comes to be said there, once there is something more, or to that person `aside`."""
        play = self.play

        def heard() -> list[str]:
            return [*play.said(room), *play.driver.whispered(room), *(play.said(aside) if aside is not None else ())]

        before = len(heard())
        play.driver.say(room, who, Saying(text=text, named=True))
        play.wait(lambda: len(heard()) > before, f"an answer to {text}")
        play.wait(play.quiet, "nothing is open")
        return "\n".join(heard()[before:])


COUPLE: Final = [
    Cell(kind="words", place=place, role=role, expected="A") for place in ("direct", "listed") for role in "ou"
]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_nobody_resumes_what_they_took_no_part_in(platform: str, tmp_path: Path) -> None:
    """C47. Not by its title, nor a part of it, nor by its id; not even an owner, nor from a group that both are in."""
    with playing(platform, tmp_path, COUPLE) as play:
        hall = Hall(play)
        owner, user, group = play.parts[0], play.parts[1], play.parts[2].room
        hall.ask(user.room, user.who, "fast one")
        assert "Secret Plan" in hall.ask(user.room, user.who, "/title Secret Plan")
        listed = play.daemon.json("sessions", "list")
        assert isinstance(listed, list)
        secret = next(str(one["id"]) for one in listed if one["title"] == "Secret Plan")
        for room in (owner.room, group):
            hall.ask(room, owner.who, "fast two")
            for name in ("Secret Plan", "secret", secret, secret.upper()):
                assert f"No conversation of yours fits “{name}”" in hall.ask(room, owner.who, f"/resume {name}")
            assert "Secret Plan" not in hall.ask(room, owner.who, "/sessions", owner.room)
        hall.ask(user.room, user.who, "/reset")
        assert "Back in “Secret Plan”" in hall.ask(user.room, user.who, f"/resume {secret}")


STRANGERS: Final = [Cell(kind="words", place="direct", role="s", expected="K") for _ in range(3)] + [
    Cell(kind="words", place="direct", role="o", expected="A")
]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_who_takes_the_name_of_somebody_who_is_let_in_stays_a_stranger(platform: str, tmp_path: Path) -> None:
    """C48. Neither an owner's name, nor an owner's id as a name, nor an identity as one lets anybody in."""
    with playing(platform, tmp_path, STRANGERS) as play:
        owner = play.parts[-1].who
        play.driver.rename(owner, "Grace")
        for part, name in zip(play.parts[:-1], ("Grace", owner.id, owner.identity), strict=True):
            play.driver.rename(part.who, name)
        check(play, play.play())


def test_nobody_is_invited_where_they_would_not_be_heard(tmp_path: Path) -> None:
    """A row of what each is told; the blocked are told nothing, and Slack is asked about neither of them."""
    wanted = {("unlisted", "o"): 1, ("unlisted", "b"): 0, ("listed", "b"): 0}
    cells = [one for one in table_on("slack") if one.kind == "menu: /stop" and (one.place, one.role) in wanted]
    with playing("slack", tmp_path, cells) as play:
        seen = play.play()
        told = {(one.part.cell.place, one.part.cell.role): one.whispered for one in seen}
        assert {who: len(texts) for who, texts in told.items()} == wanted
        assert not [text for texts in told.values() for text in texts if "Mention me" in text]
        asked = {call.params["user"] for call in play.driver.server.calls_of("users.info")}
        assert not asked & {part.who.id for part in play.parts}
