"""OpenHands evaluation outputs made by hand: events, pairs of 2024, events without ids, V1 events."""

from __future__ import annotations

from typing import Any

from tests.flows.sources.logs import openhands_v1_events
from tests.flows.sources.logs.openhands_v0_trajectory import action, observation, response, with_response

_ONE = response("r7", "I look.", ("toolu_01", "execute_bash", {"command": "ls token-0"}))


def instance(name: str, history: list[Any] | None, **more: Any) -> dict[str, Any]:
    return {"instance_id": name, "instruction": "Fix it.", "history": history, "metrics": {}, "error": None, **more}


LINES = [
    instance(
        "one",
        [
            action(1, "message", "user", content="Fix it."),
            with_response(action(2, "run", command="ls token-0", thought="I look."), "toolu_01", "execute_bash", _ONE),
            with_response(
                observation(3, "run", "a.py", 2, metadata={"exit_code": 0}), "toolu_01", "execute_bash", _ONE
            ),
        ],
        metadata={"llm_config": {"model": "model-test-2"}},
        metrics={
            "accumulated_cost": 0.5,
            "accumulated_token_usage": {"prompt_tokens": 500, "completion_tokens": 50, "cache_read_tokens": 7},
        },
    ),
    {
        "question_id": 2,
        "metadata": {"model_name": "model-test-3"},
        "history": [
            [action(1, "message", "user", content="token-1"), observation(0, "null", "")],
            [
                {"action": "run", "args": {"command": "ls", "thought": "So."}, "source": "agent"},
                {"observation": "run", "content": "b.py", "extras": {"exit_code": 1}},
            ],
            [{"action": "finish", "args": {"outputs": {}, "thought": "Done."}, "source": "agent"}, None],
        ],
    },
    {
        "issue": {"title": "Add a licence"},
        "instruction": "Add it. token-2",
        "history": [
            {"content": "Add it. token-2", "wait_for_response": False, "action": "message"},
            {"command": "touch LICENSE", "thought": "Now.", "action": "run", "security_risk": None},
            {"content": "done", "exit_code": 0, "command": "touch LICENSE", "observation": "run"},
            {"outputs": {}, "thought": "There it is.", "action": "finish"},
        ],
        "metrics": {"accumulated_cost": 0.25},
    },
    instance("four", [{**event, "note": "token-3"} for event in openhands_v1_events.LINES]),
    instance("five", [{"role": "user", "content": "token-4"}, {"role": "assistant", "content": "Yes."}]),
    instance("six", None, error="the runtime failed: token-5", metadata={}),
]
DOCUMENT = LINES
