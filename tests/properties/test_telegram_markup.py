"""Properties of Telegram's renderer over Markdown-ish text of every kind."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from bots.telegram.markup import Entity, Rendered, parts, plain, render
from tests.properties.test_split import FRAGMENTS, visible

STYLES = {"bold", "italic", "strikethrough", "spoiler"}
TYPES = STYLES | {"code", "pre", "text_link", "blockquote"}

# Words that can be told apart, so that a lost or moved one shows.
words = st.integers(0, 99_999).map(lambda number: f"w{number}x")
wrapped = st.builds(
    lambda word, pattern: pattern.replace("W", word),
    words,
    st.sampled_from(
        [
            "W",
            "**W** ",
            "*W*",
            "~~W~~",
            "`W`",
            "||W||",
            "[W](https://example.com)",
            "[W](/rel)",
            "![W](tg://x)",
            "<W>",
            "# W\n",
            "> W\n",
            "- W\n",
            "3. W\n",
            "  - W\n",
            "W\n\n",
            "```\nW\n```\n",
            "\n```py W\nW\n```\n",
            "    W\n",
            "| W | b |\n|---|---|\n| W | W | W |\n",
            "\n| W |\n",
            "[W]: https://example.com\n",
            "W\n===\n",
            "~~~py W\nW\n~~~\n",
        ]
    ),
)
documents = st.lists(st.one_of(wrapped, st.sampled_from(FRAGMENTS)), max_size=50).map("".join)


def check(rendered: Rendered) -> None:
    """Telegram's rules, written down a second time: bounds, whole characters, nesting, order, trimming."""
    encoded = rendered.text.encode("utf-16-le")
    assert rendered.text == rendered.text.rstrip()
    assert not rendered.text[:1].isspace() or (rendered.entities and rendered.entities[0].offset == 0)
    assert list(rendered.entities) == sorted(rendered.entities, key=lambda each: (each.offset, -each.length))
    for index, entity in enumerate(rendered.entities):
        assert entity.type in TYPES
        assert 0 <= entity.offset < entity.offset + entity.length <= len(encoded) // 2
        covered = encoded[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")
        assert covered == covered.rstrip()
        assert entity.type == "pre" or covered == covered.lstrip()
        for other in rendered.entities[index + 1 :]:
            check_pair(entity, other)


def check_pair(first: Entity, second: Entity) -> None:
    end, other_end = first.offset + first.length, second.offset + second.length
    if second.offset >= end:
        return
    assert other_end <= end, "entities cross"
    assert first.type != second.type, "nested in its own kind"
    assert not {first.type, second.type} & {"code", "pre"}, "code shares characters"
    assert {first.type, second.type} & (STYLES | {"blockquote"}), "neither may contain the other"
    assert second.type != "blockquote" or first.type in STYLES


def everything(rendered: Rendered) -> str:
    """The text with what the entities say beside it: the language before its code, the address after its label."""
    encoded = rendered.text.encode("utf-16-le")
    extra = [(entity.offset, entity.language or "") for entity in rendered.entities]
    extra += [(entity.offset + entity.length, entity.url or "") for entity in rendered.entities]
    at, pieces = 0, []
    for place, said in sorted(extra, key=lambda item: item[0]):
        pieces += [encoded[2 * at : 2 * place].decode("utf-16-le"), said]
        at = place
    return "".join([*pieces, encoded[2 * at :].decode("utf-16-le")])


@given(documents)
def test_entities_obey_telegram(source: str) -> None:
    check(render(source))


@given(documents.map(lambda source: source * 8))
@settings(max_examples=30)
def test_every_part_fits_rendered_and_plain(source: str) -> None:
    for part in parts(source):
        rendered = render(part)
        check(rendered)
        for text in (rendered.text, plain(part).text):
            assert 0 < len(text.encode("utf-16-le")) // 2 <= 4096
        assert len(rendered.entities) <= 100


@given(documents)
def test_every_word_is_shown_in_its_place(source: str) -> None:
    shown = iter(re.findall(r"w\d+x", everything(render(source))))
    assert all(word in shown for word in re.findall(r"w\d+x", source))


@given(documents.map(lambda source: source * 6))
@settings(max_examples=30)
def test_every_word_is_shown_after_splitting_too(source: str) -> None:
    shown = iter(re.findall(r"w\d+x", " ".join(everything(render(part)) for part in parts(source))))
    assert all(word in shown for word in re.findall(r"w\d+x", source))


@given(
    st.lists(st.sampled_from(["a", "Z", "7", " ", "\n", ",", "é", "数", "\U0001f4ca", "א"]), max_size=60).map("".join)
)
def test_text_without_markup_stays_what_it_is(source: str) -> None:
    source = re.sub(" +", " ", source)  # four spaces would be markup
    rendered = render(source)
    assert rendered.entities == ()
    assert visible(rendered.text) == visible(source)


@given(documents)
def test_a_short_text_is_one_part(source: str) -> None:
    if len(source) < 1000 and len(render(source).entities) <= 100 and len(render(source).text) < 2000:
        assert len(parts(source)) <= 1
