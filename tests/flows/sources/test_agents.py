"""Where the agents of a machine keep their sessions."""

import json

import pytest

from flows.sources.agents import AGENTS, newest_session
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
