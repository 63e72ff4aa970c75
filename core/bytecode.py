"""Bytecode for what a start may import, and for nothing else. `python -m core.bytecode` is run once, by an install.

Python writes the bytecode of what it imports. An installed service can't: nobody may write where its program is.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
from collections.abc import Iterator
from compileall import compile_dir
from contextlib import suppress
from importlib.util import find_spec
from typing import Final

PACKAGES: Final = ("bots", "core", "config")
_NOT_IMPORTED: Final = "core.store.migrations."
"""Alembic runs these."""
LATER: Final = (
    "anthropic.resources.beta.messages",
    "anyio._backends._asyncio",
    "apscheduler.executors.asyncio",
    "apscheduler.triggers.date",
    "apscheduler.triggers.interval",
    "genai_prices.data",
    "genai_prices.decompose",
    "openai.resources.chat.chat",
    "openai.resources.responses.responses",
    "pydantic_ai.models.anthropic",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.anthropic",
    "pydantic_ai.providers.openai",
)
"""What no module of ours imports by name, and a start, a turn or a first request does."""


def main() -> None:
    gc.disable()
    for name in [*_modules(), *LATER]:
        with suppress(ImportError):  # an extra that is not installed
            importlib.import_module(name)


def _modules() -> Iterator[str]:
    for package in PACKAGES:
        spec = find_spec(package)
        for folder in spec.submodule_search_locations or () if spec else ():
            compile_dir(folder, quiet=2)
            found = pkgutil.walk_packages([folder], f"{package}.", onerror=lambda _: None)
            yield from (module.name for module in found if not module.name.startswith(_NOT_IMPORTED))


if __name__ == "__main__":
    main()
