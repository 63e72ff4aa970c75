"""Properties of the splitter over Markdown-ish text of every kind."""

import re

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from core.delivery.split import split, utf16_units

FAMILY = "\U0001f468‍\U0001f469‍\U0001f467‍\U0001f466"
FLAG = "\U0001f1e9\U0001f1ea"
ACCENTED = "e\u0301\u0308"
LINK = "[a link](https://example.com/path)"
FRAGMENTS = [
    "word",
    "number 42",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\n\n\n",
    "    ",
    "\t",
    "!",
    ". ",
    "x" * 70,
    "数" * 20,
    "שלום עולם ",
    "**",
    "*",
    "_",
    "~~",
    "`",
    "``",
    "||",
    "# ",
    "> ",
    "- ",
    "* ",
    "1. ",
    "2) ",
    "- [ ] ",
    "---\n",
    "===\n",
    "***\n",
    "```",
    "```\n",
    "\n```\n",
    "```py\n",
    "````\n",
    "~~~\n",
    "~~~ text\n",
    "   ```\n",
    "  - ```js\n",
    "> ```\n",
    "  code = 1\n",
    "    code = 2\n",
    "> code\n",
    "- a\n  - b\n    ```py\n    c = 3\n",
    "> ~~~\n> quoted\n> code\n",
    "|",
    "| a | b |\n",
    "|---|:-:|\n",
    "| c | d |\n",
    LINK,
    "![i](/rel)",
    "<https://example.com>",
    "https://e.com/q ",
    "<b>",
    "</b>",
    "<br>",
    "List<int>",
    "&amp;",
    "\\",
    "\\*",
    "[",
    "](",
    ")",
    "<",
    "$a_b$",
    "[^1]",
    "\U0001f4ca",
    FAMILY,
    FLAG,
    ACCENTED,
    "\u200b",
    "\u200d",
    "\ud83d",
    "\ude00",
    "\r\n",
    "\0",
    "\u3000",
]
markdown = st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join)
limits = st.integers(60, 300)


