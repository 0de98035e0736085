"""Gives a person something to grade, blind to the method, and takes the grades into the rater's own file.

The order goes round the methods by lot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from compaction.markers import REMOVED
from flows.database.query_variables import with_variables
from flows.database.scores_db import connect
from flows.database.sql_model import sql_text
from flows.reporting.html.figures import Figures, Row
from flows.reporting.html.visible import MOST_CHARS_READ, clip, show_invisible
from flows.reporting.text_tables import fetch_rows
from flows.sessions.compacted_contexts import read_contexts
from flows.store.store import Store
from flows.support.errors import UsageError
from flows.validation.calibration import rubric_criteria, sheet_items, study_of_results
from flows.validation.label_file import OF_STATEMENTS, LabelFile
from flows.viewing.live_store import MOST_OPENED, LiveStore, OpenDatabase
from judge.blinding import context_text
from judge.probe import PROBE_TYPES

ASKED = "SELECT DISTINCT criterion FROM scores WHERE answer_id = $answer_id AND judge_id = $judge_id"
CRITERIA = "SELECT DISTINCT criterion FROM scores ORDER BY criterion"
SAMPLES = "SELECT sample_id FROM label_samples WHERE answer_id = $answer_id ORDER BY drawn_at DESC LIMIT 1"
SUPPORT = "support"
"""The column of a statement's grade."""
SUPPORTS = {
    0.0: "not at all, or it says the opposite",
    0.25: "a trace of it",
    0.5: "half of it, or vaguely",
    0.75: "known but for a detail",
    1.0: "fully",
}
"""How far a statement can be known from a context, as readers grade it (docs/calibration.md)."""


class Criterion(NamedTuple):
    """A question about what is graded, with the meaning of some of its grades."""

    id: str
    question: str
    anchors: list[tuple[float, str]]


class Shown(NamedTuple):
    """The texts that a person sees, and how they are graded."""

    type: str
    question: str
    truth: str
    text: str
    criteria: list[Criterion]
    first: str | None
    """The first column of its row in the file."""


class Grading(ABC):
    """Things of a store as one rater grades them.

    Args:
        live: The store.
        labels: The rater's file.
        seed: Another one asks in another order; None for one that follows from the judge.
    """

    kind: ClassVar[str]
    """answer or statement."""
    query: ClassVar[str]
    """File of ``sql/queries/report`` that draws what is asked next."""
    scale: ClassVar[list[float]]
    """The grades."""

    def __init__(self, live: LiveStore, labels: LabelFile, seed: str | None = None) -> None:
        self._live, self._labels, self._seed = live, labels, seed
        self._of: OpenDatabase | None = None
        self._queues: dict[str, list[str]] = {}

    @abstractmethod
    def show(self, opened: OpenDatabase, figures: Figures, id: str) -> Shown | None:
        """Read from the store what a person sees of an id; None where it has nothing of that id to grade."""

    def item(self, judge: str, id: str = "", after: str = "") -> Row | None:
        """Show an id, or the next one where none is named; None for one that the store has not.

        Args:
            judge: The judge of the page, whose criteria are asked of an answer.
            id: Which one.
            after: One that was skipped: the next one after it.
        """
        about = {"file": str(self._labels.path), "n_graded": len(self._labels.graded), "kind": self.kind}
        with self._live.reading(judge) as (opened, figures):
            id = id or self._next(opened, figures.judge["judge_id"], after)
            if not id:
                return {**about, "id": None}
            found = self.show(opened, figures, id)
        if found is None:
            return None
        return {
            **about,
            "id": id,
            "is_graded": id in self._labels.graded,
            "type": found.type,
            "question": show_invisible(found.question),
            "truth": show_invisible(found.truth),
            "text": show_invisible(found.text),
            "criteria": [[*one] for one in found.criteria],
            "scale": self.scale,
        }

    def add(self, judge: str, grades: Any) -> Row:
        """Take ``{"id": ID, "scores": {criterion: grade}}``. Raises UsageError where it is anything else."""
        id, scores = (grades.get("id"), grades.get("scores")) if isinstance(grades, dict) else (None, None)
        found = None
        if isinstance(id, str):
            with self._live.reading(judge) as (opened, figures):
                found = self.show(opened, figures, id)
        if not isinstance(id, str) or found is None:
            raise UsageError(f"expected the id of one {self.kind} of this store, and its grades")
        asked = {one.id for one in found.criteria}
        if not isinstance(scores, dict) or not scores or not scores.keys() <= asked:
            raise UsageError(f"expected grades of some of: {', '.join(sorted(asked))}")
        low, high = self.scale[0], self.scale[-1]
        if not all(type(score) in (int, float) and low <= score <= high for score in scores.values()):
            raise UsageError(f"expected grades from {low:g} to {high:g}")
        self._labels.add(id, found.first, scores)
        return {"n_graded": len(self._labels.graded)}

    def _next(self, opened: OpenDatabase, judge_id: str, after: str) -> str:
        """The first one without grades; blank where all have some."""
        graded = self._labels.graded
        if self._of is not opened:
            self._of, self._queues = opened, {}
        queue = self._queues.get(judge_id, [])
        if not set(queue) - graded:
            values = {"judge_id": judge_id, "seed": self._seed or judge_id, "graded": sorted(graded)}
            with with_variables(opened.connection, values):
                rows = fetch_rows(opened.connection, sql_text("queries/report", self.query))
            queue = self._queues[judge_id] = [row[0] for row in rows.values]
        begin = queue.index(after) + 1 if after in queue else 0
        return next((id for id in [*queue[begin:], *queue[:begin]] if id not in graded), "")


