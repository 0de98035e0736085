"""Progress reports for people on stderr: the stage, its share done, its rate, the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from flows.support.plurals import quantity

Note = Callable[[float], str]
"""Returns a short note on a running stage of which a share is done, such as the cost of its calls; blank for none."""

LINE_EVERY = 5.0
"""Seconds between two progress lines when the output is no terminal."""

ESTIMATE_FROM = 0.1
"""Share of a stage from which on the time left is shown: the first items predict it badly."""


class StageProgress(Protocol):
    """The progress of a running stage."""

    def advance(self, number: int) -> None:
        """Count ``number`` more items as done."""


class Report(Protocol):
    """Shows the progress of a run."""

    def say(self, text: str) -> None:
        """Show one line."""

    def stage(
        self, name: str, total: int, unit: str, note: Note | None = None
    ) -> AbstractContextManager[StageProgress]:
        """Show a stage while it lasts."""


class Silent:
    """Says nothing (``--quiet``)."""

    def say(self, text: str) -> None:
        """One line, not shown."""

    @contextmanager
    def stage(self, name: str, total: int, unit: str, note: Note | None = None) -> Iterator[StageProgress]:
        """Show no progress."""
        yield self

    def advance(self, number: int) -> None:
        """Count ``number`` more items as done."""


class Lines:
    """Plain lines on stderr, for logs and pipes: at the start and end of a stage and every few seconds."""

    def __init__(self) -> None:
        self._name, self._total, self._unit, self._done = "", 0, "", 0
        self._note: Note | None = None
        self._start = self._last = 0.0

    def say(self, text: str) -> None:
        """Show one line."""
        print(text, file=sys.stderr, flush=True)  # noqa: T201

    @contextmanager
    def stage(self, name: str, total: int, unit: str, note: Note | None = None) -> Iterator[StageProgress]:
        """Write lines while a stage lasts."""
        self._name, self._total, self._unit, self._done, self._note = name, total, unit, 0, note
        self._start = self._last = time.monotonic()
        self.say(f"{name}: {_count(total, unit)}")
        yield self
        self.say(f"{name}: done, {_count(self._done, unit)} in {time.monotonic() - self._start:.1f} s{self._more(1.0)}")

    def advance(self, number: int) -> None:
        """Count ``number`` more items as done."""
        self._done += number
        now = time.monotonic()
        if now - self._last >= LINE_EVERY and 0 < self._done < self._total:
            self._last = now
            rate = self._done / (now - self._start)
            left = f", about {(self._total - self._done) / rate:.0f} s left"
            said = left if self._done >= ESTIMATE_FROM * self._total else ""
            done = f"{self._done:,} of {self._total:,} {self._unit}, {rate:,.3g} a second"
            self.say(f"{self._name}: {done}{self._more(self._done / self._total)}{said}")

    def _more(self, share: float) -> str:
        said = self._note(share) if self._note else ""
        return f", {said}" if said else ""


class Bars:
    """A progress bar for each stage, on a terminal."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)

    def say(self, text: str) -> None:
        """Show one line."""
        self._console.print(text, highlight=False, markup=False)

    @contextmanager
    def stage(self, name: str, total: int, unit: str, note: Note | None = None) -> Iterator[StageProgress]:
        """Show a bar while a stage lasts; it stays as a line."""
        columns = (
            TextColumn("{task.description:>8}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn(unit),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            _Rate(),
            TextColumn("{task.fields[note]}"),
        )
        with Progress(*columns, console=self._console) as progress:
            yield _Bar(progress, name, total, note)


class _Rate(ProgressColumn):
    """Items a second, as they came lately."""

    def render(self, task: Task) -> str:
        """Text of the column; empty before the first items."""
        speed = task.finished_speed or task.speed
        return f"{speed:,.3g}/s" if speed else ""


class _Bar:
    def __init__(self, progress: Progress, name: str, total: int, note: Note | None) -> None:
        self._progress = progress
        self._note = note or (lambda share: "")
        self._done, self._total = 0, total
        self._task = progress.add_task(name, total=total, note="")

    def advance(self, number: int) -> None:
        self._done += number
        self._progress.update(self._task, advance=number, note=self._note(self._done / max(self._total, 1)))


def make_report(quiet: bool) -> Report:
    """A report for this output: silent if ``quiet``, bars on a terminal, otherwise lines."""
    if quiet:
        return Silent()
    return Bars() if sys.stderr.isatty() else Lines()


def _count(number: int, unit: str) -> str:
    return quantity(number, unit.removesuffix("s"))
