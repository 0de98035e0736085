"""The project's own strategies, one file a family; importing this package registers them.

Read ``controls`` first: it shows all that a strategy needs. Strategies that follow another system have its id, name the
version that was read, and keep its defaults; where it marks its text with a fixed string, that string is the same.
docs/strategies.md has them in one table, with the differences from the originals.
"""

from compaction.strategies import (
    agent_framework,
    agent_framework_net,
    agent_framework_summary,
    autogen,
    claude_code_style,
    codex,
    complexity_trap,
    controls,
    file_index,
    gemini,
    inspect_ai,
    langchain,
    langmem,
    letta,
    masking,
    notes,
    opencode,
    openhands_sdk,
    pi,
    provider_native,
    recorded,
    retrieval,
    strands,
    sub_agents,
    summaries,
    tool_fifo,
)

__all__ = [
    "agent_framework",
    "agent_framework_net",
    "agent_framework_summary",
    "autogen",
    "claude_code_style",
    "codex",
    "complexity_trap",
    "controls",
    "file_index",
    "gemini",
    "inspect_ai",
    "langchain",
    "langmem",
    "letta",
    "masking",
    "notes",
    "opencode",
    "openhands_sdk",
    "pi",
    "provider_native",
    "recorded",
    "retrieval",
    "strands",
    "sub_agents",
    "summaries",
    "tool_fifo",
]
