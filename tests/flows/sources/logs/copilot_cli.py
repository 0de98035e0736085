"""A Copilot CLI session made by hand."""


def event(number, kind, **data):
    return {
        "type": kind,
        "data": data,
        "id": f"e-{number}",
        "timestamp": f"2026-05-01T10:00:{number:02}Z",
        "parentId": f"e-{number - 1}" if number else None,
    }


def request(own, name="bash", **arguments):
    return {"toolCallId": own, "name": name, "arguments": arguments, "type": "function"}


LINES = [
    event(0, "session.start", sessionId="c-1", context={"cwd": "/home/ada"}, note="token-0"),
    event(1, "system.message", role="system", content="token-1"),
    event(2, "user.message", content="Mend", transformedContent="<now/>\n\ntoken-2"),
    event(
        3,
        "assistant.message",
        messageId="m-1",
        model="gpt-test-1",
        content="token-3",
        reasoningText="hm",
        reasoningOpaque="c2VjcmV0",
        toolRequests=[request("t1", command="ls"), request("t2", command="make")],
        outputTokens=7,
    ),
    event(4, "tool.execution_start", toolCallId="t1", toolName="bash", arguments={"command": "ls"}, note="token-4"),
    event(5, "tool.execution_complete", toolCallId="t2", success=False, error={"message": "token-5"}),
    event(6, "tool.execution_complete", toolCallId="t1", success=True, result={"content": "token-6"}),
    event(7, "session.compaction_start", note="token-7"),
    event(8, "session.compaction_complete", success=True, summaryContent="token-8", preCompactionTokens=90_000),
    event(9, "system.notification", content="token-9"),
    event(10, "tool.user_requested", toolCallId="u1", toolName="bash", arguments={"command": "token-10"}),
    event(11, "tool.execution_complete", toolCallId="u1", success=True, result={"content": "token-11"}),
    event(12, "hook.start", note="token-12"),
    event(13, "session.shutdown", modelMetrics={"gpt": {"usage": {"inputTokens": 5}}}, note="token-13"),
    {"type": "message", "role": "user", "content": "token-14"},
    {"type": "tool_use", "id": "f1", "name": "bash", "input": {"command": "token-15"}},
    {"type": "tool_result", "tool_use_id": "f1", "content": [{"type": "text", "text": "token-16"}]},
    {"type": "usage", "input_tokens": 10, "output_tokens": 3, "note": "token-17"},
]
