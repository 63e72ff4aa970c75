"""The splitter: where it cuts, and what it keeps."""

import gc
import time
from collections.abc import Callable

import pytest

from core.delivery.split import closed, is_blank, split, utf16_units, whole_characters

FAMILY = "\U0001f468‍\U0001f469‍\U0001f467‍\U0001f466"
FEW, TIMES = 10_000, 8
SQUARE = TIMES * TIMES / 2
"""Half of what it would be if each part took as long as all text before it."""
CODE = "```python\n" + "\n".join(f"def f{i}():\n    if x:\n        return {i}" for i in range(170)) + "\n```"


def test_units_are_counted_as_telegram_counts_them() -> None:
    assert [utf16_units(text) for text in ("", "a数", "\U0001f4ca", FAMILY, "\ud83d")] == [0, 2, 2, 11, 1]


def test_surrogates_are_joined_or_replaced() -> None:
    assert whole_characters("a\ud83d\udcca\ud83db\udcca") == "a\U0001f4ca\ufffdb\ufffd"


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\u200d\ufeff", "\u2800\u3164", "\u0301"])
def test_text_that_shows_nothing_is_blank_and_makes_no_part(text: str) -> None:
    assert is_blank(text)
    assert split(text, 60) == ()


def test_text_that_fits_is_one_part_without_white_space_around_it() -> None:
    assert split("\n\n  Hello\n\n  there \n", 60) == ("Hello\n\n  there",)


def test_indented_code_at_the_beginning_keeps_its_indentation() -> None:
    assert split("\n    code\n", 60) == ("    code",)


def test_a_blank_line_is_the_best_place() -> None:
    first, second = "one two\nthree\n" * 2 + "four", "five six\n" * 4
    assert split(f"{first}\n\n{second}", 60) == (first, second.rstrip())


def test_a_line_end_is_better_than_a_space() -> None:
    assert split("one two three\n" + "word " * 11, 60) == ("one two three", ("word " * 11).rstrip())


def test_a_space_is_better_than_the_middle_of_a_word() -> None:
    assert split("word " * 13, 60) == (("word " * 12).rstrip(), "word")


def test_a_blank_line_near_the_beginning_does_not_win_over_line_ends() -> None:
    assert split("Hi\n\n" + "some words here\n" * 4, 60)[0] == "Hi\n\n" + "some words here\n" * 2 + "some words here"


def test_a_heading_stays_with_what_it_heads() -> None:
    parts = split("text " * 9 + "\n\n# Title\n\n" + "more " * 8, 60)
    assert parts[-1].startswith("# Title")


def test_a_family_stays_together() -> None:
    assert set("".join(split(FAMILY * 30, 60)).split(FAMILY)) == {""}
    assert all(part.count(FAMILY) == 5 for part in split(FAMILY * 30, 60))


def test_a_character_larger_than_a_part_is_cut_and_kept() -> None:
    text = "a" + "\u0301" * 200
    parts = split(text, 60)
    assert "".join(parts) == text[: len("".join(parts))]
    assert parts[0] == text[:60]


@pytest.mark.parametrize(
    "whole", ["[a link](https://example.com/a)", "<https://example.com/a-b>", "https://example.com/?q=1", "`some code`"]
)
def test_a_link_goes_over_whole(whole: str) -> None:
    assert any(whole in part for part in split("word " * 9 + whole + " word" * 9, 60))


def test_a_link_longer_than_a_part_ends_and_loses_nothing() -> None:
    link = "[label](https://example.com/" + "x" * 300 + ")"
    assert "".join(split(link, 60)) == link


def test_a_fence_is_closed_and_opened_again() -> None:
    assert split("~~~~js\n" + "let a = 1\n" * 8 + "~~~~\nend", 60) == (
        "~~~~js\n" + "let a = 1\n" * 4 + "~~~~",
        "~~~~js\n" + "let a = 1\n" * 4 + "~~~~\nend",
    )


def test_code_is_cut_at_a_blank_line_if_there_is_one_in_the_second_half() -> None:
    parts = split("```\n" + "a = 1\n" * 5 + "\n" + "b = 2\n" * 6 + "```", 60)
    assert parts[0] == "```\n" + "a = 1\n" * 5 + "\n```"


