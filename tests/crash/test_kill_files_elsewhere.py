"""kill -9 while files come in on Discord and Slack, which hand messages over in their own ways."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.crash.conftest import platform_called
from tests.crash.filed import audit_files
from tests.crash.nursery import Nursery
from tests.crash.scene import Stage
from tests.crash.test_kill_files import FETCHING
from tests.fakes.telegram.images import png

pytestmark = pytest.mark.crash

KINDS: Final = {"photo.png": png(9, 9, padding=200_000), "words.txt": b"words " * 40_000}


@pytest.mark.parametrize("name", ["discord", "slack"])
@pytest.mark.parametrize("point", FETCHING)
def test_killed_while_a_file_comes(
    nursery: Nursery, sqlite_template: Path, tmp_path: Path, name: str, point: str
) -> None:
    with platform_called(name) as platform:
        platform.without_limits()
        stage = Stage([platform], tmp_path, nursery)
        stage.put_store(sqlite_template)
        contents: list[bytes] = []
        with stage.daemon:
            stage.start(point)
            for number, (file, content) in enumerate(KINDS.items()):
                talk = stage.speak(f"Ada{number}")
                stage.arm()
                talk.bring(f"fast {talk.sign}", talk.sign, file, content)
                contents.append(content)
                stage.wait_death()
                stage.start(point)
                stage.settle()
                assert talk.count(f"end({talk.sign}") == 1, talk.texts
                assert talk.count("could not get") == 0
            assert platform.violations == ()
            audit_files(stage.daemon, contents)
