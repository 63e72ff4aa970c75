"""What looks like a secret but is none reaches the chat and the store as it was said."""

from __future__ import annotations

import pytest

from tests.flow.house import House

LOOKALIKES = ["am_example_identifier", "sk_example.png", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"]


@pytest.mark.parametrize("text", LOOKALIKES)
async def test_c52_identifiers_are_unchanged_in_chat_and_store(house: House, text: str) -> None:
    await house.say(text)
    assert house.seen() == [f"re: {text}"]
    session = await house.session()
    assert session.title == text
    assert [entry.text for entry in await house.log()] == [text, f"re: {text}"]
