"""`[listen]`: what may be written, and what to write instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.test_config_load import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_listener_is_no_reason_for_a_warning(desk: Desk) -> None:
    loaded = desk.load(
        '[listen]\nhost = "::1"\nport = 0\nbehind_proxy = true\ntrusted_proxies = ["10.0.0.0/8", "::1"]\n'
    )
    assert loaded.warnings == ()
    assert loaded.settings.listen.trusted_proxies == ("10.0.0.0/8", "::1")


@pytest.mark.parametrize(("written", "there"), [("", False), ("[listen]\n", True), ("[listen]\nport = 1\n", True)])
def test_it_is_known_whether_the_file_asks_for_a_listener(desk: Desk, written: str, there: bool) -> None:
    loaded = desk.load('[desk]\nname = "Reception"\n' + written)
    assert ("listen" in loaded.settings.model_fields_set) is there


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('trusted_proxies = ["proxy.example"]', 'proxy.example is no address: .*; write "10.0.0.7", "10.0.0.0/8", or'),
        ('trusted_proxies = ["10.0.0.7/8"]', "10.0.0.7/8 is no address: .* has host bits set"),
        ('trusted_proxies = "10.0.0.7"', "must be a list"),
        ("port = 70000", "port"),
        ('host = ""', "host"),
        ('hosts = ["https://desk.example.com"]', "is no name of a host; write it without scheme, port and path"),
        ('hosts = ["desk.example.com:443"]', "is no name of a host"),
        ('hosts = ["*"]', "is no name of a host"),
        ('hosts = ["desk.example.com", ""]', "is no name of a host"),
    ],
)
def test_what_can_not_be_listened_to_is_a_fault(desk: Desk, written: str, words: str) -> None:
    (fault,) = desk.faults(f"[listen]\n{written}\n")
    assert re.search(words, fault), fault
