"""Properties of what Slack is sent, over Markdown-ish text of every kind."""

from __future__ import annotations

import os
import re

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bots.slack.markup import LIMIT_UTF16, TEXT_LIMIT, blocks, defused, notification, parts, plain_blocks, settled
from bots.slack.mrkdwn import render
from core.delivery.split import utf16_units, whole_characters
from tests.fakes.slack.text import pinged_by
from tests.properties.test_split import FRAGMENTS

EXAMPLES = int(os.environ.get("FRONTDESK_TEST_EVENTS", "60"))

# Words that can be told apart, so that a lost or moved one shows.
words = st.integers(0, 99_999).map(lambda number: f"w{number}x")
wrapped = st.builds(
    lambda word, pattern: pattern.replace("W", word),
    words,
    st.sampled_from(
        [
            "W", "**W** ", "*W*", "~~W~~", "`W`", "***W***", "[W](https://example.com)", "[W](/rel)", "![W](https://x.y)",
            "<W>", "<@W>", "<!W>", "<!here>", "<@U1|W>", "<https://x.y|W>", "<#C1|W>", "&lt;@W&gt;", "# W\n", "> W\n",
            "- W\n", "3. W\n", "  - W\n", "W\n\n", "```\nW\n```\n", "```py W <!here>\n<@U1> W\n```\n", "    W\n",
            "`", "```", "| W | b |\n|---|---|\n| W | W |\n", "\n| W |\n", "[W]: https://example.com\n", "W\n===\n",
            "~~~py W\nW\n~~~\n", "`<@U1> W`", "https://example.com/W ", "<W@example.com>", "\\", "\x02",
        ]
    ),
)  # fmt: skip
documents = st.lists(st.one_of(wrapped, st.sampled_from(FRAGMENTS)), max_size=50).map("".join)


def found(text: str) -> list[str]:
    return re.findall(r"w\d+x", text)


def in_order(wanted: list[str], text: str) -> bool:
    shown = iter(found(text))
    return all(word in shown for word in wanted)


@given(documents)
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_text_pings_anybody(source: str) -> None:
    assert pinged_by(defused(source)) == frozenset()
    assert pinged_by(render(source)) == frozenset()
    assert not re.search(r"<[@!#]", defused(source) + render(source))


@given(documents)
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_slack_reads_itself_is_the_source_but_for_brackets_and_breaks(source: str) -> None:
    def bare(text: str) -> str:
        whole = text.replace("&lt;", "<").replace("\0", "\ufffd")
        return re.sub(r"[\u2060\\\s]|<br ?/?>", "", whole, flags=re.IGNORECASE)

    assert bare(defused(source)) == bare(whole_characters(source))


@given(documents)
@settings(max_examples=EXAMPLES, deadline=None)
def test_mrkdwn_shows_every_word_in_its_place_but_the_languages_of_fences(source: str) -> None:
    spoken = re.sub(r"(`{3,}|~{3,})\s?w\d+x(?=\s|\Z)", r"\1", source)
    assert in_order(found(spoken), render(source))


@given(documents)
@settings(max_examples=EXAMPLES, deadline=None)
def test_every_bracket_of_mrkdwn_is_a_link_or_escaped(source: str) -> None:
    shown = render(source)
    assert "\x02" not in shown
    for token in re.findall(r"<([^<>]*)>", shown):
        assert re.match(r"(?:https?://|mailto:)", token, re.IGNORECASE), token
    rest = re.sub(r"<[^<>]*>", "", shown)
    assert "<" not in rest
    assert all(re.match(r">\s|>$", line) for line in rest.splitlines() if line.startswith(">"))


@given(documents.map(lambda source: source * 12))
@settings(max_examples=max(10, EXAMPLES // 4), deadline=None)
def test_every_part_fits_in_every_form_and_no_word_is_lost(source: str) -> None:
    made = parts(source)
    for part in made:
        assert utf16_units(str(blocks(part)[0]["text"])) <= LIMIT_UTF16
        assert len(notification(part)) <= TEXT_LIMIT
        sections = [block["text"] for block in plain_blocks(part)]
        plain = " ".join(str(section["text"]) for section in sections if isinstance(section, dict))
        assert in_order(found(part), plain)
    assert in_order(found(source), " ".join(made))


@given(documents, st.integers(0, 2_000))
@settings(max_examples=10 * EXAMPLES, deadline=None)
def test_what_is_settled_of_a_text_that_grows_stays_as_it_is(source: str, length: int) -> None:
    """Not for breaks within breaks, which become others."""
    source = whole_characters(source)
    assume(not re.search(r"<br[^>]*<br", source, re.IGNORECASE))
    begun = source[:length]
    assert defused(source).startswith(defused(begun[: settled(begun)]))
