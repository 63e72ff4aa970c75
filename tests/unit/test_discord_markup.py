"""What Markdown looks like once it is on its way to Discord."""

from __future__ import annotations

import pytest

from bots.discord.markup import LIMIT, beginning, parts, render
from bots.discord.tables import grid


@pytest.mark.parametrize(
    "text",
    [
        "**bold** *italic* __underlined__ ~~gone~~ `code`",
        '||a spoiler|| and [a link](https://example.com "title")',
        "# One\n## Two\n### Three",
        "- a\n  - b\n1. c",
        "> quoted",
        "```python\nprint('hi')\n```",
        "<@1> <#2> <@&3> @everyone",
        "if a < b && c > d: x **= 2",
        "Line one  \nline two",
    ],
)
def test_what_discord_knows_goes_out_as_it_stands(text: str) -> None:
    assert render(text) == text


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("#### deep\n###### deeper", "### deep\n### deeper"),
        ("Title\n=====\ntext", "# Title\ntext"),
        ("Title\n---\ntext", "## Title\ntext"),
        (">>> not the whole rest", "> not the whole rest"),
        (">tight\n> > twice", "> tight\n> twice"),
        ("![a cat](https://example.com/cat.png)", "[a cat](https://example.com/cat.png)"),
        ("![](https://example.com/cat.png)", "https://example.com/cat.png"),
        ("if (a || b) && (c || d)", "if (a \\|\\| b) && (c \\|\\| d)"),
        ("one<br>two", "one\ntwo"),
        ("~~~js\nx\n~~~", "```js\nx\n```"),
        ("````md\n```py\nx\n```\n````", "```md\n`\u200b``py\nx\n`\u200b``\n```"),
        ("    indented\n      code", "```\nindented\n  code\n```"),
        ("```\nnever closed", "```\nnever closed\n```"),
        (
            "| a | b |\n|--:|---|\n| 1 | **x** |\n| 222 | y | z |",
            "```\n  a | b\n----+---+--\n  1 | x\n222 | y | z\n```",
        ),
        ("half \ud83d", "half \ufffd"),
    ],
)
def test_what_discord_would_show_otherwise_is_rewritten(source: str, shown: str) -> None:
    assert render(source) == shown


@pytest.mark.parametrize("code", ["||", "<br>", "![x](y)", ">>> x", "#### x", "| a |\n|---|"])
def test_in_code_everything_stays(code: str) -> None:
    fenced = f"```\n{code}\n```"
    assert render(fenced) == fenced
    if "\n" not in code:
        assert render(f"see `{code}` there") == f"see `{code}` there"


def test_a_table_loses_no_cell_and_no_bar() -> None:
    lines = ["| a \\| b | `x|y` |", "|---|---|", "| only one |", "| 1 | 2 | 3 |", "| 数据 | x |"]
    shown = grid(lines)
    assert shown.split("\n")[0] == "a | b    | x|y"
    assert all(cell in shown for cell in ("only one", "1", "2", "3", "数据"))


def test_c19_a_fence_without_a_break_is_cut_quickly_and_closed() -> None:
    found = parts("```\n" + "x" * 10_000 + "\n```")
    assert all(len(render(part)) <= LIMIT for part in found)
    assert all(render(part).startswith("```") and render(part).endswith("```") for part in found)
    assert sum(part.count("x") for part in found) == 10_000


def test_c22_code_keeps_its_white_space_over_parts() -> None:
    body = "\n".join(f"def f{number}():\n    if x:\n        return {number}" for number in range(170))
    found = [render(part) for part in parts(f"```python\n{body}\n```")]
    assert all(part.startswith("```python\n") and part.endswith("\n```") for part in found)
    assert "\n".join(part.removeprefix("```python\n").removesuffix("\n```") for part in found) == body


def test_c18_a_mention_of_everybody_is_shown_as_it_was_written() -> None:
    text = "Hello @everyone @here <@&123>"
    assert parts(text) == (text,)
    assert render(text) == text


def test_c25_no_half_of_a_character_is_left() -> None:
    text = "\u6570" * 59 + "\U0001f4ca" + "tail"
    assert parts(text) == (text,)
    for part in parts(text * 100):
        part.encode()
        assert len(render(part)) <= LIMIT


def test_what_is_hidden_stays_hidden_while_an_answer_grows() -> None:
    text = "The answer is ||forty-two|| and **no** more"
    for end in range(text.index("f") + 1, len(text)):
        shown = beginning(text[:end])
        assert "forty"[: end - text.index("f")] in shown.split("||")[1]
        assert shown.count("||") == 2
        assert "\\|" not in shown
    assert beginning(text) == render(text)


def test_bold_that_goes_on_in_the_next_message_is_bold_there() -> None:
    found = [render(part) for part in parts("word " * 390 + "**" + "bold " * 800 + "end** tail")]
    assert len(found) == 3
    assert all(part.count("**") == 2 for part in found)


def test_a_quote_that_goes_on_in_the_next_message_is_one_there() -> None:
    found = [render(part) for part in parts("> " + "word " * 1_000)]
    assert len(found) == 3
    assert all(part.startswith("> word") for part in found)


@pytest.mark.parametrize("secret", ["secret " * 10, "secret " * 900])
def test_a_spoiler_at_the_limit_of_a_message_is_never_shown_openly(secret: str) -> None:
    found = [render(part) for part in parts("word " * 395 + "||" + secret.strip() + "|| tail")]
    assert sum(part.count("secret") for part in found) == secret.count("secret")
    assert all("secret" not in part.split("||")[0] and "\\|" not in part for part in found)
