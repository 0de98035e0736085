"""An Inspect log made by hand: an agent that compacted, one that it called, a scorer; as JSON and as an archive."""

import json
import zipfile
from pathlib import Path
from typing import Any


def make_message(role: str, name: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": name, "role": role, "content": content, **more}


def call(name: str, function: str, **arguments: Any) -> dict[str, Any]:
    return {"id": name, "function": function, "arguments": arguments, "type": "function"}


def model_event(prompt: list[Any], answer: Any, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    output = {"model": "test-model-1", "choices": [{"message": answer, "stop_reason": "stop"}], "usage": usage}
    return {"event": "model", "timestamp": "2026-01-01T10:00:01+00:00", "input": prompt, "output": output, **more}


ASKED = make_message("user", "m1", "Mend the mill.", source="input")
LOOKS = make_message(
    "assistant",
    "m2",
    [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "I look."}],
    tool_calls=[call("c1", "look", path="wheel.py")],
)
SEEN = make_message("tool", "m3", "attachment://" + "a" * 32, tool_call_id="c1", function="look")
SUMMARY = make_message("user", "m4", "[CONTEXT COMPACTION SUMMARY] I looked at the wheel.", metadata={"summary": True})
DIGS = make_message("assistant", "m5", "I let someone dig.", tool_calls=[call("c2", "digger", input="dig")])
DUG = make_message(
    "tool", "m6", "", tool_call_id="c2", function="digger", error={"type": "timeout", "message": "Too slow."}
)
DONE = make_message("assistant", "m7", "It is mended.")
TASK = make_message("user", "d1", "dig")
DIGGING = make_message("assistant", "d2", "Digging.", tool_calls=[call("c3", "look", path="hole")])
HOLE = make_message("tool", "d3", "deep", tool_call_id="c3", function="look")

SAMPLE = {
    "id": "mill",
    "epoch": 1,
    "input": "Mend the mill.",
    "target": "mended",
    "uuid": "sample-uuid-1",
    "messages": [ASKED, SUMMARY, DIGS, DUG, DONE],
    "attachments": {"a" * 32: "the wheel is broken"},
    "model_usage": {"test-model-1": {"input_tokens": 50, "output_tokens": 10, "total_tokens": 60}},
    "scores": {"includes": {"value": "C"}},
    "events": [
        {"event": "sample_init", "timestamp": "2026-01-01T10:00:00+00:00", "sample": {"input": "Mend the mill."}},
        {"event": "span_begin", "id": "s1", "type": "solver", "name": "react"},
        model_event([ASKED], LOOKS, span_id="s1"),
        {"event": "tool", "id": "c1", "function": "look", "completed": "2026-01-01T10:00:02+00:00"},
        {"event": "compaction", "type": "summary", "tokens_before": 900, "metadata": {"trigger": "threshold"}},
        model_event([ASKED, SUMMARY], DIGS, span_id="s1"),
        {"event": "span_begin", "id": "s2", "parent_id": "s1", "type": "agent", "name": "digger"},
        model_event([TASK], DIGGING, span_id="s2"),
        model_event([TASK, DIGGING, HOLE], make_message("assistant", "d4", "Found nothing."), span_id="s2"),
        {"event": "span_end", "id": "s2"},
        model_event([ASKED, SUMMARY, DIGS, DUG], DONE, span_id="s1"),
        {"event": "span_begin", "id": "s3", "type": "scorer", "name": "judge"},
        model_event(
            [make_message("user", "j1", "Is it right?")], make_message("assistant", "j2", "Yes."), span_id="s3"
        ),
    ],
}
EVAL = {
    "task": "mills",
    "task_id": "task-1",
    "eval_id": "eval-00000001",
    "run_id": "run-000000001",
    "model": "test/model",
}
HEADER = {"version": 2, "status": "success", "eval": EVAL, "plan": {"steps": []}}
DOCUMENT = {**HEADER, "samples": [SAMPLE]}
NAME = "log.eval"


def archive(path: Path, compression: int = zipfile.ZIP_DEFLATED, samples: int = 2) -> None:
    """The log with a member for each sample, as Inspect writes it."""
    with zipfile.ZipFile(path, "w", compression) as packed:
        packed.writestr("_journal/start.json", json.dumps({"version": 2, "eval": EVAL}))
        for number in range(samples):
            sample = {**SAMPLE, "id": number, "uuid": f"sample-uuid-{number}"}
            packed.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
        packed.writestr("summaries.json", "[]")
        packed.writestr("header.json", json.dumps(HEADER))


ARCHIVE = archive
