"""Markdown on Telegram: what becomes an entity, what stays as it was written."""

import pytest

from bots.telegram.markup import Entity, Rendered, parts, plain, render
from core.delivery.split import utf16_units
from tests.fakes.telegram.links import link_fault

C22 = "```python\n" + "\n".join(f"def f{i}():\n    if x:\n        return {i}" for i in range(170)) + "\n```"


def said(rendered: Rendered) -> list[tuple[str, str]]:
    """Each entity's type with the text it covers, cut out by UTF-16 units as Telegram does."""
    units = rendered.text.encode("utf-16-le")
    return [(each.type, units[2 * each.offset : 2 * (each.offset + each.length)].decode("utf-16-le"))
            for each in rendered.entities]  # fmt: skip


def shown(source: str) -> tuple[str, list[tuple[str, str]]]:
    rendered = render(source)
    return rendered.text, said(rendered)


@pytest.mark.parametrize(
    ("source", "text", "entities"),
    [
        ("**b** *i* ~~s~~ `c`", "b i s c", [("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("code", "c")]),
        ("***both***", "both", [("bold", "both"), ("italic", "both")]),
        ("**a *b* c**", "a b c", [("bold", "a b c"), ("italic", "b")]),
        ("**a **b** c**", "a b c", [("bold", "a b c")]),
        ("a*b*c __init__", "abc init", [("italic", "b"), ("bold", "init")]),
        ("**bold `code` bold**", "bold code bold", [("bold", "bold"), ("code", "code"), ("bold", "bold")]),
        ("# Title **b**\ntext", "Title b\ntext", [("bold", "Title b")]),
        ("Title\n=====", "Title", [("bold", "Title")]),
        ("\U0001f4ca **b\U0001f4ca** `c`", "\U0001f4ca b\U0001f4ca c", [("bold", "b\U0001f4ca"), ("code", "c")]),
        ("**&nbsp;x&nbsp;**", "x", [("bold", "x")]),
    ],
)
def test_styles_become_entities_in_utf16(source: str, text: str, entities: list[tuple[str, str]]) -> None:
    found, covered = shown(source)
    assert found == text
    assert sorted(covered) == sorted(entities)


@pytest.mark.parametrize(
    "source",
    [
        "2 * 3 * 4",
        "**open",
        "`open",
        "[open](",
        "a_b_c",
        "<script>x</script> <b>y</b>",
        "List<int> and a < b",
        "$a_b$ $$x$$",
        "text[^1]\n\n[^1]: note",
        "[name]: https://example.com",
        "https://example.com/a_b_c",
        "arr[i]()",
        "~one~",
        "!" * 99,
        "if (a || b) && (c || d)",
        "a||b||c",
        "||open",
        "|| loose ||",
        "<std::string>",
        ">" * 99,
        "- " * 99 + "x",
    ],
)
def test_what_is_no_markup_stays_as_it_was_written(source: str) -> None:
    assert shown(source) == (source, [])


@pytest.mark.parametrize(
    ("source", "text", "hidden"),
    [
        ("see ||this||.", "see this.", ["this"]),
        ("(||a b||)", "(a b)", ["a b"]),
        ("||one|| and ||two||", "one and two", ["one", "two"]),
        ("||**bold** and `code`||", "bold and code", ["bold and code"]),
        ("`||code||`", "||code||", []),
        ("\\|\\|escaped\\|\\|", "||escaped||", []),
        ("||a **b|| c**", "||a b|| c", []),
    ],
)
def test_a_spoiler_is_tight_and_outside_code(source: str, text: str, hidden: list[str]) -> None:
    found, covered = shown(source)
    assert found == text
    assert [words for kind, words in covered if kind == "spoiler"] == hidden


@pytest.mark.parametrize(
    ("source", "text", "urls"),
    [
        ("[a](https://example.com/?q=1)", "a", ["https://example.com/?q=1"]),
        ("[a](http://localhost:8080/x) [b](tg://user?id=1)", "a b (tg://user?id=1)", ["http://localhost:8080/x"]),
        ("[write](mailto:a@example.com)", "write", ["mailto:a@example.com"]),
        ("[ü](https://example.com/ü)", "ü", ["https://example.com/%C3%BC"]),
        ("[a](https://example.com 'Title')", 'a "Title"', ["https://example.com"]),
        ("[](https://example.com)", "https://example.com", ["https://example.com"]),
        ("![alt](https://example.com/i.png)", "alt", ["https://example.com/i.png"]),
        ("[![alt](/i.png)](https://example.com)", "alt (/i.png)", ["https://example.com"]),
        ("[`code`](https://example.com)", "code", ["https://example.com"]),
        ("[a](javascript:alert(1)) [b](/rel) [c](#d)", "a (javascript:alert(1)) b (/rel) c (#d)", []),
        ("[a](http://nohost) ![](pic.png)", "a (http://nohost)  (pic.png)", []),
        ("<https://example.com> <a@example.com>", "https://example.com <a@example.com>", []),
    ],
)
def test_links_are_made_by_an_allow_list_and_printed_otherwise(source: str, text: str, urls: list[str]) -> None:
    rendered = render(source)
    assert rendered.text == text
    assert [each.url for each in rendered.entities if each.type == "text_link"] == urls
    assert all(link_fault(url) is None for url in urls)
    assert {each.type for each in rendered.entities} <= {"text_link"}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("see https://e.x/_a_b_ ok", "see https://e.x/_a_b_ ok"),
        ("(https://e.x/a_(b)_c).", "(https://e.x/a_(b)_c)."),
        ("**https://example.com/x/** and _https://e.x/c_d_", "https://example.com/x/ and https://e.x/c_d"),
        ("a https://e.x/__init__.py.", "a https://e.x/__init__.py."),
    ],
)
def test_a_bare_address_keeps_every_character(source: str, text: str) -> None:
    assert render(source).text == text


def test_a_fence_becomes_preformatted_text_with_its_language() -> None:
    rendered = render("Look:\n```c++\n  int a;\n\n  int b;\n```\nDone")
    assert rendered.text == "Look:\n  int a;\n\n  int b;\nDone"
    assert rendered.entities == (Entity(type="pre", offset=6, length=18, language="c++"),)


def test_what_an_info_string_says_besides_the_language_goes_above() -> None:
    assert shown('```py title="a.py"\nx\n```') == ('title="a.py"\nx', [("pre", "x")])
    assert shown("~~~no|language\nx\n~~~") == ("no|language\nx", [("pre", "x")])
    assert shown("```yes") == ("yes", [])


def test_code_at_the_beginning_keeps_its_indentation() -> None:
    assert shown("```\n    deep\n```") == ("    deep", [("pre", "    deep")])


def test_quotes_are_one_level_and_stop_around_code_blocks() -> None:
    text, entities = shown("> a **b**\n> > c `d`\n>\n> ```\n> e\n> ```\n> f\n\ng")
    assert text == "a b\nc d\n\ne\nf\n\ng"
    assert entities == [("blockquote", "a b\nc d"), ("bold", "b"), ("pre", "e"), ("blockquote", "f")]


def test_lists_keep_their_numbers_nesting_and_tasks() -> None:
    source = "3. a\n3. b\n7) c\n\n- d\n  - e\n    more\n\n  para\n- [ ] f\n- [x] **g**\n-"
    text, entities = shown(source)
    assert text == "3. a\n4. b\n7) c\n\n• d\n  • e\n    more\n\n  para\n• [ ] f\n• [x] g\n•"
    assert entities == [("bold", "g")]


def test_code_in_a_list_stands_on_lines_of_its_own() -> None:
    assert shown("- ```py\n  x\n  ```\n- b") == ("• \nx\n• b", [("pre", "x")])


def test_breaks_rules_and_blank_lines_are_kept_as_written() -> None:
    assert shown("a\nb  \nc\\\nd\n***\ne\n\n\nf<br>g<BR/>h")[0] == "a\nb\nc\nd\n———\ne\n\nf\ng\nh"


def test_a_table_is_aligned_by_display_width_and_loses_no_cell() -> None:
    source = "| name | 数 | x |\n|:-----|:--:|--:|\n| **数字** | `b` | 1 | extra |\n| [l](https://e.com) |"
    text, entities = shown(source)
    assert text.split("\n") == [
        "name              | 数 | x",
        "------------------+----+--",
        "数字              | b  | 1 | extra",
        "l (https://e.com) |    |",
    ]
    assert entities == [("pre", text)]


def test_a_wide_cell_does_not_fill_the_message_with_blanks() -> None:
    text = render("|a|b|\n|-|-|\n|" + "x" * 500 + "|c|\n" + "|c|d|\n" * 50).text
    assert len(text) < 500 + 52 * 50


def test_text_has_no_lone_surrogates_and_no_line_ends_but_feeds() -> None:
    assert shown("a\ud83d **b\ud83d\udcca**\r\nc\rd\0") == (
        "a\ufffd b\U0001f4ca\nc\nd\ufffd",
        [("bold", "b\U0001f4ca")],
    )


def test_the_plain_form_is_the_source() -> None:
    assert plain(" **a** <b>\n") == Rendered(text="**a** <b>", entities=())


def test_more_entities_than_a_message_takes_make_more_parts() -> None:
    found = parts("`a` **b** " * 200)
    assert len(found) in (4, 5)
    assert all(len(render(part).entities) <= 100 for part in found)
    assert sum(len(render(part).entities) for part in found) == 400


def test_a_part_is_measured_after_formatting_too() -> None:
    found = parts("|a|b|\n|-|-|\n|" + "x" * 300 + "|c|\n" + "|c|d|\n" * 500)
    assert all(utf16_units(render(part).text) <= 4096 and utf16_units(part) <= 4096 for part in found)


@pytest.mark.parametrize(
    ("source", "found"), [("text\n\n   ", ("text",)), ("<br>", ()), ("\u200b", ()), ("```\n\n```", ())]
)
def test_c17_blank_parts_are_skipped(source: str, found: tuple[str, ...]) -> None:
    assert parts(source) == found


def test_c19_a_long_fence_is_three_messages_of_code() -> None:
    found = [render(part) for part in parts("```\n" + "x" * 10_000 + "\n```")]
    assert "".join(rendered.text for rendered in found) == "x" * 10_000
    assert [[each.type for each in rendered.entities] for rendered in found] == [["pre"]] * 3


def test_c20_brackets_are_shown_and_bold_and_code_are_kept() -> None:
    source = "**List** uses `List<int>` and <CoT> & a < b; Name <a@example.com>"
    assert parts(source) == (source,)
    assert shown(source) == (
        "List uses List<int> and <CoT> & a < b; Name <a@example.com>",
        [("bold", "List"), ("code", "List<int>")],
    )


def test_c21_4096_exclamation_marks_are_one_message() -> None:
    assert parts("!" * 4096) == ("!" * 4096,)
    assert parts("." * 4000) == ("." * 4000,)
    assert render("!" * 4096).text == "!" * 4096


def test_c22_python_arrives_with_every_space() -> None:
    found = [render(part) for part in parts(C22)]
    assert len(found) == 2
    assert "\n".join(rendered.text for rendered in found) == C22[len("```python\n") : -len("\n```")]
    assert all(each.language == "python" for rendered in found for each in rendered.entities)


def test_c25_an_emoji_is_never_half_of_itself() -> None:
    text = "数" * 59 + "\U0001f4ca" + "tail"
    assert shown(text) == (text, [])
    assert [render(part).text.encode() for part in parts(text * 70)]


def test_c67_hebrew_and_its_isolates_pass_unchanged() -> None:
    text = "\u2068Dana\u2069: שלום https://example.com/a `code`"
    assert shown(text) == (text.replace("`", ""), [("code", "code")])
