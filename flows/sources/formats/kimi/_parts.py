"""Parts of a message in both of Kimi's logs, and texts that a machine wrote in the person's name."""

from __future__ import annotations

from typing import Any

from flows.sources.reading.blocks import block_text, text_of
from flows.sources.reading.session import MessageDraft
from flows.sources.reading.values import need_list

NAME = "kimi_cli"
_HARNESS = ("<system-reminder>", "<system>", "<notification")


def visible(content: Any) -> str:
    """The text of a message without its reasoning."""
    if isinstance(content, list):
        content = [_plain(part) for part in content if not _is_reasoning(part)]
    return text_of(content)


def add_parts(draft: MessageDraft, content: Any) -> None:
    """Puts the parts of an answer into its message."""
    parts = [content] if isinstance(content, (str, dict)) else content or []
    for part in need_list(parts, "content", "a string or a list of parts"):
        if _is_reasoning(part):
            draft.add_reasoning(part.get("think"))
        else:
            draft.add_text(block_text(_plain(part)) or "")


def is_by_machine(text: str) -> bool:
    """Whether a prompt begins as those do that Kimi writes itself."""
    return text.lstrip()[:20].startswith(_HARNESS)


def _is_reasoning(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "think"


def _plain(part: Any) -> Any:
    """A part with the names that Kimi CLI has; Kimi Code's are in camel case."""
    if isinstance(part, dict) and part.get("type") == "image_url" and "imageUrl" in part:
        return part | {"image_url": part["imageUrl"]}
    return part
