"""The parts of a request: in the rounds that go to the model again, and on the person's screen."""

from __future__ import annotations

from typing import Any

from flows.sources.reading.base import Record
from flows.sources.reading.blocks import block_text, text_of
from flows.sources.reading.values import as_dict, as_list, first_text, nested, objects_in

TEXT_NODE = 2
CALL = "toolInvocationSerialized"


def text_in(value: Any) -> str:
    """The text of a string, of Markdown (an object with ``value``), or of a list of strings."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(text_in, value)))
    return text_of(first_text(value, nested(value, "value")) or "")


def rendered_text(parts: Any) -> str:
    """The text of a prompt as it was given to the model."""
    return "\n".join(text_of(part["text"]) for part in objects_in(parts) if isinstance(part.get("text"), str))


def result_text(result: Any) -> str:
    """The text of a tool's result: strings, trees of text, and marks for other data."""
    return "\n".join(filter(None, map(_result_part, as_list(nested(result, "content")))))


def _result_part(part: Any) -> str:
    value = nested(part, "value")
    if isinstance(value, str):
        return text_of(value)
    node = nested(value, "node")
    if isinstance(node, dict):
        return _tree_text(node)
    mime = first_text(nested(part, "mimeType"), nested(value, "mimeType"))
    return block_text({"type": "image", "media_type": mime}) or "" if mime else ""


def _tree_text(node: Record) -> str:
    """The text of a tree, in order; a text may stand on a line of its own."""
    texts: list[str] = []
    waiting: list[Any] = [node]
    while waiting:
        one = waiting.pop()
        if nested(one, "type") == TEXT_NODE:
            text = one.get("text")
            texts.append("\n" * (one.get("lineBreakBefore") is True) + (text if isinstance(text, str) else ""))
        else:
            waiting += reversed(as_list(nested(one, "children")))
    return text_of("".join(texts).strip("\n"))


def shown_text(part: Record) -> str | None:
    """The text of a part of an answer; None if the part is no text."""
    kind = part.get("kind")
    if kind == "inlineReference":
        reference = part.get("inlineReference")
        path = (
            first_text(nested(reference, "fsPath"), nested(reference, "path"), nested(reference, "uri", "path")) or ""
        )
        name = first_text(part.get("name"), nested(reference, "name"), path.replace("\\", "/").rpartition("/")[2])
        return f"`{name}`" if name else ""
    text = text_in(part.get("value")) or text_in(part.get("content"))
    # A lone fence stands round a change of a file.
    return text if kind in (None, "markdownContent", "markdownVuln") and text.strip() != "```" else None


def shown_arguments(part: Record) -> Any:
    """The arguments of a call, as far as the screen tells."""
    data = as_dict(part.get("toolSpecificData"))
    command = data.get("commandLine")
    given = first_text(nested(command, "toolEdited"), nested(command, "original"), command, data.get("command"))
    told = first_text(nested(part, "resultDetails", "input"))
    if given is not None or told is not None:
        return {"command": given} if given is not None else told
    if data.get("rawInput") is not None:
        return data["rawInput"]
    message = text_in(part.get("pastTenseMessage")) or text_in(part.get("invocationMessage"))
    return {"message": message} if message else None


def shown_result(part: Record) -> tuple[str | None, bool]:
    """The result of a call, None while it ran, and whether it failed."""
    data, details = as_dict(part.get("toolSpecificData")), part.get("resultDetails")
    output = nested(details, "output")
    texts = [text_in(nested(data, "terminalCommandOutput", "text")), text_in(data.get("result"))]
    texts += [text_in(output)] if isinstance(output, str) else [text_in(one) for one in as_list(output)]
    code = nested(data, "terminalCommandState", "exitCode")
    failed = nested(details, "isError") is True or (type(code) is int and code != 0)
    text = "\n".join(filter(None, texts))
    return (text if text or part.get("isComplete") is True else None), failed
