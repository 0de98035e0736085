"""Versions and repetitions of methods: which are shown, which have a rank, and what counts once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compaction import parse_method
from flows.config.study import Study
from flows.pipeline.backfill.selection import methods_in, with_methods_of
from flows.pipeline.load.provenance import NOTE_FILE, Provenance
from flows.pipeline.load.tables import _latest_versions, is_loaded, rebuild_database
from tests.flows.pipeline.load.rows import context, query
from tests.flows.small_store import SmallStore


@pytest.fixture
def newer_code(small: SmallStore, monkeypatch: pytest.MonkeyPatch) -> SmallStore:
    """The code that makes and measures has changed since the store was filled."""
    later = Provenance(*(f"{name}0" for name in vars(small.makers).values() if name is not None))
    monkeypatch.setattr(Provenance, "now", classmethod(lambda cls, study: later))
    return small


def test_makers_are_those_noted_then_those_of_the_latest_run_then_those_that_rows_name(
    newer_code: SmallStore,
) -> None:
    store, study, made = newer_code.store, newer_code.study, newer_code.makers
    assert Provenance.of_results(store, study).responder == made.responder
    assert Provenance.of_results(store, study).prober == made.prober
    newer_code.run("r1", "2026-01-01", makers={**vars(made), "prober": "older"})
    newer_code.run("r2", "2026-01-02", makers=vars(made))
    newer_code.run("r3", "2026-01-03", makers={**vars(made), "prober": "cut short"}, status="killed")
    assert Provenance.of_results(store, study) == made
    rebuild_database(store, study, makers=Provenance(made.summarizer, made.prober, "noted", made.measuring))
    assert Provenance.of_results(store, study).responder == "noted"


def method(method_id: str, last_run_at: str, **changes: Any) -> dict[str, Any]:
    base = {"strategy": "head_tail", "params": {"head": 2}, "history": "prefix", "summarizer": None}
    return {"method_id": method_id, "last_run_at": last_run_at, **base, **changes}


def test_of_two_versions_of_a_strategys_code_the_one_that_was_run_last_is_shown() -> None:
    rows = [method("old", "2026-01-02"), method("new", "2026-01-03"), method("older", "2026-01-01")]
    assert [row["method_id"] for row in _latest_versions(rows)] == ["new"]


def test_methods_that_differ_in_anything_else_are_all_shown() -> None:
    rows = [
        method("a", "2026-01-01"),
        method("b", "2026-01-01", params={"head": 3}),
        method("c", "2026-01-01", strategy="none"),
    ]
    assert [row["method_id"] for row in _latest_versions(rows)] == ["a", "b", "c"]


def test_the_methods_of_the_newest_run_are_current_and_others_keep_their_figures_without_a_rank(
    small: SmallStore,
) -> None:
    one = replace(small.study, strategies=("none",))
    assert query_after(small, one, "SELECT method, is_current FROM methods ORDER BY 1") == [
        ("empty", False),
        ("none", True),
    ]
    assert query(small, "SELECT method, overall, rank, tie_group FROM leaderboard ORDER BY 1") == [
        ("empty", 4.0, None, None),
        ("none", 4.0, None, None),
    ]
    assert query(small, "SELECT DISTINCT method FROM coverage WHERE method_id IS NOT NULL") == [("none",)]
    assert query(small, "SELECT DISTINCT is_current FROM paired_differences") == [(False,)]
    assert not is_loaded(small.store, small.study)
    assert query_after(small, small.study, "SELECT count(*) FROM methods WHERE is_current") == [(2,)]


def test_what_is_about_the_whole_store_leaves_the_current_methods_as_they_are(small: SmallStore) -> None:
    one = replace(small.study, strategies=("none",))
    rebuild_database(small.store, one)
    rebuild_database(small.store, small.study, is_whole_store=True)
    assert query(small, "SELECT method FROM methods WHERE is_current") == [("none",)]
    assert is_loaded(small.store, small.study, is_whole_store=True)
    (small.store.root / NOTE_FILE).unlink()
    small.run("run", "2026-01-01", study=replace(small.study, strategies=("empty",)).as_dict())
    small.run("backfill", "2026-01-02", is_whole_store=True)
    rebuild_database(small.store, small.study, is_whole_store=True)
    assert query(small, "SELECT method FROM methods WHERE is_current") == [("empty",)]


def test_an_earlier_version_gives_its_name_to_the_current_one(small: SmallStore) -> None:
    """A method of one's own that goes on under its name with another parameter."""
    for tail in (5, 9):
        row = {
            "method_id": f"tail-{tail}-id",
            "method": "ours",
            "strategy": "head_tail",
            "mode": "valid",
            "params": {**parse_method("head_tail").params, "tail": tail},
            "peer": "own",
            "peer_version": None,
            "needs_model": False,
            "history": "prefix",
            "summarizer": None,
            "version": "1",
            "last_run_at": f"2026-01-0{tail}",
        }
        small.store.record("methods", str(row["method_id"]), row)
    study = replace(small.study, strategies=("ours",), named_methods=("ours = head_tail(tail=9)",))
    found = query_after(small, study, "SELECT method, is_current FROM stg_methods WHERE strategy = 'head_tail'")
    assert sorted(found) == [("ours", True), ("ours-tail-5-i", False)]
    assert [method.name for method in methods_in(small.store, "current")] == ["ours"]
    assert {"ours", "ours-tail-5-i"} < {method.name for method in with_methods_of(study, small.store).methods()}


