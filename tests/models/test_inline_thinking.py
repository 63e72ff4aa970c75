"""Thoughts in the middle of the text, however a stream cuts it, are never shown where nobody wants them."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agents.event_merging import EventMerger
from core.agents.inline_thinking import CLOSE, OPEN, ThoughtSplitter, answer_in
from core.service.notices import Notices
from tests.fakes.models.replies import Attempts, Call, Gate, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.flow.house import House
from tests.models.conftest import ModelHouse
from tests.models.watching import followed
from tests.unit.test_event_merging import chat

WHOLE = {
    "<think>secret more</think>\n\nThe answer": ("secret more", "The answer"),
    "\n<think>\nsecret\n</think>\nThe answer": ("\nsecret\n", "The answer"),
    "<think></think>\n\nThe answer": ("", "The answer"),
    "<think>secret</think><think>more</think>The answer": ("secretmore", "The answer"),
    "<thinking>secret</thinking>The answer": ("secret", "The answer"),
    "[THINK]secret[/THINK]The answer": ("secret", "The answer"),
    "<think>if a < b then </b> secret</think>The answer": ("if a < b then </b> secret", "The answer"),
    "secret\n</think>\n\nThe answer": ("secret\n", "The answer"),
    "</think>\n\nThe answer": ("", "The answer"),
    "<think>secret": ("secret", ""),
    "<think>secret</think>\n \n": ("secret", ""),
    "The answer <think>is</think> a tag": ("", "The answer <think>is</think> a tag"),
    "Close it with </think>, then go on": ("", "Close it with </think>, then go on"),
    "```\n<think>\n</think>\n```": ("", "```\n<think>\n</think>\n```"),
    "a < b <thin": ("", "a < b <thin"),
    "  leading blanks": ("", "  leading blanks"),
}
"""A whole response, what of it is thought, and what is the answer."""


def split(pieces: list[str]) -> tuple[str, str]:
    """What was thought and what was said of a stream in these pieces; asserts that tags stand alone."""
    splitter, thought, said, thinks = ThoughtSplitter(), "", "", False
    given = [piece for text in pieces for piece in splitter.take(text)] + splitter.end()
    for before, piece in zip(["", *given], given, strict=False):
        assert piece
        if piece == OPEN and not thinks:
            thinks = True
        elif piece == CLOSE and thinks:
            thinks = False
            if before == OPEN and said:
                thought, said = thought + said, ""
        elif thinks:
            thought += piece
        else:
            said += piece
    return thought, said


def cut(text: str, places: set[int]) -> list[str]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("whole", WHOLE)
@given(places=st.sets(st.integers(0, 200)))
def test_r03_a_thought_is_one_wherever_the_stream_is_cut(whole: str, places: set[int]) -> None:
    assert split(cut(whole, places)) == WHOLE[whole]


@pytest.mark.parametrize("whole", WHOLE)
def test_r03_a_thought_is_one_letter_by_letter(whole: str) -> None:
    assert split(list(whole)) == WHOLE[whole]
    assert answer_in(whole) == WHOLE[whole][1]


@given(
    st.lists(st.sampled_from([*"ab \n<>/", OPEN, CLOSE, "<think", "</thi", "[THINK]"]), max_size=12).map("".join),
    st.sets(st.integers(0, 99)),
)
def test_r03_a_cut_changes_nothing(text: str, places: set[int]) -> None:
    assert split(cut(text, places)) == split([text])


@given(st.text(st.characters(exclude_characters="<["), max_size=50), st.sets(st.integers(0, 99)))
def test_r03_a_text_without_tags_stays_as_it_is(text: str, places: set[int]) -> None:
    assert split(cut(text, places)) == ("", text)


@given(st.sampled_from(sorted(WHOLE)), st.sets(st.integers(0, 200)), st.sets(st.integers(0, 4000)))
def test_r03_tags_stand_alone_in_what_an_sdk_sees(whole: str, places: set[int], cuts: set[int]) -> None:
    events = b"".join(chat(piece) + b"\n\n" for piece in cut(whole, places))
    merger, stream = EventMerger(), bytearray()
    edges = sorted({0, len(events), *(place % (len(events) + 1) for place in cuts)})
    for start, end in pairwise(edges):
        stream += merger.take(events[start:end]) + merger.flush()
    stream += merger.end()
    texts = [json.loads(one[6:])["choices"][0]["delta"]["content"] for one in bytes(stream).split(b"\n\n")[:-1]]
    for tag in (OPEN, CLOSE):
        if WHOLE[whole][0].strip():
            assert all(text == tag or tag not in text for text in texts)


@pytest.mark.parametrize("shows", [False, True])
@pytest.mark.parametrize(
    "pieces",
    [
        ("<think>secret", " more", "</think>\n\nThe answer"),
        ("<think>", "secret more", "</think>\n\nThe answer"),
        ("<thi", "nk>secret more</th", "ink>\n", "\nThe answer"),
        ("<think>secret more</think>\n\nThe answer",),
        ("secret", " more", "</think>\n\nThe answer"),
        ("secret more\n", "</think>", "\n\n", "The ", "answer"),
    ],
)
async def test_r03_what_is_thought_aloud_is_shown_only_where_that_is_wanted(
    furnish: ModelHouse, server: ModelServer, pieces: tuple[str, ...], shows: bool
) -> None:
    server.on("why", Say("", deltas=pieces))
    house = await furnish(show_thinking=shows)
    await house.ask("why?")
    [seen] = house.seen()
    assert seen.endswith("The answer")
    assert ("secret more" in seen) is shows
    assert "think>" not in seen
    assert [text for kind, text in await house.told() if kind == "assistant"] == ["The answer"]
    await house.ask("thanks")
    assert house.seen()[-1] == "re: thanks"


async def test_r03_who_never_opens_a_thought_is_not_shown_thinking_a_second_time(
    house: House, server: ModelServer
) -> None:
    server.on("why", Say("", deltas=("secret", "\n</think>", "\n\nOne")))
    await house.ask("why?")
    server.on("again", Say("", deltas=("secret",)), Gate("rest"), Say("", deltas=("\n</think>\n\n", "Two")))
    said = await house.offer(house.message("again"))
    async with followed(house, said) as seen:
        await server.until(lambda: server.gate("rest").waiting == 1)
        server.gate("rest").set()
        await house.ended(said)
    assert seen.text == "Two"
    server.on("third", Say("no thought at all"))
    await house.ask("third")
    assert house.seen() == ["One", "Two", "no thought at all"]


async def test_r03_a_thought_before_a_call_is_none_of_the_answer(house: House, server: ModelServer) -> None:
    spoken = Say("", deltas=("I look at the", " clock.</think>"))
    server.on("when", Steps((spoken, Call("current_time")), Say("", deltas=("<think>", "ah</think>\n", "Noon."))))
    await house.ask("when?")
    assert house.seen() == ["Noon."]
    assert [text for kind, text in await house.told() if kind == "assistant"] == ["Noon."]


async def test_r03_blanks_behind_a_thought_are_no_answer(house: House, server: ModelServer) -> None:
    server.on("why", Attempts(Say("", deltas=("<think>hm", "</think>\n\n", " \n")), Say("After all.")))
    await house.ask("why?")
    assert house.seen() == ["After all."]
    server.on("how", Say("\n \n", deltas=2))
    await house.ask("how?")
    assert house.seen()[-1] == Notices("en").say("agent_empty")
