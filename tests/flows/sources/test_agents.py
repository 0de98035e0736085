"""Where the agents of a machine keep their sessions."""

import json

import pytest

from flows.sources import discover
from flows.sources.agents import AGENTS, find_agents, newest_session
from flows.sources.reading.inputs import SourceError
from tests.flows.sources import logs

CODE = ".config/Code/User/globalStorage"
MAC = "Library/Application Support/Code/User/globalStorage"
PLACES = {
    "cline": f"{CODE}/saoudrizwan.claude-dev/tasks/1777073160794/api_conversation_history.json",
    "cline_sdk": ".cline/data/sessions/s-1/s-1.messages.json",
    "grok": ".grok/sessions/%2Fhome%2Fada/g-1/chat_history.jsonl",
    "kilo": ".local/share/kilo/kilo.db",
    "kilo_vscode": f"{MAC}/kilocode.kilo-code/tasks/t/api_conversation_history.json",
    "openclaw": ".openclaw/agents/main/sessions/oc-1.jsonl",
    "roo": f"{CODE}/rooveterinaryinc.roo-cline/tasks/t/api_conversation_history.json",
}


@pytest.mark.parametrize("agent", PLACES)
def test_the_session_of_an_agent_is_found_where_it_writes_and_nothing_beside_it(agent, tmp_path):
    path = tmp_path / PLACES[agent]
    path.parent.mkdir(parents=True)
    module = logs.MODULES[AGENTS[agent].format]
    if path.suffix == ".db":
        module.DATABASE(path)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, module.LINES)), encoding="utf-8")
    else:
        document = {"sessionId": "s-1", "messages": module.DOCUMENT} if agent == "cline_sdk" else module.DOCUMENT
        path.write_text(json.dumps(document), encoding="utf-8")
    for name in ("ui_messages.json", "summary.json", "updates.jsonl", "oc-1.trajectory.jsonl"):
        (path.parent / name).write_text('{"role": "user", "content": "no log"}', encoding="utf-8")
    assert newest_session(agent, tmp_path, {}).path == path


def test_an_agent_without_a_session_is_told_where_it_was_looked_for(tmp_path):
    with pytest.raises(SourceError, match=r"no session of grok in .*\.grok"):
        newest_session("grok", tmp_path, {})


PLACES_OF_ALL = PLACES | {
    "amp": ".local/share/amp/threads/T-1.json",
    "claude_code": ".claude/projects/-home-ada/s.jsonl",
    "codex": ".codex/sessions/2026/05/02/rollout-1.jsonl",
    "continue": ".continue/sessions/s.json",
    "copilot": ".copilot/session-state/s/events.jsonl",
    "cursor": ".config/Cursor/User/globalStorage/state.vscdb",
    "cursor_agent": ".cursor/projects/mill/agent-transcripts/a/a.jsonl",
    "droid": ".factory/sessions/-home-ada/s.jsonl",
    "gemini": ".gemini/tmp/mill/chats/session-1.json",
    "goose": ".local/share/goose/sessions/sessions.db",
    "kimi": ".kimi/sessions/a/b/context.jsonl",
    "kimi-code": ".kimi-code/sessions/a/b/agents/main/wire.jsonl",
    "opencode": ".local/share/opencode/opencode.db",
    "openhands": ".openhands/conversations/c/events/event-00000-a.json",
    "pi": ".pi/agent/sessions/-home-ada/s.jsonl",
    "qwen": ".qwen/projects/mill/chats/s.jsonl",
    "vscode_copilot": ".config/Code/User/workspaceStorage/w/chatSessions/s.json",
}


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_is_found_by_the_names_of_its_files(agent, tmp_path, monkeypatch):
    """And the source that is named leads to them."""
    path = tmp_path / PLACES_OF_ALL[agent]
    path.parent.mkdir(parents=True)
    path.write_text("not a log", encoding="utf-8")
    beside = path.parent / "notes.md"
    beside.write_text("# no log", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr("flows.sources.discovery.recognise", lambda path: pytest.fail(f"{path} is opened"))
        [found] = find_agents(tmp_path, {})
    assert (found.agent, found.n_logs) == (agent, 1)
    [input] = discover([found.source])
    assert path.is_relative_to(input.path)


def test_a_folder_or_a_file_that_a_variable_names_is_looked_at(tmp_path):
    for name in ("elsewhere/sessions/s.jsonl", "mine.db"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    environment = {"CODEX_HOME": str(tmp_path / "elsewhere"), "OPENCODE_DB": str(tmp_path / "mine.db")}
    found = [(one.agent, one.source) for one in find_agents(tmp_path / "home", environment)]
    assert found == [("codex", str(tmp_path / "elsewhere/sessions")), ("opencode", str(tmp_path / "mine.db"))]
