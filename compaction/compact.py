"""Runs a method at a point, and finds the fate of every message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compaction.groups import without_other_half
from compaction.model import NativeCompactor, Summarizer
from compaction.strategy import CompactedContext, History, Method
from compaction.tokens import TokenCounter, counted, total_tokens
from compaction.transcript import Message, Transcript


def history_before(
    transcript: Transcript,
    cut: int,
    earlier_cuts: tuple[int, ...],
    counter: TokenCounter,
    budget: int,
    *,
    summarizer: Summarizer | None = None,
    natives: Mapping[str, NativeCompactor] | None = None,
    previous: tuple[Message, ...] | None = None,
) -> History:
    """Make the history that a method gets at the point before the message at ``cut``.

    Args:
        transcript: A session whose messages have been counted.
        cut: Number of messages before the point.
        earlier_cuts: The same of the session's earlier points.
        counter: What counts tokens.
        budget: Tokens that the context may hold.
        summarizer: What summarises, if anything does.
        natives: Providers that compact on their side, by name.
        previous: What the method left at the last point; None outside of a chain.
    """
    said = transcript.messages[:cut]
    recorded = (compaction for compaction in transcript.compactions if compaction.at_seq <= cut)
    return History(
        said if previous is None else previous + said[earlier_cuts[-1] :],
        counter,
        budget,
        earlier_cuts if previous is None else (),
        summarizer,
        previous or (),
        session=said,
        recorded=tuple(sorted(recorded, key=lambda compaction: compaction.at_seq)),
        natives=natives or {},
    )


def compact(history: History, method: Method) -> CompactedContext:
    """Run a method and say what became of every message.

    Raises SummaryError when the summariser failed, NotApplicable when the strategy has nothing to say at this point;
    the history is as it was.
    """
    before = history.messages
    left = tuple(method.run(history))
    originals = {m.seq: m for m in history.session if m.seq is not None}
    kept = frozenset(m.seq for m in left if m.seq is not None and _is_same(m, originals.get(m.seq)))
    after = tuple(counted(m, history.counter) for m in left)
    tokens = total_tokens(after, history.counter)
    edited = frozenset(m.seq for m in after if m.seq is not None) - kept
    earlier = {seq for m in before for seq in m.covers}
    covered = frozenset(seq for m in after for seq in m.covers) - kept - edited
    dropped = (frozenset(originals) | earlier) - kept - edited - covered
    flags = list(history.flags)
    if tokens > total_tokens(before, history.counter):
        flags.append("grew")
    if without_other_half(after) - without_other_half(history.session):
        flags.append("invalid_context")
    limit = method.limit(history)
    if limit is not None and tokens > limit:
        flags.append("over_budget")
    by_kind = tokens_by_kind(after, history.counter)
    return CompactedContext(after, kept, edited, covered, dropped, tuple(flags), tokens, tuple(history.calls), by_kind)


def _is_same(message: Message, said: Message | None) -> bool:
    """Whether a message is as it was said; in a chain it can be another object of the same content."""
    return message is said or (said is not None and replace(message, tokens=said.tokens) == said)


def tokens_by_kind(messages: Sequence[Message], counter: TokenCounter) -> dict[str, int]:
    """Tokens by role, those of messages that a strategy made under ``made``."""
    found: dict[str, int] = {}
    for message in messages:
        kind = message.role if message.seq is not None else "made"
        found[kind] = found.get(kind, 0) + total_tokens((message,), counter)
    return found
