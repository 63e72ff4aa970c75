"""S20: what is dear to render is rendered within bounds, and shown as it is written beyond them."""

from __future__ import annotations

import pytest

from bots.slack import markup, mrkdwn
from bots.telegram import markup as telegram
from bots.terminal import rendering
from core.delivery.split import utf16_units

DEAR = "a|b\n-|-\n" * 7_500
"""Of one table with many small cells."""


def test_s20_a_terminal_shows_a_long_table_as_it_is_written() -> None:
    assert rendering.to_ansi(DEAR, 80) == DEAR.rstrip() + "\n"
    assert rendering.finished(DEAR) == 0
    short = DEAR[: 8 * 20]
    assert rendering.to_ansi(short, 80) != short


def test_s20_a_notification_renders_the_beginning_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[int] = []
    render = mrkdwn.render

    def counting(source: str) -> str:
        rendered.append(len(source))
        return render(source)

    monkeypatch.setattr(mrkdwn, "render", counting)
    shown = markup.notification(DEAR[: markup.LIMIT_UTF16])
    assert shown.endswith("…")
    assert sum(rendered) <= markup.TEXT_LIMIT


def test_s20_telegram_renders_no_more_at_once_than_a_message_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that others have their turn between two parts."""
    rendered: list[int] = []
    render = telegram.render.__wrapped__

    def counting(source: str) -> telegram.Rendered:
        rendered.append(utf16_units(source))
        return render(source)

    monkeypatch.setattr(telegram, "render", counting)
    parts = telegram.parts(DEAR)
    assert max(rendered) <= telegram.LIMIT_UTF16
    assert sum(rendered) <= 8 * sum(map(utf16_units, parts))