def test_a_fence_in_a_quote_stays_in_it() -> None:
    parts = split("> ```py\n" + "> value = 1\n" * 6 + "> ```\n> end", 60)
    assert all(part.startswith("> ```py\n> value") for part in parts)
    assert all("\n> ```" in part for part in parts)


def test_a_fence_in_a_nested_list_loses_the_margin_of_the_list_but_not_its_own_indentation() -> None:
    parts = split("1. a\n   - b\n     ```py\n" + "     if x:\n         value = 1\n" * 5 + "     ```\n2. c", 70)
    assert "```py\nif x:\n    value = 1\n" in parts[1]
    assert parts[-1].endswith("```\n2. c")


def test_a_nested_list_that_begins_a_part_is_no_code() -> None:
    parts = split("- outer item with some words in it\n" + "    - inner item with words\n" * 4, 60)
    assert parts[1].startswith("- inner")


def test_a_table_repeats_its_header_and_keeps_its_rows_whole() -> None:
    head = "| a | b |\n|---|---|\n"
    parts = split(head + "| one | two |\n" * 8, 60)
    assert len(parts) > 1
    for part in parts:
        assert part.startswith(head)
        assert set(part[len(head) :].split("\n")) == {"| one | two |"}


def test_an_info_string_too_long_to_repeat_is_left_out() -> None:
    parts = split("```" + "info" * 6 + "\n" + "code line\n" * 12 + "```", 60)
    assert parts[1].startswith("```\ncode")


def test_the_measure_decides_not_the_length() -> None:
    parts = split("a" * 30 + "b" * 30, 60, lambda part: len(part) + 9 * part.count("b"))
    assert "".join(parts) == "a" * 30 + "b" * 30
    assert all(len(part) + 9 * part.count("b") <= 60 for part in parts)


def test_c19_a_long_fence_without_a_line_end() -> None:
    parts = split("```\n" + "x" * 10_000 + "\n```", 4096)
    assert all(utf16_units(part) <= 4096 for part in parts)
    assert all(part.startswith("```\n") and part.endswith("\n```") for part in parts)
    assert "".join(part[4:-4] for part in parts) == "x" * 10_000


def test_c21_exclamation_marks_that_fill_a_message() -> None:
    assert split("!" * 4096, 4096) == ("!" * 4096,)
    assert split("." * 4000, 4096) == ("." * 4000,)


def test_c22_python_keeps_every_space() -> None:
    parts = split(CODE, 2000)
    assert len(parts) > 1
    assert all(part.startswith("```python\n") and part.endswith("\n```") and len(part) <= 2000 for part in parts)
    assert "```python\n" + "".join(part[len("```python\n") : -len("```")] for part in parts) + "```" == CODE


