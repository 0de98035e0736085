"""Compaction of an agent's message history, and nothing else: no disk, no network, no clock.

Read in this order: ``transcript`` (the nouns), ``tokens``, ``groups``, ``points`` (where a compaction fires),
``strategy`` (what a strategy is, and the registry), then any file in ``strategies``. What the embedded engine reads off
messages without a model is in ``artifacts`` (files), ``outputs`` (errors, tests, versions), ``todos`` and ``words``.
"""

from compaction.model import Completion, Section, Summarizer, SummaryError, SummaryRequest
from compaction.points import CompactionPoint, PointsError, PointsSpec, find_points
from compaction.strategy import (
    CompactedContext,
    History,
    Method,
    NotApplicable,
    Strategy,
    StrategyError,
    compact,
    load_registry,
    make_method,
    parse_method,
    strategy,
)
from compaction.tokens import TiktokenCounter, TokenCounter, counted
from compaction.transcript import Message, RecordedCompaction, ToolCall, Transcript

__all__ = [
    "CompactedContext",
    "CompactionPoint",
    "Completion",
    "History",
    "Message",
    "Method",
    "NotApplicable",
    "PointsError",
    "PointsSpec",
    "RecordedCompaction",
    "Section",
    "Strategy",
    "StrategyError",
    "Summarizer",
    "SummaryError",
    "SummaryRequest",
    "TiktokenCounter",
    "TokenCounter",
    "ToolCall",
    "Transcript",
    "compact",
    "counted",
    "find_points",
    "load_registry",
    "make_method",
    "parse_method",
    "strategy",
]
