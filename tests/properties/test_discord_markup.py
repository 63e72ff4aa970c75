"""Properties of Discord's renderer over Markdown-ish text of every kind."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from bots.discord.markup import LIMIT, parts, render
from tests.properties.test_split import FRAGMENTS
from tests.properties.test_telegram_markup import documents

EDGE = re.compile(r"[> ]*```[^`]*")
"""A line that opens or closes a fence."""
MARKS = ["||", "`", "``", "```", "~~~", "\n", " ", "x", "|---|", "a | b", "> ", "- ", "    "]

many = settings(max_examples=60, deadline=None)
texts = st.one_of(
    documents,
    st.text(max_size=200),
    st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join),
    st.lists(st.sampled_from(MARKS)).map("".join),
)
long_texts = st.builds(lambda text, times: (text + "\n") * times, texts, st.integers(1, 60)).filter(
    lambda text: len(text) < 20_000
)


def words(text: str) -> list[str]:
    """Those that can be told apart."""
    return re.findall(r"w\d+x", text)


@many
@given(texts)
def test_no_word_is_lost_or_moved(text: str) -> None:
    assert words(render(text)) == words(text)


@many
@given(texts)
def test_every_letter_stays(text: str) -> None:
    before = [sign for sign in re.sub("<br ?/?>", "", text, flags=re.IGNORECASE) if sign.isalnum()]
    after = [sign for sign in render(text) if sign.isalnum()]
    assert not [sign for sign in set(before) if after.count(sign) < before.count(sign)]


@many
@given(long_texts)
def test_every_part_fits(text: str) -> None:
    assert all(0 < len(render(part)) <= LIMIT for part in parts(text))


@many
@given(st.lists(st.sampled_from(["word\n", "\n\n", "```py\ncode()\n```\n", "~~~\n```\n~~~\n"]), max_size=300))
def test_every_fence_is_closed_in_its_part(blocks: list[str]) -> None:
    for part in parts("".join(blocks)):
        assert len([line for line in render(part).split("\n") if EDGE.fullmatch(line)]) % 2 == 0


@many
@given(long_texts)
def test_parts_have_every_word_in_order(text: str) -> None:
    shown = iter(words("".join(f"{render(part)}\n" for part in parts(text))))
    assert all(word in shown for word in words(text))


@many
@given(st.text(st.characters(exclude_categories=()), max_size=100))
def test_c25_no_half_of_a_character_is_sent(text: str) -> None:
    for part in (text, *parts(text)):
        render(part).encode()
