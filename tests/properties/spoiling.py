"""JSON as a platform sends it, and what may become of it on the way: a field that is missing, or of another kind."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

from hypothesis import strategies as st

TEXT: Final = st.text(st.characters(exclude_categories=()), max_size=30)  # lone surrogates and NUL among it
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
JSON: Final = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4)
)  # fmt: skip
_TIMES = st.sampled_from([0, 0, 0, 1, 1, 3])


@st.composite
def spoiled(draw: st.DrawFn, sound: st.SearchStrategy[Any]) -> Any:
    """Half of them are as they came."""
    value = deepcopy(draw(sound))
    for _ in range(draw(_TIMES)):
        places = list(_places(value))
        if not places:
            return value
        inside, key = places[draw(st.integers(0, len(places) - 1))]
        if draw(st.booleans()):
            del inside[key]
        else:
            inside[key] = draw(JSON)
    return value


def each_text_as(value: Any, text: str) -> Iterator[Any]:
    """The same as often as there are texts in it, with another text in one place."""
    for number, (inside, key) in enumerate(_places(value)):
        if isinstance(inside[key], str):
            other = deepcopy(value)
            place, _ = list(_places(other))[number]
            place[key] = text
            yield other


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from _places(inner)
