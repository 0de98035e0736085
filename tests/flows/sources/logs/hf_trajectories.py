"""Rows of datasets made by hand, with the columns that their cards tell of: three kinds of messages, and Parquet."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

CALL = {"id": "c1", "type": "function", "function": {"name": "execute_bash", "arguments": '{"command": "ls"}'}}
OPENHANDS: dict[str, Any] = {
    "trajectory_id": "chatcmpl-1",
    "instance_id": "ada__mill-1",
    "repo": "ada/mill",
    "trajectory": [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Mend the mill."},
        {"role": "assistant", "content": "I look. token-0", "tool_calls": [CALL]},
        {"role": "tool", "content": "mill.py", "name": "execute_bash", "tool_call_id": "c1"},
        {"role": "assistant", "content": "It turns."},
    ],
    "model_patch": "diff --git a/mill.py b/mill.py",
    "exit_status": "submit",
    "resolved": 1,
}
"""nebius/SWE-rebench-openhands-trajectories."""
SWE_AGENT: dict[str, Any] = {
    "instance_id": "ada__mill-2",
    "model_name": "swe-agent-llama-70b",
    "target": False,
    "trajectory": [
        {"role": "system", "system_prompt": "SETTING: a programmer.", "cutoff_date": "01.01.2023", "mask": False},
        {"role": "user", "text": "Oil the mill.", "mask": False},
        {"role": "ai", "text": "DISCUSSION\nI look.\n```\nls -a\n```", "mask": True},
        {"role": "user", "text": "token-1\nbash-$", "mask": False},
        {"role": "ai", "text": "DISCUSSION\nDone.\n```\nsubmit\n```", "mask": True},
    ],
    "exit_status": "submitted",
    "generated_patch": "diff --git a/mill.py b/mill.py",
    "eval_logs": "1 failed",
}
"""nebius/SWE-agent-trajectories."""
TICKS = [
    {"role": "system", "content": "You act in blocks."},
    {"role": "user", "content": "Paint the mill. token-2"},
    {"role": "assistant", "content": "I look.\n\n```\nfind . -name mill\n```"},
    {"role": "user", "content": "OBSERVATION:\n./mill"},
    {"role": "assistant", "content": "I would write\n```\nred\n```"},
]
SWE_SMITH: dict[str, Any] = {
    "messages": json.dumps(TICKS),
    "instance_id": "ada__mill-3",
    "resolved": True,
    "model": "claude-3-7-sonnet-20250219",
    "traj_id": "ada__mill-3.8qa84d2e",
    "patch": "",
}
"""SWE-bench/SWE-smith-trajectories, of its split `ticks`."""
SHAREGPT: dict[str, Any] = {
    "conversations": [
        {"from": "human", "value": "Weigh the corn."},
        {"from": "function_call", "value": '{"name": "weigh", "arguments": {"what": "corn"}}'},
        {"from": "observation", "value": "token-3: 40 kg"},
        {"from": "gpt", "value": "It is 40 kg."},
    ],
    "system": "You weigh.",
    "tools": "[]",
}
LINES = [OPENHANDS, SWE_AGENT, SWE_SMITH, SHAREGPT]
DOCUMENT = [SWE_SMITH, OPENHANDS]


def write_table(path: Path, rows: Sequence[dict[str, Any]] = (SWE_AGENT,), of_group: int = 1) -> None:
    """Rows of one dataset as Parquet."""
    pq.write_table(pa.Table.from_pylist(list(rows)), path, row_group_size=of_group)
