"""Recognises statements that are known to be true in compacted contexts.

Read in this order: ``words`` (tokens of a text), ``text_index`` (which line has which token), ``relatives`` (tokens
that mean the same), ``matcher`` (the formula).
"""

from __future__ import annotations

from collections.abc import Sequence

from compaction.recognition.matcher import READABLE, Context, Found, Match, Matcher, Statement
from compaction.recognition.text_index import TextIndex
from compaction.transcript import Message

__all__ = ["READABLE", "Context", "Found", "Match", "Matcher", "Statement", "TextIndex", "readable"]


def readable(statement: str, evidence: Sequence[int], context: Sequence[Message], history: Sequence[Message]) -> Found:
    """How far a true statement can still be read in a compacted context.

    Args:
        statement: One thing that is true at the end of the history, in any words.
        evidence: Positions in the history of the messages that prove it, each alone; may be empty.
        context: What a method made of the history; a message that it kept has its ``seq``.
        history: The messages before the cut, in order.
    """
    matcher = Matcher(history, TextIndex(history, [(len(history), context)]))
    match = matcher.match(Statement(statement, tuple(evidence)))
    return match.in_context(matcher.context(context), len(history))
