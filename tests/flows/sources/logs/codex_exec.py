"""A run of `codex exec --json`, in the shapes that Codex's own code writes."""

from typing import Any

HAS_NO_PROMPTS = True


def item(event: str, own: str, kind: str, **about: Any) -> dict[str, Any]:
    """An event of an item."""
    return {"type": f"item.{event}", "item": {"id": own, "type": kind} | about}


def command(event: str, own: str, line: str, output: str = "", code: int | None = None) -> dict[str, Any]:
    """An event of a command."""
    status = {None: "in_progress", 0: "completed"}.get(code, "failed")
    return item(event, own, "command_execution", command=line, aggregated_output=output, exit_code=code, status=status)


LINES = [
    {"type": "thread.started", "thread_id": "th-token-0"},
    {"type": "turn.started", "note": "token-1"},
    item("completed", "item_0", "reasoning", text="hm token-2"),
    command("started", "item_1", "/bin/bash -lc 'make token-3'"),
    command("completed", "item_1", "/bin/bash -lc 'make token-3'", "no rule token-4", 2),
    item("started", "item_2", "todo_list", items=[{"text": "Mend it token-5", "completed": False}]),
    item(
        "completed",
        "item_3",
        "file_change",
        changes=[{"path": "Makefile", "kind": "add", "diff": "all:\n\ttrue # token-6"}],
        status="completed",
    ),
    item(
        "completed",
        "item_4",
        "mcp_tool_call",
        server="docs",
        tool="find",
        arguments={"q": "mill token-7"},
        result={"content": [{"type": "text", "text": "a mill"}], "structured_content": None},
        error=None,
        status="completed",
    ),
    item("completed", "item_5", "agent_message", text="Done. token-8"),
    item("completed", "item_6", "error", message="a notice token-9"),
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 7},
        "note": "token-10",
    },
]
