"""`[agents.NAME.settings]`: what goes with each request to a model."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Annotated, Final, Literal, get_args

from pydantic import BeforeValidator, Field, JsonValue

from config.part import Part
from config.sources import wrong
from config.values import Count

Effort = Literal["minimal", "low", "medium", "high", "xhigh"]
_EFFORTS: Final[tuple[str, ...]] = get_args(Effort)


def _reasoning(given: object) -> object:
    if isinstance(given, bool) or given in _EFFORTS:
        return given
    near = get_close_matches(given.lower(), _EFFORTS, n=1) if isinstance(given, str) else []
    known = ", ".join(f'"{effort}"' for effort in _EFFORTS)
    raise wrong(f"must be {known}, true or false", f'did you mean "{near[0]}"?' if near else "")


def _json(given: object) -> object:
    match given:
        case dict():
            return {str(name): _json(item) for name, item in given.items()}
        case list():
            return [_json(item) for item in given]
        case float() if not isfinite(given):
            raise wrong("holds a number that JSON has no word for", "write a finite one")
        case str() | bool() | int() | float():
            return given
        case _:
            raise wrong("holds a date or a time, which JSON has no word for", "write it as text")


class RequestSettings(Part):
    """What the model is told besides the conversation; None leaves it to the provider."""

    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    max_tokens: Count | None = None
    """Of one answer."""
    reasoning: Annotated[Effort | bool, BeforeValidator(_reasoning)] | None = None
    """How hard the model thinks first; true: as its provider sees fit, false: as little as it can."""
    seed: int | None = None
    parallel_tool_calls: bool | None = None
    """Whether the model may ask for several tools at once."""
    extra: Mapping[str, Annotated[JsonValue, BeforeValidator(_json)]] = {}
    """Fields of the request's body, handed on as they are."""
