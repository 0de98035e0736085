"""Charts of results for notebooks: Vega-Lite specifications that JupyterLab and VS Code draw by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from flows.database.sql_model import sql_text

Spec = dict[str, Any]

MIME = "application/vnd.vegalite.v5+json"
"""Type of the specifications by which a notebook knows what to draw."""
SCORES = {"domain": [0, 5]}
NO_MODEL = "No language model gave these scores: facts, by formula"


@dataclass(frozen=True)
class Chart:
    """A chart; as the last value of a notebook's cell it is drawn."""

    spec: Spec
    """Vega-Lite specification (version 5) with its data."""
    frame: pl.DataFrame
    """The rows that are drawn."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """Give the notebook the picture, and the rows where it cannot draw (IPython's protocol)."""
        return {MIME: self.spec, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"{self.spec['title']['text']}\n{self.frame}"


def _quantity(field: str, title: str, **more: Any) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, **more}


def _methods(frame: pl.DataFrame) -> Spec:
    """Methods from top to bottom, in the order of the rows."""
    order = frame["method"].unique(maintain_order=True).to_list()
    return {"field": "method", "type": "nominal", "sort": order, "title": None, "axis": {"labelLimit": 260}}


def _front_colour() -> Spec:
    legend = {"title": "no other keeps as much for less"}
    return {"field": "on_front", "type": "nominal", "legend": legend, "scale": {"scheme": "tableau10"}}


def _leaderboard(frame: pl.DataFrame) -> Spec:
    y, tips = _methods(frame), {"tooltip": [{"field": name} for name in ("method", "overall", "ci_low", "ci_high")]}
    interval = {"x": _quantity("ci_low", "overall, 0 to 5", scale=SCORES), "x2": {"field": "ci_high"}}
    point = {"x": _quantity("overall", "overall, 0 to 5", scale=SCORES), "color": _front_colour()}
    return {
        "layer": [
            {"mark": "rule", "encoding": {"y": y, **interval}},
            {"mark": {"type": "point", "filled": True}, "encoding": {"y": y, **point, **tips}},
        ]
    }


def _price(frame: pl.DataFrame) -> Spec:
    cost_in = str(frame["cost_in"].drop_nulls().first())
    title = "tokens that a question was answered from" if cost_in == "tokens" else f"US dollars a session ({cost_in})"
    place = {
        "x": _quantity("cost", title, scale={"type": "log", "nice": False}),
        "y": _quantity("overall", "overall, 0 to 5", scale={"zero": False}),
    }
    tips = {"tooltip": [{"field": name} for name in ("method", "overall", "cost")]}
    on_front = {"transform": [{"filter": "datum.on_front"}], "encoding": place}
    return {
        "width": 480,
        "height": 320,
        "transform": [{"filter": "datum.cost > 0"}],
        "layer": [
            {"mark": {"type": "line", "interpolate": "step-after"}, **on_front},
            {"mark": {"type": "point", "filled": True}, "encoding": {**place, "color": _front_colour(), **tips}},
        ],
    }


def _dimensions(frame: pl.DataFrame) -> Spec:
    x = {"field": "dimension", "type": "nominal", "title": None, "sort": None}
    colour = _quantity("mean", "mean", scale={**SCORES, "scheme": "viridis"})
    tips = [{"field": name} for name in ("method", "dimension", "mean")]
    return {"mark": "rect", "encoding": {"x": x, "y": _methods(frame), "color": colour, "tooltip": tips}}


_MADE: Mapping[str, tuple[str, str, Callable[[pl.DataFrame], Spec]]] = {
    "leaderboard": ("methods", "Overall of every method, with its 95 % interval", _leaderboard),
    "price": ("methods", "Quality against price", _price),
    "dimensions": ("dimensions", "Means by method and dimension", _dimensions),
}
"""Name of a chart → its query in ``sql/queries/notebook``, its title, and what draws it."""

CHARTS = tuple(_MADE)
"""Names of the charts."""


def chart_query(name: str) -> str:
    """The query of a chart's rows; its variable is ``judge_id``. Raises KeyError where there is no such chart."""
    return sql_text("queries/notebook", _MADE[name][0])


def make_chart(name: str, frame: pl.DataFrame, *, embedded: bool) -> Chart:
    """Make a chart of ``CHARTS``.

    Args:
        name: Its name.
        frame: The rows of its query.
        embedded: Whether the scores are the embedded judge's; the chart says so.
    """
    _, text, draw = _MADE[name]
    title = {"text": text, "anchor": "start", **({"subtitle": NO_MODEL} if embedded else {})}
    values = frame.with_columns(pl.selectors.float().round(4)).to_dicts()
    schema = "https://vega.github.io/schema/vega-lite/v5.json"
    return Chart({"$schema": schema, "title": title, "data": {"values": values}, **draw(frame)}, frame)
