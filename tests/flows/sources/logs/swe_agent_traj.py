"""A SWE-agent trajectory made by hand."""

DOCUMENT = {
    "environment": "swe_main",
    "trajectory": [{"action": "ls", "observation": "x"}],
    "history": [
        {"role": "system", "content": "You are a shell.", "agent": "primary"},
        {"role": "user", "content": "Another task.", "is_demo": True},
        {"role": "user", "content": "Mend the mill."},
        {"role": "assistant", "content": "Look.\n```\nls -la\n```", "thought": "Look.\n", "action": "ls -la\n"},
        {"role": "user", "content": "wheel.py"},
    ],
}
