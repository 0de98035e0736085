"""Where a compaction would fire: at a legal cut, the same for every method."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from compaction.parameters import value_text
from compaction.transcript import Message, Transcript

DEFAULT_BUDGET = 32_000
"""Tokens that a context may hold where the spec does not say (points by messages, or recorded ones)."""

LOOKAHEAD = 20
"""Messages after the cut that probes may look at for what the session did next; part of a point's identity."""

MIN_STEP = {"tokens": 500, "messages": 2}
MAX_STEP = 10**9
"""More than any session has."""


class PointsError(ValueError):
    """A ``--points`` that cannot be read."""


@dataclass(frozen=True, slots=True)
class PointsSpec:
    """``tokens:32000``, ``messages:50`` or ``recorded``."""

    kind: Literal["tokens", "messages", "recorded"] = "tokens"
    step: int = DEFAULT_BUDGET

    @classmethod
    def parse(cls, text: str) -> PointsSpec:
        """Read a spec as it is written on the command line."""
        if text == "recorded":
            return cls("recorded", 0)
        match = re.fullmatch(r"(tokens|messages):([0-9]{1,10})", text)
        if match is None:
            raise PointsError(
                f"points {value_text(text)}: expected tokens:N, messages:N or recorded, for example tokens:32000"
            )
        kind: Literal["tokens", "messages"] = "tokens" if match[1] == "tokens" else "messages"
        step = int(match[2])
        if step < MIN_STEP[kind]:
            raise PointsError(f"points {text!r}: the step must be at least {MIN_STEP[kind]} {kind}")
        if step > MAX_STEP:
            raise PointsError(f"points {text!r}: the step must be at most {MAX_STEP:,} {kind}")
        return cls(kind, step)

    def __str__(self) -> str:
        return self.kind if self.kind == "recorded" else f"{self.kind}:{self.step}"

    def may_fire(self, n_messages: int, n_tokens: int, n_recorded: int) -> bool:
        """Whether a session of this size can have a point at all; most short ones need not be looked at."""
        size = {"tokens": n_tokens, "messages": n_messages, "recorded": n_recorded}[self.kind]
        return size >= max(1, self.step)

    @property
    def budget(self) -> int:
        """Tokens that the context may hold at a point: what strategies with shares of a budget take shares of."""
        return self.step if self.kind == "tokens" else DEFAULT_BUDGET


@dataclass(frozen=True, slots=True)
class CompactionPoint:
    """The moment before the message at ``cut_seq``: everything earlier is the history to be compacted."""

    session_id: str
    cycle: int
    """1 for a session's first point."""
    cut_seq: int
    tokens_before: int
    """Tokens of all messages before the cut."""
    earlier_cuts: tuple[int, ...] = ()
    """``cut_seq`` of the session's earlier points."""


def legal_cuts(messages: tuple[Message, ...]) -> list[bool]:
    """For each position whether a history may end just before it.

    A cut never parts a tool call from its result, and the next thing to come is not a tool result: a real compaction
    fires before a model call, when nothing is pending. There is no cut before the first message or after the last.
    """
    last_result = {m.tool_call_id: i for i, m in enumerate(messages) if m.role == "tool" and m.tool_call_id is not None}
    legal = []
    pending_until = -1
    for i, message in enumerate(messages):
        legal.append(i > 0 and i > pending_until and message.role != "tool")
        for call in message.tool_calls:
            pending_until = max(pending_until, last_result.get(call.id, -1))
    return legal


def find_points(transcript: Transcript, spec: PointsSpec) -> list[CompactionPoint]:
    """The compaction points of a session whose messages have been counted.

    By tokens: each time the history grows past a multiple of the step, at the first legal cut from there on. By
    messages: likewise. Recorded: where the session's own compactions were, moved on to a legal cut.
    """
    messages = transcript.messages
    legal = legal_cuts(messages)
    before = [0]
    for message in messages:
        if message.tokens is None:
            raise ValueError(f"session {transcript.session_id}: message {message.seq} has no token count")
        before.append(before[-1] + message.tokens)
    if spec.kind == "recorded":
        # One at the very beginning belongs to a session of which this log is the continuation.
        wanted = [compaction.at_seq for compaction in transcript.compactions if compaction.at_seq > 0]
    else:
        size = before[:-1] if spec.kind == "tokens" else list(range(len(messages)))
        wanted = [i for i in range(1, len(messages)) if size[i] // spec.step > size[i - 1] // spec.step]
    cuts: list[int] = []
    for position in sorted(wanted):
        cut = next((i for i in range(max(position, 1), len(messages)) if legal[i]), None)
        if cut is not None and (not cuts or cut > cuts[-1]):
            cuts.append(cut)
    return [
        CompactionPoint(transcript.session_id, i + 1, cut, before[cut], tuple(cuts[:i])) for i, cut in enumerate(cuts)
    ]
