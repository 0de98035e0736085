"""Measures how much is remembered after a compaction.

Read in this order: ``probe`` (a question with its proven answer), ``answer`` (a responder sees the compacted context
and the question), ``rubric`` (criteria as data), ``scoring`` (criterion scores), ``embedded`` (all of it in the
process, without a model), ``panel`` (several judges as one).
"""

from judge.answer import Answer, AnswerError, Responder
from judge.probe import PROBE_TYPES, Evidence, NotAsked, Probe, ProbeFailed, Prober
from judge.rubric import CONSTRAINTS, Criterion, Rubric, RubricError, list_rubrics, load_rubric
from judge.scoring import CriterionScore, Judge, JudgeCase, JudgeError, JudgeVersion
from judge.statement import Statement, StatementState

__all__ = [
    "CONSTRAINTS",
    "PROBE_TYPES",
    "Answer",
    "AnswerError",
    "Criterion",
    "CriterionScore",
    "Evidence",
    "Judge",
    "JudgeCase",
    "JudgeError",
    "JudgeVersion",
    "NotAsked",
    "Probe",
    "ProbeFailed",
    "Prober",
    "Responder",
    "Rubric",
    "RubricError",
    "Statement",
    "StatementState",
    "list_rubrics",
    "load_rubric",
]
