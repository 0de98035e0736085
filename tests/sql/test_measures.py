"""Views over what is measured without a judge, on stores that can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows.database.scores_db import connect, violations
from tests.sql.tiny import Rows, compaction, make, method, point, probe, session

T_975_1 = 12.706205
"""Student's t at 97.5 % with one degree of freedom."""


def need(point_id: str, number: int, kind: str, observation: int, tokens: int) -> dict[str, Any]:
    return {
        "point_id": point_id,
        "number": number,
        "kind": kind,
        "value": f"{kind} {number}",
        "observation_seq": observation,
        "observation_tokens": tokens,
        "needed_at": 30 + number,
        "turns_after": number,
    }


def measured(compaction_id: str, kinds: str, lost: list[int], fetched: dict[int, int], **more: Any) -> dict[str, Any]:
    """A measurement; ``kinds`` has a letter for each need of the point: p, i or q."""
    counts: dict[str, int] = {}
    for name, letter in (("paths", "p"), ("identifiers", "i"), ("quotes", "q")):
        counts[f"n_{name}"] = kinds.count(letter)
        counts[f"n_{name}_lost"] = sum(kinds[number - 1] == letter for number in lost)
    files = {
        f"n_{use}_{what}": 0 for use in ("created", "modified", "read", "any") for what in ("true", "told", "right")
    }
    return {
        "compaction_id": compaction_id,
        "status": "done",
        "seconds": 0.1,
        "n_needs": len(kinds),
        "n_lost": len(lost),
        **counts,
        "lost": lost,
        "fetched": list(fetched),
        "n_fetches": len(fetched),
        "refetch_tokens": sum(fetched.values()),
        "summary_calls": 0,
        "summary_input_tokens": 0,
        "summary_output_tokens": 0,
        **files,
        **more,
    }


def statements_of(*kinds: str) -> str:
    return json.dumps([{"kind": kind, "text": kind} for kind in kinds])


def state(compaction: str, probe: str, position: int, of: str) -> dict[str, Any]:
    told = {"probe_id": probe, "position": position, "since": probe, "state": of, "support": 0.5}
    return {"compaction_id": compaction, **told}


def files(created: tuple[int, int, int], read: tuple[int, int, int], any_: tuple[int, int, int]) -> dict[str, int]:
    """True, told, right of three uses."""
    return {
        f"n_{use}_{what}": n
        for use, numbers in (("created", created), ("read", read), ("any", any_))
        for what, n in zip(("true", "told", "right"), numbers, strict=True)
    }


