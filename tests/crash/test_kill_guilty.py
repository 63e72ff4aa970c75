"""A crash blames the message that caused it, and no other: on each platform, with many people at once."""

from __future__ import annotations

import json
import random
from typing import Final

import pytest
from sqlalchemy import text as verbatim

from core.desk.porter import MOST_READS
from core.desk.recovery import MOST_ATTEMPTS
from core.service.notices import ENGLISH
from core.store.sql import Sql
from tests.crash.conftest import StageOn, WorldOn
from tests.crash.daemon import PATIENCE_S, until
from tests.crash.everywhere import EVERYWHERE, World, digests
from tests.crash.scene import ROUNDS, Stage, open_work
from tests.crash.test_kill_random import KINDS, audit_talk
from tests.wire.unpaced import UNPACED

pytestmark = [pytest.mark.crash, pytest.mark.parametrize("name", EVERYWHERE)]

POISON: Final = ENGLISH["poison"].partition(" (")[0]
PEOPLE: Final = ("Ada", "Bo", "Cy", "Di", "Eve", "Flo")
KILLS: Final = 3 * ROUNDS
EACH: Final = 8
"""Messages of all people together from one kill to the next."""
MOST_LEFT: Final = 0.02
"""Of all messages, those that kills at random instants may make look guilty."""
_ATTEMPTS: Final = Sql(verbatim("SELECT max(attempt) FROM turns WHERE state <> 'failed'"))
_SAID: Final = Sql(verbatim("SELECT text, data FROM entries WHERE kind = 'user' ORDER BY id"))


def test_kills_at_random_instants_leave_hardly_a_message(stage_on: StageOn, name: str) -> None:
    chance = random.Random(name)
    with stage_on(name) as stage:
        stage.start()
        talks = [stage.speak(person) for person in PEOPLE]
        for number in range(KILLS):
            for talk in [*talks, *chance.choices(talks, k=EACH - len(talks))]:
                talk.say(chance.choice(KINDS))
            if number:
                stage.start()
            die_at_random(stage, chance)
        stage.platforms[0].without_limits()
        stage.daemon.environ = {UNPACED: "1"}  # at a platform's pace the answers would take minutes
        stage.start()
        stage.settle(timeout_s=2 * PATIENCE_S)
        stage.audit(strays=KILLS)
        for talk in talks:
            audit_talk(stage, talk)
        said, left = sum(len(talk.marks) for talk in talks), sum(talk.count(POISON) for talk in talks)
        print(f"{name}: {KILLS} kills, {said} messages, {left} left")
        assert said == KILLS * EACH
        assert left <= MOST_LEFT * said


def die_at_random(stage: Stage, chance: random.Random) -> None:
    """Between two calls of the bot, or just after; now and then while it still starts."""
    platform = stage.platforms[0]
    heard = platform.calls + chance.choice([0, 1, 2, 3, 5, 8, 13, 21, 34])
    stage.until(lambda: platform.calls >= heard or stage.handed_over)
    stage.daemon.kill()


def test_a_message_that_kills_each_time_is_left_and_all_others_are_answered(stage_on: StageOn, name: str) -> None:
    with stage_on(name) as stage:
        stage.start()
        talks = [stage.speak(person) for person in PEOPLE]
        guilty = stage.speak("Gus")
        waiting = [(talk, talk.say(kind)) for kind in ("crawl", "slow") for talk in talks]
        mark = guilty.say("die")
        behind = guilty.say("fast")
        deaths = until_one_lives(stage)
        shared = stage.runs(mark) - MOST_ATTEMPTS
        assert 0 <= shared <= 2, "the first time, and where the one before it was slow"
        assert deaths == stage.runs(mark)
        assert (guilty.count(POISON), guilty.answers(mark), guilty.answers(behind)) == (1, 0, 1), guilty.texts
        assert [talk.answers(one) for talk, one in waiting] == [1] * len(waiting)
        assert sum(talk.count(POISON) for talk in talks) == 0
        with stage.daemon.reading() as tx:
            assert tx.number(_ATTEMPTS) == 1
        stage.audit(strays=deaths)


def until_one_lives(stage: Stage) -> int:
    """Start one process after the other until one has done all there is to do; how many died."""
    deaths = 0
    while not lives_on(stage):
        stage.daemon.wait_death()
        deaths += 1
        assert deaths < 3 * MOST_ATTEMPTS
        stage.start()
    return deaths


def lives_on(stage: Stage) -> bool:
    def ended() -> bool:
        return not stage.daemon.lives or (stage.handed_over and _nothing_open(stage))

    until(ended, "it dies, or all has its fate and is out")
    return stage.daemon.lives


def _nothing_open(stage: Stage) -> bool:
    with stage.daemon.reading() as tx:
        return open_work(tx) == 0


def test_a_file_that_kills_each_time_is_not_read_and_its_message_is_answered(world_on: WorldOn, name: str) -> None:
    poison, sound = {"poison.txt": b"Boats at noon."}, {"crew.txt": b"Ada and Bob."}
    with world_on(name) as world:
        world.begin("extraction.begun:poison")
        world.bob.say("hello")  # from now on what he says is fetched
        until(lambda: world.bob.says("re: hello"), "an answer")
        world.arm()
        world.ada.share("look at this", poison)
        deaths = 0
        while True:
            until(
                lambda: not world.daemon.lives or world.ada.says("re: look at this"), "it dies, or there is an answer"
            )
            if world.daemon.lives:
                break
            world.daemon.wait_death()
            deaths += 1
            assert deaths <= MOST_READS
            if deaths == 1:
                world.bob.share("and this", sound)
            world.start("extraction.begun:poison")  # it may die again before anybody sees that it is up
        until(lambda: world.bob.says("re: and this"), "the other file is read")
        world.settle()
        assert deaths == MOST_READS
        assert sorted(world.files) == sorted([[], digests(poison), digests(sound)])
        assert read_by_the_agent(world) == {"hello": [], "look at this": [None], "and this": ["Ada and Bob."]}


def read_by_the_agent(world: World) -> dict[str, list[str | None]]:
    """The text of each file, by the message that brought it."""
    with world.daemon.reading() as tx:
        rows = tx.all(_SAID)
    found: dict[str, list[str | None]] = {}
    for row in rows:
        files = json.loads(row.text("data")).get("files", [])
        found[row.text("text").partition("\n")[0]] = [file["text"] for file in files]
    return found
