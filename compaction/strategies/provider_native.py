"""Compaction on the provider's side: requests and responses in the shapes of OpenAI's and Anthropic's APIs.

Nothing is sent from here: a client with a key comes with the history. The shapes are those of the SDKs openai 3.52.0
and anthropic 2.11.0; what the services make of a request is not known without a key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from compaction.dialogue import Item, answers_of, tool_name
from compaction.markers import CALL, RESULT, Marker, removed, wrapper
from compaction.model import NativeRequest, SummaryError
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import make_once, stands_for, system_prompt, with_calls, with_text
from compaction.strategies.shared.wire import anthropic_messages, anthropic_tools, instructions_of, openai_items
from compaction.strategy import History
from compaction.transcript import Message

TOLD = (Marker("[result without a call] ", RESULT), Marker("[call without a result] ", CALL))
"""How the requests tell of what the APIs do not take; what a service repeats of it is the same text."""

OPENAI_PATH = "/v1/responses/compact"
ANTHROPIC_PATH = "/v1/messages"
SUMMARIZE_BETA = "compact-2026-09-04"
COMPACT_BETA = "compact-2026-01-12"
CLEAR_BETA = "context-management-2025-06-27"

MAX_TOKENS = 16_000
"""Of a summary that Anthropic writes; the API wants a limit. Ours."""
CLEARED = "[Old tool result content cleared]"
"""Ours: what the service puts there is not shown to clients."""


@strategy(
    "openai_compact",
    needs_key="openai",
    is_opaque=True,
    peer="OpenAI responses.compact",
    peer_version="openai 3.52.0",
    markers=TOLD,
)
def openai_compact(history: History) -> Sequence[Message]:
    """What OpenAI's endpoint for compaction returns: the user messages, and one item that only OpenAI can read.

    The system prompt goes as instructions and stays. Any mix of items is taken as it comes: one that says what a
    message of the history says is that message, any other is kept as it is for the next request. The encrypted item
    stands for all messages that are gone; its tokens are those that the model wrote, less its reasoning. Where
    nothing was said since the last compaction, or nothing but reasoning and empty messages, none is asked for.
    """
    return ask_openai(history, openai_request(history.messages))


def ask_openai(history: History, request: NativeRequest) -> Sequence[Message]:
    """What the endpoint leaves of a history, where there is something to compact."""
    rest = history.messages[len(system_prompt(history.messages)) :]
    if not rest or rest[-1].opaque or all(message.role == "user" and not message.opaque for message in rest):
        return history.messages
    if not request.body["input"]:
        return history.messages
    left = openai_left(rest, history.ask_provider(request))
    if any(message.opaque and not message.tokens for message in left):
        history.flag("opaque_tokens_unknown")
    return (*system_prompt(history.messages), *left)


def openai_request(messages: Sequence[Message]) -> NativeRequest:
    """The request for a compaction of these messages."""
    body: Item = {"input": openai_items(messages[len(system_prompt(messages)) :])}
    if instructions := instructions_of(messages):
        body["instructions"] = instructions
    return NativeRequest("openai", OPENAI_PATH, body)


def openai_left(messages: Sequence[Message], response: Mapping[str, Any]) -> list[Message]:
    """The context that a response leaves. Raises SummaryError when it holds no compaction item."""
    output = response.get("output") or []
    if not any(item.get("type") == "compaction" and item.get("encrypted_content") for item in output):
        raise SummaryError("openai returned no compaction item")
    usage = response.get("usage") or {}
    written = usage.get("output_tokens", 0) - (usage.get("output_tokens_details") or {}).get("reasoning_tokens", 0)
    left: list[Message | Item] = []
    position = 0
    for item in output:
        found = _same(messages, position, item)
        left.append(item if found is None else messages[found])
        position = position if found is None else found + 1
    kept = {id(message) for message in left}
    gone = stands_for(message for message in messages if id(message) not in kept)
    return [item if isinstance(item, Message) else _opaque(item, max(written, 0), gone) for item in left]


def _same(messages: Sequence[Message], start: int, item: Item) -> int | None:
    """The position from ``start`` on of the message that an item says again."""
    if item.get("type", "message") != "message":
        return None
    text = _text_of(item)
    for position in range(start, len(messages)):
        message = messages[position]
        if message.role == item.get("role") and message.text == text and not (message.tool_calls or message.opaque):
            return position
    return None


def _text_of(item: Item) -> str:
    content = item.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content)


def _opaque(item: Item, written: int, covers: tuple[int, ...]) -> Message:
    """An item of OpenAI's as a message; the items that are no messages of the history together cover what is gone."""
    role: Literal["user", "assistant"] = "user" if item.get("role") == "user" else "assistant"
    tokens = written if item.get("type") == "compaction" else None
    return Message(role, _text_of(item), opaque=_json(item), tokens=tokens, covers=covers)


