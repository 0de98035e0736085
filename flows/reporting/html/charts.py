"""The charts, as Vega-Lite specifications over data sets that the page has by name.

Colours are names of the page's style (``@ink``), which the script replaces by those of the light or the dark theme.
Methods come in the order of the leaderboard, so no chart sorts. Beside every chart the page has its table.
"""

from __future__ import annotations

from typing import Any

from flows.reporting.html.words import TextCatalogue
from flows.reporting.leaderboard import DIMENSIONS

Spec = dict[str, Any]

STEP = 19
"""Pixels for each method in charts that have a row for each."""
SCORES = {"domain": [0, 5]}
_LEGEND = {"orient": "top", "direction": "vertical", "labelLimit": 260}


def chart_specs(words: TextCatalogue) -> dict[str, Spec]:
    """Id of a chart → its specification."""
    made = {
        "overall": _overall(words),
        "heat": _heat(words),
        "forest": _forest(words),
        "pareto": _pareto(words),
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


def _field(name: str, title: str, format: str | None = None) -> Spec:
    return {"field": name, "title": title, **({"format": format} if format else {})}


def _rows() -> Spec:
    return {"field": "method", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 210}}


def _score_axis(field: str, title: str) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, "scale": SCORES}


def _overall(w: TextCatalogue) -> Spec:
    tips = [
        _field("method", w("col.method")),
        _field("overall", w("col.overall"), ".2f"),
        _field("ci_low", w("col.ci_low"), ".2f"),
        _field("ci_high", w("col.ci_high"), ".2f"),
        _field("tie_group", w("col.group")),
        _field("n_answers", w("col.answers"), ","),
    ]
    colour = {"condition": {"test": "datum.is_control", "value": "@muted"}, "value": "@accent"}
    return {
        "data": {"name": "board"},
        "height": {"step": STEP},
        "layer": [
            {
                "mark": {"type": "rule", "aria": False, "strokeWidth": 2},
                "encoding": {"x": {"field": "ci_low", "type": "quantitative"}, "x2": {"field": "ci_high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {"x": _score_axis("overall", w("chart.overall_axis"))},
            },
        ],
        "encoding": {"y": _rows(), "color": colour, "tooltip": tips},
    }


def _matrix(data: str, column: Spec, tips: list[Spec]) -> Spec:
    """Means as colours with the figure in each cell; the colours are read alike by the colour-blind."""
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
                    "color": {"condition": {"test": "datum.mean < 2.6", "value": "#fff"}, "value": "#000"},
                },
            },
        ],
    }


def _heat(w: TextCatalogue) -> Spec:
    names = {name: w(f"dimension.{name}") for name in ("overall", *DIMENSIONS)}
    column = {
        "field": "label",
        "type": "nominal",
        "sort": list(names.values()),
        "title": None,
        "axis": {"orient": "top", "labelAngle": 0, "labelLimit": 110, "labelOverlap": False},
    }
    tips = [
        _field("method", w("col.method")),
        _field("label", w("col.dimension")),
        _field("mean", w("col.mean"), ".2f"),
        _field("ci_low", w("col.ci_low"), ".2f"),
        _field("ci_high", w("col.ci_high"), ".2f"),
        _field("n_answers", w("col.answers"), ","),
    ]
    return _matrix("dimensions", column, tips)


def _split(w: TextCatalogue) -> Spec:
    column = {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"orient": "top", "labelAngle": 0, "labelLimit": 110},
    }
    tips = [
        _field("method", w("col.method")),
        _field("label", w("col.part")),
        _field("mean", w("col.mean"), ".2f"),
        _field("ci_low", w("col.ci_low"), ".2f"),
        _field("ci_high", w("col.ci_high"), ".2f"),
        _field("n_answers", w("col.answers"), ","),
        _field("n_sessions", w("col.sessions"), ","),
    ]
    return _matrix("split", column, tips)


