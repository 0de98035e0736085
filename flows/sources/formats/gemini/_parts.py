"""Parts of the Gemini API, as the REST interface (camelCase) and the Python SDK (snake_case) write them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from flows.sources.reading.base import Record
from flows.sources.reading.blocks import block_text, mark_data_urls, text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.values import as_list, need_list, nested

CODE_TOOL = "code_execution"
"""Name of the call for code that the provider ran itself."""
CONTENT_KEYS = frozenset(
    """text functionCall function_call functionResponse function_response inlineData inline_data fileData
    file_data executableCode executable_code codeExecutionResult code_execution_result""".split()
)
SNAPSHOT = "<state_snapshot>"
ACKNOWLEDGED = "Got it. Thanks for the additional context!"
"""The answer that Gemini CLI itself writes to a summary (core/src/services/chatCompressionService.ts)."""
CONTEXT = ("<session_context>", "This is the Gemini CLI. We are setting up the context for our chat")
_SHELL = "run_shell_command"
_FAILED = re.compile(r"^Exit Code: (?!0\b)-?\d+$", re.MULTILINE)
"""Gemini CLI's shell tool says behind the output how the command ended."""
_SNAKE = re.compile(r"_([a-z])")


@dataclass
class GeminiCall:
    """A function call in a turn."""

    id: Any
    name: Any
    arguments: Any


@dataclass
class Response:
    """A result that a turn brings."""

    id: Any
    name: Any
    text: str
    is_error: bool


@dataclass
class Turn:
    """The parts of one turn, sorted by kind."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[GeminiCall] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    unknown: list[Any] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The visible text."""
        return "\n".join(self.texts)


def parts_of(content: Any) -> list[Any]:
    """The parts of a content: text, one part, a list of both, or an object with ``parts``.

    Raises:
        MalformedError: It is none of them.
    """
    if content is None:
        return []
    inner = nested(content, "parts")
    if isinstance(inner, list):
        return inner
    if isinstance(content, (str, dict)):
        return [content]
    return need_list(content, "content", "text or a list of parts")


def camel(record: Record) -> Record:
    """The fields with the names that the REST interface has."""
    return {_SNAKE.sub(lambda found: found[1].upper(), str(key)): value for key, value in record.items()}


def sort_parts(parts: list[Any], *, streamed: bool = False) -> Turn:
    """Sorts the parts of a turn.

    Args:
        parts: The parts.
        streamed: Text parts next to each other are pieces of one text (a model's), not texts of their own.
    """
    turn, goes_on = Turn(), False
    for part in parts:
        plain = {"text": part} if isinstance(part, str) else part
        if not isinstance(plain, dict):
            turn.unknown.append(part)
            continue
        value = camel(plain)
        text = value.get("text")
        if isinstance(text, str) and value.get("thought"):
            turn.thoughts.append(text)
        elif isinstance(text, str) and streamed and goes_on:
            turn.texts[-1] += mark_data_urls(text)
        elif isinstance(text, str):
            turn.texts += [mark_data_urls(text)] if text else []
        else:
            _sort_other(turn, value, part)
        goes_on = bool(isinstance(text, str) and not value.get("thought") and turn.texts)
    return turn


def _sort_other(turn: Turn, value: Record, part: Any) -> None:
    call, response = value.get("functionCall"), value.get("functionResponse")
    code, ran = value.get("executableCode"), value.get("codeExecutionResult")
    if isinstance(call, dict):
        turn.calls.append(GeminiCall(call.get("id"), call.get("name"), call.get("args")))
    elif isinstance(response, dict):
        turn.responses.append(read_response(response))
    elif isinstance(code, dict):
        turn.calls.append(
            GeminiCall(code.get("id"), CODE_TOOL, {key: code[key] for key in ("language", "code") if key in code})
        )
    elif isinstance(ran, dict):
        failed = ran.get("outcome") not in (None, "OUTCOME_OK", 1)
        turn.responses.append(Response(ran.get("id"), CODE_TOOL, text_of(ran.get("output")), failed))
    elif (mark := _mark(value)) is not None:
        turn.texts.append(mark)
    elif set(value) - {"thought", "thoughtSignature", "videoMetadata", "partMetadata", "text"}:
        turn.unknown.append(part)


def _mark(value: Record) -> str | None:
    data, file = value.get("inlineData"), value.get("fileData")
    if isinstance(data, dict):
        mime = str(data.get("mimeType") or data.get("mime_type") or "unknown type")
        kind = "image" if mime.startswith("image/") else "file"
        return block_text({"type": kind, "source": {"data": data.get("data"), "media_type": mime}})
    if isinstance(file, dict):
        return f"[file {str(file.get('fileUri') or file.get('file_uri') or file.get('displayName') or '')[:200]}]"
    return None


def read_response(response: Record) -> Response:
    """The result in a ``functionResponse``: its text is under a key, which tools choose; ``error`` says it failed."""
    value, error = response.get("response"), None
    if isinstance(value, dict):
        error = value.get("error")
        held = [value[key] for key in ("output", "result", "content") if value.get(key) not in (None, "")]
        rest = {key: item for key, item in value.items() if key not in ("output", "error")}
        if not held and not error and rest and not any(key in value for key in ("output", "result", "content")):
            held = [rest]
        texts = [_plain(one) for one in [*held[:1], *([error] if error else [])]]
    else:
        texts = [_plain(value)] if value is not None else []
    texts += sort_parts(as_list(response.get("parts"))).texts
    text = "\n".join(filter(None, texts))
    failed = bool(error) or (response.get("name") == _SHELL and _FAILED.search(text[-400:]) is not None)
    return Response(response.get("id"), response.get("name"), text, failed)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return mark_data_urls(value)
    if isinstance(value, list) and value and all(isinstance(b, dict) and "type" in b for b in value):
        return text_of(value)  # what an MCP server answered
    message = value.get("message") if isinstance(value, dict) and len(value) <= 2 else None
    return message if isinstance(message, str) else dumps(value)


def is_context(text: str) -> bool:
    """Whether a prompt is what Gemini CLI says about the machine and the folder before the first prompt."""
    return text.lstrip().startswith(CONTEXT)


def is_snapshot(text: str, answer: str | None = None) -> bool:
    """Whether a prompt is Gemini CLI's summary of the history that it replaced.

    Args:
        text: The prompt.
        answer: The turn after it.
    """
    if text.lstrip().startswith(SNAPSHOT):
        return True
    return SNAPSHOT in text and answer is not None and answer.strip() == ACKNOWLEDGED
