"""What ATIF's steps say: texts, failures, what one agent hands over to the next."""

from __future__ import annotations

from typing import Any

from flows.sources.formats.atif._files import open_part, references_of
from flows.sources.reading.base import Record, Source
from flows.sources.reading.blocks import arguments_text, text_of
from flows.sources.reading.values import first_item, nested

_NOT_PARSED = "Previous response had parsing errors"


def text_of_content(content: Any) -> str:
    """A message's text; an image or a sound is a file that its part names."""
    if not isinstance(content, list):
        return text_of(content) if not isinstance(content, dict) else arguments_text(content)
    return text_of([_with_link(part) for part in content])


def _with_link(part: Any) -> Any:
    path = nested(part, "source", "path")
    return {**part, "source": {"url": path}} if isinstance(path, str) else part


def says_error(extra: Any) -> bool:
    """Whether a converter says that the call failed: each has a name of its own for it."""
    code = nested(extra, "exit_code")
    is_marked = any(nested(extra, key) is True for key in ("is_error", "tool_result_is_error"))
    return is_marked or (isinstance(code, int) and code != 0)


def is_handoff(step: Record) -> bool:
    """Whether a step of Terminus refers to the agents that summarised the session."""
    names = (ref.get("trajectory_path") or ref.get("session_id") for ref in references_of(step.get("observation")))
    return any("summarization" in str(name) for name in names)


def handed_over(source: Source, refs: list[Record]) -> str | None:
    """The questions and answers between the two agents, which stay in the context of the next one."""
    for ref in refs:
        name = ref.get("trajectory_path")
        if not isinstance(name, str) or "questions" not in name:
            continue
        part = open_part(source, name)
        steps = part.trajectory["steps"] if part is not None else []
        told = [text_of_content(step.get("message")) for step in steps if isinstance(step, dict)]
        return "\n\n".join(filter(None, told)) or None
    return None


def is_refused_answer(step: Record) -> bool:
    """Whether the harness could not read the answer, so that nothing of it was run."""
    first = first_item((step.get("observation") or {}).get("results"))
    return isinstance(first, dict) and text_of_content(first.get("content")).startswith(_NOT_PARSED)
