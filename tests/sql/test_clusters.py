"""Intervals by project where there are ten: against matrices, a bootstrap, statsmodels, and one session a project."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from compaction.reading.file_paths import find_project
from flows.database.scores_db import connect
from flows.reporting.clusters import describe_clusters
from tests.sql.figures import close, rows
from tests.sql.simulated import Design, write
from tests.sql.test_intervals import answers_of, by_matrices, differences_of
from tests.sql.tiny import Rows, graded, make

SQL = Path(__file__).parents[2] / "sql"
OF_TWELVE = Design(
    means=((3.0, 2.4), (3.1, 2.6), (2.8, 2.4)),
    sessions=40,
    size_sigma=0.8,
    probes=4,
    missing=0.1,
    projects=12,
    method_project=0.3,
)
MARTS = (
    "leaderboard_long",
    "leaderboard_by_probe_type",
    "leaderboard_by_task_type",
    "paired_differences",
    "against_baseline",
    "retention",
    "pareto",
    "matched_budget",
)


def projects_of(path: Path) -> dict[str, str]:
    """Session → its project, else itself."""
    return dict(rows(path, "SELECT session_id, coalesce(project, session_id) FROM sessions"))


def by_project(path: Path, sessions: npt.NDArray[Any]) -> npt.NDArray[Any]:
    of = projects_of(path)
    return np.array([of[session] for session in sessions])


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write({"twelve": OF_TWELVE.draw(1, seed=3)}, tmp_path_factory.mktemp("twelve"))


def test_errors_of_means_and_differences_are_those_of_the_papers_matrices_over_projects(twelve: Path) -> None:
    columns = "std_error, df, ci_low, ci_high, n_clusters, n_sessions"
    given = {("mean", *key): values for key, values in answers_of(twelve).items()}
    given |= {("difference", *key): values for key, values in differences_of(twelve).items()}
    found = rows(twelve, f"SELECT 'mean', method, dimension, mean, {columns} FROM leaderboard_long")
    found = [(kind, (method, dimension), *rest) for kind, method, dimension, *rest in found]
    pairs = rows(twelve, f"SELECT dimension, method_a, method_b, difference, {columns} FROM paired_differences")
    found += [("difference", (dimension, a, b), *rest) for dimension, a, b, *rest in pairs]
    assert len(found) == len(given) == 18
    for kind, key, *figures in found:
        values, sessions = given[kind, *key]
        mean, error, df = by_matrices(values, by_project(twelve, sessions))
        half = stats.t.ppf(0.975, df) * error
        assert figures == pytest.approx([mean, error, df, mean - half, mean + half, 12, len(set(sessions))], rel=1e-6)
    with connect(twelve) as connection:
        assert describe_clusters(connection) == "clustered by project, 12 of them"


def test_with_projects_of_one_size_the_error_is_statsmodels(tmp_path: Path) -> None:
    import statsmodels.api as sm

    path = write({"equal": replace(OF_TWELVE, sessions=36, size_sigma=0, missing=0).draw(1, seed=5)}, tmp_path)
    answers = answers_of(path)
    found = rows(path, "SELECT method, dimension, std_error, df FROM leaderboard_long")
    assert len(found) == 9
    for method, dimension, *figures in found:
        scores, sessions = answers[method, dimension]
        numbers = np.unique(by_project(path, sessions), return_inverse=True)[1]
        fitted = sm.OLS(scores, np.ones(scores.size)).fit(cov_type="cluster", cov_kwds={"groups": numbers})
        assert figures == pytest.approx([fitted.bse.item(), 11], rel=1e-9)


def test_errors_are_those_of_a_bootstrap_that_draws_projects(tmp_path: Path) -> None:
    """And by sessions they would be much smaller: projects differ."""
    path = write({"many": replace(OF_TWELVE, sessions=120, projects=40, size_sigma=0.3).draw(1, seed=7)}, tmp_path)
    rng = np.random.default_rng(7)
    differences = differences_of(path)
    for error, *key in rows(path, "SELECT std_error, dimension, method_a, method_b FROM paired_differences"):
        values, sessions = differences[tuple(key)]  # type: ignore[index]
        errors = []
        for clusters in (by_project(path, sessions), sessions):
            numbers = np.unique(clusters, return_inverse=True)[1]
            totals, counts = np.bincount(numbers, values), np.bincount(numbers)
            drawn = rng.integers(0, totals.size, size=(2000, totals.size))
            errors.append(np.std(totals[drawn].sum(axis=1) / counts[drawn].sum(axis=1), ddof=1))
        assert error == pytest.approx(errors[0], rel=0.1)
        assert error > 1.2 * errors[1]


def test_nine_projects_change_no_figure(tmp_path: Path) -> None:
    design = replace(OF_TWELVE, projects=9)
    known = write({"nine": design.draw(1, seed=9)}, tmp_path / "known")
    unknown = write({"nine": replace(design, names_projects=False).draw(1, seed=9)}, tmp_path / "unknown")
    assert rows(known, "SELECT count(DISTINCT project) FROM sessions") == [(9,)]
    for mart in (*MARTS, "cliffs", "rank_intervals"):
        found = rows(known, f"FROM {mart}")
        assert close(found, rows(unknown, f"FROM {mart}")), mart
        assert found or mart == "retention"
    with connect(known) as connection:
        assert describe_clusters(connection) == "clustered by session"


def of_projects(n_projects: int, *, as_sessions: bool = False) -> Rows:
    """Scores of two or more sessions a project and of two without one; or of one session each with all of it."""
    rng = np.random.default_rng(4)
    overall: dict[str, dict[tuple[str, str], float]] = {}
    for method, mean in {"none": 4.6, "a": 4.0, "b": 3.8, "recency": 3.0, "empty": 1.0}.items():
        of_cluster = rng.normal(mean, 0.3, n_projects + 2)
        overall[method] = {}
        for s in range(2 * n_projects + 7):
            at = s % n_projects if s < 2 * n_projects + 5 else n_projects + s % 2
            for q in range(1 + s % 3):
                score = float(np.clip(of_cluster[at] + rng.normal(0, 0.2), 0, 5))
                if rng.random() < 0.9:
                    overall[method][(f"c{at}", f"s{s}q{q}") if as_sessions else (f"c{at}s{s}", f"q{q}")] = score
    made = graded(overall)
    for row in made["sessions"]:
        at = int(row["session_id"][1:].partition("s")[0])
        row["project"] = None if as_sessions or at >= n_projects else f"/home/me/p{at}"
    return made


def test_every_mart_is_as_if_a_project_were_one_session(tmp_path: Path) -> None:
    """Sessions without a project stand by themselves."""
    by_project = make(of_projects(10), tmp_path / "projects")
    by_session = make(of_projects(10, as_sessions=True), tmp_path / "sessions")
    for mart in MARTS:
        names = [name for name, *_ in rows(by_project, f"DESCRIBE {mart}") if name != "n_sessions"]
        found = rows(by_project, f"SELECT {', '.join(names)} FROM {mart} ORDER BY ALL")
        assert len(found) >= 5, mart
        assert close(found, rows(by_session, f"SELECT {', '.join(names)} FROM {mart} ORDER BY ALL")), mart
    counts = "SELECT max(n_sessions), max(n_clusters) FROM leaderboard_long"
    assert rows(by_project, counts) == [(27, 12)]
    assert rows(by_session, counts) == [(12, 12)]
    with connect(by_project) as connection:
        assert describe_clusters(connection).endswith("10 of them (sessions without one by themselves: 2)")


def test_falls_of_sessions_are_clustered_by_project_too(twelve: Path) -> None:
    """Each session counts once, whatever its project: by plain loops."""
    of = projects_of(twelve)
    means: dict[tuple[str, str, int], list[float]] = {}
    scored = "SELECT method_id, session_id, cycle, score FROM int_answer_scores WHERE dimension = 'overall'"
    for method, session, cycle, score in rows(twelve, scored):
        means.setdefault((method, session, cycle), []).append(score)
    falls: dict[tuple[str, int], tuple[list[float], list[str]]] = {}
    for (method, session, cycle), later in sorted(means.items()):
        if (method, session, cycle - 1) in means:
            values, clusters = falls.setdefault((method, cycle), ([], []))
            values.append(float(np.mean(means[method, session, cycle - 1]) - np.mean(later)))
            clusters.append(of[session])
    found = rows(twelve, "SELECT method, cycle, fall, ci_low, n_sessions, n_clusters FROM cliffs")
    assert len(found) == len(falls) > 3
    shared = 0
    for method, cycle, fall, low, n_sessions, n_clusters in found:
        values, clusters = falls[method, cycle]
        assert (n_sessions, n_clusters) == (len(values), len(set(clusters)))
        assert fall == pytest.approx(np.mean(values))
        if n_clusters > 1:
            mean, error, df = by_matrices(np.array(values), np.array(clusters))
            assert low == pytest.approx(mean - stats.t.ppf(0.975, df) * error, rel=1e-6)
            shared += n_sessions > n_clusters
    assert shared > 2


def test_whatever_gives_an_interval_knows_clusters() -> None:
    """A file that calls the macros of clustered errors groups by clusters before."""
    macros = r"\b(?:cluster_figures|cluster_sums|cluster_deviation|prediction_powered)\("
    files = [path for path in SQL.rglob("*.sql") if path.parent.name != "macros"]
    code = {path.name: re.sub("--.*", "", path.read_text(encoding="utf-8")) for path in files}
    found = [name for name, text in code.items() if re.search(macros, text)]
    assert len(found) >= 20
    told = ("stg_clusters", "agg_cluster_scores", "head.cluster", "int_comparisons")
    assert [name for name in found if not any(word in code[name] for word in told)] == []


@pytest.mark.parametrize(
    ("cwd", "project"),
    [
        ("/home/me/work/shop/", "/home/me/work/shop"),
        ("/home/me/shop/.worktrees/fix-1", "/home/me/shop"),
        ("/home/me/shop/.claude/worktrees/agent-a/src", "/home/me/shop"),
        ("/home/me/shop.worktrees/fix", "/home/me/shop"),
        ("C:\\Users\\me\\shop\\.worktrees\\a", "C:/Users/me/shop"),
        ("/home/me", None),
        ("/testbed", None),
        ("/", None),
        ("", None),
        (None, None),
    ],
)
def test_a_project_is_the_folder_of_all_its_checkouts(cwd: str | None, project: str | None) -> None:
    assert find_project(cwd) == project
