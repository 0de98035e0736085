"""An opencode session made by hand: as `opencode run --format json` prints it, and as an export."""


def part(number, kind, **more):
    return {"id": f"prt_{number}", "sessionID": "ses_1", "messageID": "msg_1", "type": kind, **more}


def tool(number, status="completed", **more):
    state = {"status": status, "input": {"command": f"make {number}"}, "time": {"start": 1000, "end": 2000}, **more}
    return part(number, "tool", callID=f"call-{number}", tool="bash", state=state)


def event(kind, **more):
    return {"type": kind, "timestamp": 1_770_000_000_000, "sessionID": "ses_1", **more}


LINES = [
    event("user", part=part(0, "text", text="token-0")),
    event("step_start", part=part(1, "step-start", note="token-1")),
    event("reasoning", part=part(2, "reasoning", text="token-2")),
    event("text", part=part(3, "text", text="token-3")),
    event("tool_use", part=tool(4, output="token-4")),
    event("step_finish", part=part(5, "step-finish", cost=0.5, tokens={"input": 5, "output": 2}, note="token-5")),
    event("text", part=part(6, "text", text="token-6")),
    event("error", error={"name": "APIError", "data": {"message": "token-7"}}),
]


def user(number, *parts, created=0):
    return {"info": {"id": f"msg_{number}", "role": "user", "time": {"created": created}}, "parts": list(parts)}


def assistant(number, *parts, created=0, **more):
    info = {
        "id": f"msg_{number}",
        "role": "assistant",
        "modelID": "gpt-test-1",
        "path": {"cwd": "/home/ada", "root": "/"},
        "tokens": {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 30, "write": 0}},
        "cost": 0.25,
        "time": {"created": created},
        "finish": "stop",
        **more,
    }
    return {"info": info, "parts": list(parts)}


DOCUMENT = {
    "info": {"id": "ses_1", "title": "The mill", "directory": "/home/ada", "parentID": "ses_0", "time": {"created": 1}},
    "messages": [
        user(0, part(0, "text", text="Mend the mill."), created=10),
        assistant(
            1,
            part(1, "step-start"),
            part(2, "reasoning", text="hm"),
            tool(3, output="x" * 10, time={"start": 20, "end": 21, "compacted": 50_000}),
            tool(4, status="error", error="no such file"),
            created=20,
        ),
        user(5, part(5, "compaction", auto=True), created=60_000),
        assistant(6, part(6, "text", text="The mill is mended."), created=60_001, summary=True),
        user(7, part(7, "text", text="Continue.", synthetic=True), created=60_002),
    ],
}
