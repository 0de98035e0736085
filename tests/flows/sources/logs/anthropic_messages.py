"""Messages of Anthropic's API made by hand."""

LINES = [
    {"role": "user", "content": "token-0"},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test-1",
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90},
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "token-1"},
            {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "token-2"}]},
            {"type": "text", "text": "and hurry"},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "compaction", "content": "all so far"},
            {"type": "redacted_thinking", "data": "b3Bh"},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "token-3"}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "s1",
                "content": [{"type": "web_search_result", "title": "Mills", "url": "https://a.example"}],
            },
        ],
        "context_management": {
            "applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1, "cleared_input_tokens": 5}]
        },
    },
    {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "aGk="}}, "token-4"]},
]
DOCUMENT = {
    "model": "claude-test-1",
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": LINES,
    "response": {
        "id": "msg_9",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Done."}],
        "usage": {"input_tokens": 1, "output_tokens": 2},
    },
}
