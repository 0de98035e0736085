"""Function calls as text, for models without a tool API: what the agent writes becomes a call, the answer its result.

Two protocols: ``<function=name><parameter=x>…`` with ``EXECUTION RESULT of [name]:`` in the next user message
(OpenHands, SWE-smith, Qwen), and CodeAct's ``<execute_bash>…`` with ``OBSERVATION:``. Text that only looks like one
stays text: the system prompt, or several exchanges, must show that the protocol is in use.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import orjson

from flows.sources.reading.base import Record
from flows.sources.reading.blocks import first_line, shows_failure
from flows.sources.reading.decode import replace_surrogates
from flows.sources.reading.session import MessageDraft, SessionDraft
from flows.sources.reading.values import as_list, nested

Types = dict[str, dict[str, str]]
"""Tool → parameter → JSON type, where the log holds the tools' schemas."""
_CALL = re.compile(r"(?:<tool_call>\s*)?<function=([^<>\s]{1,200})>|<execute_(bash|ipython|browse)>")
_PARAMETER = re.compile(r"\s*<parameter=([^<>\s]{1,200})>")
_END = re.compile(r"\s*</function>(?:\s*</tool_call>)?|\s*(?:</?[a-z]{0,8})?\s*\Z")
_NEXT = re.compile(r"\s*(?:<parameter=|</function|(?:</?[a-z]{0,8})?\Z)")
_BLOCK_TOOLS = {
    "bash": ("execute_bash", "command"),
    "ipython": ("execute_ipython_cell", "code"),
    "browse": ("browser", "code"),
}
_RESULT = re.compile(r"\s*(?:(?:EXECUTION RESULT|Execution output) of \[([^\]\n]{0,200})\]:|OBSERVATION:)[ ]?\n?")
_TASK = re.compile(r"-{5,} NEW TASK DESCRIPTION -{5,}\n")
_MOST_CALLS = 200
"""Calls that one message may hold."""
_SHOWN = 2
"""Exchanges that show the protocol where no system prompt tells of it."""


def convert_text_calls(session: SessionDraft, tools: Any = None) -> None:
    """Turns text calls of a session, whose messages have all been said, into calls and results.

    Args:
        session: Its messages are changed in place, and counted by what they become.
        tools: The tools as the request listed them, for the types of the arguments.
    """
    if not _is_protocol(session.drafts):
        return
    types = _types(tools)
    waiting: list[tuple[str, str]] = []
    for draft in session.drafts:
        if draft.role == "assistant":
            if not draft.calls:
                _take_calls(session, draft, types)
            if draft.calls:
                waiting = [(call.id, call.name) for call in draft.calls]
        elif draft.role == "tool":
            waiting = [one for one in waiting if one[0] != draft.tool_call_id]
        elif draft.role == "user":
            _take_result(session, draft, waiting)
    prompt = next((draft for draft in session.drafts if draft.role == "user" and draft.typed), None)
    if prompt is not None and session.title is None and (task := _TASK.search("\n".join(prompt.texts))):
        session.title = first_line("\n".join(prompt.texts)[task.end() :])


def _is_protocol(drafts: list[MessageDraft]) -> bool:
    shown, called = 0, False
    for draft in drafts:
        text = draft.texts[0] if draft.texts else ""
        if draft.role == "system" and (("<function=" in text and "<parameter=" in text) or "<execute_bash>" in text):
            return True
        if draft.role == "user" and called and _RESULT.match(text):
            shown += 1
            if shown >= _SHOWN:
                return True
        called = draft.role == "assistant" and any("<function=" in t or "<execute_" in t for t in draft.texts)
    return False


def _take_result(session: SessionDraft, draft: MessageDraft, waiting: list[tuple[str, str]]) -> None:
    text = "\n".join(draft.texts)
    head = _RESULT.match(text)
    if head is None or not waiting:
        return
    name = head.group(1)
    at = next((i for i, (_, called) in enumerate(waiting) if called == name), 0)
    call, called = waiting.pop(at)
    draft.role, draft.typed = "tool", False
    draft.texts = [text[head.end() :]]
    draft.tool_call_id, draft.tool_name = call, name or called
    draft.is_error = shows_failure(draft.texts[0])
    session.source.account.met["user"] -= 1
    session.source.account.met["tool"] += 1


def _take_calls(session: SessionDraft, draft: MessageDraft, types: Types) -> None:
    rest, calls = parse_text_calls("\n".join(draft.texts), types)
    if calls:
        draft.texts = [rest] if rest else []
        for name, arguments in calls:
            session.call(draft, None, name, arguments)


def parse_text_calls(text: str, types: Types | None = None) -> tuple[str, list[tuple[str, Record]]]:
    """The text without its calls, and the calls: name and arguments."""
    kept: list[str] = []
    calls: list[tuple[str, Record]] = []
    at = 0
    while len(calls) < _MOST_CALLS and (found := _CALL.search(text, at)) is not None:
        kept.append(text[at : found.start()])
        name, block = found.groups()
        if block is not None:
            name, key = _BLOCK_TOOLS[block]
            body, at = _text_until(text, found.end(), f"</execute_{block}>")
            calls.append((name, {key: body.strip("\n")}))
        else:
            arguments, at = _parameters(text, found.end(), (types or {}).get(name, {}))
            calls.append((name, arguments))
    kept.append(text[at:])
    return "\n".join(part for piece in kept if (part := piece.strip())), calls


def _parameters(text: str, at: int, types: dict[str, str]) -> tuple[Record, int]:
    """The arguments of a call, and where it ends."""
    arguments: Record = {}
    while (opened := _PARAMETER.match(text, at)) is not None:
        start = close = opened.end()
        # A value may hold the closing tag itself: it ends where the next tag of the protocol follows.
        while (close := text.find("</parameter>", close)) >= 0 and not _NEXT.match(text, close + 12):
            close += 12
        if close < 0:
            value, at = _text_until(text, start, "</function>")
        else:
            value, at = text[start:close], close + 12
        arguments[opened.group(1)] = _convert_value(value, types.get(opened.group(1), "string"))
        if close < 0:
            return arguments, at
    end = _END.match(text, at)
    if end is not None:
        return arguments, end.end()
    body, at = _text_until(text, at, "</function>")
    found: Any = None
    with suppress(orjson.JSONDecodeError):
        found = orjson.loads(body)
    if isinstance(found, dict):
        return arguments | found, at
    return (arguments | {"input": body.strip()}) if body.strip() else arguments, at


def _text_until(text: str, start: int, tag: str) -> tuple[str, int]:
    """The text up to a closing tag; to the end where a stop word has cut it off."""
    end = text.find(tag, start)
    if end >= 0:
        return text[start:end], end + len(tag)
    rest = text[start:]
    cut = rest.rfind("</")
    if cut >= 0 and tag.startswith(rest[cut:].strip()):
        rest = rest[:cut]
    return rest, len(text)


def _convert_value(value: str, kind: str) -> Any:
    value = value.removeprefix("\n").removesuffix("\n")
    if kind in ("string", ""):
        return value
    try:
        return replace_surrogates(orjson.loads(value))
    except orjson.JSONDecodeError:
        return value


def _types(tools: Any) -> Types:
    found: Types = {}
    for tool in as_list(tools):
        properties = nested(tool, "function", "parameters", "properties")
        if isinstance(properties, dict):
            kinds = {name: nested(about, "type") for name, about in properties.items()}
            found[str(tool["function"].get("name"))] = {n: kind for n, kind in kinds.items() if isinstance(kind, str)}
    return found
