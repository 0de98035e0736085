"""The figures that the page's script draws and filters, as data in the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import orjson
from markupsafe import Markup

from flows.reporting.html.detail import Details
from flows.reporting.html.figures import Figures, Row
from flows.reporting.html.formats import format_short
from flows.reporting.html.visible import show_invisible
from flows.reporting.html.words import TextCatalogue
from flows.reporting.leaderboard_rows import DIMENSIONS
from flows.reporting.paired_differences import LEVEL
from flows.reporting.text_tables import rounded

MOST_SESSIONS = 1_000
"""Sessions in the list of a method, those first that put the methods farthest apart."""

_BOARD = tuple("method overall cost on_front context_tokens refetch_tokens is_control".split())
_FORGETTING = ("method", "cycle", "change", "ci_low", "ci_high", "n_compared", "facts_stated", "n_facts")
_PAIRS = tuple(
    "difference ci_low ci_high p_adjusted_in_dimension p_adjusted n_pairs n_sessions detectable_difference".split()
)


def page_data(
    figures: Figures, shown: Details, words: TextCatalogue, specs: Mapping[str, Any], *, texts: bool
) -> tuple[Row, Row]:
    """The data that every visit needs, and the paired differences; these are many, and packed by column."""
    methods = [row["method"] for row in figures.of("methods")]
    place = {method: number for number, method in enumerate(methods)}
    labels = {name: words(f"dimension.{name}") for name in ("overall", *DIMENSIONS)}
    here: dict[str, list[int]] = {}
    for session, cycle in shown.points:
        here.setdefault(session, []).append(cycle)
    sessions = [row for row in figures.of("sessions") if row["session_id"] in here]
    sessions += [row for row in figures.of("sessions") if row["session_id"] not in here][:MOST_SESSIONS]
    means: dict[str, list[Any]] = {row["session_id"]: [] for row in sessions}
    for row in figures.of("session_scores"):
        if row["session_id"] in means:
            means[row["session_id"]].append([place[row["method"]], _short(row["mean"]), row["n_answers"]])
    alike = figures.alike
    data = {
        "language": words.language,
        "level": LEVEL,
        "words": {**words.of("js"), **{f"probe_{name}": text for name, text in words.of("probe").items()}},
        "charts": specs,
        "verdicts": [words("chart.sure"), words("chart.unsure")],
        "parts": [words("col.context_tokens"), words("col.refetch_tokens")],
        "cost_in": next((row["cost_in"] for row in figures.of("methods") if row["cost_in"]), "tokens"),
        "board": [{name: _short(row[name]) for name in _BOARD} for row in figures.of("methods")],
        "dimensions": [
            {**{name: _short(value) for name, value in row.items()}, "label": labels[row["dimension"]]}
            for row in figures.of("dimensions")
            if row["dimension"] in labels and row["dimension"] not in alike
        ],
        "splits": _splits(figures, words),
        "sweeps": sweep_points(figures),
        "forgetting": [{name: _short(row[name]) for name in _FORGETTING} for row in figures.of("forgetting")],
        "criteria": {row["criterion"]: show_invisible(row["question"]) for row in figures.of("criteria")},
        "sessions": [
            {
                "id": row["session_id"],
                "title": format_short((texts and row["title"]) or row["session_id"]),
                "format": row["source_format"],
                "work": show_invisible(row["task_type"] or "–"),
                "n_points": row["n_points"],
                "n_probes": row["n_probes"],
                "here": here.get(row["session_id"], []),
                "means": means[row["session_id"]],
            }
            for row in sessions
        ],
    }
    pairs = figures.of("pairs")
    columns: Row = {name: [_short(row[name]) for row in pairs] for name in _PAIRS}
    columns["dimension"] = [row["dimension"] for row in pairs]
    columns["a"] = [place.get(row["method_a"], -1) for row in pairs]
    columns["b"] = [place.get(row["method_b"], -1) for row in pairs]
    return data, columns


def sweep_points(figures: Figures) -> list[Row]:
    """The points of each sweep's curve, in the order of its values; none without a sweep or where retention is unknown.

    A sweep is called by strategy and parameter, and by all that its methods have in common where two are called so.
    """
    rows = [row for row in figures.of("sweep") if row["retention"] is not None and not row["is_partial"]]
    sweeps = {(row["strategy"], row["parameter"], row["rest"], row["summarizer"], row["history"]) for row in rows}
    shared = Counter(sweep[:2] for sweep in sweeps)
    return [
        {
            "sweep": f"{row['strategy']} {row['parameter']}"
            + (_in_common(row) if shared[row["strategy"], row["parameter"]] > 1 else ""),
            "place": place,
            **{name: _short(row[name]) for name in ("method", "value", "retention", "tokens_read")},
        }
        for place, row in enumerate(rows)
    ]


def _in_common(row: Row) -> str:
    rest = [f"{name}={value}" for name, value in orjson.loads(row["rest"]).items()]
    return f" ({', '.join([*rest, *filter(None, [row['summarizer'], row['history']])])})"


def _splits(figures: Figures, words: TextCatalogue) -> list[Row]:
    places = {row["method"]: place for place, row in enumerate(figures.of("methods"))}
    rows = sorted(figures.of("splits"), key=lambda row: places.get(row["method"], len(places)))
    kinds = words.of("probe")
    return [
        {
            **{name: _short(value) for name, value in row.items()},
            "label": kinds.get(row["part"], row["part"])
            if row["split"] == "probe_type"
            else show_invisible(str(row["part"])),
        }
        for row in rows
    ]


def _short(value: Any) -> Any:
    """A number with the digits that a chart and its table can use."""
    return float(f"{rounded(value):.6g}") if isinstance(value, float) else value


def as_json(value: Any) -> Markup:
    """JSON without characters that could end the HTML element around it."""
    text = orjson.dumps(value, default=str).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 (nothing that HTML reads is left in it)
