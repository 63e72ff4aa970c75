"""How far long work is, for somebody at a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Shown:
    """`store.archive.Progress`: one bar a step on standard error; silent where that is no terminal."""

    def __init__(self) -> None:
        self._bars: Progress | None = None
        self._steps: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
            self._bars = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, step: str, done: int, total: int) -> None:
        if self._bars is not None:
            if step not in self._steps:
                self._steps[step] = self._bars.add_task(step, total=total or None)
            self._bars.update(self._steps[step], completed=done, total=total or None)
