"""inspect_ai: its ``CompactionStrategy`` classes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from inspect import Signature
from typing import Any

from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    get_model,
    modelapi,
)
from inspect_ai.tool import ToolCall as PeerCall

from compaction.adapters.message_mapping import MappedMessage, restore_messages, role_of
from compaction.adapters.summarizer_bridge import Asking, run_awaitable
from compaction.model import Section
from compaction.strategies import claude_code_style
from compaction.strategies.inspect_ai import is_summary
from compaction.strategies.shared.requests import render
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History, StrategyError
from compaction.transcript import Message, ToolCall

TOKENS = SUMMARY_TOKENS
POSITION = "compaction_eval_position"
"""Key of a message's metadata: the peer gives messages that it changes new ids."""

PROVIDER = "compaction_eval"


@modelapi(name=PROVIDER)
class InspectModel(ModelAPI):  # type: ignore[misc]
    """A provider whose answers are the run's summariser's, and which counts tokens as the run does."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (the peer's own signature)
        *,
        asking: Asking,
        before: Sequence[Message],
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self._asking = asking
        self._before = before

    async def generate(self, input: list[Any], **_: Any) -> ModelOutput:
        """Have the summariser answer the peer's prompt."""
        given = self._asking.history.messages
        at = [((message.metadata or {}).get(POSITION), read(message)) for message in input]
        shown = [(p, given[p] if now == self._before[p] else now) for p, now in at if p is not None]
        asked = "\n\n".join(now.text for position, now in at if position is None)
        prompt = Message("user", f"<messages>\n{render([m for _, m in shown])}\n</messages>\n\n{asked}")
        text = self._asking([prompt], [m for _, m in shown if m.role != "system"], [p for p, _ in shown])
        return ModelOutput.from_content(self.model_name, text)

    async def count_text_tokens(self, text: str) -> int:
        """Tokens of a text; the peer's own count downloads a vocabulary."""
        return self._asking.history.counter.count(text)


def sections(span: Sequence[Message]) -> tuple[Section, ...]:
    """The sections of our version's summary, for a summariser that is no language model."""
    return claude_code_style.SECTIONS


def fill(asking: Asking, signature: Signature, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return no further arguments: the model goes with the call."""
    return {}


def prepared(name: str, value: Any, asking: Asking) -> Any:
    """A parameter as the peer takes it."""
    return value


def run(strategy: Any, history: History, asking: Asking) -> Sequence[Message]:
    """Compact a history, whatever the peer's own threshold is."""
    if not hasattr(strategy, "compact"):
        raise StrategyError(f"{type(strategy).__name__} is no compaction strategy of inspect_ai")
    sent = [sent_as(message, position) for position, message in enumerate(history.messages)]
    before = [read(message) for message in sent]
    model = get_model(f"{PROVIDER}/summarizer", memoize=False, asking=asking, before=before)
    left, _ = run_awaitable(strategy.compact(model, sent, []))
    found = []
    for message in left:
        position = (message.metadata or {}).get(POSITION)
        now = read(message)
        found.append(MappedMessage(now) if position is None else MappedMessage(now, position, before[position]))
    return restore_messages(history.messages, found, shown=asking.shown)


def sent_as(message: Message, position: int) -> Any:
    """Converts one of our messages to the peer's type."""
    known: dict[str, Any] = {"metadata": {POSITION: position}, "id": f"m{position}"}
    if is_summary(message):
        known["metadata"]["summary"] = True
    if message.role == "system":
        return ChatMessageSystem(content=message.text, **known)
    if message.role == "user":
        return ChatMessageUser(content=message.text, **known)
    if message.role == "tool":
        return ChatMessageTool(
            content=message.text, tool_call_id=message.tool_call_id, function=message.tool_name, **known
        )
    content: Any = message.text
    if message.reasoning:
        texts = [ContentText(text=message.text)] if message.text else []
        content = [ContentReasoning(reasoning=message.reasoning), *texts]
    calls = [PeerCall(id=call.id, function=call.name, arguments=call.parsed()) for call in message.tool_calls]
    return ChatMessageAssistant(content=content, tool_calls=calls or None, **known)


def read(message: Any) -> Message:
    """Converts one of the peer's messages to ours."""
    reasoning = ""
    text = message.content if isinstance(message.content, str) else ""
    for part in () if isinstance(message.content, str) else message.content:
        if isinstance(part, ContentReasoning):
            reasoning += part.reasoning
        elif isinstance(part, ContentText):
            text += ("\n" if text else "") + part.text
    calls = tuple(
        ToolCall(call.id, call.function, json.dumps(call.arguments, ensure_ascii=False))
        for call in getattr(message, "tool_calls", None) or ()
    )
    return Message(role_of(message.role), text, reasoning, calls, getattr(message, "tool_call_id", None))
