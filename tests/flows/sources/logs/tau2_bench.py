"""A tau2-bench result made by hand, in which the user calls a tool too."""

SIMULATION = {
    "id": "sim-1",
    "task_id": "7",
    "trial": 0,
    "start_time": "2026-03-01T10:00:00",
    "end_time": "2026-03-01T10:05:00",
    "termination_reason": "user_stop",
    "reward_info": {"reward": 1.0},
    "messages": [
        {"role": "assistant", "content": "Hello token-0", "tool_calls": None, "cost": 0.0, "usage": None},
        {
            "role": "user",
            "content": "My phone is dead.",
            "tool_calls": None,
            "cost": 0.1,
            "timestamp": "2026-03-01T10:01:00",
        },
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {"id": "a1", "name": "get_line", "arguments": {"n": 1}, "requestor": "assistant"},
                {"id": "a2", "name": "get_bill", "arguments": {"n": 2}, "requestor": "assistant"},
            ],
            "cost": 0.25,
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
            "raw_data": {"message": {"content": "Let me see.", "reasoning_content": "Two look-ups."}},
        },
        {"role": "tool", "id": "a2", "content": "paid", "requestor": "assistant", "error": False},
        {"role": "tool", "id": "a1", "content": "no such line", "requestor": "assistant", "error": True},
        {"role": "assistant", "content": "Turn it off and on.", "tool_calls": None},
        {
            "role": "user",
            "content": None,
            "tool_calls": [{"id": "u1", "name": "toggle", "arguments": {}, "requestor": "user"}],
        },
        {"role": "tool", "id": "u1", "content": "It is on.", "requestor": "user", "error": False},
        {"role": "user", "content": "It works ###STOP###", "tool_calls": None},
    ],
}
LINES = [SIMULATION, {**SIMULATION, "id": "sim-2", "messages": [{"role": "user", "content": "token-1"}]}]
DOCUMENT = {
    "timestamp": "2026-03-01T10:06:00",
    "info": {
        "agent_info": {"llm": "claude-test-1"},
        "user_info": {"llm": "gpt-test-1"},
        "environment_info": {"domain_name": "telecom", "policy": "# Policy"},
    },
    "tasks": [{"id": "7"}],
    "simulations": [SIMULATION],
}
