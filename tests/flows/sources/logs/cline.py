"""A Cline task made by hand: native calls with results as text, then the calls as XML of the older versions."""

DETAILS = "<environment_details>\n# Current Working Directory (/home/ada/mill) Files\nwheel.py\n</environment_details>"
DOCUMENT = [
    {
        "role": "user",
        "ts": 1777073160794,
        "content": [
            {"type": "text", "text": "<task>\nMend the mill\n</task>"},
            {"type": "text", "text": DETAILS},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "wheel.py"}},
            {"type": "tool_use", "id": "t2", "name": "execute_command", "input": {"command": "make"}},
        ],
        "modelInfo": {"modelId": "claude-test-1", "providerId": "p"},
        "metrics": {"tokens": {"prompt": 100, "completion": 7, "cached": 20}, "cost": 0.5},
    },
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "[read_file for 'wheel.py'] Result:\n1 | wheel"},
            {"type": "text", "text": "[execute_command for 'make'] Result:\nCommand failed with exit code 2.\nno rule"},
            {"type": "text", "text": "# TODO LIST UPDATE REQUIRED"},
            {"type": "text", "text": DETAILS},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {
                "type": "text",
                "text": "<thinking>write it</thinking>\n\nWriting.\n<write_to_file>\n<path>Makefile</path>\n"
                "<content>\nall:\n\ttrue # </content>\n</content>\n</write_to_file>",
            }
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "[write_to_file for 'Makefile'] Result:"},
            {"type": "text", "text": "The content was successfully saved."},
            {"type": "text", "text": DETAILS},
        ],
    },
    {"role": "assistant", "content": "Done."},
]
