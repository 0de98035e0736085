"""Gives answers to a person to grade, blind to the method, and takes the grades into the rater's own file.

An answer is shown as on the sheet of ``calibrate``: with its question and the truth, and of its text what a judge is
shown. The order goes round the methods by lot, and begins with the answers of the newest sample of ``calibrate``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flows.database.query_variables import with_variables
from flows.database.scores_db import connect
from flows.database.sql_model import sql_text
from flows.reporting.html.figures import Row
from flows.reporting.html.visible import show_invisible
from flows.reporting.text_tables import fetch_rows
from flows.store.store import Store
from flows.support.errors import UsageError
from flows.validation.calibration import rubric_criteria, sheet_items, study_of_results
from flows.validation.label_file import LabelFile
from flows.viewing.live_store import LiveStore, OpenDatabase
from judge.probe import PROBE_TYPES

ASKED = "SELECT DISTINCT criterion FROM scores WHERE answer_id = $answer_id AND judge_id = $judge_id"
CRITERIA = "SELECT DISTINCT criterion FROM scores ORDER BY criterion"
SAMPLES = "SELECT sample_id FROM label_samples WHERE answer_id = $answer_id ORDER BY drawn_at DESC LIMIT 1"


def open_labels(store: Store, path: Path) -> LabelFile:
    """The rater's file, with a column for each criterion that the store has. Raises UsageError."""
    with connect(store.database) as connection:
        criteria = [criterion for (criterion,) in connection.execute(CRITERIA).fetchall()]
    return LabelFile(path, criteria)


class Grading:
    """The answers of a store as one rater grades them.

    Args:
        live: The store.
        store: The same, for its rubric.
        labels: The rater's file.
        seed: Another one asks in another order; None for one that follows from the judge.
    """

    def __init__(self, live: LiveStore, store: Store, labels: LabelFile, seed: str | None = None) -> None:
        self._live, self._labels, self._seed = live, labels, seed
        self._of: OpenDatabase | None = None
        self._queues: dict[str, list[str]] = {}
        self._study = study_of_results(store)

    def item(self, judge: str, answer: str = "", after: str = "") -> Row | None:
        """An answer to grade, or the next one where none is named; None for one that the store has not.

        Args:
            judge: The judge whose criteria are asked.
            answer: Which answer.
            after: An answer that was skipped: the next one after it.
        """
        with self._live.reading(judge) as (opened, figures):
            judge_id = figures.judge["judge_id"]
            about = {"file": str(self._labels.path), "n_graded": len(self._labels.graded)}
            answer = answer or self._next(opened, judge_id, after)
            if not answer:
                return {**about, "answer": None}
            rows = opened.connection.execute(ASKED, {"answer_id": answer, "judge_id": judge_id}).fetchall()
            asked: dict[str, frozenset[str]] = {kind: frozenset(name for (name,) in rows) for kind in PROBE_TYPES}
            if not rows or not (found := sheet_items(opened.connection, [answer], asked)):
                return None
            criteria = rubric_criteria(opened.connection, self._study, figures.judge["rubric"], asked)
        [item] = found
        return {
            **about,
            "answer": item.answer_id,
            "is_graded": item.answer_id in self._labels.graded,
            "type": item.probe_type,
            "question": show_invisible(item.question),
            "truth": show_invisible(item.true_answer),
            "text": show_invisible(item.answer),
            "criteria": [[one.id, one.question, sorted(one.anchors.items())] for one in criteria],
        }

    def add(self, judge: str, grades: Any) -> Row:
        """Take ``{"answer": ID, "scores": {criterion: 0–5}}``. Raises UsageError where it is anything else."""
        answer, scores = (grades.get("answer"), grades.get("scores")) if isinstance(grades, dict) else (None, None)
        item = self.item(judge, answer) if isinstance(answer, str) and answer else None
        if item is None:
            raise UsageError("expected the id of an answer of this store, and its grades")
        asked = {name for name, _, _ in item["criteria"]}
        if not isinstance(scores, dict) or not scores or not scores.keys() <= asked:
            raise UsageError(f"expected grades of some of: {', '.join(sorted(asked))}")
        if not all(type(score) in (int, float) and 0 <= score <= 5 for score in scores.values()):
            raise UsageError("expected grades from 0 to 5")
        with self._live.reading(judge) as (opened, _):
            sample = opened.connection.execute(SAMPLES, {"answer_id": answer}).fetchone()
        self._labels.add(item["answer"], sample[0] if sample else None, scores)
        return {"n_graded": len(self._labels.graded)}

    def _next(self, opened: OpenDatabase, judge_id: str, after: str) -> str:
        """The first answer without grades; blank where all have some."""
        graded = self._labels.graded
        if self._of is not opened:
            self._of, self._queues = opened, {}
        queue = self._queues.get(judge_id, [])
        if not set(queue) - graded:
            values = {"judge_id": judge_id, "seed": self._seed or judge_id, "graded": sorted(graded)}
            with with_variables(opened.connection, values):
                rows = fetch_rows(opened.connection, sql_text("queries/report", "answers_to_grade"))
            queue = self._queues[judge_id] = [row[0] for row in rows.values]
        begin = queue.index(after) + 1 if after in queue else 0
        return next((id for id in [*queue[begin:], *queue[:begin]] if id not in graded), "")
