"""Items of the Responses API made by hand."""

LINES = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "token-0"}]},
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "token-1"}],
        "encrypted_content": "b3Bh",
    },
    {"type": "function_call", "id": "fc_1", "call_id": "f1", "name": "run", "arguments": '{"cmd": "token-2"}'},
    {"type": "mcp_call", "id": "mcp_1", "name": "look", "server_label": "s", "arguments": "{}", "output": "token-3"},
    {"type": "function_call_output", "call_id": "f1", "output": "token-4"},
    {"type": "shell_call", "call_id": "f2", "action": {"commands": ["token-5"]}},
    {
        "type": "shell_call_output",
        "call_id": "f2",
        "output": [{"stdout": "token-6", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}],
    },
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "b3Bh", "note": "token-7"},
    {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "token-8"}]},
]
DOCUMENT = {
    "request": {"model": "gpt-test", "instructions": "Be brief.", "input": LINES[:5]},
    "response": {"id": "resp_1", "object": "response", "output": LINES[5:], "usage": {"input_tokens": 9}},
}