def store() -> Rows:
    """Two sessions with two and one points; cut loses much, sum asks a model, keep keeps all, secret is opaque."""
    before = {"p1": 1000, "p2": 2000, "p3": 3000}
    return {
        "sessions": [session("s1"), session("s2")],
        "points": [
            point("p1", "s1", 1000),
            point("p2", "s1", 2000, cycle=2, cut_seq=31),
            point("p3", "s2", 3000),
        ],
        "methods": [method(name, name) for name in ("cut", "keep", "secret", "sum")],
        "compactions": [
            *(compaction("keep", p, n, n) for p, n in before.items()),
            compaction("cut", "p1", 1000, 100),
            compaction("cut", "p2", 2000, 300),
            compaction("cut", "p3", 3000, 200),
            compaction("sum", "p1", 1000, 200),
            compaction("sum", "p2", 2000, None),
            compaction("secret", "p1", 1000, 50),
            compaction("secret", "p2", 2000, 50),
        ],
        "probes": [
            probe("q1", "p1", statements=statements_of("error", "file_created")),
            probe("q2", "p2", statements=statements_of("error")),
            probe("q3", "p3", statements=statements_of("error", "error")),
        ],
        "needs": [
            need("p1", 1, "path", 5, 100),
            need("p1", 2, "quote", 5, 100),
            need("p1", 3, "identifier", 7, 50),
            need("p2", 1, "identifier", 9, 300),
            need("p3", 1, "quote", 4, 400),
            need("p3", 2, "quote", 6, 20),
        ],
        "measures": [
            measured("keep/p1", "pqi", [], {}, **files((2, 2, 2), (1, 1, 1), (3, 3, 3))),
            measured("keep/p2", "i", [], {}),
            measured("keep/p3", "qq", [], {}),
            measured("cut/p1", "pqi", [1, 2, 3], {5: 100, 7: 50}, **files((2, 1, 1), (1, 1, 0), (3, 2, 1))),
            measured("cut/p2", "i", [], {}, **files((2, 0, 0), (0, 0, 0), (2, 4, 2))),
            measured("cut/p3", "qq", [1], {4: 400}, **files((4, 3, 3), (0, 1, 0), (4, 4, 4))),
            measured(
                "sum/p1", "pqi", [2], {5: 100}, summary_calls=1, summary_input_tokens=900, summary_output_tokens=20
            ),
            {"compaction_id": "secret/p1", "status": "opaque", "error": "only its provider can read it"},
        ],
        "statement_states": [
            state("cut/p1", "q1", 1, "readable"),
            state("cut/p1", "q1", 2, "partly"),
            state("cut/p2", "q1", 1, "stale"),
            state("cut/p2", "q2", 1, "readable"),
            state("cut/p3", "q3", 1, "readable"),
            state("cut/p3", "q3", 2, "readable"),
            state("keep/p1", "q1", 2, "readable"),
            {**state("secret/p1", "q1", 1, "unknown"), "support": None},
        ],
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(store(), tmp_path_factory.mktemp("measures"))


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with connect(path) as connection:
        return connection.execute(sql).fetchall()


def test_tokens_per_task_are_those_worked_out_by_hand(path: Path) -> None:
    """Method cut keeps 100, 300, 200 and fetches 150, 0, 400; it saves 2000 a turn of which 383 1/3 are sent anyway."""
    found = rows(
        path,
        "SELECT method, context_tokens, refetch_tokens, tokens_per_task, tokens_before, n_fetches, breaks_even, "
        "n_compactions, n_sessions FROM tokens_per_task ORDER BY method",
    )
    assert found == [
        ("cut", 200, pytest.approx(550 / 3), pytest.approx(1150 / 3), 2000, 1, "yes", 3, 2),
        ("keep", 2000, 0, 2000, 2000, 0, "never", 3, 2),
        ("sum", 200, 100, 300, 1000, 1, "yes", 1, 1),
    ]


def test_the_turns_until_a_compaction_pays_are_those_of_adding_up_the_requests(path: Path) -> None:
    """Turn by turn: what was sent with the compaction, in prices of an input token, against what would have been."""
    found = rows(path, "SELECT method, break_even_turns, break_even_turns_cached FROM tokens_per_task ORDER BY method")
    assert found[1] == ("keep", None, None)
    cases = {"cut": (2000, 1150 / 3, 1, 0), "sum": (1000, 300, 1, 900 + 5 * 20)}
    for name, *turns in (found[0], found[2]):
        before, context, fetches, invested = cases[name]
        for n, (read, write) in zip(turns, ((1, 1), (0.1, 1.25)), strict=True):
            requests = n + fetches  # the first of them writes the new context, the others read it
            assert invested + write * context + (requests - 1) * read * context == pytest.approx(n * read * before)


def test_the_interval_of_what_is_fetched_is_clustered_by_session(path: Path) -> None:
    """Sessions have 150 of 2 and 400 of 1: mean 550 / 3, residuals ∓650 / 3, over 1 - 2/3 and 1 - 1/3."""
    [(low, high)] = rows(path, "SELECT refetch_ci_low, refetch_ci_high FROM tokens_per_task WHERE method = 'cut'")
    error = 650 / 3 * 4.5**0.5 / 3
    assert (low, high) == (
        pytest.approx(550 / 3 - T_975_1 * error, rel=1e-4),
        pytest.approx(550 / 3 + T_975_1 * error, rel=1e-4),
    )
    assert rows(path, "SELECT refetch_ci_low FROM tokens_per_task WHERE method = 'sum'") == [(None,)]


def test_the_shares_of_lost_needs_are_over_all_needs_of_a_kind(path: Path) -> None:
    found = rows(
        path,
        "SELECT needs_lost, paths_lost, identifiers_lost, quotes_lost, n_needs FROM tokens_per_task "
        "WHERE method = 'cut'",
    )
    assert found == [(pytest.approx(4 / 6), 1, 0.5, pytest.approx(2 / 3), 6)]


def test_a_summary_whose_tokens_are_unknown_leaves_the_break_even_unknown(tmp_path: Path) -> None:
    changed = store()
    changed["measures"][-2]["summary_input_tokens"] = None
    found = rows(
        make(changed, tmp_path),
        "SELECT breaks_even, break_even_turns, summary_input_tokens, refetch_tokens "
        "FROM tokens_per_task WHERE method = 'sum'",
    )
    assert found == [("unknown", None, None, 100)]


def test_the_prices_can_be_given(path: Path) -> None:
    """Half of 1000 saved at each turn of price 1, for 1000 of a summary: two turns."""
    assert rows(
        path, "SELECT break_even_turns(1000, 500, 0, 1000, 1, 1), break_even_turns(1000, 1000, 0, 0, 1, 1)"
    ) == [(2.0, None)]
    ratios = dict(rows(path, "SELECT kind, ratio FROM token_price_ratios"))
    assert ratios == {"input": 1, "output": 5, "cache_read": 0.1, "cache_write": 1.25}


def test_precision_and_recall_are_null_where_there_is_nothing_to_divide_by(path: Path) -> None:
    found = rows(
        path,
        "SELECT compaction_id, created_precision, created_recall, read_precision, read_recall, any_precision, "
        "any_recall, reason FROM artifact_exact WHERE method IN ('cut', 'secret') ORDER BY compaction_id",
    )
    assert found == [
        ("cut/p1", 1, 0.5, 0, 0, 0.5, pytest.approx(1 / 3), None),
        ("cut/p2", None, 0, None, None, 0.5, 1, None),
        ("cut/p3", 1, 0.75, 0, None, 1, 1, None),
        ("secret/p1", None, None, None, None, None, None, "only its provider can read it"),
        ("secret/p2", None, None, None, None, None, None, "not measured yet"),
    ]


def test_a_method_is_pooled_over_files_and_averaged_over_compactions(path: Path) -> None:
    """Created, pooled: 4 right of 4 told and of 8; the means are of 1 and 1, and of 0.5, 0 and 0.75."""
    found = rows(
        path,
        "SELECT pooled_precision, pooled_recall, mean_precision, mean_recall, n_true, n_told, n_right, "
        "n_compactions, n_sessions FROM artifact_exact_by_method WHERE method = 'cut' AND files = 'created'",
    )
    assert found == [(1, 0.5, 1, pytest.approx(1.25 / 3), 8, 4, 4, 3, 2)]
    assert rows(path, "SELECT count(*) FROM artifact_exact_by_method WHERE method = 'secret'") == [(0,)]


def test_statements_survive_by_age_and_kind(path: Path) -> None:
    found = rows(
        path,
        "SELECT age, kind, share, n_facts, n_sessions, ci_low IS NULL FROM fact_survival WHERE method = 'cut' "
        "ORDER BY age, kind",
    )
    assert found == [
        (0, "any", 0.8, 5, 2, False),
        (0, "error", 1, 4, 2, True),  # all of them in both sessions
        (0, "file_created", 0, 1, 1, True),
        (1, "any", 0, 1, 1, True),
        (1, "error", 0, 1, 1, True),
    ]


def test_the_checks_hold(path: Path) -> None:
    with connect(path) as connection:
        broken = dict(violations(connection))
    assert broken.keys().isdisjoint(
        {
            "measures_add_up",
            "refetched_tokens_add_up",
            "history_loses_nothing",
            "unique_needs",
            "unique_measures",
            "unique_statement_states",
            "orphan_rows",
        }
    )
