"""Agents that somebody else wrote: what they raise when they are loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.agents.agent import AgentSpec
from core.agents.registry import load_factory
from core.errors import ConfigError


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("raise RuntimeError('sk-a-key-of-theirs')", "RuntimeError"),
        ("def make(:", "SyntaxError"),
        ("import sys\nsys.exit(3)", "SystemExit"),
    ],
)
def test_a_module_that_can_not_be_imported_is_a_fault_of_the_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, kind: str
) -> None:
    name = f"theirs_{kind.lower()}"
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=kind) as fault:
        load_factory(AgentSpec(name="default", backend=f"{name}:make"))
    assert "sk-a-key" not in str(fault.value)
    assert f'python -c "import {name}"' in str(fault.value)
