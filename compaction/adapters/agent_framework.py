"""Microsoft Agent Framework for Python: any strategy that its ``apply_compaction`` runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Signature
from typing import Any

import agent_framework as peer

from compaction.adapters.message_mapping import MappedMessage, restore_messages, role_of
from compaction.adapters.summarizer_bridge import Asking, free_form, run_awaitable
from compaction.strategies.agent_framework.python_summary import SUMMARY_TOKENS, render
from compaction.strategy import History, StrategyError
from compaction.tokens import TokenCounter
from compaction.transcript import Message, ToolCall

TOKENS = SUMMARY_TOKENS
sections = free_form
GROUP, STANDS_FOR = "_group", "_summary_of_message_ids"
TOKENIZERS = ("characters", "exact")


class Exact:
    """The project's counter as a tokenizer; it counts the peer's JSON of a message."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    def count_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return self._counter.count(text)


class AgentFrameworkClient:
    """A chat client whose answers are the run's summariser's."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def get_response(self, messages: Sequence[Any], *, stream: bool = False, **_: Any) -> Any:
        """Have the summariser answer the peer's prompt."""
        text = self._asking.about([read(message) for message in messages])
        return peer.ChatResponse(messages=[peer.Message(role="assistant", contents=[text])])


def fill(asking: Asking, signature: Signature, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a strategy's further arguments: a client, and a tokenizer if the strategy requires one."""
    tokenizer = signature.parameters.get("tokenizer")
    needed = tokenizer is not None and tokenizer.default is tokenizer.empty
    return {
        "client": AgentFrameworkClient(asking),
        **({"tokenizer": peer.CharacterEstimatorTokenizer()} if needed else {}),
    }


def prepared(name: str, value: Any, asking: Asking) -> Any:
    """A parameter as the peer takes it; a tokenizer is named ``characters`` (the peer's own) or ``exact``."""
    if name != "tokenizer" or value is None:
        return value
    if value not in TOKENIZERS:
        raise StrategyError(f"tokenizer must be one of {', '.join(TOKENIZERS)}, not {value!r}")
    return peer.CharacterEstimatorTokenizer() if value == "characters" else Exact(asking.history.counter)


def run(strategy: Any, history: History, asking: Asking) -> Sequence[Message]:
    """Compact a history."""
    if not callable(strategy):
        raise StrategyError(f"{type(strategy).__name__} is no compaction strategy of agent_framework")
    given = list(enumerate(history.messages))
    asking.forms = lambda: [(render((m,)).removeprefix("1. "), position, m) for position, m in given]
    sent = [sent_as(message, position) for position, message in given]
    before = [read(message) for message in sent]
    everything = list(sent)  # the peer puts its summaries into this list and returns what is not excluded
    left = run_awaitable(peer.apply_compaction(everything, strategy=strategy))
    covered = _find_covers({m.message_id: i for i, m in enumerate(sent)}, everything)
    at = {id(message): position for position, message in enumerate(sent)}
    ids = {message.message_id: position for position, message in enumerate(sent)}
    found = []
    for message in left:
        position = at.get(id(message), ids.get(message.message_id))
        if position is None:
            found.append(MappedMessage(read(message), covers=covered.get(message.message_id)))
        else:
            found.append(MappedMessage(read(message), position, before[position]))
    return restore_messages(history.messages, found, shown=asking.shown)


def sent_as(message: Message, position: int) -> Any:
    """Converts one of our messages to the peer's type.

    All ids have the same length, because the peer counts them as tokens.
    """
    contents: list[Any] = []
    if message.role == "tool":
        error = message.text if message.is_error else None
        contents = [
            peer.Content.from_function_result(call_id=message.tool_call_id or "", result=message.text, exception=error)
        ]
    else:
        if message.reasoning:
            contents.append(peer.Content.from_text_reasoning(text=message.reasoning))
        if message.text:
            contents.append(peer.Content.from_text(message.text))
        contents += [
            peer.Content.from_function_call(call_id=call.id, name=call.name, arguments=call.arguments)
            for call in message.tool_calls
        ]
    return peer.Message(role=message.role, contents=contents, message_id=f"m{position:06}")


def read(message: Any) -> Message:
    """Converts one of the peer's messages to ours."""
    texts = {"text": "", "text_reasoning": "", "function_result": ""}
    calls: list[ToolCall] = []
    call_id = None
    for content in message.contents:
        if content.type == "function_call":
            calls.append(ToolCall(content.call_id or "", content.name or "", str(content.arguments)))
        elif content.type == "function_result":
            texts["function_result"] += content.result if isinstance(content.result, str) else str(content.result)
            call_id = content.call_id or None
        elif content.type in texts:
            texts[content.type] += content.text or ""
    role = role_of(str(message.role))
    text = texts["text"] + texts["function_result"]
    return Message(role, text, texts["text_reasoning"], tuple(calls), call_id if role == "tool" else None)


def _find_covers(positions: Mapping[str, int], messages: Sequence[Any]) -> dict[str, tuple[int, ...]]:
    """Map the id of each message that the peer made to the positions of the messages that it replaces."""
    made = {m.message_id: (m.additional_properties.get(GROUP) or {}).get(STANDS_FOR) for m in messages}
    found: dict[str, tuple[int, ...]] = {}
    for id, standing in made.items():
        if id in positions or standing is None:
            continue
        behind, stack, seen = set[int](), list(standing), {id}
        while stack:
            one = stack.pop()
            if one in positions:
                behind.add(positions[one])
            elif one not in seen:
                seen.add(one)
                stack += made.get(one) or ()
        found[id] = tuple(sorted(behind))
    return found