def _forest(w: TextCatalogue) -> Spec:
    tips = [
        _field("method", w("col.method")),
        _field("difference", w("col.difference"), "+.2f"),
        _field("ci_low", w("col.ci_low"), "+.2f"),
        _field("ci_high", w("col.ci_high"), "+.2f"),
        _field("p_in_dimension", w("col.p_in_dimension"), ".2g"),
        _field("n_pairs", w("col.questions"), ","),
        _field("detectable_difference", w("col.detectable"), ".2f"),
    ]
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
            {
                "mark": {"type": "rule", "aria": False, "strokeWidth": 2},
                "encoding": {"x": {"field": "ci_low", "type": "quantitative"}, "x2": {"field": "ci_high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
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


def _pareto(w: TextCatalogue) -> Spec:
    tips = [
        _field("method", w("col.method")),
        _field("overall", w("col.overall"), ".2f"),
        _field("tokens_read", w("col.tokens_read"), ",.0f"),
        _field("dominated_by", w("col.dominated_by")),
    ]
    places = [w("chart.on_frontier"), w("chart.off_frontier")]
    kind: Spec = {"field": "place", "type": "nominal", "title": None}
    x = {
        "field": "tokens_read",
        "type": "quantitative",
        "title": w("chart.pareto_axis"),
        "scale": {"type": "log"},
        "axis": {"format": "~s", "tickCount": 5},
    }
    y = {**_score_axis("overall", w("col.overall"))}
    frontier = [{"filter": "datum.on_frontier"}]
    return {
        "data": {"name": "board"},
        "height": 380,
        "transform": [{"filter": "datum.tokens_read > 0"}],
        "encoding": {"x": x, "y": y, "tooltip": tips},
        "layer": [
            {
                "transform": frontier,
                "mark": {
                    "type": "line",
                    "interpolate": "step-after",
                    "color": "@accent",
                    "opacity": 0.5,
                    "aria": False,
                },
                "encoding": {"order": {"field": "tokens_read", "type": "quantitative"}, "tooltip": None},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 0.9},
                "encoding": {
                    "color": {**kind, "scale": {"domain": places, "range": ["@accent", "@muted"]}, "legend": _LEGEND},
                    "shape": {**kind, "scale": {"domain": places, "range": ["circle", "diamond"]}},
                },
            },
            _frontier_names("", 13),
            _frontier_names("!", -8),
        ],
    }


def _frontier_names(test: str, dy: int) -> Spec:
    """The names of every other method of the frontier, so many pixels below its point."""
    mark = {
        "type": "text",
        "align": "right",
        "dx": -7,
        "dy": dy,
        "fontSize": 11,
        "color": "@ink",
        "limit": 190,
        "aria": False,
    }
    return {
        "transform": [{"filter": f"datum.on_frontier && {test}datum.is_odd"}],
        "mark": mark,
        "encoding": {"text": {"field": "method"}, "tooltip": None},
    }


def _task(w: TextCatalogue) -> Spec:
    parts = [w("col.context_tokens"), w("col.refetch_tokens")]
    tips = [_field("method", w("col.method")), _field("part", w("col.part")), _field("tokens", w("col.tokens"), ",.0f")]
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
    tips = [
        _field("method", w("col.method")),
        _field("cycle", w("col.cycle")),
        _field("change", w("col.change"), "+.2f"),
        _field("ci_low", w("col.ci_low"), "+.2f"),
        _field("ci_high", w("col.ci_high"), "+.2f"),
        _field("n_compared", w("col.sessions"), ","),
    ]
    y = {"field": "change", "type": "quantitative", "title": w("chart.change_axis")}
    return _lines("change", y, tips, w("col.cycle"), True)


def _facts(w: TextCatalogue) -> Spec:
    tips = [
        _field("method", w("col.method")),
        _field("cycle", w("col.age")),
        _field("facts_stated", w("col.facts_stated"), ".1%"),
        _field("n_facts", w("col.n_facts"), ","),
    ]
    y = {
        "field": "facts_stated",
        "type": "quantitative",
        "title": w("chart.facts_axis"),
        "scale": {"domain": [0, 1]},
        "axis": {"format": "%"},
    }
    return _lines("facts", y, tips, w("col.age"), False)