def visible(text: str) -> str:
    """What must survive: everything but white space, surrogates made whole."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return "".join(whole.split())


def is_within(needle: str, hay: str) -> bool:
    """Whether the characters of `needle` occur in `hay` in order."""
    rest = iter(hay)
    return all(char in rest for char in needle)


def open_at_end(part: str) -> bool:
    """Whether CommonMark takes the part to end inside a fence."""
    lines = part.split("\n")
    for token in MarkdownIt("commonmark").parse(part):
        if token.type == "fence" and token.map:
            last = lines[token.map[1] - 1].lstrip(" >").rstrip()
            closed = token.map[1] - token.map[0] > 1 and last.startswith(token.markup)
            if token.map[1] == len(lines) and not (closed and set(last) == {token.markup[0]}):
                return True
    return False


@given(markdown, limits)
def test_every_part_is_within_the_limit_and_shows_something(text: str, limit: int) -> None:
    for part in split(text, limit):
        assert utf16_units(part) <= limit
        assert part.strip()
        part.encode()


@given(markdown, limits)
def test_no_character_is_lost_and_none_changes_place(text: str, limit: int) -> None:
    assert is_within(re.sub("[\u200b\u200d\0]", "", visible(text)), visible("".join(split(text, limit))))


@given(st.lists(st.sampled_from([f for f in FRAGMENTS if not set(f) & set("`~|>")]), max_size=60).map("".join), limits)
def test_without_fences_tables_and_quotes_nothing_is_added(text: str, limit: int) -> None:
    joined = visible("".join(split(text, limit)))
    assert is_within(joined, visible(text))


@given(
    st.lists(st.sampled_from(["word", " ", "x" * 70, "数" * 20, ACCENTED, LINK, "!"])),
    st.sampled_from(["> ", ">> "]),
    limits,
)
def test_every_part_of_a_quote_is_one(pieces: list[str], marks: str, limit: int) -> None:
    text = "".join(pieces)
    parts = split(f"{marks}{text}\n\nplain", limit)
    quotes = [line for part in parts for line in part.split("\n") if line and line != "plain"]
    assert all(line.startswith(marks.strip()) for line in quotes)
    assert visible("".join(line.removeprefix(marks) for line in quotes)) in (visible(text), visible(marks))
    assert parts[-1].endswith("plain")


emphatic = st.lists(
    st.sampled_from(["**", "||", "word", "two words", " ", "\n\n", "`**`", "https://e.com/a**b ", LINK])
)


@given(emphatic, limits)
def test_marks_in_pairs_add_themselves_only(pieces: list[str], limit: int) -> None:
    text = "".join(pieces)
    parts = split(text, limit, pairs=("||", "**"))
    assert all(utf16_units(part) <= limit for part in parts)
    assert is_within(visible(text), visible("".join(parts)))
    assert re.sub(r"[|*\s]", "", "".join(parts)) == re.sub(r"[|*\s]", "", text)


@given(markdown)
def test_what_fits_is_one_part_as_it_was_written(text: str) -> None:
    parts = split(text, 100_000)
    assert len(parts) <= 1
    for part in parts:
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        assert part.strip() == whole.replace("\r\n", "\n").replace("\r", "\n").strip()


@given(markdown, limits)
def test_every_part_but_the_last_closes_its_fences(text: str, limit: int) -> None:
    assume(not re.search("(?:```|~~~)[^\n]{20}", text))  # an opening line too long to repeat is plain text
    assume(not re.search(r"(?:[-*+]|\d[.)])\s+>", text))  # quotes inside lists are not followed
    for part in split(text, limit)[:-1]:
        assert not open_at_end(part), part


code_lines = st.lists(
    st.text(st.sampled_from([*"abz()=:# \t'\"|[]<>&*_~`数", "\U0001f4ca"]), max_size=40).filter(
        lambda line: not re.fullmatch(r"\s*(`{3,}|~{3,})\s*", line)
    ),
    min_size=1,
    max_size=80,
)


@given(code_lines, st.sampled_from(["```", "~~~", "`````"]), st.sampled_from(["", "python", "c++ title=x"]), limits)
def test_code_comes_out_as_it_went_in_whatever_was_cut(lines: list[str], marks: str, info: str, limit: int) -> None:
    code = "\n".join(lines) + "\n"
    parts = split(f"{marks}{info}\n{code}{marks}", limit)
    contents: list[str] = []
    for part in parts:
        head, *body, foot = part.split("\n")
        assert head in (marks + info, marks)
        assert foot == marks
        contents.append("\n".join(body) + "\n")
    if code.strip():
        assert "".join(contents).strip("\n") == code.strip("\n")


containers = st.sampled_from(
    [("", ""), ("- ", "  "), ("12. ", "    "), ("> ", "> "), ("- * ", "    "), ("> - ", ">   ")]
)


@given(containers, st.lists(st.text(st.sampled_from("ab =:\t`~*|>-"), max_size=12), max_size=40), limits)
def test_code_in_lists_and_quotes_is_rendered_as_it_would_be_uncut(
    container: tuple[str, str], lines: list[str], limit: int
) -> None:
    first, other = container
    source = f"{first}````py\n" + "".join(f"{other}{line}\n" for line in [*lines, "````"]) + "\nend"

    def code(text: str) -> str:
        return "".join(token.content for token in MarkdownIt("commonmark").parse(text) if token.type == "fence")

    assert "".join(code(part) for part in split(source, limit)) == code(source)


@given(st.lists(st.sampled_from([FAMILY, FLAG, ACCENTED, "\U0001f4ca", "数"]), max_size=80), limits)
def test_graphemes_stay_whole(graphemes: list[str], limit: int) -> None:
    text = "".join(graphemes)
    ends = {0}
    for grapheme in graphemes:
        ends.add(max(ends) + len(grapheme))
    at = 0
    for part in split(text, limit):
        at += len(part)
        assert at in ends


@given(st.lists(st.sampled_from(["word ", "a longer word ", LINK + " ", "`inline code` "]), max_size=60), limits)
def test_links_and_inline_code_go_over_whole(pieces: list[str], limit: int) -> None:
    parts = split("".join(pieces), limit)
    for whole in (LINK, "`inline code`"):
        assert sum(part.count(whole) for part in parts) == sum(piece.strip() == whole for piece in pieces)


@given(markdown, st.integers(60, 120), st.integers(1, 5))
@settings(max_examples=60)
def test_a_measure_that_grows_in_leaps_is_obeyed(text: str, limit: int, weight: int) -> None:
    def measure(part: str) -> int:
        return utf16_units(part) + weight * part.count("a")

    for part in split(text, limit, measure):
        assert measure(part) <= limit
