"""Observations of Langfuse: the types of its API (SDK 5.0) with what its wrappers record of a model's request."""

from __future__ import annotations

import json
from typing import Any

SYSTEM = {"role": "system", "content": "You mend mills."}
CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
LOOK = {"role": "assistant", "content": "I look.", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "a.c"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def observation(
    at: int, input: Any = None, output: Any = None, kind: str = "GENERATION", **more: Any
) -> dict[str, Any]:
    """An observation of the API."""
    return {
        "id": f"o-{at}",
        "traceId": "t-1",
        "type": kind,
        "name": "OpenAI-generation",
        "startTime": f"2026-03-01T10:00:{at:02}.000Z",
        "endTime": f"2026-03-01T10:00:{at:02}.500Z",
        "projectId": "p",
        "parentObservationId": None,
        "level": "DEFAULT",
        "model": "mill-1",
        "input": input,
        "output": output,
        "usageDetails": {"input": 6, "input_cached_tokens": 4, "output": 5, "total": 15},
        "totalCost": 0.25,
    } | more


def exported(one: dict[str, Any]) -> dict[str, Any]:
    """The same as an export to a bucket writes it: other names, values as text."""
    names = {key: "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in key) for key in one}
    found = {names[key]: json.dumps(value) if isinstance(value, (dict, list)) else value for key, value in one.items()}
    return found | {"provided_model_name": found.pop("model")}


LINES = [
    exported(observation(0, [user("token-0")], LOOK)),
    exported(observation(1, {"path": "."}, "token-1", "TOOL")),
    exported(observation(2, {"messages": [user("token-0"), LOOK, RESULT], "tools": []}, answer("token-2"))),
    exported(observation(3, "token-3", None, "SPAN")),
]
TOLD = [SYSTEM, user("Mend the mill."), LOOK, RESULT]
SUMMED = [SYSTEM, user("The mill was looked at."), answer("Mended."), user("Oil it.")]
GENERATIONS = [
    observation(0, TOLD[:2], LOOK),
    observation(1, None, None, "SPAN"),
    observation(2, {"messages": TOLD, "tools": [{"type": "function", "function": {"name": "ls"}}]}, answer("Mended.")),
    observation(3, [*TOLD, *SUMMED[2:]], None, level="ERROR", statusMessage="too long"),
    observation(4, SUMMED, answer("Oiled.")),
]
DOCUMENT = {"id": "t-1", "name": "mill", "sessionId": "s-1", "observations": GENERATIONS}
