"""Files that an agent or a command sends, on each platform: there once, whatever is killed, or told why not."""

from __future__ import annotations

from typing import Final

import pytest

from core.service.notices import ENGLISH
from tests.crash.conftest import WorldOn
from tests.crash.daemon import until
from tests.crash.everywhere import EVERYWHERE, World
from tests.crash.test_everywhere_files_in import begin_acquainted
from tests.fakes.agents_everywhere import CAPTION

pytestmark = pytest.mark.crash

MIB: Final = 1024 * 1024
TOO_LARGE: Final = {
    "telegram": (50_000_001, "47.7 MiB"),
    "discord": (10 * MIB + 1, "10 MiB"),
    "slack": (1024 * MIB + 1, "1,024 MiB"),
}
"""Bytes that are just too many, and the limit as it is told."""
UNKNOWN: Final = ENGLISH["unknown_delivery"].partition(":")[0]
BOATS: Final = b"Boats at noon."
CREW: Final = b"Ada and Bob."
everywhere: Final = pytest.mark.parametrize("name", EVERYWHERE)


def shelved(world: World) -> None:
    (world.shelf / "boats.txt").write_bytes(BOATS)
    (world.shelf / "crew.txt").write_bytes(CREW)


@everywhere
def test_files_come_as_one_message_with_their_caption(world_on: WorldOn, name: str) -> None:
    with world_on(name) as world:
        shelved(world)
        world.begin()
        world.ada.say("hand boats.txt crew.txt")
        until(lambda: world.ada.says("handed"), "the agent is done")
        world.settle()
        assert world.ada.got == [(CAPTION, {"boats.txt": BOATS, "crew.txt": CREW})]
        assert world.ada.uploads > 0


@everywhere
def test_what_is_not_on_the_shelf_is_not_sent(world_on: WorldOn, name: str) -> None:
    with world_on(name) as world:
        (world.shelf / "plan.txt").symlink_to(world.daemon.config_file)
        world.begin()
        world.ada.say("hand plan.txt")
        until(lambda: world.ada.says("refused: plan.txt is not in a folder from which files may be sent."), "told")
        assert (world.ada.got, world.ada.uploads) == ([], 0)


@everywhere
def test_what_is_too_large_is_told_before_it_is_sent(world_on: WorldOn, name: str) -> None:
    size, limit = TOO_LARGE[name]
    with world_on(name) as world:
        with (world.shelf / "trip.bin").open("wb") as file:
            file.truncate(size)
        begin_acquainted(world)
        world.ada.say("hand trip.bin")
        until(lambda: world.ada.says("refused: "), "the agent is told")
        assert world.ada.says(f"at most {limit} can be sent there."), world.ada.texts
        world.settle()
        assert (world.ada.got, world.ada.uploads) == ([], 0)


@everywhere
def test_an_export_is_a_file(world_on: WorldOn, name: str) -> None:
    with world_on(name) as world:
        world.begin()
        world.ada.say("boats")
        until(lambda: world.ada.says("re: boats"), "an answer")
        world.settle()
        world.ada.say("/export")
        until(lambda: len(world.ada.got) == 1, "a file")
        [(_, files)] = world.ada.got
        [(file, content)] = files.items()
        assert file.endswith(".md")
        assert content.startswith(b"# boats\n")
        assert b"re: boats" in content


@pytest.mark.parametrize(
    ("name", "point"),
    [*((name, "delivery.sent:files") for name in EVERYWHERE), ("slack", "file.uploaded")],
)
def test_killed_while_a_file_is_sent(world_on: WorldOn, name: str, point: str) -> None:
    """Telegram can't be asked what it has, so that its people are told."""
    with world_on(name) as world:
        shelved(world)
        world.begin(point)
        world.arm()
        world.ada.say("hand boats.txt")
        world.wait_death()
        world.begin()
        world.settle()
        assert world.ada.got == [(CAPTION, {"boats.txt": BOATS})], world.ada.texts
        assert world.ada.dialogue.count(UNKNOWN) == (1 if name == "telegram" else 0)
