"""What moved between two nights, against the same figures worked out in Python, and by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import t as student

from flows.database.scores_db import connect, violations
from flows.reporting.night_changes import NightChanges, moved_rows
from tests.sql.recomputed import holm
from tests.sql.tiny import Rows, make

State = Mapping[str, Mapping[str, tuple[str, float, int]]]
"""Method → session → text, sum of scores, answers."""


def store(*nights: State, codes: Mapping[int, Mapping[str, str]] | None = None, judges: tuple[str, ...] = ()) -> Rows:
    """Nights as a run writes them: all figures, and the sums that changed."""
    rows: Rows = {"night_figures": [], "night_sums": []}
    before: dict[tuple[str, str, str], tuple[str, float, int]] = {}
    for number, state in enumerate(nights, 1):
        judge = judges[number - 1] if judges else "j1"
        now = {(judge, m, s): cell for m, sessions in state.items() for s, cell in sessions.items()}
        for method, sessions in state.items():
            n = sum(cell[2] for cell in sessions.values())
            rows["night_figures"].append(
                {
                    "night": number,
                    "taken_at": datetime(2026, 11, number, 2),
                    "run_id": f"r{number}",
                    "engine": "e",
                    "judge_id": judge,
                    "judge": "embedded",
                    "method": method,
                    "dimension": "overall",
                    "method_id": (codes or {}).get(number, {}).get(method, method),
                    "mean": sum(cell[1] for cell in sessions.values()) / n,
                    "n_answers": n,
                    "n_sessions": len(sessions),
                }
            )
        gone = {key: (text, 0.0, 0) for key, (text, _, _) in before.items() if key not in now}
        rows["night_sums"] += [
            {
                "night": number,
                "judge_id": key[0],
                "method": key[1],
                "dimension": "overall",
                "session_id": key[2],
                "content_sha256": text,
                "score_sum": total,
                "n_answers": n,
            }
            for key, (text, total, n) in {**now, **gone}.items()
            if before.get(key) != (text, total, n)
        ]
        before = now
    for row in rows["night_figures"]:
        row["taken_at"] = row["taken_at"].isoformat()
    return rows


def moved(rows: Rows, folder: Path, since: int | None = None) -> dict[str, dict[str, Any]]:
    with connect(make(rows, folder)) as connection:
        connection.execute("SET VARIABLE moved_since = $since", {"since": since})
        found = connection.execute("FROM moved")
        names = [column[0] for column in found.description]
        dicts = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        assert violations(connection) == []
    return {row["method"]: row for row in dicts}


def recomputed(then: Mapping[str, Any], now: Mapping[str, Any], same_code: bool) -> tuple[float, float, float]:
    """Difference, standard error and degrees of freedom, as the head of the view says."""
    totals = [sum(cell[1] for cell in side.values()) for side in (then, now)]
    counts = [sum(cell[2] for cell in side.values()) for side in (then, now)]
    psi, weight = [], []
    for session in {*then, *now}:
        part, cells = [0.0, 0.0], [side.get(session, ("", 0.0, 0)) for side in (then, now)]
        for i, (_, total, n) in enumerate(cells):
            if n and n < counts[i]:
                part[i] = (total - totals[i] / counts[i] * n) / (counts[i] * math.sqrt(1 - n / counts[i]))
        psi.append(part[1] - part[0])
        n0, n1 = cells[0][2], cells[1][2]
        shared = min(n0, n1) if same_code and cells[0][0] == cells[1][0] else 0
        weight.append(
            shared * (1 / counts[1] - 1 / counts[0]) ** 2
            + (n1 - shared) / counts[1] ** 2
            + (n0 - shared) / counts[0] ** 2
        )
    p = [w / sum(weight) for w in weight]
    q = [x**2 / (1 - x) for x in p]
    df = max(1.0, 1 / (sum(x**2 for x in p) + sum(q) ** 2 - sum(x**2 for x in q)))
    difference = totals[1] / counts[1] - totals[0] / counts[0]
    return difference, math.sqrt(sum(x**2 for x in psi)), df


def test_the_same_sessions_and_another_code_are_a_paired_difference(tmp_path: Path) -> None:
    """By hand: -1 in s1, 0 in s2, two answers each: error √(2 · 1 / ½) / 4 = ½ with one degree of freedom."""
    then = {"A": {"s1": ("a", 8.0, 2), "s2": ("b", 6.0, 2)}}
    now = {"A": {"s1": ("a", 6.0, 2), "s2": ("b", 6.0, 2)}}
    row = moved(store(then, now, codes={2: {"A": "A2"}}), tmp_path)["A"]
    assert (row["difference"], row["std_error"], row["df"]) == pytest.approx((-0.5, 0.5, 1.0))
    assert (row["difference_same"], row["difference_other"]) == pytest.approx((-0.5, 0.0))
    assert row["p_value"] == pytest.approx(0.5)
    assert (row["is_same_code"], row["is_beyond_noise"], row["n_sessions_same"]) == (False, False, 2)


def test_figures_are_those_worked_out_in_python_with_new_changed_and_gone_sessions(tmp_path: Path) -> None:
    chance = random.Random(7)
    methods = ("A", "B", "C")

    def cell(text: str) -> tuple[str, float, int]:
        n = chance.randint(2, 9)
        return text, sum(chance.uniform(1, 5) for _ in range(n)), n

    then = {m: {f"s{i}": cell(f"t{i}") for i in range(12)} for m in methods}
    now: dict[str, dict[str, tuple[str, float, int]]] = {m: dict(then[m]) for m in methods}
    for m in methods:
        del now[m]["s0"]
        now[m] |= {"s1": cell("grown"), **{f"n{i}": cell(f"n{i}") for i in range(4)}}
    now["B"] = {s: (text, total - 0.8 * n, n) for s, (text, total, n) in now["B"].items()}
    found = moved(store(then, now, codes={2: {"B": "B2"}}), tmp_path)
    for m in methods:
        row, same_code = found[m], m != "B"
        difference, error, df = recomputed(then[m], now[m], same_code)
        assert (row["difference"], row["std_error"], row["df"]) == pytest.approx((difference, error, df))
        assert row["p_value"] == pytest.approx(2 * student.sf(abs(difference / error), df), rel=1e-4)
        half = student.ppf(0.975, df) * error
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((difference - half, difference + half), rel=1e-4)
        alike = [s for s in then[m] if s in now[m] and then[m][s][0] == now[m][s][0]]
        same, same_error, _ = (
            recomputed({s: then[m][s] for s in alike}, {s: now[m][s] for s in alike}, same_code)
            if m == "B"
            else (0.0, 0.0, None)
        )
        assert row["difference_same"] == pytest.approx(same, abs=1e-9)
        assert row["std_error_same"] == pytest.approx(same_error, abs=1e-9)
        assert row["difference_same"] + row["difference_other"] == pytest.approx(row["difference"])
        counts = [row[f"n_sessions_{what}"] for what in ("same", "changed", "new", "gone")]
        assert counts == [10, 1, 4, 1]
    expected = holm([found[m]["p_value"] for m in methods])
    assert [found[m]["p_adjusted"] for m in methods] == pytest.approx(expected)
    assert found["B"]["p_adjusted_same"] == found["B"]["p_value_same"]  # of the others nothing can differ
    assert (found["B"]["is_same_beyond_noise"], found["A"]["is_same_beyond_noise"]) == (True, False)


def test_one_bad_new_session_among_many_proves_nothing(tmp_path: Path) -> None:
    then = {"A": {f"s{i}": (f"t{i}", 16.0 + i % 3, 4) for i in range(30)}}
    now = {"A": {**then["A"], "bad": ("bad", 0.0, 40)}}
    row = moved(store(then, now), tmp_path)["A"]
    assert row["difference"] < -1
    assert not row["is_beyond_noise"]
    assert row["df"] < 2  # as if that session stood alone, and not 30 of 31


def test_with_one_session_nothing_can_be_said(tmp_path: Path) -> None:
    row = moved(store({"A": {"s": ("t", 8.0, 2)}}, {"A": {"s": ("t", 2.0, 2)}}, codes={2: {"A": "A2"}}), tmp_path)["A"]
    assert (row["difference"], row["std_error"], row["p_value"], row["is_beyond_noise"]) == (-3.0, None, None, None)


def test_any_earlier_night_can_be_put_together_again(tmp_path: Path) -> None:
    nights = [{"A": {"s1": ("a", float(n), 2), "s2": ("b", 4.0, 2)}} for n in (8, 8, 5, 3)]
    rows = store(*nights)
    assert len([row for row in rows["night_sums"] if row["night"] == 2]) == 0
    for since, then in ((None, 2.25), (1, 3.0), (2, 3.0), (3, 2.25), (9, 2.25)):
        assert moved(rows, tmp_path, since)["A"]["mean_then"] == then


def test_judges_are_matched_by_version_and_another_version_is_no_movement_of_methods(tmp_path: Path) -> None:
    sessions = {f"s{i}": (f"t{i}", 16.0, 4) for i in range(6)}
    worse = {s: (text, 4.0, n) for s, (text, _, n) in sessions.items()}
    row = moved(store({"A": sessions}, {"A": worse}, judges=("j1", "j2")), tmp_path)["A"]
    assert (row["is_same_judge"], row["judge_id_then"], row["difference"], row["is_beyond_noise"]) == (
        False,
        "j1",
        -3.0,
        True,
    )
    assert NightChanges((row,), 1, 2).worse(0.1) == []
    assert NightChanges(({**row, "is_same_judge": True},), 1, 2).worse(0.1) != []


def test_the_first_night_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    assert moved(store({"A": {"s": ("t", 8.0, 2)}}), tmp_path) == {}
    assert moved({}, tmp_path) == {}


def test_a_method_is_compared_with_the_last_night_in_which_it_was_whole(tmp_path: Path) -> None:
    """Night 2 has no figures of A, night 3 some of B's: each is set against its own last whole night."""
    sessions = {f"s{i}": (f"t{i}", 16.0, 4) for i in range(6)}
    worse = {s: (text, 4.0, n) for s, (text, _, n) in sessions.items()}
    some = {s: sessions[s] for s in ("s1", "s2")}
    nights: list[State] = [
        {"A": sessions, "B": sessions},
        {"B": sessions},
        {"B": some},
        {"A": worse, "B": worse},
    ]
    rows = store(*nights)
    for row in rows["night_figures"]:
        row["is_open"] = row["night"] == 3
    found = moved(rows, tmp_path)
    assert {name: (row["night_then"], row["difference"]) for name, row in found.items()} == {
        "A": (1, -3.0),
        "B": (2, -3.0),
    }
    assert found["B"]["n_sessions_same"] == 6
    assert {name: row["night_then"] for name, row in moved(rows, tmp_path, 1).items()} == {"A": 1, "B": 1}
    assert {name: row["night_then"] for name, row in moved(rows, tmp_path, 3).items()} == {"A": 1, "B": 2}
    with connect(tmp_path / "store" / "scores.duckdb") as connection:
        then = {row["method"]: row["night_then"] for row in moved_rows(connection, None, {"j1": {"B": 3}}).dicts()}
    assert then == {"A": 1, "B": 3}  # the night that was told, whole or not


def test_a_judge_that_comes_back_is_compared_with_itself(tmp_path: Path) -> None:
    sessions = {f"s{i}": (f"t{i}", 16.0, 4) for i in range(6)}
    worse = {s: (text, 4.0, n) for s, (text, _, n) in sessions.items()}
    row = moved(store({"A": sessions}, {"A": worse}, {"A": worse}, judges=("j1", "j2", "j1")), tmp_path)["A"]
    assert (row["is_same_judge"], row["night_then"], row["difference"]) == (True, 1, -3.0)


def test_what_is_open_stays_open_until_it_is_whole_or_said_to_be_worse() -> None:
    row = {
        "judge_id": "j",
        "method": "A",
        "is_same_judge": True,
        "is_beyond_noise": True,
        "difference": -1.0,
        "is_same_beyond_noise": False,
        "difference_same": 0.0,
    }
    now = (("j", "A", True), ("j", "B", False))
    assert NightChanges((row,), 1, 2, now).told(None) == {"j": {"B": 2}}
    assert NightChanges((row,), 1, 2, now).told(2.0) == {"j": {"B": 2}}
    assert NightChanges((row,), 1, 2, now).told(0.2) == {"j": {"A": 2, "B": 2}}
