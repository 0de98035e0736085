"""A store small enough to be worked out by hand, and a way to make others.

Two sessions with a point each, three probes, two methods with scores (``keep``, ``cut``), one that fails (``broken``);
the embedded judge has judged everything, a model has judged one answer twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from flows.database.database_draft import DatabaseDraft, build_database
from flows.database.sql_model import schemas
from flows.pipeline.load.intake_tables import FOLDED

Rows = dict[str, list[dict[str, Any]]]


def arrow(rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> dict[str, pa.Table]:
    """Rows as tables with every column; what a row does not name is NULL, times are texts."""
    as_text = {
        name: pa.schema([(f.name, pa.string() if pa.types.is_timestamp(f.type) else f.type) for f in schema])
        for name, schema in schemas().items()
    }
    named = _with_sessions(rows)
    return {name: pa.Table.from_pylist(list(found), schema=as_text[name]) for name, found in named.items()}


def _with_sessions(rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> Mapping[str, Iterable[Mapping[str, Any]]]:
    """The rows with the session of their compaction or answer, where they name none; ``-`` of one that is not there."""
    session_of = {row["point_id"]: row["session_id"] for row in rows.get("points", ())}
    session_of |= {row["compaction_id"]: session_of.get(row["point_id"], "-") for row in rows.get("compactions", ())}
    session_of |= {row["answer_id"]: session_of.get(row["compaction_id"], "-") for row in rows.get("answers", ())}
    of = {"answers": "compaction_id", "statement_states": "compaction_id", "scores": "answer_id"}
    return dict(rows) | {
        name: [{"session_id": session_of.get(row[key], "-"), **row} for row in rows[name]]
        for name, key in of.items()
        if name in rows
    }


def make(rows: Rows, folder: Path, *, is_checked: bool = False) -> Path:
    """A store's database with these rows; the table ``checks`` is filled where it ``is_checked``."""
    path = folder / "store" / "scores.duckdb"
    build_database(arrow(rows), path)
    if is_checked:
        with duckdb.connect(path) as connection:
            DatabaseDraft(connection).check()
    return path


def session(session_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "source_format": "openai",
        "source_path": f"{session_id}.jsonl",
        "n_messages": 50,
        "input_path": f"/logs/{session_id}.jsonl",
        "n_open_calls": 0,
        "n_stray_results": 0,
        "n_given": 0,
        "n_inherited": 0,
        "n_tokens": 4000,
        "n_system": 1,
        "n_user": 9,
        "n_assistant": 20,
        "n_tool": 20,
        "n_tool_calls": 20,
        "n_set_aside": 0,
        "n_recorded_compactions": 0,
        "tokenizer": "o200k_base",
        "content_sha256": "0" * 64,
        **changes,
    }


def read(session_id: str, copies: int = 0) -> dict[str, Any]:
    return {
        "input_path": f"/logs/{session_id}.jsonl",
        "source_format": "openai",
        "n_bytes": 9000,
        "n_sessions": 1 + copies,
        "n_folded": copies,
        "n_messages": 50 + 4 * copies,
        "n_quarantined": 0,
    }


def met(session_id: str, **kinds: int) -> list[dict[str, Any]]:
    return [
        {"input_path": f"/logs/{session_id}.jsonl", "kind": kind, "n_met": number} for kind, number in kinds.items()
    ]


def point(point_id: str, session_id: str, tokens: int, **changes: Any) -> dict[str, Any]:
    return {
        "point_id": point_id,
        "session_id": session_id,
        "cycle": 1,
        "cut_seq": 30,
        "tokens_before": tokens,
        "points_spec": "tokens:1000",
        **changes,
    }


def method(method_id: str, name: str, **changes: Any) -> dict[str, Any]:
    return {
        "method_id": method_id,
        "method": name,
        "strategy": name,
        "params": "{}",
        "peer": "own",
        "peer_version": "",
        "mode": "valid",
        "needs_model": False,
        "history": "prefix",
        "version": "1",
        "code_sha256": None,
        "is_current": True,
        **changes,
    }


def compaction(method_id: str, point_id: str, before: int, after: int | None, **changes: Any) -> dict[str, Any]:
    done: dict[str, Any] = {
        "status": "done",
        "n_kept": 10,
        "n_edited": 5,
        "n_covered": 5,
        "n_dropped": 10,
        "invalid_context": False,
        "grew": after is not None and after > before,
    }
    return {
        "compaction_id": f"{method_id}/{point_id}",
        "point_id": point_id,
        "method_id": method_id,
        "replicate": 1,
        "tokens_before": before,
        "tokens_after": after,
        "seconds": 0.5,
        "cost_usd": 0.0,
        "saved_usd": 0.0,
        **(done if after is not None else {"status": "failed", "error": "the summariser is down"}),
        **changes,
    }


