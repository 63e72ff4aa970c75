"""kill -9 at any instant of a reload that changes the bot and its agent, with messages under way."""

from __future__ import annotations

import os
import random
import signal
import threading

import pytest

from tests.crash.scene import ROUNDS, Scene, config
from tests.crash.test_kill_random import audit_talk

pytestmark = pytest.mark.crash

KILLS = 12
LATEST_S = 0.06
"""A reload with a bot that changes takes about 20 ms."""
KINDS = ("fast", "fast", "slow", "tool", "look", "long", "work", "crawl")


def written(scene: Scene, number: int) -> str:
    """Another agent each time, and every other time another bot."""
    plain = config(scene.server, scene.daemon.home)
    agent = plain.replace("[agents.default.options]", f"[agents.default.options]\nnumber = {number}")
    return f"[listen]\nport = 0\n{agent}stream = {'true' if number % 2 else 'false'}\n"


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_at_any_instant_of_a_reload(scene: Scene, seed: int) -> None:
    chance = random.Random(seed)
    pause = threading.Event()
    scene.server.set_limits(None)  # a process that starts knows nothing of what was sent a moment ago
    talks = [scene.talk(name) for name in ("Ada", "Bo", "Cy", "Di")]
    for number in range(KILLS):
        scene.daemon.config_file.write_text(written(scene, 2 * number))
        scene.start()
        scene.daemon.until_bot("up")
        for talk in talks:
            talk.say(chance.choice(KINDS))
        pause.wait(chance.uniform(0.0, 0.1))
        scene.daemon.config_file.write_text(written(scene, 2 * number + 1))
        assert scene.daemon.process is not None
        os.kill(scene.daemon.process.pid, signal.SIGHUP)
        for talk in talks[:2]:
            talk.say(chance.choice(KINDS))
        pause.wait(chance.uniform(0.0, LATEST_S))
        scene.daemon.kill()
    for talk in talks:
        talk.say("fast")
    scene.start()
    scene.settle()
    scene.audit(strays=KILLS)
    for talk in talks:
        audit_talk(scene, talk)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_reloads_and_a_kill_that_takes_the_bot_away_and_a_start_that_brings_it_back(scene: Scene, seed: int) -> None:
    """The config that the next process finds has no bot; the one after it has."""
    chance = random.Random(seed)
    pause = threading.Event()
    scene.server.set_limits(None)
    talks = [scene.talk(name) for name in ("Ada", "Bo")]
    bare = written(scene, 0).partition("[bots.telegram]")[0]
    for number in range(KILLS // 3):
        scene.daemon.config_file.write_text(written(scene, number))
        scene.start()
        scene.daemon.until_bot("up")
        for talk in talks:
            talk.say(chance.choice(KINDS))
        pause.wait(chance.uniform(0.0, 0.2))
        scene.daemon.config_file.write_text(bare)
        assert scene.daemon.process is not None
        os.kill(scene.daemon.process.pid, signal.SIGHUP)
        pause.wait(chance.uniform(0.0, LATEST_S))
        scene.daemon.kill()
        scene.start()
        scene.daemon.until_ready()
        pause.wait(chance.uniform(0.0, 0.3))
        scene.daemon.kill()
    for talk in talks:
        talk.say("fast")
    scene.daemon.config_file.write_text(written(scene, 1))
    scene.start()
    scene.settle()
    scene.audit(strays=KILLS)
    for talk in talks:
        audit_talk(scene, talk)
