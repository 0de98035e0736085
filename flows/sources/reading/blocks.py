"""From content blocks to visible text: what the model read, without images and opaque blobs."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from json import JSONDecoder
from typing import Any

import orjson

from flows.sources.reading.decode import dumps, replace_surrogates
from flows.sources.reading.values import need_list, need_object

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)[^,\s]{0,80};base64,([A-Za-z0-9+/=_-]{200,})")
_FAILED_HEAD = re.compile(
    r"<tool_use_error>|^<returncode>(?!0<)-?\d+</returncode>"
    r"|^(?:Error: )?(?:Process exited with code|Exit code:?|Command exited with code) (?!0\b)-?\d+",
    re.MULTILINE,
)
_FAILED_TAIL = re.compile(r"[Cc]ommand (?:completed|exited|finished) with (?:exit )?code (?!0\b)-?\d+\.?\]?\s*\Z")
_ONLY_TAGS = re.compile(r"(?:</?[A-Za-z][^<>]*>\s*)+\Z")
_ASIDE = re.compile(r"<(system-reminder|uploaded_files)>.*?</\1>", re.DOTALL)
_LONE_PATH = re.compile(r"(?:/[^/\s]+){2,}/?\Z")
_HIDDEN = {"thinking", "redacted_thinking", "reasoning", "encrypted_content", "tool_use", "toolCall"}
_HEAD_CHARS, _TAIL_CHARS, _TITLE_CHARS = 400, 160, 100


def text_of(content: Any) -> str:
    """The visible text of a string or of a list of content blocks, joined by newlines.

    Raises:
        MalformedError: The content is neither.
    """
    if isinstance(content, str):
        return mark_data_urls(content)
    if content is None:
        return ""
    if isinstance(content, dict):
        content = [content]
    content = need_list(content, "content", "a string or a list of blocks")
    if len(content) == 1:
        return block_text(content[0]) or ""
    return "\n".join(text for block in content if (text := block_text(block)) is not None)


def block_text(block: Any) -> str | None:
    """The visible text of one block; a short mark for an image or a file; None for what is no text."""
    if isinstance(block, str):
        return mark_data_urls(block)
    block = need_object(block, "a content block")
    kind, text = block.get("type"), block.get("text")
    if kind in _HIDDEN:
        return None
    if isinstance(text, str):
        return mark_data_urls(text)
    if kind in ("image", "image_url", "input_image", "document", "file", "input_file", "audio", "input_audio"):
        return _mark("image" if "image" in kind else kind.removeprefix("input_"), block)
    if kind == "tool_reference":
        return f"[tool reference {block.get('tool_name', '')}]"
    return f"[{kind}]" if isinstance(kind, str) else dumps(block)


def mark_data_urls(text: str) -> str:
    """The text with a short mark for every data URL: their length says nothing about what was read."""
    if ";base64," not in text:
        return text
    return _DATA_URL.sub(
        lambda found: _bytes_mark("image" if found[1].startswith("image") else "file", *found.groups()), text
    )


def _mark(what: str, block: dict[str, Any]) -> str:
    nested = block.get("source")
    source = nested if isinstance(nested, dict) else block
    data = source.get("data") or source.get("file_data")
    mime = source.get("media_type") or source.get("mimeType") or source.get("mime_type") or "unknown type"
    if isinstance(data, str) and not data.startswith("data:"):
        return _bytes_mark(what, str(mime), data)
    link = data or block.get("image_url") or block.get("image_urls") or source.get("url") or source.get("file_id")
    links = link if isinstance(link, list) else [link]
    marks = []
    for one in links:
        url = one.get("url") if isinstance(one, dict) else one
        if not isinstance(url, str):
            marks.append(f"[{what}]")
        elif url.startswith("data:"):
            kind, _, blob = url.removeprefix("data:").partition(",")
            marks.append(_bytes_mark(what, kind.partition(";")[0], blob))
        else:
            marks.append(f"[{what} {url[:200]}]")
    return "\n".join(marks) if marks else f"[{what}]"


def _bytes_mark(what: str, mime: str, blob: str) -> str:
    return f"[{what} {mime}, {len(blob.rstrip('=')) * 3 // 4} bytes]"


def arguments_text(arguments: Any) -> str:
    """Call arguments as the JSON text of an object; free text goes under the key ``input``."""
    if isinstance(arguments, dict):
        return dumps(arguments)
    if arguments is None or arguments == "":
        return "{}"
    if isinstance(arguments, str):
        try:
            value = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            value = _loads_lenient(arguments)
            if isinstance(value, dict):
                return dumps(value)
        if isinstance(value, dict):
            return arguments
    return dumps({"input": arguments})


def _loads_lenient(text: str) -> Any:
    try:
        value, end = JSONDecoder(strict=False).raw_decode(text.strip())
    except (ValueError, RecursionError):
        return None
    return replace_surrogates(value) if end == len(text.strip()) else None


def shows_failure(text: str) -> bool:
    """Whether a tool result says clearly that the call failed: an exit code that is not 0, an error tag.

    Only where harnesses write it, at the head or the tail: a file that mentions an exit code is no failure.
    """
    if not text:
        return False
    head = text[:_HEAD_CHARS]
    for end in ("\nOutput:", "<output>"):
        head = head.partition(end)[0]
    return _FAILED_HEAD.search(head) is not None or _FAILED_TAIL.search(text[-_TAIL_CHARS:]) is not None


def first_line(text: str) -> str | None:
    """The first line that says something, at most 100 characters: a title.

    A harness opens its prompt with tags, the path of what it uploaded and a line that ends in a colon; what they
    introduce says more. A reminder says nothing of it.
    """
    lines = [line.strip() for line in (_ASIDE.sub("", text[:20_000]) or text)[:5000].split("\n")]
    said = [line for line in lines if line and not _is_framing(line)]
    line = next((line for line in said if not line.endswith(":")), said[0] if said else None)
    return line if line is None or len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1] + "…"


def _is_framing(line: str) -> bool:
    return bool(_ONLY_TAGS.match(line) or _LONE_PATH.match(line)) or line.startswith("[image ")


NO_TIME = "time that no clock holds"
"""Why a recorded time is set aside."""


def iso_time(value: Any) -> str | None:
    """A recorded time as ISO 8601: text as it is, a number as seconds (or milliseconds) since the epoch.

    A number that no clock holds becomes ``NO_TIME``, a text that is no time either: the session sets it aside.
    """
    if isinstance(value, str):
        return value or None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        seconds = value / 1000 if value > 1e11 else value
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return NO_TIME