def probe(probe_id: str, point_id: str, probe_type: str = "recall", **changes: Any) -> dict[str, Any]:
    return {
        "probe_id": probe_id,
        "point_id": point_id,
        "probe_type": probe_type,
        "question": "What was the error?",
        "ground_truth": "401 on /login",
        "evidence": json.dumps([{"seq": 3, "quote": "401"}]),
        "statements": "[]",
        "max_tokens": 200,
        "prober": "embedded",
        **changes,
    }


def answer(method_id: str, point_id: str, probe_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "answer_id": f"{method_id}/{probe_id}",
        "compaction_id": f"{method_id}/{point_id}",
        "probe_id": probe_id,
        "replicate": 1,
        "text": "It was 401.",
        "status": "done",
        "cost_usd": 0.0,
        "saved_usd": 0.0,
        "n_tokens": 5,
        "seconds": 0.1,
        "responder": "embedded",
        **changes,
    }


def judge(judge_id: str, name: str, **changes: Any) -> dict[str, Any]:
    return {
        "judge_id": judge_id,
        "judge": name,
        "model": name,
        "rubric": "tiny@1",
        "prompt_sha256": "0" * 64,
        "protocol": "one call an answer",
        "params": "{}",
        "created_at": "2026-01-01T00:00:00Z",
        **changes,
    }


CRITERIA = [
    {"rubric": "tiny@1", "criterion": criterion, "dimension": dimension, "weight": weight, "question": "Right?"}
    for criterion, dimension, weight in [
        ("facts", "accuracy", 1.0),
        ("terms", "accuracy", 3.0),
        ("files", "artifact_trail", 1.0),
        ("parts", "completeness", 2.0),
    ]
]
DIMENSION = {row["criterion"]: row["dimension"] for row in CRITERIA}


def scores(answer_id: str, judge_id: str, replicate: int = 1, **by_criterion: float | None) -> list[dict[str, Any]]:
    """One row per criterion; None is unscored."""
    return [
        {
            "answer_id": answer_id,
            "judge_id": judge_id,
            "judge_replicate": replicate,
            "criterion": criterion,
            "dimension": DIMENSION[criterion],
            "score": score,
            "reasoning": "so",
            "unscored_reason": "no truth to compare with" if score is None else None,
        }
        for criterion, score in by_criterion.items()
    ]


