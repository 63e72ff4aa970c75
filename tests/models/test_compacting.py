"""Long conversations: /compact, and what the model is shown afterwards."""

from __future__ import annotations

from tests.fakes.models.replies import Empty, Fail, Gate, Say
from tests.fakes.models.server import ModelServer
from tests.flow.house import GROUP, OWNER, House


async def talk(house: House, turns: int) -> None:
    for n in range(1, turns + 1):
        await house.ask(f"question {n}")


def shown(server: ModelServer) -> list[tuple[str, str]]:
    """What the model was shown last, without the line of time before each message. A summary and the message behind it
    are one message of the request."""
    talk = [(role, text) for role, text in server.requests[-1].talk if role != "system"]
    return [(role, piece.split("\n")[-1]) for role, text in talk for piece in text.split("\n\n[")]


async def test_the_model_goes_on_from_a_summary_and_the_last_turns(house: House, server: ModelServer) -> None:
    await talk(house, 6)
    server.on("The conversation:", Say("They counted to six."))
    await house.ask("/compact numbers")
    assert "Pay most attention to: numbers" in server.requests[-1].last_user
    assert "question 3" in server.requests[-1].last_user
    assert "question 4" not in server.requests[-1].last_user
    await house.ask("and now?")
    talked = shown(server)
    assert talked[0] == ("user", "They counted to six.")
    assert talked[1:] == [
        ("user", "question 4"), ("assistant", "re: question 4"),
        ("user", "question 5"), ("assistant", "re: question 5"),
        ("user", "question 6"), ("assistant", "re: question 6"),
        ("user", "and now?"),
    ]  # fmt: skip


async def test_nothing_is_lost_by_a_compaction(house: House, server: ModelServer) -> None:
    await talk(house, 4)
    server.on("The conversation:", Say("Summary."))
    await house.ask("/compact")
    before = house.seen()
    await house.say("/export")
    assert "question 1" in "\n".join(house.heard_since(before))
    assert [kind for kind, _ in await house.told()][-1] == "compaction"


async def test_a_failed_or_empty_summary_changes_nothing(house: House, server: ModelServer) -> None:
    await talk(house, 4)
    before = await house.told()
    for reply in (Fail("bad_request"), Empty()):
        server.forget_rules()
        server.on("The conversation:", reply)
        await house.ask("/compact")
        assert house.seen()[-1].startswith("That could not be summed up")
        assert await house.told() == before
    server.forget_rules()
    await house.ask("go on")
    assert len(shown(server)) == 9


async def test_c06_a_reset_during_a_compaction_leaves_the_old_session_whole(house: House, server: ModelServer) -> None:
    await talk(house, 4)
    old = await house.session()
    before = await house.told()
    server.on("The conversation:", Gate("summary"), Say("Too late."))
    compact = await house.offer(house.message("/compact"))
    await server.until(lambda: server.in_flight == 1)
    reset = await house.offer(house.message("/new"))
    hello = await house.offer(house.message("hello"))
    await house.ended(hello)
    assert await house.fate(compact) == "closed"
    assert await house.fate(reset) == "answered"
    assert [entry.kind for entry in await house.log()] == ["user", "assistant"]
    kept = [(entry.kind, entry.text) for entry in await house.entries_of(old.id)]
    assert kept == before
    assert len(shown(server)) == 1


async def test_a_message_waits_for_the_compaction_before_it(house: House, server: ModelServer) -> None:
    await talk(house, 4)
    server.on("The conversation:", Gate("summary"), Say("Summary."))
    await house.offer(house.message("/compact"))
    await server.until(lambda: server.in_flight == 1)
    waiting = await house.offer(house.message("behind it"))
    server.gate("summary").set()
    await house.ended(waiting)
    assert shown(server)[0] == ("user", "Summary.")
    assert shown(server)[-1] == ("user", "behind it")


async def test_a_summary_in_a_group_is_nobody_elses_to_stop(house: House, server: ModelServer) -> None:
    for n in range(1, 5):
        await house.ended(await house.offer(house.group_message(f"question {n}", user="7")))
    server.on("The conversation:", Gate("summary"), Say("Summary."))
    compact = await house.offer(house.group_message("/compact", user=OWNER))
    await server.until(lambda: server.in_flight == 1)
    for command in ("/stop", "/reset"):
        await house.ended(await house.offer(house.group_message(command, user="7")))
        assert house.seen(GROUP)[-1].startswith("Only the person who asked")
    server.gate("summary").set()
    await house.ended(compact)
    assert house.seen(GROUP)[-1].startswith("Summed up")


async def test_a_killed_compaction_is_begun_again(house: House, server: ModelServer) -> None:
    await talk(house, 4)
    server.on("The conversation:", Gate("summary"), Say("Summary."))
    compact = await house.offer(house.message("/compact"))
    await server.until(lambda: server.in_flight == 1)
    await house.die()
    server.gate("summary").set()
    await house.open()
    await house.ended(compact)
    assert [kind for kind, _ in await house.told()].count("compaction") == 1
    assert house.seen()[-1].startswith("Summed up")


async def test_undo_behind_a_compaction_keeps_the_summary(house: House, server: ModelServer) -> None:
    await talk(house, 4)
    server.on("The conversation:", Say("Summary."))
    await house.ask("/compact")
    await house.say("/undo")
    await house.ask("again")
    assert [text for _, text in shown(server)] == ["Summary.", "question 3", "re: question 3", "again"]


async def test_there_may_be_nothing_to_sum_up(house: House) -> None:
    await house.ask("/compact")
    assert house.seen() == ["There is nothing to sum up yet."]
