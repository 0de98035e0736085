"""Any callable that takes a list of chat messages and returns one: what a team ships in its own agent.

Messages are dictionaries in the shape of OpenAI's chat API: ``role``, ``content`` (text), for an assistant
``tool_calls`` (``id``, ``type``, ``function`` with ``name`` and ``arguments``), for a tool ``tool_call_id``; and
``reasoning_content`` where a message has reasoning. Each call gets fresh ones, which it may change in place.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import Signature, isclass
from typing import Any

from compaction.adapters.message_mapping import MappedMessage, edit_message, restore_messages, role_of
from compaction.adapters.summarizer_bridge import Asking, free_form, run_awaitable
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message, ToolCall

TOKENS = SUMMARY_TOKENS
sections = free_form

TELLING = 20
"""Characters of a text that stands in a prompt because its message does."""

Chat = dict[str, Any]


def fill(asking: Asking, signature: Signature, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a callable requires besides the messages.

    ``summarize``: a list of messages or a prompt → the run's summariser's text; ``count_tokens``: a text → tokens;
    ``budget``: tokens that the context may hold.
    """
    known = {
        "summarize": partial(_summarize, asking),
        "count_tokens": asking.history.counter.count,
        "budget": asking.history.budget,
    }
    return {
        name: known[name]
        for name, parameter in signature.parameters.items()
        if name in known and parameter.default is parameter.empty
    }


def prepared(name: str, value: Any, asking: Asking) -> Any:
    """A parameter as the callable takes it."""
    return value


def run(function: Any, history: History, asking: Asking) -> Sequence[Message]:
    """Compact a history."""
    sent = [chat_message(message) for message in history.messages]
    before = copy.deepcopy(sent)
    returned = run_awaitable(function(list(sent)))
    if isinstance(returned, Mapping | str) or not isinstance(returned, Sequence):
        raise TypeError(f"expected a list of messages, the callable returned {type(returned).__name__}")
    for item in returned:
        if not isinstance(item, Mapping):
            raise TypeError(f"expected messages as dictionaries, the callable returned a {type(item).__name__}")
    positions = align_messages(sent, before, returned)
    found = [
        MappedMessage(read(item)) if position is None else MappedMessage(read(item), position, read(before[position]))
        for item, position in zip(returned, positions, strict=True)
    ]
    return restore_messages(history.messages, found, shown=asking.shown)


def made(target: Any, parameters: Mapping[str, Any]) -> Any:
    """The callable with its parameters; of a class an instance, which is called."""
    return target(**parameters) if isclass(target) else partial(target, **parameters)


def chat_message(message: Message) -> Chat:
    """A message in the shape of OpenAI's chat API."""
    found: Chat = {"role": message.role, "content": message.text}
    if message.reasoning:
        found["reasoning_content"] = message.reasoning
    if message.tool_calls:
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        found["tool_call_id"] = message.tool_call_id or ""
    return found


def read(item: Mapping[str, Any]) -> Message:
    """A message from that shape; content in parts is joined."""
    content = item.get("content") or ""
    if not isinstance(content, str):
        content = "".join(part if isinstance(part, str) else str(part.get("text") or "") for part in content)
    calls = []
    for call in item.get("tool_calls") or ():
        arguments = call["function"].get("arguments") or ""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        calls.append(ToolCall(str(call.get("id") or ""), str(call["function"]["name"]), text))
    reasoning = str(item.get("reasoning_content") or "")
    return Message(role_of(str(item.get("role"))), content, reasoning, tuple(calls), item.get("tool_call_id") or None)


def align_messages(
    sent: Sequence[Chat], before: Sequence[Chat], returned: Sequence[Mapping[str, Any]], *, by_turn: bool = True
) -> list[int | None]:
    """Find the sent message that each returned message repeats or edits; None for a new message.

    It is one of those sent if it is the same object or, from the end on, says the same. What is left over between two
    that are known is paired by the ids of calls and results or, ``by_turn``, one by one where as many were sent as
    were returned there, with the same roles.
    """
    at = {id(item): position for position, item in enumerate(sent)}
    found = [at.get(id(item)) for item in returned]
    taken = {position for position in found if position is not None}
    same: dict[str, list[int]] = {}
    for position, item in enumerate(before):
        if position not in taken:
            same.setdefault(_key(item), []).append(position)
    for index in range(len(returned) - 1, -1, -1):
        places = same.get(_key(returned[index])) if found[index] is None else None
        if places:
            found[index] = places.pop()
            taken.add(found[index])  # type: ignore[arg-type]
    for start, end, low, high in _stretches(found, len(sent)):
        free = [position for position in range(low, high) if position not in taken]
        for index, position in _paired(range(start, end), free, before, returned, by_turn):
            found[index] = position
            taken.add(position)
    return found


def _stretches(found: Sequence[int | None], end: int) -> list[tuple[int, int, int, int]]:
    """Runs of unknown messages (start, end) and the positions (low, high) between their known neighbours."""
    runs = []
    start, low = 0, 0
    for index, position in enumerate([*found, end]):
        if position is None:
            continue
        if index > start and low <= position:
            runs.append((start, index, low, position))
        start, low = index + 1, position + 1
    return runs


def _paired(
    unknown: Sequence[int],
    free: Sequence[int],
    before: Sequence[Chat],
    returned: Sequence[Mapping[str, Any]],
    by_turn: bool,
) -> list[tuple[int, int]]:
    roles_agree = by_turn and [returned[i].get("role") for i in unknown] == [before[p]["role"] for p in free]
    if roles_agree:
        return list(zip(unknown, free, strict=True))
    by_ids: dict[tuple[str, ...], list[int]] = {}
    for position in free:
        by_ids.setdefault(_ids(before[position]), []).append(position)
    pairs = []
    for index in unknown:
        ids = _ids(returned[index])
        if ids and by_ids.get(ids):
            pairs.append((index, by_ids[ids].pop(0)))
    return pairs


def _ids(item: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids that tie a message to others: of the call that it answers, or of the calls that it makes."""
    if item.get("tool_call_id"):
        return ("result", str(item["tool_call_id"]))
    calls = item.get("tool_calls") or ()
    return ("calls", *(str(call.get("id")) for call in calls)) if calls else ()


def _key(item: Mapping[str, Any]) -> str:
    return json.dumps(item, sort_keys=True, ensure_ascii=False, default=str)


def _summarize(asking: Asking, asked: str | Sequence[Mapping[str, Any]]) -> str:
    """Have the run's summariser answer a prompt, or messages with the request among them."""
    messages = asking.history.messages
    if isinstance(asked, str):
        asking.forms = lambda: [(m.text, p, m) for p, m in enumerate(messages) if len(m.text) >= TELLING]
        return asking.about([Message("user", asked)])
    sent = [chat_message(message) for message in messages]
    span: dict[int, Message] = {}
    for item, position in zip(asked, align_messages(sent, sent, asked, by_turn=False), strict=True):
        if position is not None:
            span[position] = edit_message(messages[position], read(sent[position]), read(item))
    return asking([read(item) for item in asked], list(span.values()), span)
