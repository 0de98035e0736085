"""A mini-swe-agent trajectory made by hand."""

DOCUMENT = {
    "info": {"exit_status": "Submitted", "config": {"model": {"model_name": "test/model"}}, "mini_version": "1.15.0"},
    "messages": [
        {"role": "system", "content": "You are a shell."},
        {"role": "user", "content": "Mend the mill."},
        {
            "role": "assistant",
            "content": "THOUGHT: look.\n\n```bash\nls -la\n```",
            "extra": {
                "response": {"id": "gen-1", "created": 1767225600, "choices": [{"message": {"reasoning": "So."}}]}
            },
        },
        {"role": "user", "content": "<returncode>1</returncode>\n<output>\nnothing\n</output>"},
        {"role": "assistant", "content": "Two:\n```bash\na\n```\n```bash\nb\n```"},
        {"role": "user", "content": "Please always provide EXACTLY ONE action"},
    ],
    "trajectory_format": "mini-swe-agent-1",
}
