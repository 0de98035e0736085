"""Sessions without a compaction point: why, and which points they could have."""

from __future__ import annotations

from collections.abc import Sequence

from compaction import Message, PointsSpec
from flows.sessions.session_parts import SessionInfo
from flows.sources import Input
from flows.sources.registry import InputReading
from flows.support.plurals import quantity

FOR_SHORT = "share:0.5,0.9"
"""Points that sessions of any length have."""


def explain_missing_points(without: Sequence[SessionInfo], n_sessions: int, spec: PointsSpec) -> str:
    """One sentence on the sessions that have no point; blank where every session has one."""
    if not n_sessions:
        return "no session could be read, so there is nothing to compare"
    if not without:
        return ""
    said = f"{len(without):,} of {quantity(n_sessions, 'session')} without a compaction point (--points {spec}): "
    if spec.kind == "recorded":
        said += "no agent recorded one"
    else:
        by_tokens = spec.kind in ("tokens", "sizes")
        size = max(info.n_tokens if by_tokens else info.n_messages for info in without)
        said += f"the longest without one has {quantity(size, 'token' if by_tokens else 'message')}"
    shares = PointsSpec.parse(FOR_SHORT)
    n_could = sum(shares.may_fire(info.n_messages, info.n_tokens, len(info.compactions)) for info in without)
    if not n_could or spec.kind == "share":
        return said
    return f"{said}; --points {FOR_SHORT} would give points to {n_could:,}"


MOST_READ = 50
"""Inputs that are read to propose points."""
CHARACTERS = 4
"""Of a token, about."""


def propose_points(inputs: Sequence[Input], default: str) -> str:
    """The default where at least half of the sessions reach it, else points by share.

    Args:
        inputs: Logs; up to ``MOST_READ`` of them, evenly spread, are read. Tokens are taken from characters.
        default: Points by tokens, as text.
    """
    spec = PointsSpec.parse(default)
    step = -(-len(inputs) // MOST_READ) or 1
    sessions = [session for input in inputs[::step] for session in InputReading(input)]
    n_could = sum(spec.may_fire(len(s), sum(map(_characters, s.messages)) // CHARACTERS, 0) for s in sessions)
    return default if 2 * n_could >= len(sessions) else FOR_SHORT


def _characters(message: Message) -> int:
    return len(message.text) + len(message.reasoning or "") + sum(len(call.arguments) for call in message.tool_calls)
