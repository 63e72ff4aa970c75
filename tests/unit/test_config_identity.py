"""An allow-list names people by platform and immutable id, never by a name that changes hands."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from config.identity import Identity
from config.settings import AccessSettings


def allowed(*written: object) -> tuple[Identity, ...]:
    return AccessSettings.model_validate({"allow": list(written)}).allow


def test_an_identity_has_a_platform_a_realm_if_any_and_an_id() -> None:
    assert allowed("telegram:123456", "discord:42", "slack:T0/U1") == (
        Identity(platform="telegram", user="123456"),
        Identity(platform="discord", user="42"),
        Identity(platform="slack", realm="T0", user="U1"),
    )


@pytest.mark.parametrize("written", ["telegram:123456", "slack:T0/U1"])
def test_an_identity_reads_as_it_is_written(written: str) -> None:
    assert [str(identity) for identity in allowed(written)] == [written]


@pytest.mark.parametrize("written", ["@bob", "telegram:@bob", "bob@example.com"])
def test_c50_a_name_is_refused_with_the_words_that_an_id_is_wanted(written: str) -> None:
    with pytest.raises(ValidationError, match="is a name, and names change hands: the numeric id is wanted"):
        allowed(written)


@pytest.mark.parametrize(
    "written",
    [
        "telegram:", "telegram:bob", "telegram:-100", "telegram:0", "telegram:007", "telegram: 5", "telegram:5 ",
        "telegram:\u0665", "telegram:5\n", "telegram:a/5", "discord:bob#1234", "slack:U1", "slack:T0/", "slack:T0/bob",
    ],
)  # fmt: skip
def test_c50_an_id_of_another_form_than_its_platform_s_is_refused(written: str) -> None:
    with pytest.raises(ValidationError, match="user id"):
        allowed(written)


def test_an_unknown_platform_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValidationError) as raised:
        allowed("telegramm:5")

    assert raised.value.errors()[0]["ctx"]["hint"] == 'did you mean "telegram"?'


def test_a_token_in_the_place_of_an_id_is_not_shown() -> None:
    with pytest.raises(ValidationError) as raised:
        allowed("123456:AAEabcdefghijklmnopqrstuvwxyz")

    assert "abcdefgh" not in str(raised.value)
