"""A Gemini CLI session made by hand: the log of changes, and the one object of older versions."""


def call(own, output, **more):
    response = {"functionResponse": {"id": own, "name": "read_file", "response": {"output": output}}}
    return {"id": own, "name": "read_file", "args": {"path": own}, "result": [response], "status": "success", **more}


def message(own, kind, content, **more):
    return {"id": own, "timestamp": "2026-02-01T10:00:00Z", "type": kind, "content": content, **more}


SNAPSHOT = "<state_snapshot>\n<overall_goal>token-7</overall_goal>\n</state_snapshot>"
LINES = [
    {"sessionId": "g-1", "projectHash": "ab", "startTime": "2026-02-01T10:00:00Z", "note": "token-0"},
    message("a", "user", [{"text": "token-1"}]),
    message("b", "gemini", "token-2", thoughts=[{"subject": "Plan", "description": "hm"}], model="gemini-test-1"),
    message("b", "gemini", "token-2", toolCalls=[call("c1", "token-3")], tokens={"input": 9, "output": 2}),
    message("i", "info", "token-4"),
    message("d", "user", "token-5"),
    {"$rewindTo": "d", "note": "token-6"},
    {"$set": {"messages": [message("s", "user", SNAPSHOT), message("b", "gemini", "token-2")], "summary": "A mill"}},
    message("e", "user", [{"text": "token-8"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]),
    {"type": "message_update", "id": "e", "note": "token-9"},
]
DOCUMENT = {
    "sessionId": "g-1",
    "projectHash": "ab",
    "startTime": "2026-02-01T10:00:00Z",
    "lastUpdated": "2026-02-01T10:01:00Z",
    "messages": [
        message("a", "user", "Mend the mill."),
        message("b", "gemini", "I look.", toolCalls=[call("c1", "wheel.py")], thoughts=[{"description": "hm"}]),
        message("w", "warning", "A hook failed."),
        message("c", "gemini", "Done.", tokens={"input": 20, "output": 5, "cached": 4, "thoughts": 1, "total": 26}),
    ],
}
