"""Every key of a TOML text is found on its line, however it is written."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.lines import KeyPath, key_lines

_T = TypeVar("_T")
Tree = dict[str, "Tree | list[Tree] | list[str] | str"]

_WAYS_TO_WRITE = (
    '"{}"',
    "'{}'",
    '"""{} "" \\" # \n[no.header] = 1\\\n  """',
    "'''{} \\ '' # \n[[no]]\n'''",
    '"""{}"""""',
    '"{} \\" # ] }} , \\\\"',
)
_GAPS = ("", " ", "\t", "\n", " # ] } = [\n", "\r\n\n", "\n# ''' \"\"\"\n  ")


class _Writer:
    """Writes a tree as TOML, each part in a drawn style; the texts in it are unique marks."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._marks = itertools.count()

    def table(self, tree: Tree, header: tuple[str, ...] = ()) -> str:
        pairs, below = [], []
        for name, value in tree.items():
            if isinstance(value, dict) and self._one_of(True, False):
                below.append(f"{self._gap()}\n[{self._dotted((*header, name))}]\n{self.table(value, (*header, name))}")
            elif isinstance(value, list) and value and isinstance(value[0], dict) and self._one_of(True, False):
                below += self._array_of_tables(value, (*header, name))
            else:
                pairs.append(self._pair((name,), value))
        return "\n".join([*pairs, *below]) + "\n"

    def _array_of_tables(self, items: list[Tree] | list[str], header: tuple[str, ...]) -> Iterator[str]:
        for item in items:
            assert isinstance(item, dict)
            yield f"[[ {self._dotted(header)} ]] # ]]\n{self.table(item, header)}"

    def _pair(self, key: tuple[str, ...], value: object) -> str:
        if isinstance(value, dict) and value and self._one_of(True, False):
            return "\n".join(self._pair((*key, name), item) for name, item in value.items())
        return f"{self._one_of('', '  ', chr(9))}{self._dotted(key)} = {self._value(value)}"

    def _value(self, value: object) -> str:
        if isinstance(value, dict):
            return f"{{ {', '.join(f'{self._key(name)} = {self._value(item)}' for name, item in value.items())} }}"
        if isinstance(value, list):
            inner = "".join(f"{self._gap()}{self._value(item)}{self._gap()}," for item in value)
            return f"[{inner}{self._gap()}]"
        return self._one_of(*_WAYS_TO_WRITE).format(f"mark{next(self._marks)}.")

    def _gap(self) -> str:
        return self._one_of(*_GAPS)

    def _dotted(self, names: tuple[str, ...]) -> str:
        return self._one_of(".", " . ").join(map(self._key, names))

    def _key(self, name: str) -> str:
        return name if name.isascii() and name.isalnum() else json.dumps(name)

    def _one_of(self, *choices: _T) -> _T:
        return self._draw(st.sampled_from(choices))


_names = st.sampled_from(["a", "b", "c1", "ü", "a.b", "[x]", "# no", 'quo"te', "1", ""])
_trees: st.SearchStrategy[Tree] = st.deferred(
    lambda: st.dictionaries(
        _names,
        st.just("text") | _trees | st.lists(_trees, max_size=3) | st.lists(st.just("text"), max_size=3),
        max_size=4,
    )
)


@st.composite
def _texts(draw: st.DrawFn) -> str:
    return _Writer(draw).table(draw(_trees))


def _leaves(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    if path:
        yield path, value
    children: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    for name, item in children:
        yield from _leaves(item, (*path, name))


@settings(max_examples=300, deadline=timedelta(seconds=2))
@given(_texts())
def test_the_keys_found_are_those_that_tomllib_finds_and_each_stands_on_its_line(text: str) -> None:
    rows = text.split("\n")
    expected = dict(_leaves(tomllib.loads(text)))

    found = key_lines(text)

    assert set(found) == set(expected)
    for path, value in expected.items():
        if isinstance(value, str):
            assert value[: value.index(".") + 1] in rows[found[path] - 1]


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("\n\n[a]\nb = 1", ("a", "b"), 4),
        ("[a.b.c]\n[a]\nx = 1", ("a",), 2),
        ("a.b.c = 1\na.b.d = 2", ("a", "b", "d"), 2),
        ("[[a]]\nx = 1\n[[a]]\nx = 2", ("a", 1, "x"), 4),
        ("[[a]]\n[[a.b]]\n[[a]]\n[[a.b]]\n[a.b.c]\nx = 1", ("a", 1, "b", 0, "c", "x"), 6),
        ("[a]\nb = { c = [ 1,\n 2 ] }", ("a", "b", "c", 1), 3),
        ('a = """\n[b]\nc = 1"""\nd = 2', ("d",), 4),
        ("a = 1979-05-27 07:32:00Z # x\nb = -inf\nc = 0x_F".replace("_", ""), ("c",), 3),
        ("a = '''''' \nb = ''\nc = \"\"\"\"\"\"\nd = 1", ("d",), 4),
        ("a = 1\r\nb = 2\r\n", ("b",), 2),
    ],
)
def test_a_key_stands_on_its_line(text: str, path: KeyPath, line: int) -> None:
    tomllib.loads(text)

    assert key_lines(text)[path] == line


def test_an_empty_text_has_no_keys() -> None:
    assert key_lines("") == {}
    assert key_lines("# only a comment") == {}


def test_a_text_of_a_megabyte_is_scanned() -> None:
    text = 'a = """' + 'x"" \\" \n' * 120_000 + '"""\nb = 1\n'

    assert key_lines(text)[("b",)] == 120_002
