"""Answering a probe from a compacted context and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from compaction.transcript import Message


class AnswerError(Exception):
    """The responder failed or refused; there is no answer to score."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A responder's text, and its cost."""

    text: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    """None when the price is unknown."""


class Responder(Protocol):
    """Sees the context and the question only: not the truth, not the strategy."""

    name: str

    def answer(self, context: Sequence[Message], question: str, max_tokens: int, replicate: int = 0) -> Answer:
        """``max_tokens`` is the limit that the question states, ``replicate`` the number of the repetition.

        Raises AnswerError when there is no usable text, CallsStoppedError when no call may be made any more.
        """
