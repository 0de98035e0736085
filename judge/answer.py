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
    """What a responder said, and what it cost."""

    text: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0


class Responder(Protocol):
    """Sees the context and the question only: not the truth, not the strategy."""

    name: str

    def answer(self, context: Sequence[Message], question: str, max_tokens: int) -> Answer:
        """Raises AnswerError when there is no usable text."""
        ...
