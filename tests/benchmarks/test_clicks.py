"""The time from a click to what it shows, in Chromium, for each kind of view over a million answers.

``COMPACTION_EVAL_BENCH_STORE`` names a store with results, which is only read; its rows stand in the measured database
``COMPACTION_EVAL_BENCH_TIMES`` times (47), under ids of their own. ``COMPACTION_EVAL_BENCH_DIR`` keeps that for the
next run. ``first`` is the first click of its kind, ``median`` and ``worst`` are of the others.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from flows.database.database_draft import MATERIALIZED, SEEDED, new_database
from flows.database.sql_model import schemas
from flows.store.store import Store
from tests.flows.reporting.html.report_browser import Browser, open_browser
from tests.flows.viewing.live_view import needs_browser, rows, viewed

OWN = os.environ.get("COMPACTION_EVAL_BENCH_STORE", "")
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.timeout(7_200),
    *needs_browser,
    pytest.mark.skipif(not OWN, reason="needs a store of one's own"),
]

IDS = {"answer_id", "compaction_id", "point_id", "probe_id", "session_id", "parent_session_id", "recorded_id"}
SESSIONS = 10_000
"""Sessions that the database may have; further copies are of those with points alone."""
CLICKS = 6
DRAWN = """
    const [link, done] = arguments, begun = performance.now();
    new MutationObserver((_, watch) => {
        watch.disconnect();
        const tell = () => done([performance.now() - begun, drill.querySelector("h1").textContent]);
        requestAnimationFrame(() => setTimeout(tell));
    }).observe(drill, { childList: true });
    location.hash = link;
"""


def multiply(source: Path, out: Path, times: int) -> None:
    """Make a database with the rows of another one so many times."""
    with new_database(out) as draft:
        draft.connection.execute(f"ATTACH '{source}' AS one (READ_ONLY)")
        n_sessions = draft.connection.execute("SELECT count(*) FROM one.sessions").fetchall()[0][0]
        for table in sorted(schemas().keys() - MATERIALIZED.keys() - {*SEEDED, "checks"}):
            names = schemas()[table].names
            ids = [name for name in names if name in IDS]
            draft.connection.execute(f'DELETE FROM "{table}"')
            for copy in range(times if ids else 1):
                columns = ", ".join(
                    f'"{name}" || \'-{copy}\' AS "{name}"' if copy and name in ids else f'"{name}"' for name in names
                )
                is_full = table == "sessions" and (copy + 1) * n_sessions > SESSIONS
                where = "WHERE session_id IN (SELECT session_id FROM one.points)" if is_full else ""
                draft.connection.execute(
                    f'INSERT INTO "{table}" BY NAME SELECT {columns} FROM one.main."{table}" {where}'
                )
        draft.connection.execute("DETACH one")
        for name in MATERIALIZED:
            draft.materialize(name)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The store with the larger database, beside its own files."""
    root = tmp_path_factory.mktemp("clicks") / "store"
    shutil.copytree(OWN, root, ignore=shutil.ignore_patterns("scores.duckdb"))
    kept = Path(os.environ.get("COMPACTION_EVAL_BENCH_DIR") or root.parent) / "many.duckdb"
    if not kept.is_file():
        multiply(Path(OWN) / "scores.duckdb", kept, int(os.environ.get("COMPACTION_EVAL_BENCH_TIMES", "47")))
    (root / "scores.duckdb").symlink_to(kept)
    return Store.open(str(root))


@pytest.fixture(scope="module")
def page(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("browser")
    with open_browser(folder / "profile") as browser, viewed(store, "--labels", str(folder / "a.csv")) as address:
        browser.size(1400)
        browser.driver.set_script_timeout(120)
        for visit in ("first", "again"):
            begun = time.perf_counter()
            browser.driver.get(f"{address}/")
            browser.until("typeof pairs !== 'undefined' && pairs !== null")
            print(f"\nthe page, {visit}: {1000 * (time.perf_counter() - begun):.0f} ms", end="")
        yield browser


def links(store: Store) -> dict[str, list[str]]:
    """Addresses of every kind of view, of points whose messages the store has."""
    methods = rows(
        store, "SELECT method FROM fronts JOIN stg_methods USING (method) WHERE NOT is_control ORDER BY line"
    )
    board = [quote(row["method"], safe="") for row in methods]
    points = [
        (quote(row["session_id"], safe=""), row["cycle"])
        for row in rows(
            store,
            "SELECT session_id, max(cycle) AS cycle FROM int_answer_scores JOIN sessions USING (session_id) WHERE "
            "n_messages > 100 AND NOT regexp_matches(session_id, '-[0-9]{1,2}$') "
            f"GROUP BY ALL ORDER BY ALL LIMIT {CLICKS}",
        )
    ]
    best, other = board[:2]
    first = f"#beside/{'/'.join(map(str, points[0]))}/all"
    return {
        "method": [f"#/{method}" for method in board[:CLICKS]],
        "session": [f"#/{best}/{session}" for session, _ in points],
        "answer": [f"#/{best}/{session}/{cycle}" for session, cycle in points],
        "side by side": [f"#beside/{session}/{cycle}/all/-/{best}/{other}" for session, cycle in points],
        "another question": [f"{first}/{kind}/{best}/{other}" for kind in ("artifact", "recall", "-", "artifact")],
        "another method": [f"{first}/artifact/{best}/{method}" for method in board[2:CLICKS]],
        "over time": [f"#timeline/{session}/{best}" for session, _ in points],
        "nights": ["#nights", "#sql", "#nights"],
        "SQL": ["#sql", "#sql/FROM%20leaderboard", "#sql/FROM%20fronts"],
        "an answer to grade": ["#grade"] * 4,
    }


def test_clicks(page: Browser, store: Store) -> None:
    [counts] = rows(store, "SELECT (SELECT count(*) FROM sessions) AS s, (SELECT count(*) FROM answers) AS a")
    print(f"\n{counts['s']:,} sessions, {counts['a']:,} answers; ms")
    for kind, addresses in links(store).items():
        times: list[float] = []
        for address in addresses:
            found: tuple[float, Any] = page.driver.execute_async_script(DRAWN, address)
            times.append(found[0])
            assert "cannot be read" not in found[1], (address, found[1])
            assert "Nothing here" not in found[1], (address, found[1])
        rest = times[1:]
        print(f"{kind:<20} first {times[0]:6.0f}  median {statistics.median(rest):6.0f}  worst {max(rest):6.0f}")
