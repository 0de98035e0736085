"""Compaction of an agent's message history, and nothing else: no disk, no network, no clock.

Read in this order: ``transcript`` (the nouns), ``tokens``, ``groups``, ``points`` (where a compaction fires),
``strategy`` (what a strategy is, and the registry), then any file in ``strategies``. ``triggers`` and ``pipeline`` put
strategies together; ``providers`` compacts in an agent of one's own, by one call or before and after each run. What the
embedded engine reads off messages without a model is in ``artifacts`` (files), ``outputs`` (errors, tests, versions),
``todos`` and ``words``.
"""

from compaction.method_specs import default_methods, parse_method, parse_methods
from compaction.model import (
    BlankSummaryError,
    CallsStoppedError,
    Completion,
    Model,
    ModelError,
    ModelRequest,
    NativeCompactor,
    NativeRequest,
    Section,
    Summarizer,
    SummaryError,
    SummaryRequest,
)
from compaction.points import CompactionPoint, PointsError, PointsSpec, find_points
from compaction.providers import CompactionProvider, compact_messages
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
    strategy,
)
from compaction.tokens import TiktokenCounter, TokenCounter, counted
from compaction.transcript import Message, RecordedCompaction, ToolCall, Transcript
from compaction.triggers import Trigger, TriggerError

__all__ = [
    "BlankSummaryError",
    "CallsStoppedError",
    "CompactedContext",
    "CompactionPoint",
    "CompactionProvider",
    "Completion",
    "History",
    "Message",
    "Method",
    "Model",
    "ModelError",
    "ModelRequest",
    "NativeCompactor",
    "NativeRequest",
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
    "Trigger",
    "TriggerError",
    "compact",
    "compact_messages",
    "counted",
    "default_methods",
    "find_points",
    "load_registry",
    "make_method",
    "parse_method",
    "parse_methods",
    "strategy",
]
