"""The places where a compaction would fire: at a legal cut, the same for every method."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from compaction.parameters import value_text
from compaction.transcript import Message, Transcript

DEFAULT_BUDGET = 32_000
"""Tokens that a context may hold where the spec does not say (points by messages, or recorded ones)."""

PointsKind = Literal["tokens", "messages", "share", "sizes", "recorded"]

LOOKAHEAD = 20
"""Messages after the cut that probes may look at for what the session did next; part of a point's identity."""

MIN_STEP = {"tokens": 500, "messages": 2}
MAX_STEP = 10**9
"""More than any session has."""


class PointsError(ValueError):
    """A ``--points`` that cannot be read."""


@dataclass(frozen=True, slots=True)
class PointsSpec:
    """``tokens:32000``, ``messages:50``, ``share:0.5,0.9``, ``sizes:8000,32000`` or ``recorded``."""

    kind: PointsKind = "tokens"
    step: int = DEFAULT_BUDGET
    shares: tuple[float, ...] = ()
    """Shares of a session's tokens, each between 0 and 1, ascending."""
    sizes: tuple[int, ...] = ()
    """Tokens of the history, ascending: one point at each, for sessions that compact once, there."""

    @classmethod
    def parse(cls, text: str) -> PointsSpec:
        """Read a spec as it is written on the command line."""
        if text == "recorded":
            return cls("recorded", 0)
        if match := re.fullmatch(r"share:((?:[01]?\.[0-9]{1,4},?){1,20})(?<!,)", text):
            shares = sorted(set(map(float, match[1].split(","))))
            if not 0 < shares[0] <= shares[-1] < 1:
                raise PointsError(f"points {text!r}: each share must be more than 0 and less than 1")
            return cls("share", 0, tuple(shares))
        if match := re.fullmatch(r"sizes:([0-9]{1,10}(?:,[0-9]{1,10}){0,19})", text):
            sizes = sorted(set(map(int, match[1].split(","))))
            for size in sizes:
                _check_step(text, "tokens", size, "each size")
            return cls("sizes", sizes[0], sizes=tuple(sizes))
        match = re.fullmatch(r"(tokens|messages):([0-9]{1,10})", text)
        if match is None:
            raise PointsError(
                f"points {value_text(text)}: expected tokens:N, messages:N, share:S[,S…], sizes:N[,N…] or "
                "recorded, for example tokens:32000 or share:0.5,0.9"
            )
        kind: PointsKind = "tokens" if match[1] == "tokens" else "messages"
        step = int(match[2])
        _check_step(text, kind, step, "the step")
        return cls(kind, step)

    def __str__(self) -> str:
        if self.kind == "share":
            return "share:" + ",".join(map(str, self.shares))
        if self.kind == "sizes":
            return "sizes:" + ",".join(map(str, self.sizes))
        return self.kind if self.kind == "recorded" else f"{self.kind}:{self.step}"

    def may_fire(self, n_messages: int, n_tokens: int, n_recorded: int) -> bool:
        """Whether a session of this size can have a point at all; most short ones need not be looked at."""
        size = {"messages": n_messages, "share": n_messages - 1, "recorded": n_recorded}.get(self.kind, n_tokens)
        return size >= max(1, self.step)

    def earlier(self, cuts: Sequence[int]) -> tuple[int, ...]:
        """The cuts at which a session has compacted before: all of these, or none where each point is the only one."""
        return () if self.kind == "sizes" else tuple(cuts)

    def budget(self, point: CompactionPoint | None = None, n_tokens: int = 0) -> int:
        """Tokens that the context may hold at a point: what strategies with shares of a budget take shares of.

        Args:
            point: A point that this spec has found; None for what holds where points do not differ.
            n_tokens: Tokens of the whole session. Of points by shares or sizes, the one that the history has grown past
                is the budget, as N is that of ``tokens:N``.
        """
        if self.kind in ("share", "sizes") and point is not None:
            return max((size for size in self._sizes(n_tokens) if size <= point.tokens_before), default=1)
        return self.step if self.kind in ("tokens", "sizes") else DEFAULT_BUDGET

    def _sizes(self, n_tokens: int) -> list[int]:
        """The tokens of the history at each of the shares or sizes."""
        return list(self.sizes) or [max(1, round(share * n_tokens)) for share in self.shares]

    def positions(self, before: Sequence[int], recorded: Iterable[int]) -> list[int]:
        """The messages before which the spec wants a point, ascending; a cut there need not be legal.

        Args:
            before: For each message the tokens before it, and last those of the whole session.
            recorded: Where the session's own compactions were.
        """
        places = range(1, len(before) - 1)
        if self.kind == "recorded":
            # One at the very beginning belongs to a session of which this log is the continuation.
            return sorted(at for at in recorded if at > 0)
        if self.kind in ("share", "sizes"):
            return [i for i in places if any(before[i - 1] < size <= before[i] for size in self._sizes(before[-1]))]
        size = before if self.kind == "tokens" else range(len(before))
        return [i for i in places if size[i] // self.step > size[i - 1] // self.step]


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
    """``cut_seq`` of the session's earlier points (none where each point is the only one)."""


def _check_step(text: str, kind: str, step: int, what: str) -> None:
    if step < MIN_STEP[kind]:
        raise PointsError(f"points {text!r}: {what} must be at least {MIN_STEP[kind]} {kind}")
    if step > MAX_STEP:
        raise PointsError(f"points {text!r}: {what} must be at most {MAX_STEP:,} {kind}")


def legal_cuts(messages: tuple[Message, ...]) -> list[bool]:
    """Whether a history may end just before each position.

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
    messages: likewise. By shares: where the history has that share of the session's tokens. By sizes: where it first
    has so many tokens. Recorded: where the session's own compactions were. Each moves on to a legal cut.
    """
    messages = transcript.messages
    legal = legal_cuts(messages)
    before = [0]
    for message in messages:
        if message.tokens is None:
            raise ValueError(f"session {transcript.session_id}: message {message.seq} has no token count")
        before.append(before[-1] + message.tokens)
    cuts: list[int] = []
    for position in spec.positions(before, (compaction.at_seq for compaction in transcript.compactions)):
        cut = next((i for i in range(position, len(messages)) if legal[i]), None)
        if cut is not None and (not cuts or cut > cuts[-1]):
            cuts.append(cut)
    return [
        CompactionPoint(transcript.session_id, i + 1, cut, before[cut], spec.earlier(cuts[:i]))
        for i, cut in enumerate(cuts)
    ]
