"""The charts, as Vega-Lite specifications over data sets that the page has by name; the first is ``assets/front.js``'.

Colours are names of the page's style (``@ink``), which the script replaces by those of the light or the dark theme.
Methods come in the order of the leaderboard, so no chart sorts. Beside every chart the page has its table.
"""

from __future__ import annotations

from typing import Any

from flows.reporting.html.words import TextCatalogue
from flows.reporting.leaderboard_rows import DIMENSIONS

Spec = dict[str, Any]

STEP = 19
"""Pixels for each method in charts that have a row for each."""
SCORES = {"domain": [0, 5]}
_LEGEND = {"orient": "top", "direction": "vertical", "labelLimit": 260}
_INTERVAL: Spec = {
    "mark": {"type": "rule", "aria": False, "strokeWidth": 2},
    "encoding": {"x": {"field": "ci_low", "type": "quantitative"}, "x2": {"field": "ci_high"}},
}
"""A line from the lower to the upper end of an interval."""
_POINT = {"type": "point", "filled": True, "size": 60, "opacity": 1}


def chart_specs(words: TextCatalogue) -> dict[str, Spec]:
    """Id of a chart → its specification."""
    made = {
        "heat": _heat(words),
        "forest": _forest(words),
        "sweeps": _sweeps(words),
        "task": _task(words),
        "change": _change(words),
        "facts": _facts(words),
        "split": _split(words),
    }
    return {
        id: {
            "width": "container",
            "autosize": {"type": "fit-x", "contains": "padding"},
            **spec,
            "description": words(f"chart.{id}_label"),
        }
        for id, spec in made.items()
    }


def _tips(w: TextCatalogue, **columns: str) -> list[Spec]:
    """The fields of a tooltip, the method first: each with the name of its title and, after a space, its format."""
    parted = {name: about.partition(" ") for name, about in {"method": "method", **columns}.items()}
    return [
        {"field": name, "title": w(f"col.{title}"), **({"format": format} if format else {})}
        for name, (title, _, format) in parted.items()
    ]


def _rows() -> Spec:
    return {"field": "method", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 210}}


def _matrix(w: TextCatalogue, data: str, column: Spec, *, label: str, **more: str) -> Spec:
    """Means as colours with the figure in each cell; the colours are read alike by the colour-blind."""
    figures = {"mean": "mean .2f", "ci_low": "ci_low .2f", "ci_high": "ci_high .2f", "n_answers": "answers ,"}
    tips = _tips(w, label=label, **figures, **more)
    return {
        "data": {"name": data},
        "height": {"step": STEP + 1},
        "encoding": {"y": _rows(), "x": column, "tooltip": tips},
        "layer": [
            {
                "mark": {"type": "rect", "aria": False},
                "encoding": {
                    "color": {
                        "field": "mean",
                        "type": "quantitative",
                        "title": None,
                        "legend": None,
                        "scale": {**SCORES, "scheme": "cividis"},
                    }
                },
            },
            {
                "mark": {"type": "text", "fontSize": 11, "aria": False},
                "encoding": {
                    "text": {"field": "mean", "type": "quantitative", "format": ".2f"},
                    "color": {"condition": {"test": "datum.mean < 2.3", "value": "#fff"}, "value": "#000"},
                },
            },
        ],
    }


def _labels(order: list[str] | None, **axis: bool) -> Spec:
    """The columns of a matrix, in this order or as they come."""
    place = {"orient": "top", "labelAngle": 0, "labelLimit": 110, **axis}
    return {"field": "label", "type": "nominal", "sort": order, "title": None, "axis": place}


def _heat(w: TextCatalogue) -> Spec:
    names = {name: w(f"dimension.{name}") for name in ("overall", *DIMENSIONS)}
    column = _labels(list(names.values()), labelOverlap=False)
    return _matrix(w, "dimensions", column, label="dimension")


def _split(w: TextCatalogue) -> Spec:
    return _matrix(w, "split", _labels(None), label="part", n_sessions="sessions ,")


def _forest(w: TextCatalogue) -> Spec:
    tips = _tips(
        w,
        difference="difference +.2f",
        ci_low="ci_low +.2f",
        ci_high="ci_high +.2f",
        p_in_dimension="p_in_dimension .2g",
        n_pairs="questions ,",
        detectable_difference="detectable .2f",
    )
    sure = [w("chart.sure"), w("chart.unsure")]
    kind: Spec = {"field": "verdict", "type": "nominal", "title": None}
    return {
        "data": {"name": "forest"},
        "height": {"step": STEP},
        "encoding": {
            "y": _rows(),
            "tooltip": tips,
            "color": {**kind, "scale": {"domain": sure, "range": ["@accent", "@muted"]}, "legend": _LEGEND},
        },
        "layer": [
            {
                "mark": {"type": "rule", "strokeDash": [3, 3], "color": "@ink", "aria": False},
                "data": {"values": [{"zero": 0}]},
                "encoding": {"x": {"field": "zero", "type": "quantitative"}, "y": None, "color": None, "tooltip": None},
            },
            _INTERVAL,
            {
                "mark": _POINT,
                "encoding": {
                    "x": {
                        "field": "difference",
                        "type": "quantitative",
                        "title": w("chart.forest_axis"),
                        "axis": {"tickCount": 8},
                    },
                    "shape": {**kind, "scale": {"domain": sure, "range": ["circle", "diamond"]}},
                },
            },
        ],
    }


