"""Readers' labels against the embedded engine: what is compared, and how."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import spearmanr
from typer.testing import CliRunner

from flows.cli.app import app
from flows.reporting.reader_agreement import Pair, format_agreement
from flows.reporting.text_tables import Layout
from flows.support.errors import UsageError
from flows.validation.reader_labels import pair_answers, pair_statements, read_contexts

HISTORY = [
    {"seq": 0, "role": "user", "text": "Please mend the harbour ledger; never touch the lighthouse schema."},
    {
        "seq": 1,
        "role": "assistant",
        "text": "I will write it.",
        "tool_calls": json.dumps(
            [
                {
                    "id": "c1",
                    "name": "Write",
                    "arguments": {"file_path": "harbour/ledger.py", "content": "def tide(): ..."},
                }
            ]
        ),
    },
    {"seq": 2, "role": "tool", "text": "created harbour/ledger.py", "tool_call_id": "c1"},
    {"seq": 3, "role": "assistant", "text": "The ledger keeps tides in fathoms, because the pilots read fathoms."},
]
CONTEXTS: dict[str, list[dict[str, Any]]] = {
    "none": HISTORY,
    "head": HISTORY[:1],
    "summary": [
        {"seq": None, "role": "user", "text": "## Files\n- harbour/ledger.py (created)\n\nAll else is forgotten."}
    ],
}
STATEMENTS = {
    "The person forbade to touch the lighthouse schema.": (0, {"none": 1.0, "head": 1.0, "summary": 0.0}),
    "Tides are kept in fathoms for the pilots.": (3, {"none": 1.0, "head": 0.0, "summary": 0.0}),
}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def contexts(tmp_path: Path) -> Path:
    rows = [{"point_id": "p", "method": name, "messages": messages} for name, messages in CONTEXTS.items()]
    packed = tmp_path / "labels_contexts.jsonl.gz"
    packed.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return packed


def statement_rows() -> list[dict[str, Any]]:
    rows = [
        {"point_id": "p", "method": m, "kind": "fact", "statement": text, "evidence_seq": [seq], "support": label}
        for text, (seq, labels) in STATEMENTS.items()
        for m, label in labels.items()
    ]
    return [*rows, {**rows[0], "statement": "The person asked to touch it.", "foil_of": "s1", "support": 0.0}]


def answer_row(method: str, grade: float, truth: str, probe_type: str = "artifact") -> dict[str, Any]:
    return {
        "point": "p",
        "method": method,
        "probe_type": probe_type,
        "question": "Which files?",
        "true_answer": truth,
        "evidence": '[{"seq": 1, "quote": "ledger"}]',
        "reader_answer": "ledger.py",
        "reader_grade": grade,
    }


def test_statements_are_measured_as_readers_labelled_them(tmp_path: Path, contexts: Path) -> None:
    pairs = pair_statements(write(tmp_path / "labels.jsonl", statement_rows()), read_contexts([contexts]))
    assert len(pairs) == 6, "a foil is not true and is left out"
    assert all((pair.engine >= 0.5) == (pair.reader == 1.0) for pair in pairs), pairs


def test_answers_are_scored_by_what_their_truth_states(tmp_path: Path, contexts: Path) -> None:
    truth = "Created: harbour/ledger.py\nModified: none\nExamined: harbour/other.py"
    rows = [answer_row("none", 5, truth), answer_row("summary", 5, truth), answer_row("head", 0, truth)]
    rows.append(answer_row("head", 0, "Examined: harbour/other.py"))
    pairs = pair_answers(write(tmp_path / "labels.jsonl", rows), read_contexts([contexts]))
    assert [(pair.method, pair.engine) for pair in pairs] == [("none", 5.0), ("summary", 5.0), ("head", 0.0)]


def test_the_figures_are_those_of_the_pairs() -> None:
    values = [(1.0, 0.9), (0.75, 0.4), (0.5, 0.8), (0.0, 0.6), (0.0, 0.1), (0.25, 0.1)]
    pairs = [Pair(f"m{n % 3}", "fact", reader, engine) for n, (reader, engine) in enumerate(values)]
    [row, same] = json.loads(format_agreement(pairs, 1.0, Layout("json")))[0]["agreement"]
    assert row["ρ"] == pytest.approx(spearmanr(*zip(*values, strict=True)).statistic)
    assert row["difference"] == pytest.approx(sum(abs(a - b) for a, b in values) / 6)
    assert row["bias"] == pytest.approx(sum(b - a for a, b in values) / 6)
    assert (row["known accepted"], row["lost accepted"]) == (0.5, 0.5)
    assert {**row, "group": "fact"} == same


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"point_id": "p", "method": "head", "support": 1}', "line 1: expected a field 'statement'"),
        ("[1]", "line 1: expected a JSON object"),
        (
            '{"point_id": "p", "method": "other", "statement": "a", "support": 1}',
            "no context of method other at point p",
        ),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, contexts: Path, line: str, problem: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UsageError, match=problem):
        pair_statements(path, read_contexts([contexts]))


def test_the_command_prints_agreement_and_needs_no_store(tmp_path: Path, contexts: Path) -> None:
    path = write(tmp_path / "labels.jsonl", statement_rows())
    done = CliRunner().invoke(app, ["calibrate", "--statements", str(path)])
    assert done.exit_code == 0, done.output
    assert "fact" in done.output
    assert "methods ρ" in done.output
    both = CliRunner().invoke(app, ["calibrate", "--statements", str(path), "--answers", str(path)])
    assert both.exit_code == 2
