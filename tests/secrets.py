"""Every secret that a test double knows, and the search for them in what is written.

A token or key that a test prints, or that a daemon under test writes on its standard output or error, fails the test:
`tests/conftest.py` looks through what was captured, `tests.crash.daemon` through what its processes wrote.
"""

from __future__ import annotations

from typing import Final

SHORTEST: Final = 12
"""Characters: what is shorter stands in other texts by chance."""

_USED: Final[set[str]] = set()


def keep(secret: str) -> str:
    """It is used from now on. Of a Telegram token the part before the colon is the account's id, which is no secret."""
    hidden = secret.rpartition(":")[2]
    if len(hidden) >= SHORTEST:
        _USED.add(hidden)
    return secret


def shown_in(text: str) -> list[str]:
    """Where a secret stands in the text: what is around it, without it."""
    return [
        f"...{text[max(at - 60, 0) : at]}[secret]{text[at + len(secret) : at + len(secret) + 60]}..."
        for secret in _USED
        if (at := text.find(secret)) >= 0
    ]
