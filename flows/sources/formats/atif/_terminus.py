"""Parses Terminus's raw answers: JSON or XML with an analysis, a plan and keystrokes to send."""

from __future__ import annotations

import json
import re
from typing import Any

_DECODER = json.JSONDecoder(strict=False)
_SAID = ("analysis", "state_analysis", "explanation", "plan")
_DONE = ("task_complete", "is_task_complete")
_FENCE_BEFORE, _FENCE_BEHIND = re.compile(r"```\w*\s*\Z"), re.compile(r"\A\s*```")
_COMMANDS = re.compile(r"<commands>(.*?)</commands>", re.DOTALL)
_KEYSTROKES = re.compile(r"<keystrokes([^>]*)>(.*?)</keystrokes>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TAGS = re.compile(r"</?(?:response|analysis|plan)>")
_COMPLETE = re.compile(r"<task_complete>\s*(\w+)\s*</task_complete>")
COMMAND, COMPLETE = "bash_command", "mark_task_complete"
"""Names that Terminus itself gives its actions where it writes them as calls."""


def parse_answer(text: str) -> tuple[str, str, dict[str, Any]] | None:
    """Return an answer's text, and the name and arguments of its call; None if there is no call."""
    return _from_json(text) or _from_xml(text)


def _from_json(text: str) -> tuple[str, str, dict[str, Any]] | None:
    start = text.find("{")
    if start == -1:
        return None
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("commands"), list):
        return None
    if not any(key in value for key in (*_SAID, *_DONE)):
        return None
    said = [value.pop(key) for key in _SAID if isinstance(value.get(key), str)]
    is_done = any(value.pop(key, False) in (True, "true", "True") for key in _DONE)
    around = [_FENCE_BEFORE.sub("", text[:start]), *said, _FENCE_BEHIND.sub("", text[end:])]
    return _call("\n".join(part.strip() for part in around if part.strip()), value, is_done)


def _from_xml(text: str) -> tuple[str, str, dict[str, Any]] | None:
    found = _COMMANDS.search(text)
    if found is None:
        return None
    commands = [
        {"keystrokes": keys, **dict(_ATTRIBUTE.findall(attributes))}
        for attributes, keys in _KEYSTROKES.findall(found[1])
    ]
    rest = text[: found.start()] + text[found.end() :]
    done = _COMPLETE.search(rest)
    rest = _TAGS.sub("", _COMPLETE.sub("", rest))
    said = "\n".join(line.strip() for line in rest.split("\n") if line.strip())
    return _call(said, {"commands": commands}, done is not None and done[1].lower() in ("true", "yes"))


def _call(said: str, value: dict[str, Any], is_done: bool) -> tuple[str, str, dict[str, Any]] | None:
    """One call for all keystrokes of an answer: the terminal is shown once, after the last of them."""
    commands = value.pop("commands")
    if not commands:
        return (said, COMPLETE, value) if is_done else None
    done = {"task_complete": True} if is_done else {}
    if len(commands) == 1 and isinstance(commands[0], dict):
        return said, COMMAND, {**commands[0], **value, **done}
    return said, COMMAND, {"commands": commands, **value, **done}
