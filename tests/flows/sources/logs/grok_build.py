"""A chat history of Grok Build, in the shapes that its own code writes."""

from typing import Any

NAME = "chat_history.jsonl"


def prompt(said: str, **more: Any) -> dict[str, Any]:
    """A prompt with what the item says of it."""
    return {"type": "user", "content": [{"type": "text", "text": said}]} | more


SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. The summary below "
    "covers the earlier portion of the conversation.\n\nSummary:\n1. Primary Request: mend the mill token-5"
)
LINES = [
    {"type": "system", "content": "You are Grok token-0"},
    prompt("<user_info>\nOS: linux token-1\n</user_info>", synthetic_reason="compaction_meta"),
    prompt("Contents of AGENTS.md token-2", synthetic_reason="project_instructions"),
    prompt("<user_query>\nMend the mill token-3\n</user_query>", prompt_index=0),
    {"type": "assistant", "content": "Kept. token-4", "model_id": "grok-test-1"},
    prompt(SUMMARY, synthetic_reason="compaction_meta"),
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm token-6"}]},
    {
        "type": "backend_tool_call",
        "kind": {
            "tool_type": "web_search",
            "action": {"type": "search", "query": "mills token-7", "sources": []},
            "id": "ws_1",
            "status": "completed",
        },
    },
    {
        "type": "assistant",
        "content": "Reading. token-8",
        "tool_calls": [{"id": "call_1", "name": "read_file", "arguments": '{"target_file":"wheel.py"}'}],
        "model_id": "grok-test-1",
    },
    {"type": "tool_result", "tool_call_id": "call_1", "content": "1 wheel token-9"},
    prompt("also the gate token-10", synthetic_reason="interjection"),
    {"type": "assistant", "content": "Done. token-11", "model_id": "grok-test-1"},
]
