"""Criterion scores from how far the statements of a probe can be read.

Each score is 5 times the mean support of the statements that the criterion is about; what is contradicted or out of
date has none. Of the embedded responder's answers the support is that of the context (``judge.measures.states``). Of
other answers it is that of their words, which do not show what is denied, out of date or mixed up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compaction.recognition import READABLE
from compaction.tokens import TokenCounter
from judge.embedded.responder import NOT_MEASURED
from judge.measures.states import states_in_answer
from judge.rubric import Rubric
from judge.scoring import CriterionScore, JudgeCase, JudgeVersion
from judge.statement import Statement, StatementKind

VERSION = 3
"""Raise it when an answer is scored otherwise."""

NAME = f"embedded-judge@{VERSION}"

FILES: tuple[StatementKind, ...] = ("file_created", "file_modified", "file_deleted", "file_examined")
NAMED: tuple[StatementKind, ...] = ("error", "command", "version", "value", "total", "failing_test")
"""What is quoted to the letter."""
OPEN: tuple[StatementKind, ...] = ("open_task", "failing_test", "untested_edit", "next_step")


@dataclass(frozen=True, slots=True)
class Told:
    """A statement, and how far it is told."""

    statement: Statement
    support: float
    """0-1."""


def mean(told: Sequence[Told]) -> float:
    """The mean support of the statements."""
    return sum(one.support for one in told) / len(told)


def readable(told: Sequence[Told]) -> float:
    """Share of the statements with a support of 0.5 or more."""
    return sum(one.support >= READABLE for one in told) / len(told)


@dataclass(frozen=True, slots=True)
class Formula:
    """The formula of a criterion: 5 times a share of the statements of some kinds."""

    about: str
    """For people: which statements these are."""
    kinds: tuple[StatementKind, ...] = ()
    """Their kinds; all where it is empty."""
    unscored_when: str = ""
    """For people: when the probe has none of them."""
    share: Callable[[Sequence[Told]], float] = mean
    """What of them is told, 0-1; they are never none."""


FORMULAS: dict[str, Formula] = {
    "accuracy_factual": Formula("all statements"),
    "accuracy_technical": Formula(
        "files, errors, commands, versions, values, tests",
        (*NAMED, *FILES),
        "nothing of the truth is quoted to the letter",
    ),
    "context_conversation_state": Formula(
        "requests, decisions, open and done tasks, announced steps",
        ("request", "decision", "reason", "open_task", "done_task", "next_step"),
        "no request, decision or open task belongs to the probe",
    ),
    "context_artifact_state": Formula(
        "files, edits that were not tested", (*FILES, "untested_edit"), "no file belongs to the probe"
    ),
    "artifact_files_created": Formula("created files", ("file_created",), "no file of the project had been created"),
    "artifact_files_modified": Formula(
        "modified files: 0.6 for the file, 0.4 for the names of what was changed in it",
        ("file_modified",),
        "no existing file had been modified",
    ),
    "artifact_key_details": Formula(
        "errors, commands, versions, values, tests, causes",
        (*NAMED, "finding"),
        "the truth has no names or messages",
    ),
    "completeness_coverage": Formula("all statements", share=readable),
    "completeness_depth": Formula("all statements"),
    "continuity_work_state": Formula(
        "files, open work, the open request",
        (*FILES, *OPEN, "request"),
        "nothing of the state of the work belongs to the probe",
    ),
    "continuity_todo_state": Formula(
        "open tasks, failing tests, untested edits, announced steps", OPEN, "nothing was open"
    ),
    "continuity_reasoning": Formula("reasons and causes", ("reason", "finding"), "no reason was given"),
    "constraints_in_force": Formula("what is required or forbidden", ("constraint",), "no constraint is asked for"),
}
"""Id of a criterion → its formula."""

UNMEASURED = dict.fromkeys(
    ("instruction_format", "instruction_constraints"), "the embedded engine quotes and follows no instruction"
)
"""Criteria that this judge never scores → why."""


class EmbeddedJudge:
    """Scores by the statements that can be read; no language model reads anything."""

    def __init__(self, rubric: Rubric, counter: TokenCounter) -> None:
        self.rubric = rubric
        self.version = JudgeVersion(
            judge="embedded",
            model=NAME,
            rubric=rubric.name,
            prompt_sha256=hashlib.sha256(NAME.encode()).hexdigest(),
            protocol="states of true statements; of free answers their words",
            params={"tokenizer": counter.name},
        )

    def score(self, case: JudgeCase) -> Sequence[CriterionScore]:
        """One entry for each criterion of the case."""
        statements = case.probe.statements
        states = states_in_answer(statements, case.answer) if case.states is None else case.states
        pairs = zip(statements, states, strict=False)
        told = [Told(statement, one.support) for statement, one in pairs if one.support is not None]
        if len(told) < len(statements):
            return [CriterionScore(id, None, "", NOT_MEASURED) for id in case.criteria]
        return [self._criterion(id, told) for id in case.criteria]

    def _criterion(self, id: str, told: Sequence[Told]) -> CriterionScore:
        formula = FORMULAS.get(id)
        if formula is None:
            return CriterionScore(id, None, "", UNMEASURED.get(id, f"the embedded judge has no formula for {id}"))
        about = [one for one in told if not formula.kinds or one.statement.kind in formula.kinds]
        if not about:
            return CriterionScore(id, None, "", formula.unscored_when or "the probe states nothing")
        n_readable = sum(one.support >= READABLE for one in about)
        share = min(max(formula.share(about), 0.0), 1.0)
        return CriterionScore(id, round(5 * share, 2), f"{n_readable} of {len(about)} statements can be read")
