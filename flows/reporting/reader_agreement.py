"""The agreement of the embedded engine with careful readers, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from flows.reporting.text_tables import MISSING, Layout, Rows, render_rows

KNOWN = 0.75
"""Share of the scale from which on a reader calls something known; 0 is lost."""
ACCEPTED = 0.5
"""The same of the engine: from here on a statement is readable."""

_NAMES = ["group", "n", "ρ", "difference", "bias", "known accepted", "lost accepted", "methods ρ"]
_MEANS = ["method", "n", "readers", "engine"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One thing in one context, as a reader and as the engine judge it."""

    method: str
    group: str
    """Kind of the statement, or type of the question."""
    reader: float
    engine: float
    """On the reader's scale: 0 to 1 for a statement, 0 to 5 for an answer."""


def format_agreement(pairs: Sequence[Pair], scale: float, layout: Layout) -> str:
    """Two tables: agreement over all pairs and by group, and the means of each method.

    Args:
        pairs: What readers and the engine said of the same.
        scale: The highest value of both: 1 for statements, 5 for answers.
        layout: ``csv`` has the first table alone.
    """
    groups = {"all": list(pairs)}
    for name in sorted({pair.group for pair in pairs}):
        groups[name or MISSING] = [pair for pair in pairs if pair.group == name]
    figures = [(name, *_figures(some, scale)) for name, some in groups.items()]
    means = sorted(
        ((name, len(some), _reader(some), _engine(some)) for name, some in _by_method(pairs).items()),
        key=lambda row: -row[2],
    )
    if layout.format == "json":
        return render_rows(
            Rows(["agreement", "methods"], [(Rows(_NAMES, figures).dicts(), Rows(_MEANS, means).dicts())]), "json"
        )
    if layout.format == "csv":
        return render_rows(Rows(_NAMES, figures), "csv")
    note = (
        "ρ: Spearman's, over pairs of a statement or answer and a context; difference and bias: the engine against "
        f"readers, of {scale:g}; known: readers say {KNOWN:.0%} of the scale or more, lost: 0, accepted: the engine "
        f"says {ACCEPTED:.0%} or more; methods ρ: over the means of the methods."
    )
    return "\n".join([_table(_NAMES, figures, layout), _table(_MEANS, means, layout), layout.note(note)])


def _figures(pairs: Sequence[Pair], scale: float) -> tuple[int | float | None, ...]:
    methods = _by_method(pairs).values()
    known = [pair for pair in pairs if pair.reader >= KNOWN * scale]
    lost = [pair for pair in pairs if pair.reader == 0]
    return (
        len(pairs),
        _rank_correlation([pair.reader for pair in pairs], [pair.engine for pair in pairs]),
        fmean(abs(pair.engine - pair.reader) for pair in pairs),
        fmean(pair.engine - pair.reader for pair in pairs),
        *(fmean(pair.engine >= ACCEPTED * scale for pair in some) if some else None for some in (known, lost)),
        _rank_correlation([_reader(some) for some in methods], [_engine(some) for some in methods]),
    )


def _rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's ρ; None where one side is all the same, or there are fewer than three."""
    if len(first) < 3 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    frame = pl.DataFrame({"first": first, "second": second}).with_columns(pl.all().round(9))
    return float(frame.select(pl.corr("first", "second", method="spearman")).item())


def _by_method(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair.method, []).append(pair)
    return found


def _reader(pairs: Sequence[Pair]) -> float:
    return fmean(pair.reader for pair in pairs)


def _engine(pairs: Sequence[Pair]) -> float:
    return fmean(pair.engine for pair in pairs)


def _table(names: Sequence[str], rows: Sequence[Sequence[object]], layout: Layout) -> str:
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [False] + [True] * (len(names) - 1)
    return layout.table(names, cells, numeric)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return MISSING if value is None else str(value)
