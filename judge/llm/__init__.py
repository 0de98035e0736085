"""Probes, answers and verdicts by a language model.

Read in this order: ``data`` (text of strangers in a request), ``responder`` (one probe answered from one compacted
context), ``verdict_form`` (what a judge's reply must look like, and how it is read), ``judge`` (criteria scored against
their anchors, under a protocol), ``packed`` (several answers in one call), ``prober`` (questions that a model wrote,
with evidence that was looked up). The prompts are files in ``judge/prompts``. docs/judge.md says why it is done in this
way.
"""

from judge.llm.judge import JudgePrompts, ModelJudge, Protocol
from judge.llm.packed import PackedJudge
from judge.llm.responder import ModelResponder
from judge.llm.verdict_form import Verdict
from judge.scoring import PackTooLargeError

__all__ = [
    "JudgePrompts",
    "ModelJudge",
    "ModelResponder",
    "PackTooLargeError",
    "PackedJudge",
    "Protocol",
    "Verdict",
]
