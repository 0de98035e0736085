"""Where the agents of a machine keep their sessions, and the newest one there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from compaction.closest import closest_or_all
from flows.sources.discovery import discover
from flows.sources.reading.inputs import Input, SourceError
from flows.sources.registry import recognise


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """Where an agent keeps its sessions."""

    format: str
    folder: str
    """Below the home folder."""
    variable: str = ""
    """Environment variable that names another folder in place of its first part."""


AGENTS: Mapping[str, AgentFolder] = {
    "claude_code": AgentFolder("claude_code", ".claude/projects", "CLAUDE_CONFIG_DIR"),
    "codex": AgentFolder("codex_rollout", ".codex/sessions", "CODEX_HOME"),
    "copilot": AgentFolder("copilot_cli", ".copilot/session-state"),
    "gemini": AgentFolder("gemini_cli_chat", ".gemini/tmp"),
    "openhands": AgentFolder("openhands_v1_events", ".openhands/conversations"),
    "pi": AgentFolder("pi", ".pi/agent/sessions"),
}
ONLY_EXPORTED: Mapping[str, str] = {"opencode": "opencode export SESSION > session.json"}
"""Agents that keep sessions in a form that is not read: what gets one out."""

_SUB_AGENTS = "subagents"
"""Claude Code's folder beside a session, with those of its sub-agents."""


def newest_session(agent: str, home: Path, environment: Mapping[str, str]) -> Input:
    """The session of an agent that was written to last, those of sub-agents aside.

    Raises:
        SourceError: The agent is not known, has no session there, or has to be asked for it.
    """
    if agent in ONLY_EXPORTED:
        raise SourceError(
            f"{agent} keeps its sessions in a database: {ONLY_EXPORTED[agent]}, then give that file in place of --agent"
        )
    if agent not in AGENTS:
        raise SourceError(f"unknown agent {agent!r}{closest_or_all(agent, (*AGENTS, *ONLY_EXPORTED))}")
    known = AGENTS[agent]
    first, _, rest = known.folder.partition("/")
    own = environment.get(known.variable) if known.variable else None
    folder = (Path(own) if own else home / first) / rest
    found = discover([str(folder)]) if folder.is_dir() else []
    for one in sorted(found, key=lambda one: one.mtime_ns, reverse=True):
        if _SUB_AGENTS not in one.path.parts and (one.kind == "folder" or recognise(one.path) == known.format):
            return one
    raise SourceError(f"no session of {agent} in {folder}")
