"""What was measured, beside its budget and beside the same work done bare."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

ASIDE = "Bare: the same I/O without Frontdesk, or what the row says. Ratio: measured to bare."


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the table. `budget` and `bare` are in `unit`. `at_least`: the budget is a floor."""

    what: str
    value: float
    unit: str
    budget: float | None = None
    bare: float | None = None
    at_least: bool = False

    @property
    def kept(self) -> bool:
        if self.budget is None:
            return True
        return self.value >= self.budget if self.at_least else self.value <= self.budget

    def cells(self) -> tuple[str, ...]:
        sign = "≥" if self.at_least else "≤"
        budget = "" if self.budget is None else f"{sign} {_number(self.budget)} {self.unit}"
        bare = "" if self.bare is None else f"{_number(self.bare)} {self.unit}"
        ratio = "" if not self.bare else f"{self.value / self.bare:.2f}"
        verdict = "" if self.budget is None else "yes" if self.kept else "**no**"
        return self.what, f"{_number(self.value)} {self.unit}", budget, verdict, bare, ratio

    def dumped(self) -> str:
        return json.dumps(asdict(self))


def loaded(lines: Iterable[str]) -> Iterator[Figure]:
    """From `dumped`, each as soon as its line is there, other lines left out."""
    return (Figure(**json.loads(line)) for line in lines if line.startswith('{"what"'))


def line(figure: Figure) -> str:
    """To be read before the whole table is there."""
    what, value, budget, kept, bare, ratio = figure.cells()
    more = [f"budget {budget}: {'kept' if figure.kept else 'NOT KEPT'}"] if kept else []
    more += [f"bare {bare}, ratio {ratio}"] if bare else []
    return f"{what}: {'; '.join([value, *more])}"


def _number(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(figures: Sequence[Figure]) -> str:
    """Markdown."""
    head = ("what", "measured", "budget", "kept", "bare", "ratio")
    rows = [head, tuple("-" * len(cell) for cell in head), *(figure.cells() for figure in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    dash = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |" for row in rows]
    dash[1] = f"|{'|'.join('-' * (width + 2) for width in widths)}|"
    return "\n".join(dash)
