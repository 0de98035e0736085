"""A pi session made by hand."""

LINES = [
    {"type": "session", "id": "p-1", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/home/ada", "note": "token-0"},
    {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "token-1"}]}},
    {
        "type": "message",
        "message": {
            "role": "assistant",
            "model": "claude-test-1",
            "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "c2ln"},
                {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "token-2"}},
            ],
        },
    },
    {
        "type": "message",
        "message": {
            "role": "toolResult",
            "toolCallId": "t1",
            "toolName": "bash",
            "content": [{"type": "text", "text": "token-3"}],
            "isError": False,
        },
    },
    {"type": "model_change", "modelId": "claude-test-2", "note": "token-4"},
    {"type": "message", "message": {"role": "bashExecution", "command": "ls", "output": "token-5", "exitCode": 2}},
]
