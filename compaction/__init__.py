"""Compaction of an agent's message history, and nothing else: no disk, no network, no clock.

Read in this order: ``transcript`` (the nouns), ``tokens``, ``groups``, ``points`` (where a compaction fires),
``strategy`` (what a strategy is), ``registry`` and ``compact``, then any file in ``strategies``. ``triggers`` and
``pipeline`` put strategies together; ``methods`` reads the text in which people name them; ``provider`` compacts in an
agent of one's own, by one call or before and after each run. What can be read off messages without a model is in
``reading``.
"""

from compaction.compact import compact
from compaction.methods import default_methods, load_registry, make_method, parse_method, parse_methods
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
from compaction.provider import CompactionProvider, compact_messages
from compaction.registry import strategy
from compaction.strategy import CompactedContext, History, Method, NotApplicable, Strategy, StrategyError
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
