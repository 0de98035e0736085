"""The public Python API of compaction-eval; everything in it is imported when it is first asked for.

::

    from compaction_eval import Message, compact_messages, lost, open_results, strategy

    lost(messages, "a summary of them")              # what a compacted context tells of what was true before it
    compact_messages(messages, "head_tail(tail=20)") # any method on any list of messages
    open_results("compaction-eval-store")            # the results of a store, as frames
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from compaction_eval_command import in_the_way

if TYPE_CHECKING:
    from compaction import (
        CompactedContext,
        CompactionProvider,
        History,
        Message,
        Method,
        NotApplicable,
        StrategyError,
        Summarizer,
        SummaryError,
        TokenCounter,
        ToolCall,
        Transcript,
        compact,
        compact_messages,
        default_methods,
        parse_method,
        strategy,
    )
    from flows.results import Results, open_results
    from judge import Rubric, Statement, load_rubric
    from judge.outcomes import StatementOutcome, lost

__all__ = [
    "CompactedContext",
    "CompactionProvider",
    "History",
    "Message",
    "Method",
    "NotApplicable",
    "Results",
    "Rubric",
    "Statement",
    "StatementOutcome",
    "StrategyError",
    "Summarizer",
    "SummaryError",
    "TokenCounter",
    "ToolCall",
    "Transcript",
    "compact",
    "compact_messages",
    "default_methods",
    "load_rubric",
    "lost",
    "open_results",
    "parse_method",
    "strategy",
]

_MODULES = {
    "flows.results": ("Results", "open_results"),
    "judge": ("Rubric", "Statement", "load_rubric"),
    "judge.outcomes": ("StatementOutcome", "lost"),
}
"""Where a name comes from that is not from ``compaction``."""

if _found := in_the_way():
    raise ImportError(
        f"{_found[0]} has a package {_found[1]!r} that stands before that of compaction-eval on sys.path: rename it, "
        "take the folder out of PYTHONPATH, or start Python in another folder"
    )


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = next((module for module, names in _MODULES.items() if name in names), "compaction")
    found = globals()[name] = getattr(import_module(module), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