@pytest.mark.parametrize("limit", [60, 80, 1000])
def test_c25_an_emoji_at_the_edge_is_not_cut(limit: int) -> None:
    parts = split("数" * 59 + "\U0001f4ca" + "tail", limit)
    assert "".join(parts) == "数" * 59 + "\U0001f4ca" + "tail"
    assert all(utf16_units(part) <= limit and part.encode() for part in parts)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        "\n",
        "a\n",
        "word ",
        "!",
        "```\n",
        "```\n```\n",
        "- a\n",
        "> a\n",
        "|a|b|\n",
        "[",
        "[a](",
        "`",
        "<",
        "数",
        "\U0001f4ca",
        FAMILY,
        "\U0001f1e9\U0001f1ea",
        "\u0301",
        "\ud83d",
        "\u200b",
        "https://",
        "\t",
        "# ",
        "\r\n",
    ],
)
def test_a_long_text_takes_no_more_work_than_its_parts(unit: str) -> None:
    def work(characters: int) -> None:
        parts = split(unit * (characters // len(unit)), 4096)
        assert all(utf16_units(part) <= 4096 for part in parts)

    assert growth(work) < SQUARE


def growth(work: Callable[[int], object]) -> float:
    """How many times the processor time it takes for `TIMES` the characters. Whatever is lost to others is lost in
    some of the tries only."""
    few, many = (min(_worked_s(work, characters) for _ in range(2)) for characters in (FEW, TIMES * FEW))
    return many / few


def _worked_s(work: Callable[[int], object], characters: int) -> float:
    gc.disable()
    try:
        began = time.process_time()
        work(characters)
        return time.process_time() - began
    finally:
        gc.enable()


@pytest.mark.parametrize("spoiler", ["||a secret of some words||", "||two\n\nparagraphs||", "||[a](https://e.com)||"])
def test_a_pair_that_fits_goes_over_whole(spoiler: str) -> None:
    parts = split("word " * 9 + spoiler + " word" * 9, 60, pairs=("||",))
    assert any(spoiler in part for part in parts)


@pytest.mark.parametrize("inner", ["secret " * 60 + "end", "x" * 351, "one\n\ntwo\n" * 40 + "end"])
def test_a_pair_longer_than_a_part_is_closed_and_opened_again(inner: str) -> None:
    for before in range(60):
        parts = split(f"{'w' * before} ||{inner}|| tail", 60, pairs=("||",))
        assert all(len(part) <= 60 and part.count("||") in (0, 2) for part in parts)
        hidden = "".join(part.split("||")[1] for part in parts if "||" in part)
        assert "".join(hidden.split()) == "".join(inner.split())
        assert "".join(parts[-1].split("||")[-1].split()).endswith("tail")


@pytest.mark.parametrize("text", ["```\na ||b\n```\n" + "word " * 20 + "c|| d", "`a ||b` " + "word " * 20 + "c||"])
def test_marks_in_code_are_no_pair(text: str) -> None:
    assert sum(part.count("||") for part in split(text, 60, pairs=("||",))) == 2


@pytest.mark.parametrize("unit", ["||x", "||a b|| ", "||", "|| x ", "||a `b||` c\n"])
def test_many_pairs_take_no_more_work_than_their_parts(unit: str) -> None:
    assert growth(lambda characters: split(unit * (characters // len(unit)), 2000, pairs=("||", "**"))) < SQUARE


BOLD = "**" + "bold " * 30 + "end**"


def test_bold_that_is_longer_than_a_part_is_bold_in_each() -> None:
    parts = split(f"begin {BOLD} tail", 60, pairs=("**",))
    assert [part.count("**") for part in parts] == [2] * len(parts)
    assert parts[1] == "**" + "bold " * 10 + "bold**"
    assert parts[-1].endswith("end** tail")


def test_pairs_within_a_pair_are_closed_and_opened_in_their_order() -> None:
    parts = split(f"**||{BOLD.strip('*')}||**", 60, pairs=("||", "**"))
    assert all(part.startswith("**||") and part.endswith("||**") for part in parts)
    assert all(part.strip("|*") == " ".join(part.strip("|*").split()) for part in parts)


@pytest.mark.parametrize("marks", ["> ", ">", "> > "])
def test_a_line_of_a_quote_is_quoted_in_each_part(marks: str) -> None:
    parts = split(f"{marks}{'word ' * 40}word\n\nplain", 60)
    assert all(part.startswith(f"{marks}word") for part in parts)
    assert parts[-1].endswith("word\n\nplain")


def test_a_quote_that_ends_at_a_cut_quotes_nothing_more() -> None:
    parts = split("> " + "word " * 11 + " " * 9 + "\n\n" + "plain " * 12, 60)
    assert [part[:2] for part in parts] == ["> ", "pl", "pl"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("it is ||42", "it is ||42||"),
        ("it is ||42 |", "it is ||42||"),
        ("||a|| and ||b", "||a|| and ||b||"),
        ("**bold and ||hidden\n\nmore", "**bold and ||hidden\n\nmore||**"),
        ("**bold*", "**bold**"),
        ("||whole|| **whole**", "||whole|| **whole**"),
        ("a || b ** c", "a || b ** c"),
        ("```\nif (a||b", "```\nif (a||b"),
        ("`a||b` https://e.com/a**b", "`a||b` https://e.com/a**b"),
        ("", ""),
    ],
)
def test_what_grows_is_closed_at_its_end(text: str, shown: str) -> None:
    assert closed(text, ("||", "**")) == shown