def tiny() -> Rows:
    """The rows of the store that the module describes."""
    return {
        "sessions": [
            session(
                "s1",
                task_type="debugging",
                resolved=False,
                exit_status="submitted",
                started_at="2026-03-01T12:00:00+02:00",
            ),
            session("s2"),
        ],
        "inputs": [read("s1"), read("s2", copies=1)],
        "messages_met": [
            *met("s1", system=3, user=9, assistant=20, tool=20, tool_call=20),
            *met("s2", system=1, user=11, assistant=22, tool=20, tool_call=20),
        ],
        "set_aside": [
            {"input_path": "/logs/s1.jsonl", "kind": "system", "reason": "duplicate", "n_set_aside": 2},
            {"input_path": "/logs/s1.jsonl", "kind": "record", "reason": "bookkeeping", "n_set_aside": 7},
            {"input_path": "/logs/s2.jsonl", "kind": "user", "reason": FOLDED, "n_set_aside": 2},
            {"input_path": "/logs/s2.jsonl", "kind": "assistant", "reason": FOLDED, "n_set_aside": 2},
        ],
        "folded_sessions": [
            {
                "recorded_id": "s0",
                "input_path": "/logs/s2.jsonl",
                "source_format": "openai",
                "folded_into": "s2",
                "n_messages": 4,
                "n_apart": 0,
            }
        ],
        "masked_secrets": [{"input_path": "/logs/s1.jsonl", "kind": "aws-access-key", "n_masked": 3}],
        "points": [point("p1", "s1", 1000), point("p2", "s2", 3000)],
        "methods": [method("A", "keep"), method("B", "cut"), method("C", "broken")],
        "compactions": [
            compaction("A", "p1", 1000, 100),
            compaction("A", "p2", 3000, 1100),
            compaction("B", "p1", 1000, 500),
            compaction("B", "p2", 3000, 3500, cost_usd=None),
            compaction("C", "p1", 1000, None),
            compaction("C", "p2", 3000, 300),
        ],
        "probes": [probe("q1", "p1"), probe("q2", "p1", "artifact"), probe("q3", "p2")],
        "probes_not_asked": [
            {
                "point_id": point_id,
                "probe_type": probe_type,
                "reason": "no such thing",
                "prober": "embedded",
                "status": "not_asked",
            }
            for point_id, probe_type in [
                ("p1", "continuation"),
                ("p1", "decision"),
                ("p1", "constraint"),
                ("p2", "artifact"),
                ("p2", "continuation"),
                ("p2", "decision"),
                ("p2", "constraint"),
            ]
        ],
        "answers": [
            answer("A", "p1", "q1"),
            answer("A", "p1", "q2"),
            answer("A", "p2", "q3"),
            answer("B", "p1", "q1"),
            answer("B", "p1", "q2"),
            answer("B", "p2", "q3"),
            answer("C", "p2", "q3", status="failed", text=None, error="refused"),
        ],
        "judges": [judge("j1", "embedded"), judge("j2", "openai:grader")],
        "criteria": CRITERIA,
        "scores": [
            *scores("A/q1", "j1", facts=4, terms=2, parts=4),
            *scores("A/q2", "j1", facts=5, terms=None, files=1, parts=3),
            *scores("A/q3", "j1", facts=3, terms=3, parts=5),
            *scores("B/q1", "j1", facts=0, terms=4, parts=4),
            *scores("B/q2", "j1", facts=4, terms=4, files=2, parts=3),
            *scores("B/q3", "j1", facts=None, terms=None, parts=None),
            *scores("A/q1", "j2", 1, facts=4, terms=4, parts=5),
            *scores("A/q1", "j2", 2, facts=2, terms=2, parts=None),
        ],
        "calls": [
            call("c1", "answer", "m", 100, 0.5),
            call("c2", "answer", "m", 100, 0.0, saved_usd=0.5, cached=True),
            call("c3", "answer", "m", 70, None),
            call("c4", "score", "grader", 10, 0.25, status="failed"),
        ],
        "human_scores": [{"answer_id": "A/q1", "rater": "kim", "criterion": "facts", "score": 4.0}],
        "quarantine": [{"source_path": "bad.jsonl", "line": 7, "reason": "not JSON", "excerpt": "{"}],
        "runs": [
            {
                "run_id": "r1",
                "study": "{}",
                "versions": "{}",
                "counts": "{}",
                "started_at": "2026-03-02T00:00:00Z",
                "status": "done",
                "exit_code": 3,
            }
        ],
        "run_stages": [
            {
                "run_id": "r1",
                "stage": "answer",
                "unit": "answers",
                "started_at": "2026-03-02T00:00:00Z",
                "seconds": 4.0,
                "busy_seconds": 6.0,
                "cpu_seconds": 5.0,
                "driver_cpu_seconds": 1.0,
                "peak_memory_bytes": 1000,
                "tasks": 2,
                "retries": 0,
                "done": 9,
                "failed": 1,
                "items_left": 0,
                "sessions": 2,
                "sessions_settled": 1,
            }
        ],
    }


def call(call_id: str, stage: str, model: str, tokens: int, cost: float | None, **changes: Any) -> dict[str, Any]:
    return {
        "call_id": call_id,
        "stage": stage,
        "model": model,
        "input_tokens": tokens,
        "output_tokens": 10,
        "cost_usd": cost,
        "saved_usd": 0.0,
        "cached": False,
        "seconds": 1.0,
        "status": "done",
        **changes,
    }


def graded(overall: Mapping[str, Mapping[tuple[str, str], float]]) -> Rows:
    """A store in which each answer has one criterion: method → (session, probe) → its score."""
    asked = sorted({key for by_probe in overall.values() for key in by_probe})
    names = sorted({session_id for session_id, _ in asked})
    return {
        "sessions": [session(name) for name in names],
        "inputs": [read(name) for name in names],
        "messages_met": [
            row for name in names for row in met(name, system=1, user=9, assistant=20, tool=20, tool_call=20)
        ],
        "points": [point(f"p-{name}", name, 1000) for name in names],
        "methods": [method(name, name) for name in overall],
        "compactions": [compaction(m, f"p-{s}", 1000, 100) for m in overall for s in names],
        "probes": [probe(f"{s}-{q}", f"p-{s}") for s, q in asked],
        "answers": [answer(m, f"p-{s}", f"{s}-{q}") for m, by_probe in overall.items() for s, q in by_probe],
        "judges": [judge("j1", "embedded")],
        "criteria": CRITERIA,
        "scores": [
            row
            for m, found in overall.items()
            for (s, q), x in found.items()
            for row in scores(f"{m}/{s}-{q}", "j1", facts=x)
        ],
    }
