"""How a model is named: `provider:model`, and what may stand in a list of such names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Discriminator, Tag

from config.providers import DEFAULT_MODELS
from config.sources import wrong
from config.values import listed

LIST_OR_TABLE: Final = frozenset({"<list>", "<table>"})
"""How pydantic's errors name the two forms of `ModelChoices`."""

_MODEL: Final = re.compile(r"[a-z0-9/-]+:[^\s\x00-\x1f\x7f]+\Z")
_SHORT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")


def _model(name: str) -> str:
    if not _MODEL.match(name):
        raise wrong("is no model with its provider", f'write it as in model = "{DEFAULT_MODELS["OPENAI_API_KEY"]}"')
    return name


def _short_name(name: str) -> str:
    if not _SHORT.match(name):
        raise wrong("is no name that people can type", "write letters, digits, -, _ and ., at most 64")
    return name


def _form(given: object) -> str:
    return "<table>" if isinstance(given, dict) else "<list>"


ModelName = Annotated[str, AfterValidator(_model)]
ModelList = Annotated[tuple[ModelName, ...], BeforeValidator(listed)]
ModelChoices = Annotated[
    Annotated[ModelList, Tag("<list>")]
    | Annotated[Mapping[Annotated[str, AfterValidator(_short_name)], ModelName], Tag("<table>")],
    Discriminator(_form),
]