class AnswerGrading(Grading):
    """Grades answers, shown as on the sheet of ``calibrate``; those of its newest sample come first."""

    kind, query, scale = "answer", "answers_to_grade", [0, 1, 2, 3, 4, 5]

    def __init__(self, live: LiveStore, store: Store, path: Path, seed: str | None = None) -> None:
        """Open the rater's file, with a column for each criterion that the store has. Raises UsageError."""
        with connect(store.database) as connection:
            criteria = [criterion for (criterion,) in connection.execute(CRITERIA).fetchall()]
        super().__init__(live, LabelFile(path, criteria), seed)
        self._study = study_of_results(store)

    def show(self, opened: OpenDatabase, figures: Figures, id: str) -> Shown | None:
        """Read the question, the truth, and the text as a judge sees it."""
        judge = figures.judge
        rows = opened.connection.execute(ASKED, {"answer_id": id, "judge_id": judge["judge_id"]}).fetchall()
        asked: dict[str, frozenset[str]] = {kind: frozenset(name for (name,) in rows) for kind in PROBE_TYPES}
        if not rows or not (found := sheet_items(opened.connection, [id], asked)):
            return None
        [item] = found
        criteria = [
            Criterion(one.id, one.question, sorted(one.anchors.items()))
            for one in rubric_criteria(opened.connection, self._study, judge["rubric"], asked)
        ]
        sample = opened.connection.execute(SAMPLES, {"answer_id": id}).fetchone()
        first = sample[0] if sample else None
        return Shown(item.probe_type, item.question, item.true_answer, item.answer, criteria, first)


class StatementGrading(Grading):
    """Grades how far a context still tells a statement of the truth; the context is shown as a judge sees it."""

    kind, query, scale = "statement", "statements_to_grade", list(SUPPORTS)

    def __init__(self, live: LiveStore, store: Store, path: Path, seed: str | None = None) -> None:
        """Open the rater's file. Raises UsageError."""
        super().__init__(live, LabelFile(path, [SUPPORT], OF_STATEMENTS), seed)
        self._store = store

    def show(self, opened: OpenDatabase, figures: Figures, id: str) -> Shown | None:
        """Read the statement, the messages that prove it, and the context."""
        with with_variables(opened.connection, {"statement_id": id}):
            rows = fetch_rows(opened.connection, sql_text("queries/report", "statement_to_grade")).dicts()
        if not rows or rows[0]["session_id"] not in opened.infos:
            return None
        [row] = rows
        info = opened.infos[row["session_id"]]
        transcript = opened.transcript(info)
        contexts = read_contexts(self._store, transcript, info.session_id, [row["compaction_id"]])
        if row["compaction_id"] not in contexts:
            return None
        shown = [context_text((transcript.messages[seq],)).removeprefix(f"{REMOVED}\n") for seq in row["evidence"]]
        proof = [clip(text, MOST_CHARS_READ)[0] for text in shown]
        text, _ = clip(context_text(contexts[row["compaction_id"]]), MOST_OPENED)
        asked = Criterion(SUPPORT, "How far can it be known from this context?", list(SUPPORTS.items()))
        kind = row["kind"]
        return Shown(kind, f"{kind.replace('_', ' ')}: {row['text']}", "\n".join(proof), text, [asked], kind)
