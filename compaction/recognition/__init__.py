"""Recognises statements that are known to be true in compacted contexts.

Read in this order: ``words`` (tokens of a text), ``text_index`` (which line has which token), ``relatives`` (tokens
that mean the same), ``line_search`` (what lines have of some words), ``matcher`` (the formula).
"""

from __future__ import annotations

from collections.abc import Sequence

from compaction.recognition.matcher import READABLE, Claim, Found, Matcher, PointMatcher
from compaction.recognition.text_index import TextIndex
from compaction.transcript import Message

__all__ = ["READABLE", "Claim", "Found", "Matcher", "PointMatcher", "TextIndex", "readable"]


def readable(statement: str, evidence: Sequence[int], context: Sequence[Message], history: Sequence[Message]) -> Found:
    """Measure how far a true statement can still be read in a compacted context, from 0 to 1.

    Args:
        statement: One thing that is true at the end of the history, in any words.
        evidence: Positions in the history of the messages that prove it, each alone; may be empty.
        context: What a method made of the history; a message that it kept has its ``seq``.
        history: The messages before the cut, in order.
    """
    matcher = Matcher(history, TextIndex(history, [context]))
    return matcher.at(len(history), [context]).find(Claim(statement, tuple(evidence)))[0]
