"""kill -9, and what is left of the attempt that died: nothing that the model or people would take for this one's."""

from __future__ import annotations

import pytest

from core.store import history
from core.store.checks import check
from tests.crash.models_scene import Open, letters
from tests.crash.test_kill_summaries import fill

pytestmark = pytest.mark.crash


def test_what_a_dead_attempt_did_is_not_shown_to_the_turn_that_goes_on(furnish: Open) -> None:
    with furnish(consent=True) as scene:
        scene.start("tool_result.committed")
        talk = scene.talk()
        scene.arm()
        talk.say("peek")
        scene.wait_death()
        scene.start()
        scene.settle()
        talk.type("/approve")
        scene.settle()
        shown = [message.role for message in scene.models.requests[-1].messages]
        assert shown == ["user", "assistant", "tool", "assistant", "tool"]


def test_a_turn_that_summed_up_and_goes_on_shows_the_summary_once(furnish: Open) -> None:
    with furnish(consent=True, window=600) as scene:
        scene.start()
        talk = scene.talk()
        fill(scene, talk)
        mark = talk.say("line")
        scene.settle()
        talk.type("/approve")
        scene.settle()
        assert scene.models.requests[-1].last_user.endswith(mark)
        assert talk.answers(mark) == 1


def test_a_dead_attempt_s_call_leaves_no_result_for_people_to_see(furnish: Open) -> None:
    with furnish() as scene:
        scene.start("tool_call.committed")
        talk = scene.talk()
        scene.arm()
        talk.say("look")
        scene.wait_death()
        scene.start()
        scene.settle()
        assert letters(history.for_people(scene.log(talk))) == "ucra"


def test_an_id_that_a_provider_uses_again_is_closed_like_any_other(furnish: Open) -> None:
    with furnish() as scene:
        scene.start("tool_call.returned", 2)
        talk = scene.talk()
        scene.arm()
        talk.say("again")
        scene.wait_death()
        scene.start()
        scene.settle()
        with scene.daemon.reading() as tx:
            assert check(tx) == []


def test_a_call_with_an_id_that_was_used_before_in_its_turn_can_be_asked_for(furnish: Open) -> None:
    with furnish(consent=True) as scene:
        scene.start()
        talk = scene.talk()
        mark = talk.say("again")
        scene.settle()
        assert scene.questions == 1
        talk.type("/approve")
        scene.settle()
        assert (talk.answers(mark), scene.lines_of(mark)) == (1, 1)
