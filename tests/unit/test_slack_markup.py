"""Markdown to what Slack shows: blocks, mrkdwn, parts."""

from __future__ import annotations

import pytest

from bots.slack.markup import (
    BUTTONS_LIMIT,
    LIMIT_UTF16,
    SECTION_LIMIT,
    TEXT_LIMIT,
    blocks,
    caption,
    defused,
    notification,
    parts,
    plain_blocks,
)
from bots.slack.mrkdwn import plain, render
from core.delivery.split import utf16_units
from core.vocabulary import Button

FENCE = "```python\n" + "\n".join(f"def f{i}():\n    if x:\n        return {i}" for i in range(170)) + "\n```"
Z = "\u200b"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("***bi*** &amp; a < b\n> q", "*_bi_* &amp; a &lt; b\n> q"),
        ("**https://example.com/x/**", "*<https://example.com/x/>*"),
        ("**b** *i* _i_ ~~s~~ `c<d>`", "*b* _i_ _i_ ~s~ `c&lt;d&gt;`"),
        ("# Title **bold**\n\ntext", "*Title bold*\n\ntext"),
        ("- a\n  - b\n- c\n\n3. x\n4. y", "• a\n    • b\n• c\n\n3. x\n4. y"),
        ("> one\n> two\n\nafter", "> one\n> two\n\nafter"),
        ("```py\na < b && c\n```", "```\na &lt; b &amp;&amp; c\n```"),
        ("```\na ``` b\n```", f"```\na `{Z}`{Z}` b\n```"),
        ("[docs](https://example.com/?a=1&b=2)", "<https://example.com/?a=1&amp;b=2|docs>"),
        ("[a|b](https://example.com)", "<https://example.com|a¦b>"),
        ("[https://example.com](https://example.com)", "<https://example.com>"),
        ("[x](javascript:alert) [y](/rel)", "x (javascript:alert) y (/rel)"),
        ("![cat](https://example.com/c.png)", "<https://example.com/c.png|cat>"),
        ("<https://example.com> <a@example.com>", "<https://example.com> <mailto:a@example.com>"),
        ("see https://example.com/a_b_c.", "see <https://example.com/a_b_c>."),
        ("<@U1> <!here> <https://x.y|l> @channel", "&lt;@U1&gt; &lt;!here&gt; &lt;https://x.y|l&gt; @channel"),
        ("a**b**c", f"a{Z}*b*{Z}c"),
        ("2 * 3 * 4, snake_case", "2 * 3 * 4, snake_case"),
        (r"\*not bold\*", f"*{Z}not bold*"),
        ("| a | b |\n|---|---|\n| 1 | `2` |", "```\n| a | b |\n|---|---|\n| 1 | `2` |\n```"),
        ("one<br>two", "one\ntwo"),
        ("<CoT> <div>x</div>", "&lt;CoT&gt; &lt;div&gt;x&lt;/div&gt;"),
        ("[a]: https://example.com", "[a]: <https://example.com>"),
        ("---", "———"),
        ("", ""),
    ],
)
def test_mrkdwn_says_what_markdown_means(source: str, shown: str) -> None:
    assert render(source) == shown


def test_what_is_nested_too_deeply_is_shown_as_it_is() -> None:
    source = "> " * 60 + "deep <@U1>"
    assert render(source) == plain(source)
    assert "deep" in render(source)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("***bi*** &amp; a < b\n> q", "***bi*** &amp; a &lt; b\n> q"),
        ("**https://example.com/x/**", "**https://example.com/x/**"),
        ("<@U1> <!here> <https://x.y|l> <https://x.y>", "&lt;@U1> &lt;!here> &lt;https://x.y|l> <https://x.y>"),
        ("`<@U1>` List<int>", "`<\u2060@U1>` List&lt;int>"),
        ("```\n<!here> List<int>\n```\n<!here>", "```\n<\u2060!here> List<int>\n```\n&lt;!here>"),
        ("~~~\n<@U1>", "~~~\n<\u2060@U1>"),
        ("> ```\n> <@U1>\n> ```\n<@U2>", "> ```\n> <\u2060@U1>\n> ```\n&lt;@U2>"),
        ("`open <@U1>", "`open &lt;@U1>"),
        ("`a\n\nb` <@U1>", "`a\n\nb` &lt;@U1>"),
        ("[x]: https://example.com", "\\[x]: https://example.com"),
        ("a\ud800b\0", "a\ufffdb\ufffd"),
    ],
)
def test_what_would_be_a_token_is_none(source: str, shown: str) -> None:
    assert defused(source) == shown


@pytest.mark.parametrize(
    "source",
    [
        "```\n" + "x" * 10_000 + "\n```",
        FENCE * 8,
        "!" * 12_001,
        "<" * 12_000,
        "数" * 59 + "\U0001f4ca" + "tail",
        "\U0001f98a" * 7_000,
        "word " * 9_000,
        "\n\n".join(f"para {i} " + "x" * 300 for i in range(50)),
        "`" * 20_000,
        "[a](https://example.com/" + "b" * 5_000 + ") " + "c" * 9_000,
    ],
    ids=["C19", "C22", "marks", "brackets", "C25", "foxes", "words", "C26", "ticks", "link"],
)
def test_c19_c22_c25_c26_every_part_is_one_message_and_soon_there(source: str) -> None:
    made = parts(source)
    for part in made:
        (block,) = blocks(part)
        assert isinstance(block["text"], str)
        assert 0 < utf16_units(block["text"]) <= LIMIT_UTF16
        assert not any("\ud800" <= char <= "\udfff" for char in block["text"])
        assert block["text"].count("```") % 2 == 0 or "`" * 100 in source
        assert len(notification(part)) <= TEXT_LIMIT
        for section in plain_blocks(part):
            text = section["text"]
            assert isinstance(text, dict)
            assert 0 < len(str(text["text"])) <= SECTION_LIMIT
    assert "".join("".join(made).split()).count("x") >= source.count("x")


def test_c22_a_long_fence_keeps_its_indentation() -> None:
    source = FENCE * 8
    body = "\n".join(line for part in parts(source) for line in part.splitlines() if not line.startswith("```"))
    wanted = "\n".join(line for line in source.splitlines() if not line.startswith("```"))
    assert [line for line in body.splitlines() if line] == [line for line in wanted.splitlines() if "```" not in line]


@pytest.mark.parametrize("source", ["", " \n\t", "\u200b"])
def test_what_nobody_could_see_is_no_part(source: str) -> None:
    assert parts(source) == ()


def test_a_long_text_has_a_short_notification_that_says_it_goes_on() -> None:
    shown = notification("**bold** " * 2_000)
    assert len(shown) <= TEXT_LIMIT
    assert shown.startswith("*bold* *bold*")
    assert shown.endswith("…")
    assert notification("&" * 11_000).endswith("…")


def test_the_words_above_a_file_are_never_cut() -> None:
    assert caption("**x**") == "*x*"
    assert caption("&" * 2_000) == "&amp;" * 2_000


def test_buttons_stand_side_by_side() -> None:
    buttons = tuple(Button(label=f"L{n}", data=f"D{n}", style="good" if n else "plain") for n in range(30))
    actions = blocks("x", buttons)[-1]
    elements = actions["elements"]
    assert isinstance(elements, list)
    assert (actions["type"], len(elements)) == ("actions", BUTTONS_LIMIT)
    assert elements[0] == {
        "type": "button",
        "action_id": "fd:D0",
        "text": {"type": "plain_text", "text": "L0", "emoji": False},
    }
    assert elements[1]["style"] == "primary"
