"""An Entire checkpoint transcript made by hand, after the format's README."""


def line(kind, content, **more):
    about = {"v": 1, "agent": "claude-code", "cli_version": "0.5.1", "type": kind, "ts": "2026-06-01T10:00:00Z"}
    return {**about, "content": content, **more}


def use(own, command, output=None, status="success"):
    result = {} if output is None else {"result": {"output": output, "status": status}}
    return {"type": "tool_use", "id": own, "name": "Bash", "input": {"command": command}, **result}


CONTINUED = "This session is being continued from a previous conversation that ran out of context."
LINES = [
    line("user", [{"id": "p-1", "text": "token-0"}]),
    line("assistant", [{"type": "text", "text": "token-1"}, use("t1", "ls", "wheel.py")], id="r-1", output_tokens=5),
    line("assistant", [use("t2", "make", "token-2", "error")], id="r-1", input_tokens=9, output_tokens=7),
    line("user", [{"text": ""}], note="token-3"),
    line("user", [{"text": f"{CONTINUED} token-4"}]),
    line("assistant", "token-5", ts=""),
    line(
        "user",
        [
            {"type": "image", "source": {"type": "base64", "data": "aWk=", "media_type": "image/png"}},
            {"text": "token-6"},
        ],
    ),
]
