"""A language model that says which of two answers to one question is better: the protocol ``pairwise``.

It sees the question, the true answer and the two answers, and no context: nothing tells which methods they are of.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import orjson

from compaction.model import Model, ModelError, ModelRequest, ReplyError
from compaction.transcript import Message
from judge import blinding
from judge.blinding import blind_text
from judge.llm.data import answer_text, json_text
from judge.probe import Probe
from judge.scoring import JudgeError, JudgeVersion

VERSION = 1
"""Raise it when a pair is asked otherwise, or a verdict read otherwise. The prompt takes part by its text."""
MAX_TOKENS = 400
"""Room for a verdict: a reason of two sentences takes about 60 tokens."""

Better = Literal["first", "second", "tie"]
_BETTER: dict[str, Better] = {"1": "first", "2": "second", "tie": "tie"}
_SCHEMA = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "better": {"type": "string", "enum": list(_BETTER)}},
    "required": ["reasoning", "better"],
    "additionalProperties": False,
}
_FENCE = re.compile(r"```[A-Za-z]*\s*\n?(.*)```", re.DOTALL)


@cache
def pair_prompt() -> str:
    """The system message, the same for every pair."""
    return files("judge").joinpath("prompts", "pair.md").read_text(encoding="utf-8").strip()


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """Which of two answers is better, and why."""

    better: Better
    reasoning: str


class PairJudge:
    """Compares answers with a language model; safe to call from many threads."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.version = JudgeVersion(
            judge=model.name,
            model=str(model.identity.get("model", model.name)),
            rubric="",
            prompt_sha256=hashlib.sha256(pair_prompt().encode()).hexdigest(),
            protocol="pairwise",
            params={
                "identity": dict(model.identity),
                "schema_sha256": hashlib.sha256(orjson.dumps(_SCHEMA)).hexdigest(),
                "max_tokens": MAX_TOKENS,
                "version": VERSION,
                "blinding": blinding.VERSION,
            },
        )

    def compare(self, probe: Probe, first: str, second: str) -> PairVerdict:
        """Say which answer is better.

        Raises JudgeError when there is no verdict, CallsStoppedError when no call may be made any more.
        """
        request = self.request(probe, first, second)
        try:
            done = self._model.complete(request)
        except ModelError as error:
            raise JudgeError(str(error)) from error
        try:
            return read_verdict(done.text)
        except ReplyError as error:
            raise JudgeError(str(error)) from error

    def request(self, probe: Probe, first: str, second: str) -> ModelRequest:
        """The request about two answers in this order."""
        shown = {
            "question": probe.question,
            "ground_truth": probe.ground_truth or None,
            "answer_1": blind_text(answer_text(first, probe.max_tokens)),
            "answer_2": blind_text(answer_text(second, probe.max_tokens)),
        }
        messages = (Message("system", pair_prompt()), Message("user", json_text(shown)))
        return ModelRequest(messages, MAX_TOKENS, _SCHEMA, check=read_verdict)


def read_verdict(text: str) -> PairVerdict:
    """The verdict in a reply. Raises ReplyError for a reply of another form."""
    fenced = _FENCE.fullmatch(text.strip())
    try:
        found: Any = orjson.loads(fenced[1] if fenced else text)
    except orjson.JSONDecodeError:
        raise ReplyError("the reply is no JSON object") from None
    better = _BETTER.get(str(found.get("better"))) if isinstance(found, dict) else None
    reasoning = found.get("reasoning") if isinstance(found, dict) else None
    if better is None or not isinstance(reasoning, str) or not reasoning.strip():
        raise ReplyError("the reply lacks a reason, or does not say 1, 2 or tie")
    return PairVerdict(better, reasoning.strip())
