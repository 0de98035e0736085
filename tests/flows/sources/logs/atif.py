"""An ATIF trajectory made by hand, and the makers of its parts."""

from __future__ import annotations

from typing import Any


def trajectory(session_id: str | None, steps: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    agent = fields.pop("agent", {"name": "terminus-2", "version": "2.0.0", "model_name": "gpt-test"})
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    named = {"session_id": session_id} if session_id else {}
    return {"schema_version": "ATIF-v1.7", **named, "agent": agent, "steps": numbered, **fields}


def step(source: str, message: Any, **fields: Any) -> dict[str, Any]:
    return {"timestamp": "2026-03-01T10:00:00Z", "source": source, "message": message, **fields}


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_call_id": call_id, "function_name": name, "arguments": arguments}


def make_observation(*contents: Any, ids: tuple[str | None, ...] = ()) -> dict[str, Any]:
    named = [*ids, *[None] * (len(contents) - len(ids))]
    return {
        "results": [
            {"content": content, **({"source_call_id": own} if own else {})}
            for content, own in zip(contents, named, strict=True)
        ]
    }


DOCUMENT = trajectory(
    "run-1",
    [
        step("user", "Mend the mill"),
        step(
            "agent",
            [{"type": "text", "text": "Look."}, {"type": "image", "source": {"media_type": "image/png", "path": "a"}}],
            reasoning_content="hm",
            tool_calls=[call("c1", "bash_command", keystrokes="ls\n"), call("c2", "bash_command", keystrokes="w\n")],
            observation=make_observation("wheel.py"),
            metrics={"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 3, "cost_usd": 0.5},
        ),
        step(
            "agent",
            '{"analysis": "a", "plan": "p", "commands": [{"keystrokes": "ls\\n", "duration": 1}]}',
            observation=make_observation("wheel.py"),
        ),
        step(
            "system",
            "Performed context summarization.",
            observation={
                "results": [{"subagent_trajectory_ref": [{"trajectory_path": "t.summarization-1-questions.json"}]}]
            },
        ),
        step("user", "Go on.", is_copied_context=True),
        step("agent", "Done."),
    ],
    subagent_trajectories=[trajectory(None, [step("user", "Help."), step("agent", "Yes.")], trajectory_id="sub-1")],
    continued_trajectory_ref="trajectory.cont-1.json",
)
