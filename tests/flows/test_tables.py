"""Which of the stored methods the database shows."""

from __future__ import annotations

from typing import Any

from flows.tables import _latest_code


def method(method_id: str, last_run_at: str, **changes: Any) -> dict[str, Any]:
    base = {"strategy": "head_tail", "params": {"head": 2}, "history": "prefix", "summarizer": None}
    return {"method_id": method_id, "last_run_at": last_run_at, **base, **changes}


def test_of_two_versions_of_a_strategys_code_the_one_that_was_run_last_is_shown() -> None:
    rows = [method("old", "2026-01-02"), method("new", "2026-01-03"), method("older", "2026-01-01")]
    assert [row["method_id"] for row in _latest_code(rows)] == ["new"]


def test_methods_that_differ_in_anything_else_are_all_shown() -> None:
    rows = [
        method("a", "2026-01-01"),
        method("b", "2026-01-01", params={"head": 3}),
        method("c", "2026-01-01", strategy="none"),
    ]
    assert [row["method_id"] for row in _latest_code(rows)] == ["a", "b", "c"]