def _sweeps(w: TextCatalogue) -> Spec:
    tips = _tips(w, sweep="sweep", value="value", retention="retention .0%", tokens_read="tokens_read ,.0f")
    which: Spec = {
        "field": "sweep",
        "type": "nominal",
        "sort": None,
        "title": None,
        "scale": {"scheme": "tableau10"},
        "legend": _LEGEND,
    }
    x = {
        "field": "tokens_read",
        "type": "quantitative",
        "title": w("chart.sweeps_axis"),
        "axis": {"format": "~s", "tickCount": 5},
    }
    y = {
        "field": "retention",
        "type": "quantitative",
        "title": w("col.retention"),
        "axis": {"format": "%"},
        "scale": {"zero": True},
    }
    names = {"type": "text", "dy": -10, "fontSize": 11, "aria": False}
    return {
        "data": {"name": "sweeps"},
        "height": 240,
        "encoding": {"x": x, "y": y, "color": which, "tooltip": tips},
        "layer": [
            {
                "mark": {"type": "line", "aria": False},
                "encoding": {"order": {"field": "place", "type": "quantitative"}, "tooltip": None},
            },
            {"mark": _POINT},
            {"mark": names, "encoding": {"text": {"field": "value"}, "tooltip": None}},
        ],
    }


def _task(w: TextCatalogue) -> Spec:
    parts = [w("col.context_tokens"), w("col.refetch_tokens")]
    tips = _tips(w, part="part", tokens="tokens ,.0f")
    return {
        "data": {"name": "task"},
        "height": {"step": STEP},
        "mark": {"type": "bar", "aria": False},
        "encoding": {
            "y": _rows(),
            "tooltip": tips,
            "x": {"field": "tokens", "type": "quantitative", "title": w("chart.task_axis"), "axis": {"format": "~s"}},
            "color": {
                "field": "part",
                "type": "nominal",
                "title": None,
                "sort": parts,
                "legend": _LEGEND,
                "scale": {"domain": parts, "range": ["@accent", "@warm"]},
            },
            "order": {"field": "place", "type": "quantitative"},
        },
    }


def _lines(data: str, y: Spec, tips: list[Spec], x_title: str, low_high: bool) -> Spec:
    who = {
        "field": "method",
        "type": "nominal",
        "sort": None,
        "title": None,
        "legend": {"orient": "bottom", "columns": 2, "labelLimit": 150},
    }
    layers: list[Spec] = [
        {"mark": {"type": "line", "aria": False}, "encoding": {"y": y}},
        {"mark": {"type": "point", "filled": True, "size": 55}, "encoding": {"y": y, "shape": {**who, "legend": None}}},
    ]
    if low_high:
        layers.insert(
            0,
            {
                "mark": {"type": "rule", "opacity": 0.35, "aria": False},
                "encoding": {"y": {"field": "ci_low", "type": "quantitative"}, "y2": {"field": "ci_high"}},
            },
        )
    x = {"field": "cycle", "type": "ordinal", "title": x_title, "axis": {"labelAngle": 0}}
    return {
        "data": {"name": data},
        "height": 280,
        "layer": layers,
        "encoding": {"x": x, "tooltip": tips, "color": {**who, "scale": {"scheme": "tableau10"}}},
    }


def _change(w: TextCatalogue) -> Spec:
    tips = _tips(
        w, cycle="cycle", change="change +.2f", ci_low="ci_low +.2f", ci_high="ci_high +.2f", n_compared="sessions ,"
    )
    y = {"field": "change", "type": "quantitative", "title": w("chart.change_axis")}
    return _lines("change", y, tips, w("col.cycle"), True)


def _facts(w: TextCatalogue) -> Spec:
    tips = _tips(w, cycle="age", facts_stated="facts_stated .1%", n_facts="n_facts ,")
    y = {
        "field": "facts_stated",
        "type": "quantitative",
        "title": w("chart.facts_axis"),
        "scale": {"domain": [0, 1]},
        "axis": {"format": "%"},
    }
    return _lines("facts", y, tips, w("col.age"), False)
