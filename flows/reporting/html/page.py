"""Puts the page together: figures, details, words, style and scripts in one file that loads nothing.

The content-security policy is in the page. Scripts and the style are allowed by their hashes, everything else is
refused; data stand in elements that no browser runs.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from flows.database.scores_db import connect
from flows.reporting.html import library
from flows.reporting.html.charts import chart_specs
from flows.reporting.html.choice import ordered_points
from flows.reporting.html.detail import Details, collect_details, pack_json
from flows.reporting.html.figures import Figures, Row, load_figures
from flows.reporting.html.formats import FORMATS, quote_link
from flows.reporting.html.payload import as_json, page_data, sweep_points
from flows.reporting.html.said import summary_sentences
from flows.reporting.html.words import TextCatalogue, load_catalogue
from flows.reporting.leaderboard_rows import scored_dimensions
from flows.store.store import Store
from flows.support.atomic_files import write_output
from flows.support.choices import PAGE_BYTES
from flows.support.errors import UsageError
from flows.support.progress import Report, Silent
from flows.support.versions import VERSION

SECTIONS = tuple(
    """summary leaderboard recommend dimensions differences tokens forgetting splits more cost answers coverage
    judge""".split()
)
SCRIPTS = tuple(f"{name}.js" for name in "kit tables charts front messages drill lost beside timeline choices".split())
"""In the order in which they stand on each other; one element, so that the browser asks once. The last one is
``start.js``, and before it come ``live.js`` and ``grade.js`` where a server answers."""
SPLITS = ("probe_type", "task_type", "length", "source")


@dataclass(frozen=True)
class ReportFile:
    """A page that was written."""

    path: Path
    n_bytes: int
    judge: Row
    """Row of ``judges`` that its figures are by."""
    other_judges: list[Row]
    n_shown: int
    """Points whose texts are in it."""
    n_points: int
    """Points with a scored question that the store has."""
    has_charts: bool


def write_report(
    store: Store,
    out: Path,
    *,
    judge: str | None = None,
    language: str = "en",
    most_bytes: int = PAGE_BYTES,
    texts: bool = True,
    report: Report | None = None,
) -> ReportFile:
    """Make the page of a store.

    Args:
        store: An open store with a ``scores.duckdb``.
        out: The file to write; replaced as a whole when it is there.
        judge: A judge's name or the beginning of its id; without it the one with the most scored answers.
        language: ``en`` or ``zh``.
        most_bytes: Size that the page may have: points are shown in full as far as they fit.
        texts: Whether texts of sessions and answers go into it at all.
        report: Where progress is told; nowhere without it.

    Raises:
        StoreError: the store has no database, or one of another version.
        UsageError: nothing has been scored, no such judge, or the page has no room even without single points.
    """
    said = load_catalogue(language)
    with connect(store.database) as connection:
        found = load_figures(connection, judge)
        code = chart_script() if library.is_installed() else None
        whole = bare = _page(store, found, Details({}, [], 0), said, code, texts=texts)
        shown = Details({}, [], 0)
        room = most_bytes - len(bare)
        if room < 0:
            raise UsageError(
                f"the page needs {len(bare) / 1e6:.1f} MB without any texts, more than the {most_bytes / 1e6:g} MB "
                "that it may have; allow more with --max-mb"
            )
        if texts:
            with (report or Silent()).stage("texts", len(list(ordered_points(found))), "points") as told:
                shown = collect_details(connection, store, found, room, lambda: told.advance(1))
            whole = _page(store, found, shown, said, code, texts=True)
    write_output(out, whole)
    return ReportFile(
        out, len(whole), found.judge, found.other_judges, len(shown.points), shown.n_points, code is not None
    )


def live_page(store: Store, found: Figures, language: str = "en") -> bytes:
    """The page for a server that answers its script: without sessions, contexts and the library that draws charts.

    The script asks beside the page for ``charts.js`` and ``data/…`` (``flows.viewing``).
    """
    return _page(store, found, Details({}, [], 0), load_catalogue(language), None, texts=True, is_live=True)


@cache
def chart_script() -> str:
    """The library that draws charts, as a script; takes about two seconds the first time."""
    return f"(()=>{{{library.bundle()}\n}})();"


@cache
def _asset(name: str) -> str:
    return files("flows.reporting.html").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= FORMATS
    return environment.from_string(_asset("page.html.jinja"))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


NOBODY = "'none'"


def content_policy(scripts: list[str], style: str, *, is_live: bool = False) -> str:
    """The page's content policy: these scripts and this style alone may run; a live one asks its own server too.

    Charts set single properties of style on what they draw, which is allowed by ``style-src-attr`` alone.
    """
    own = ["'self'"] if is_live else []
    return (
        f"default-src 'none'; script-src {' '.join([*map(_hash, scripts), *own])}; style-src {_hash(style)}; "
        f"connect-src {' '.join(own) or NOBODY}; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _page(
    store: Store,
    found: Figures,
    shown: Details,
    said: TextCatalogue,
    code: str | None,
    *,
    texts: bool,
    is_live: bool = False,
) -> bytes:
    style = _asset("style.css")
    scripts = [
        *([code] if code else []),
        "\n".join(map(_asset, [*SCRIPTS, *(["live.js", "grade.js"] if is_live else []), "start.js"])),
    ]
    has_charts = code is not None or (is_live and library.is_installed())
    data, pairs = page_data(found, shown, said, chart_specs(said), texts=texts)
    data |= {"is_live": is_live, "has_charts": has_charts, "judge": found.judge["judge_id"]}
    html = _template().render(
        **_values(store, found, shown, said, texts=texts, is_live=is_live),
        csp=content_policy(scripts, style, is_live=is_live),
        style=Markup(style),  # noqa: S704 (files of this package)
        scripts=[Markup(text) for text in scripts],  # noqa: S704 (the same, and the installed library)
        data=as_json(data),
        packs={"pairs": pack_json(pairs).decode(), **{session: pack.decode() for session, pack in shown.packs.items()}},
        has_charts=has_charts,
        drawn_by=library.version() if has_charts else "",
        install=library.INSTALL,
    )
    return html.encode()


def _values(
    store: Store, found: Figures, shown: Details, said: TextCatalogue, *, texts: bool, is_live: bool
) -> Mapping[str, Any]:
    """The values of the template, besides style, scripts and data."""
    board = found.of("methods")
    best = found.contenders[0]["method"] if found.contenders else ""
    at = set(shown.points)
    losses = [
        {
            **row,
            "question": row["question"] if texts else "",
            "href": _loss_link(row) if is_live or _at(row) in at else "",
        }
        for row in found.of("losses")
    ]
    optional = {"recommend": found.recommendation, "more": found.of("recovery") or found.of("next_action")}
    titles = {row["session_id"]: row["title"] or row["session_id"] for row in found.of("sessions")}
    return {
        "w": said,
        "version": VERSION,
        "made_at": datetime.now(UTC),
        "store_name": store.root.name,
        "judge": found.judge,
        "other_judges": found.other_judges,
        "about": found.about,
        "sections": [name for name in SECTIONS if optional.get(name, True)],
        "dimensions": [name for name in scored_dimensions(found.of("methods")) if name not in found.alike],
        "all_dimensions": scored_dimensions(found.of("methods")),
        "alike": found.alike,
        "bar": _bar_scale(found.contenders),
        "board": board,
        "best": best,
        "has_partial": any(row["is_partial"] for row in board),
        "summary": summary_sentences(found, said),
        "recommended": found.recommendation,
        "weakest": found.of("weakest_dimension"),
        "forgetting": found.of("forgetting"),
        "split_names": SPLITS,
        "sweeps": sweep_points(found),
        "costs": found.of("costs"),
        "recovery": found.of("recovery"),
        "next_action": found.of("next_action"),
        "history": "chain" if any(row["history"] == "chain" for row in board) else "prefix",
        "losses": losses,
        "first_loss": next((row for row in losses if row["place"] == 2 and row["href"]), None),
        "missing": found.of("what_is_missing"),
        "coverage": found.of("coverage"),
        "criteria": found.of("criteria"),
        "agreement": found.of("agreement"),
        "has_people": any(row["kind"] == "judge and people" for row in found.of("agreement")),
        "has_details": texts,
        "is_live": is_live,
        "n_shown": len(shown.points),
        "n_points": shown.n_points,
        "shown_points": [
            {"href": _href(best, session, cycle), "title": titles[session], "cycle": cycle}
            for session, cycle in shown.points
        ],
        "stage": lambda name: said.of("stage").get(name, name),
    }


def _bar_scale(contenders: list[Row]) -> Callable[[float], float]:
    """The place of a score on the leaderboard's bars, 3 to 97; they span the intervals of all methods."""
    ends = [row[name] for row in contenders for name in ("overall", "ci_low", "ci_high") if row[name] is not None]
    low, high = min(ends, default=0.0), max(ends, default=5.0)
    return lambda score: round(3 + 94 * min(max((score - low) / ((high - low) or 1), 0), 1), 1)


def _at(row: Row) -> tuple[str, int]:
    return row["session_id"], row["cycle"]


def _loss_link(row: Row) -> str:
    return _href(row["method"], *_at(row), row["probe_type"])


def _href(*parts: str | int) -> str:
    return "#/" + "/".join(quote_link(str(part)) for part in parts)
