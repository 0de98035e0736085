"""Where the agents of a machine keep their sessions, how many there are, and the newest one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from compaction.closest import closest_or_all
from flows.sources.discovery import count_by_name, discover
from flows.sources.reading.inputs import Input, SourceError
from flows.sources.registry import recognise


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """Where an agent keeps its sessions."""

    format: str
    home: str
    """Below the home folder."""
    folder: str
    """Below that."""
    variable: str = ""
    """Environment variable that names another folder in place of ``home``."""
    files: str = ""
    """Pattern of the files there that are looked at; without one the folder is searched to the bottom."""
    file_variable: str = ""
    """Environment variable that names another file there, or anywhere."""
    other_homes: tuple[str, ...] = ()
    """In place of ``home``, on systems where programs keep their files elsewhere."""


_VS_CODE = "Code/User/globalStorage"
_TASKS = "*/api_conversation_history.json"
_OTHER_HOMES = ("Library/Application Support", "AppData/Roaming")
AGENTS: Mapping[str, AgentFolder] = {
    "amp": AgentFolder("amp", ".local/share", "amp/threads", "XDG_DATA_HOME"),
    "claude_code": AgentFolder("claude_code", ".claude", "projects", "CLAUDE_CONFIG_DIR"),
    "cline": AgentFolder("cline", ".config", f"{_VS_CODE}/saoudrizwan.claude-dev/tasks", "", _TASKS, "", _OTHER_HOMES),
    "cline_sdk": AgentFolder("cline", ".cline", "data/sessions", "CLINE_DIR", "*/*.messages.json"),
    "codex": AgentFolder("codex_rollout", ".codex", "sessions", "CODEX_HOME"),
    "continue": AgentFolder("continue_dev", ".continue", "sessions", "CONTINUE_GLOBAL_DIR"),
    "copilot": AgentFolder("copilot_cli", ".copilot", "session-state"),
    "cursor": AgentFolder(
        "cursor", ".config", "Cursor/User/globalStorage", files="state.vscdb", other_homes=_OTHER_HOMES
    ),
    "cursor_agent": AgentFolder("cursor", ".cursor", "projects", files="*/agent-transcripts/**/*.jsonl"),
    "droid": AgentFolder("factory_droid", ".factory", "sessions"),
    "gemini": AgentFolder("gemini_cli_chat", ".gemini", "tmp"),
    "goose": AgentFolder("goose", ".local/share", "goose/sessions", "XDG_DATA_HOME", "sessions.db"),
    "grok": AgentFolder("grok_build", ".grok", "sessions", "GROK_HOME", "*/*/chat_history.jsonl"),
    "kilo": AgentFolder("opencode_db", ".local/share", "kilo", "XDG_DATA_HOME", "kilo*.db"),
    "kilo_vscode": AgentFolder(
        "cline", ".config", f"{_VS_CODE}/kilocode.kilo-code/tasks", "", _TASKS, "", _OTHER_HOMES
    ),
    "kimi": AgentFolder("kimi_cli", ".kimi", "sessions", "KIMI_SHARE_DIR", "*/*/context.jsonl"),
    "kimi-code": AgentFolder("kimi_cli", ".kimi-code", "sessions", "KIMI_CODE_HOME", "*/*/agents/main/wire.jsonl"),
    "openclaw": AgentFolder("pi", ".openclaw", "agents", "OPENCLAW_STATE_DIR", "*/sessions/*.jsonl"),
    "opencode": AgentFolder("opencode_db", ".local/share", "opencode", "XDG_DATA_HOME", "opencode*.db", "OPENCODE_DB"),
    "openhands": AgentFolder("openhands_v1_events", ".openhands", "conversations"),
    "pi": AgentFolder("pi", ".pi", "agent/sessions"),
    "qwen": AgentFolder("qwen_code", ".qwen", "projects", files="*/chats/*.jsonl"),
    "roo": AgentFolder(
        "cline", ".config", f"{_VS_CODE}/rooveterinaryinc.roo-cline/tasks", "", _TASKS, "", _OTHER_HOMES
    ),
    "vscode_copilot": AgentFolder(
        "vscode_copilot_chat",
        ".config",
        "Code/User/workspaceStorage",
        files="*/chatSessions/*.json*",
        other_homes=_OTHER_HOMES,
    ),
}

_SUB_AGENTS = "subagents"
"""Claude Code's folder beside a session, with those of its sub-agents."""


@dataclass(frozen=True, slots=True)
class FoundAgent:
    """An agent that has sessions on this machine."""

    agent: str
    source: str
    """What `ingest` is given to read them: a folder, a file or a glob."""
    n_logs: int
    """Files, or folders that are one session; a database counts once."""


def find_agents(home: Path, environment: Mapping[str, str]) -> Iterator[FoundAgent]:
    """The agents that have sessions on this machine, by the names of their files: no log is opened."""
    for agent, known in AGENTS.items():
        folder, pattern = _place_of(known, home, environment)
        try:
            n_logs = count_by_name(folder) if pattern is None else sum(path.is_file() for path in folder.glob(pattern))
        except OSError:  # a folder without permission
            continue
        if n_logs:
            yield FoundAgent(agent, str(folder / pattern if pattern else folder), n_logs)


def _place_of(known: AgentFolder, home: Path, environment: Mapping[str, str]) -> tuple[Path, str | None]:
    """The folder of an agent, and the pattern of its files there; None where all of the folder is searched."""
    named_home = environment.get(known.variable)
    homes = [named_home] if named_home else [home / place for place in (known.home, *known.other_homes)]
    folders = [Path(place) / known.folder for place in homes]
    folder = next((one for one in folders if one.exists()), folders[0])
    named = environment.get(known.file_variable)
    if known.files and named:
        path = folder / named
        return path.parent, path.name
    return folder, known.files or None


def newest_session(agent: str, home: Path, environment: Mapping[str, str]) -> Input:
    """The input with the session of an agent that was written to last, those of sub-agents aside.

    Raises:
        SourceError: The agent is not known, or has no session there.
    """
    if agent not in AGENTS:
        raise SourceError(f"unknown agent {agent!r}{closest_or_all(agent, AGENTS)}")
    known = AGENTS[agent]
    folder, pattern = _place_of(known, home, environment)
    places = [folder] if pattern is None else sorted(folder.glob(pattern))
    found = [one for place in places if place.exists() for one in discover([str(place)])]
    for one in sorted(found, key=lambda one: one.mtime_ns, reverse=True):
        if _SUB_AGENTS not in one.path.parts and (one.kind == "folder" or recognise(one.path) == known.format):
            return one
    raise SourceError(f"no session of {agent} in {folder}")
