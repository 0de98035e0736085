"""Two estimators of one figure: why they differ, on our own answers and on the study's published table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog

from flows.database.scores_db import build_database, connect
from tests.sql.tiny import answer, make, method, scores, tiny

SQL = Path(__file__).parents[2] / "sql"
DIMENSIONS = ["accuracy", "context_awareness", "artifact_trail", "completeness", "continuity", "instruction_following"]


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with connect(path) as connection:
        return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tiny(), tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "scores.duckdb"
    build_database({}, path)
    return path


def test_the_weights_of_dimensions_are_those_worked_out_by_hand(store: Path) -> None:
    """Three answers of keep: q1 and q3 have accuracy and completeness (½ each), q2 those and the artifact trail (⅓)."""
    found = rows(
        store,
        "SELECT dimension, weight, weight_of_dimensions, mean, mean_in_overall, difference_by_weight, "
        "difference_by_answers, n_answers FROM estimator_weights WHERE judge_id = 'j1' AND method = 'keep'",
    )
    expected: list[tuple[str, list[float]]] = [
        # (2.5 + 3) / 2 + 5 / 3 of 4/3, against (2.5 + 3 + 5) / 3
        ("accuracy", [4 / 9, 1 / 3, 3.5, (5.5 / 2 + 5 / 3) / (4 / 3), 3.5 / 9, -1 / 12, 3]),
        ("artifact_trail", [1 / 9, 1 / 3, 1, 1, -2 / 9, 0, 1]),
        ("completeness", [4 / 9, 1 / 3, 4, (9 / 2 + 3 / 3) / (4 / 3), 4 / 9, 1 / 18, 3]),
    ]
    assert [name for name, *_ in found] == [name for name, _ in expected]
    for (_, *figures), (_, by_hand) in zip(found, expected, strict=True):
        assert figures == pytest.approx(by_hand)


def test_the_two_parts_over_all_dimensions_are_the_difference_of_the_estimators(tmp_path: Path) -> None:
    """Also of a method with holes, and of two judges."""
    many = tiny()
    many["methods"].append(method("D", "half"))
    many["compactions"].append({**many["compactions"][0], "compaction_id": "D/p1", "method_id": "D"})
    many["answers"] += [answer("D", "p1", "q1"), answer("D", "p1", "q2")]
    many["scores"] += [
        *scores("D/q1", "j1", facts=1, files=4, parts=None),
        *scores("D/q2", "j1", parts=5),
        *scores("D/q1", "j2", facts=2, parts=1),
    ]
    found = rows(
        make(many, tmp_path),
        """
        SELECT leaderboard.overall - leaderboard.overall_of_dimensions, weights.parts, weights.weight
        FROM leaderboard
        JOIN (
            SELECT judge_id, method_id, sum(difference_by_weight + difference_by_answers) AS parts,
                sum(weight) AS weight
            FROM estimator_weights GROUP BY ALL
        ) AS weights USING (judge_id, method_id)
        """,
    )
    assert len(found) == 5
    for difference, parts, weight in found:
        assert parts == pytest.approx(difference, abs=1e-12)
        assert weight == pytest.approx(1)
    assert sum(abs(difference) > 0.1 for difference, *_ in found) >= 2


def test_the_published_overall_is_below_the_mean_of_the_published_dimensions(published: Path) -> None:
    found = rows(
        published,
        "SELECT method, overall, overall_of_dimensions, difference, artifact_weight FROM published_estimators",
    )
    expected = [
        ("Factory, anchored iterative", [3.70, 3.955, -0.255, 0.556 / 1.806]),
        ("Anthropic, regenerated summary", [3.44, 3.770, -0.330, 0.618 / 1.728]),
        ("OpenAI, opaque compact endpoint", [3.35, 3.720, -0.370, 0.676 / 1.836]),
    ]
    assert [name for name, *_ in found] == [name for name, _ in expected]
    for (_, *figures), (_, by_hand) in zip(found, expected, strict=True):
        assert figures == pytest.approx(by_hand)


def test_one_mix_of_dimensions_gives_all_three_published_overalls_to_rounding(published: Path) -> None:
    found = rows(published, "SELECT method, overall, overall_of_mix, mix_difference FROM published_estimators")
    assert len(found) == 3
    for _, overall, of_mix, difference in found:
        assert round(of_mix, 2) == overall
        assert difference == pytest.approx(of_mix - overall)


def fits(dimensions: npt.NDArray[np.float64], overall: npt.NDArray[np.float64]) -> dict[str, Any]:
    """The conditions that weights w >= 0, sum 1, give the overalls, where both are rounded to 0.01.

    The dimensions' own rounding moves a weighted mean by 0.005 at most, as that of the overall does.
    """
    rounding = 0.01
    return {
        "A_ub": np.vstack([dimensions, -dimensions]),
        "b_ub": np.concatenate([overall + rounding, rounding - overall]),
        "A_eq": np.ones((1, 6)),
        "b_eq": [1.0],
        "bounds": [(0, 1)] * 6,
    }


@pytest.fixture(scope="module")
def conditions(published: Path) -> dict[str, Any]:
    table = rows(published, f"SELECT {', '.join(DIMENSIONS)}, overall FROM published_leaderboard")
    values = np.array(table)
    return fits(values[:, :6], values[:, 6])


def least(conditions: dict[str, Any], costs: list[float], **changes: Any) -> float | None:
    """The least cost of weights that fit, or None where none do."""
    found = linprog(costs, **{**conditions, **changes})
    assert found.status in (0, 2)
    return float(found.fun) if found.status == 0 else None


def test_the_range_of_each_weight_in_the_published_overall_is_the_documented_one(conditions: dict[str, Any]) -> None:
    """docs/statistics.md has this table."""
    documented = {
        "accuracy": (0.168, 0.404),
        "context_awareness": (0.135, 0.408),
        "artifact_trail": (0.165, 0.321),
        "completeness": (0.0, 0.223),
        "continuity": (0.0, 0.314),
        "instruction_following": (0.0, 0.179),
    }
    text = (SQL.parent / "docs" / "statistics.md").read_text(encoding="utf-8")
    for at, (dimension, (low, high)) in enumerate(documented.items()):
        unit = [float(other == at) for other in range(6)]
        assert least(conditions, unit) == pytest.approx(low, abs=6e-4)
        assert -(least(conditions, [-value for value in unit]) or 0) == pytest.approx(high, abs=6e-4)
        assert re.search(rf"\| {dimension} \| {low:.3f} – {high:.3f} \|", text), dimension


def test_accuracy_context_awareness_and_artifact_trail_hold_two_thirds_of_the_published_overall(
    conditions: dict[str, Any],
) -> None:
    assert (least(conditions, [1, 1, 1, 0, 0, 0]) or 0) > 2 / 3


def test_the_published_overall_needs_answers_of_fewer_than_four_dimensions(conditions: dict[str, Any]) -> None:
    """A mean of unweighted means of at least k dimensions gives no dimension more than 1 / k, and can give any such."""
    assert least(conditions, [0] * 6, bounds=[(0, 1 / 3)] * 6) is not None
    assert least(conditions, [0] * 6, bounds=[(0, 1 / 4)] * 6) is None


def test_no_design_that_asks_accuracy_completeness_and_instructions_everywhere_gives_the_published_overall(
    conditions: dict[str, Any],
) -> None:
    """As this project's rubric does: the three then weigh alike."""
    alike = np.array([[1.0] * 6, [1, 0, 0, -1, 0, 0], [0, 0, 0, 1, 0, -1]])
    assert least(conditions, [0] * 6, A_eq=alike, b_eq=[1.0, 0, 0]) is None


def test_views_of_our_own_results_do_not_read_the_published_table() -> None:
    reading = {
        path.relative_to(SQL).as_posix()
        for folder in ("staging", "intermediate", "aggregates", "marts", "macros")
        for path in (SQL / folder).glob("*.sql")
        if "published_leaderboard" in re.sub(r"--.*", "", path.read_text(encoding="utf-8"))
    }
    assert reading == {"marts/published_estimators.sql"}


def test_views_of_the_published_table_read_nothing_else() -> None:
    for path in (SQL / "marts").glob("published_*.sql"):
        code = re.sub(r"--.*", "", path.read_text(encoding="utf-8")).partition("comment on")[0]
        assert set(re.findall(r"\b(?:from|join)\s+(\w+)", code)) == {"published_leaderboard", "even"}, path.name