def _json(item: Item) -> str:
    return json.dumps(item, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@strategy(
    "anthropic_compact",
    needs_key="anthropic",
    peer="Anthropic compaction",
    peer_version="anthropic 2.11.0",
    markers=(*TOLD, *wrapper("<summary>", "</summary>")),
)
def anthropic_compact(
    history: History,
    *,
    form: Literal["summarize", "edit"] = "summarize",
    trigger: Positive = 150_000,
    instructions: str | None = None,
    max_tokens: Positive = MAX_TOKENS,
) -> Sequence[Message]:
    """A summary that Anthropic's service writes, as a block that is sent back first, in the place of all messages.

    Its text can be read, and the block is kept whole beside it. ``form``: ``summarize`` asks for a compaction outright
    (it takes no trigger, so it is forced at the point), ``edit`` has the service compact where the input exceeds
    ``trigger`` tokens and stop there; where it does not, nothing changes. ``instructions`` take the place of the
    service's prompt (in the form ``edit`` they are added to it). The summary has at most ``max_tokens``. A block
    without content is a compaction that failed. The system prompt stays; the task and the newest messages do not.
    """
    system = system_prompt(history.messages)
    rest = history.messages[len(system) :]
    if not rest or rest[-1].opaque:
        return history.messages
    request = anthropic_compact_request(
        history.messages, form=form, trigger=trigger, instructions=instructions, max_tokens=max_tokens
    )
    if not request.body["messages"]:
        return history.messages
    block = compaction_block(history.ask_provider(request))
    if block is None:
        if form == "edit":
            return history.messages
        raise SummaryError("anthropic returned no compaction block")
    return (*system, Message("assistant", block["content"], opaque=_json(block), covers=stands_for(rest)))


def anthropic_compact_request(
    messages: Sequence[Message], *, form: str, trigger: int, instructions: str | None, max_tokens: int
) -> NativeRequest:
    """The request for a compaction of these messages."""
    body = _anthropic_body(messages, max_tokens)
    more = {"instructions": instructions} if instructions else {}
    if form == "summarize":
        return NativeRequest(
            "anthropic", ANTHROPIC_PATH, {**body, "compaction": {"type": "summarize", **more}}, (SUMMARIZE_BETA,)
        )
    edit = {
        "type": "compact_20260112",
        "trigger": {"type": "input_tokens", "value": trigger},
        "pause_after_compaction": True,
        **more,
    }
    return NativeRequest(
        "anthropic", ANTHROPIC_PATH, {**body, "context_management": {"edits": [edit]}}, (COMPACT_BETA,)
    )


def compaction_block(response: Mapping[str, Any]) -> Item | None:
    """The last compaction block of a response. Raises SummaryError when its content is null or blank."""
    blocks: list[Item] = [block for block in response.get("content") or [] if block.get("type") == "compaction"]
    if not blocks:
        return None
    if not (blocks[-1].get("content") or "").strip():
        raise SummaryError("anthropic could not compact: the block has no content")
    return blocks[-1]


def _anthropic_body(messages: Sequence[Message], max_tokens: int) -> Item:
    rest = messages[len(system_prompt(messages)) :]
    body: Item = {"max_tokens": max_tokens, "messages": anthropic_messages(rest)}
    if system := instructions_of(messages):
        body["system"] = system
    if tools := anthropic_tools(rest):
        body["tools"] = tools
    return body


@strategy(
    "anthropic_clear",
    needs_key="anthropic",
    peer="Anthropic clear_tool_uses_20250919",
    peer_version="anthropic 2.11.0",
    markers=removed(CLEARED),
    bites={"keep": 1},
)
def anthropic_clear(
    history: History,
    *,
    trigger: Positive | None = None,
    keep: int = 3,
    clear_at_least: int | None = None,
    exclude_tools: str | None = None,
    clear_tool_inputs: bool = False,
) -> Sequence[Message]:
    """All messages, without the results of as many of the oldest tool uses as Anthropic's service clears.

    The service clears in its own copy and tells only how many uses it cleared, oldest first; their results are
    replaced here by a text of ours, so any model can answer. As with the service, whose clients keep the whole
    history, it starts from the whole session each time. ``trigger`` is in input tokens (the budget; 100,000 in the
    original), ``keep`` the number of newest tool uses that stay, ``clear_at_least`` the tokens that must come free,
    ``exclude_tools`` names of tools that are left alone, separated by spaces, ``clear_tool_inputs`` takes the
    arguments too.
    """
    session = history.session
    excluded = (exclude_tools or "").split()
    answers = sorted(answers_of(session).items())
    uses = [use for use in answers if session[use[0][0]].tool_calls[use[0][1]].name not in excluded]
    if not uses:
        return history.messages
    fill = history.budget if trigger is None else trigger
    request = anthropic_clear_request(session, fill, keep, clear_at_least, excluded, clear_tool_inputs)
    cleared = uses[: cleared_tool_uses(history.ask_provider(request))]
    results = {result for _, result in cleared}
    inputs = {call for call, _ in cleared} if clear_tool_inputs else set()
    held = {message.seq: message for message in history.messages}
    left = []
    for position, message in enumerate(session):
        emptied = frozenset(n for n in range(len(message.tool_calls)) if (position, n) in inputs)
        now = _clear(history, message, position in results, emptied)
        before = held.get(now.seq) if now.seq is not None else None
        same = before is not None and (before.text, before.tool_calls) == (now.text, now.tool_calls)
        left.append(before if before is not None and same else now)
    return left


def _clear(history: History, message: Message, is_result: bool, emptied: frozenset[int]) -> Message:
    """The message without its text if it is a cleared result, and without the arguments of these calls."""
    if is_result:
        return make_once(history.counter, with_text, message, CLEARED)
    if not emptied:
        return message
    calls = tuple(replace(c, arguments="{}") if n in emptied else c for n, c in enumerate(message.tool_calls))
    return make_once(history.counter, with_calls, message, calls)


def anthropic_clear_request(
    messages: Sequence[Message],
    trigger: int,
    keep: int,
    clear_at_least: int | None,
    exclude_tools: Sequence[str],
    clear_tool_inputs: bool,
) -> NativeRequest:
    """The request that has the service clear tool uses, and answer with as little as it can."""
    edit: Item = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": trigger},
        "keep": {"type": "tool_uses", "value": keep},
        "clear_tool_inputs": clear_tool_inputs,
    }
    if clear_at_least is not None:
        edit["clear_at_least"] = {"type": "input_tokens", "value": clear_at_least}
    if exclude_tools:
        edit["exclude_tools"] = [tool_name(name) for name in exclude_tools]
    body = {**_anthropic_body(messages, 1), "context_management": {"edits": [edit]}}
    return NativeRequest("anthropic", ANTHROPIC_PATH, body, (CLEAR_BETA,))


def cleared_tool_uses(response: Mapping[str, Any]) -> int:
    """Count the tool uses that the service cleared."""
    applied = (response.get("context_management") or {}).get("applied_edits") or []
    return sum(edit.get("cleared_tool_uses", 0) for edit in applied if edit.get("type") == "clear_tool_uses_20250919")
