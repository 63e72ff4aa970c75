"""What a Slack message says, wherever its words stand."""

from __future__ import annotations

import pytest

from bots.slack import wording
from core.fields import Json


def rich(*elements: Json) -> Json:
    return {"blocks": [{"type": "rich_text", "elements": list(elements)}]}


def section(kind: str, *texts: str, **fields: object) -> Json:
    return {"type": f"rich_text_{kind}", "elements": [{"type": "text", "text": text} for text in texts], **fields}


def test_people_s_words_are_their_text_and_an_app_s_are_its_blocks() -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "all of it"}}]
    assert wording.words({"text": "short", "blocks": blocks}) == "short"
    assert wording.words({"text": "short", "blocks": blocks, "bot_id": "B1"}) == "all of it"
    assert wording.words({"text": "short", "blocks": [{"type": "divider"}], "bot_id": "B1"}) == "short"
    assert wording.words({"text": "", "blocks": blocks}) == "all of it"


def test_rich_text_is_written_as_slack_writes_text() -> None:
    inline: list[Json] = [
        {"type": "text", "text": "a "},
        {"type": "user", "user_id": "U1"},
        {"type": "channel", "channel_id": "C1"},
        {"type": "usergroup", "usergroup_id": "S1"},
        {"type": "broadcast", "range": "here"},
        {"type": "link", "url": "https://example.com"},
        {"type": "link", "url": "https://example.com", "text": "x"},
        {"type": "emoji", "name": "wave"},
        {"type": "date", "timestamp": 1, "fallback": "noon"},
        {"type": "color", "value": "#fff"},
    ]
    written = "a <@U1><#C1><!subteam^S1><!here><https://example.com><https://example.com|x>:wave:noon#fff"
    assert wording.words(rich({"type": "rich_text_section", "elements": inline})) == written


def test_lists_quotes_and_code_stay_what_they_are() -> None:
    items = [section("section", "one"), section("section", "two")]
    said = rich(
        {"type": "rich_text_list", "style": "ordered", "elements": items},
        {"type": "rich_text_list", "style": "bullet", "elements": items},
        section("quote", "a\nb"),
        section("preformatted", "x = 1"),
    )
    assert wording.words(said) == "1. one\n2. two\n• one\n• two\n&gt; a\n&gt; b\n```\nx = 1\n```"


def test_blocks_are_read_without_what_is_pressed() -> None:
    cell: Json = {"type": "raw_text", "text": "1"}
    blocks: list[Json] = [
        {"type": "header", "text": {"type": "plain_text", "text": "Head"}},
        {"type": "section", "fields": [{"type": "mrkdwn", "text": "left"}, {"type": "mrkdwn", "text": "right"}]},
        {"type": "context", "elements": [{"type": "image", "alt_text": "a cat"}, {"type": "mrkdwn", "text": "below"}]},
        {"type": "markdown", "text": "a < b"},
        {"type": "table", "rows": [[cell, {"type": "rich_text", "elements": [section("section", "2")]}], "x"]},
        {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Stop"}}]},
    ]
    assert wording.words({"blocks": blocks}) == "Head\nleft\nright\na cat\nbelow\na &lt; b\n1 | 2"


def test_attachments_are_read_unless_slack_put_them_there() -> None:
    field = {"title": "Where", "value": "here"}
    attachments = [
        {"pretext": "Look", "title": "Build", "text": "failed", "fields": [field], "fallback": "Build failed"},
        {"fallback": "only that"},
        {"from_url": "https://example.com", "text": "a preview"},
        {"app_unfurl_url": "https://example.com", "text": "a preview"},
        {"is_share": True, "text": "somebody's words"},
    ]
    said = {"text": "see", "attachments": attachments}
    assert wording.words(said) == "see\nLook\nBuild\nfailed\nWhere\nhere\nonly that"
    assert wording.everything(said) == f"{wording.words(said)}\nsomebody's words"


def test_a_message_of_blocks_that_is_handed_on_is_read() -> None:
    inner = {"message": rich(section("section", "the words"))}
    assert wording.handed_on({"text": "", "message_blocks": [inner]}) == "the words"


@pytest.mark.parametrize(
    "said",
    [
        {"text": 7, "blocks": {}, "attachments": "x"},
        {"blocks": [7, {"type": 7}, {"type": "table", "rows": [7, [8]]}, {"type": "rich_text", "elements": [None]}]},
        {"blocks": [{"type": "section", "text": 7, "fields": 7}], "attachments": [{"fields": [7], "blocks": 8}]},
    ],
)
def test_what_is_none_of_that_says_nothing(said: Json) -> None:
    assert wording.everything(said) == ""
