"""The finished daemon with a model, as a person finds it who pipes lines into it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fakes.models import Fail, Say, ThreadedModelServer
from tests.fakes.models.replies import PLANTED_KEY, PLANTED_PATH

ROOT = Path(__file__).parents[2]
FRONTDESK = (sys.executable, "-c", "from core.cli.app import main; main()")
README = (ROOT / "README.md").read_text()


def run(
    home: Path, said: str, config: str, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`frontdesk run` on a pipe, to its end."""
    (home / "frontdesk.toml").write_text(config)
    plain = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    return subprocess.run(
        [*FRONTDESK, "run", "--config", "frontdesk.toml", "--state", str(home / "state")],
        input=said, capture_output=True, text=True, timeout=60, cwd=home, env={**plain, **(environ or {})}, check=False,
    )  # fmt: skip


def model(server: ThreadedModelServer, key: str = 'api_key = "env:MODEL_KEY"') -> str:
    return f'[agents.default]\nmodel = "openai:gpt-test"\nbase_url = "{server.openai_url}"\n{key}\n'


def test_a_model_answers_on_a_pipe(tmp_path: Path) -> None:
    with ThreadedModelServer() as server:
        server.on("hello", Say("Good day."))
        done = run(tmp_path, "hello\n", model(server), {"MODEL_KEY": server.key})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("Good day.")
    assert server.key not in done.stdout + done.stderr


def test_c51_a_provider_s_words_reach_neither_people_nor_the_log(tmp_path: Path) -> None:
    with ThreadedModelServer() as server:
        server.on("hello", Fail("bad_request", planted=True))
        done = run(tmp_path, "hello\n", model(server), {"MODEL_KEY": server.key})
    written = done.stdout + done.stderr
    assert re.search(r"refused this request.*\(reference [A-Z0-9]{8}\)", written)
    for secret in (PLANTED_KEY, PLANTED_PATH, server.key):
        assert secret not in written


def test_a_key_alone_switches_on_a_model_and_says_which(tmp_path: Path) -> None:
    done = run(tmp_path, "", "", {"OPENAI_API_KEY": "sk-first", "ANTHROPIC_API_KEY": "sk-second"})
    assert done.returncode == 0, done.stderr
    assert re.search(r"note: .*model openai:\S+, because OPENAI_API_KEY is set", done.stderr)
    assert "ANTHROPIC_API_KEY is set too and not used" in done.stderr
    assert "offline agent" not in done.stdout + done.stderr
    assert "sk-" not in done.stdout + done.stderr


def test_the_readme_s_agent_answers(tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(code.strip().splitlines()) <= 12
    (tmp_path / "mine.py").write_text(code)
    config = '[agents.default]\nbackend = "mine:make"\n'
    done = run(tmp_path, "hello\nagain\n", config, {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"})
    assert done.returncode == 0, done.stderr
    assert "1: hello" in done.stdout
    assert "2: again" in done.stdout


def test_check_says_all_that_is_wrong_with_models_and_tool_servers(tmp_path: Path) -> None:
    config = (
        '[agents.default]\nmodel = "nonsense:gpt"\napi_key = "env:KEY"\nmodels = ["other:gpt"]\n'
        '[[agents.default.mcp]]\nname = "t"\ncommand = ["no-such-program-here"]\n'
    )
    (tmp_path / "frontdesk.toml").write_text(config)
    done = subprocess.run(
        [*FRONTDESK, "check", "--config", "frontdesk.toml"],
        capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "KEY": "k"},
    )  # fmt: skip
    assert done.returncode == 78
    for words in ("Unknown provider: nonsense", "Unknown provider: other", "no program no-such-program-here"):
        assert words in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nonsense:gpt", "Unknown provider: nonsense"),
        ("groq:llama", 'needs the extra "groq", which is not installed; type: '),
        ("gpt-5", 'write it as in model = "openai:'),
    ],
)
def test_check_says_what_is_wrong_with_a_model(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "frontdesk.toml").write_text(f'[agents.default]\nmodel = "{name}"\napi_key = "env:KEY"\n')
    done = subprocess.run(
        [*FRONTDESK, "check", "--config", "frontdesk.toml"],
        capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "KEY": "k"},
    )  # fmt: skip
    assert done.returncode == 78
    assert words in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
