"""Small made sessions for the prober's tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from compaction import CompactionPoint, Message, TiktokenCounter, ToolCall, Transcript, counted
from judge.embedded.prober import EmbeddedProber
from judge.probe import NotAsked, Probe, ProbeType

COUNTER = TiktokenCounter()
NUMBERS = count()
Steps = Sequence[list[Message]]
"""Messages that belong together, such as a call and its result, in lists."""


def said(text: str) -> list[Message]:
    return [Message("user", text)]


def told(text: str) -> list[Message]:
    return [Message("assistant", text)]


def called(name: str, arguments: Mapping[str, object], output: str, *, is_error: bool = False) -> list[Message]:
    """A call and its result."""
    call = ToolCall(f"c{next(NUMBERS)}", name, json.dumps(arguments))
    result = Message("tool", output, tool_call_id=call.id, is_error=is_error)
    return [Message("assistant", "", tool_calls=(call,)), result]


def ran(command: str, output: str = "done", *, is_error: bool = False) -> list[Message]:
    return called("Bash", {"command": command}, output, is_error=is_error)


def edited(path: str, old: str, new: str) -> list[Message]:
    return called("Edit", {"file_path": f"/srv/app/{path}", "old_string": old, "new_string": new}, "updated")


def wrote(path: str, content: str) -> list[Message]:
    return called("Write", {"file_path": f"/srv/app/{path}", "content": content}, "File created successfully")


def session(*steps: list[Message]) -> Transcript:
    flat = [message for step in steps for message in step]
    messages = tuple(counted(replace(message, seq=n), COUNTER) for n, message in enumerate(flat))
    return Transcript("s", messages, cwd="/srv/app")


def asked(kind: ProbeType, before: Steps, after: Steps = ()) -> Probe | NotAsked:
    """What is asked of a type at the point between two parts of a session."""
    cut = len(session(*before).messages)
    transcript = session(*before, *after)
    point = CompactionPoint("s", 1, cut, 0)
    return next(entry for entry in EmbeddedProber().probes(transcript, point) if entry.probe_type == kind)


def truth(kind: ProbeType, before: Steps, after: Steps = ()) -> str:
    """The true answer of what is asked; empty when nothing is."""
    probe = asked(kind, before, after)
    return probe.ground_truth if isinstance(probe, Probe) else ""