def query_after(small: SmallStore, study: Study, sql: str) -> list[tuple[Any, ...]]:
    rebuild_database(small.store, study)
    return query(small, sql)


def test_an_answer_that_was_paid_once_costs_once_in_every_plain_sum(small: SmallStore) -> None:
    """Two answers of one request: the first was paid, the second came from the cache; both shards have the price."""
    for path in small.store.answers.files():
        path.unlink()
    small.write("answers", *(small.answer(method, "p1", cost_usd=0.5) for method in ("none", "empty")))
    for number, (method, cached) in enumerate((("none", False), ("empty", True))):
        row = {
            "call_id": f"paid-{number}",
            "stage": "answer",
            "item_id": f"a-{method}-p1",
            "model": "m",
            "key": "k",
            "cost_usd": 0.5,
            "cached": cached,
            "status": "done",
        }
        small.write("calls", row)
        small.write("calls", row)  # a kill while the journal was moved
    rebuild_database(small.store, small.study)
    expected = [(0.5, 0.5)]
    assert query(small, "SELECT sum(cost_usd), sum(saved_usd) FROM calls WHERE model = 'm'") == expected
    assert query(small, "SELECT sum(cost_usd), sum(saved_usd) FROM answers") == expected
    assert query(small, "SELECT sum(cost_usd), sum(saved_usd) FROM costs WHERE model = 'm'") == expected
    assert query(small, "SELECT cost_usd, saved_usd FROM answers WHERE answer_id = 'a-empty-p1'") == [(0.0, 0.5)]


def test_repetitions_with_an_equal_context_are_known_and_their_answers_count_once(small: SmallStore) -> None:
    for name in ("compactions", "answers", "scores"):
        for path in getattr(small.store, name).files():
            path.unlink()
    texts = {"none": "same same", "empty": "one two"}
    for method, both in texts.items():
        for replicate, text in enumerate(both.split()):
            id = f"{method}-p1-{replicate}"
            row = small.compaction(method, "p1", compaction_id=id, replicate=replicate, context=context(text))
            small.write("compactions", row)
            small.write("answers", small.answer(method, "p1", answer_id=id, compaction_id=id))
            small.write("scores", small.score(method, "p1", answer_id=id))
    rebuild_database(small.store, small.study)
    assert query(small, "SELECT compaction_id, same_context_as FROM compactions WHERE same_context_as IS NOT NULL") == [
        ("none-p1-1", "none-p1-0")
    ]
    for view in ("leaderboard", "variance_components_by_method WHERE dimension = 'overall'"):
        assert sorted(query(small, f"SELECT method, n_answers, n_independent_answers FROM {view}")) == [
            ("empty", 2, 2),
            ("none", 2, 1),
        ]
