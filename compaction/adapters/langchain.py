"""LangChain: agent middleware that changes the messages before a model is called, and context edits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from inspect import Signature
from typing import Any

import langchain_core.exceptions as peer_errors
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, get_buffer_string
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph.message import add_messages

from compaction.adapters.message_mapping import MappedMessage, restore_messages, role_of
from compaction.adapters.summarizer_bridge import Asking, run_awaitable
from compaction.model import ContextOverflowError, Section, SummaryError
from compaction.strategies import langchain as ours
from compaction.strategies.shared.parts import without_reasoning
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History, StrategyError
from compaction.transcript import Message, ToolCall

TOKENS = SUMMARY_TOKENS
REASONING = "reasoning_content"
_Failure: Any = getattr(peer_errors, "ModelError", RuntimeError)
_Overflow: Any = getattr(peer_errors, "ContextOverflowError", RuntimeError)


class LangchainModel(BaseChatModel):  # type: ignore[misc]
    """A chat model whose answers are the run's summariser's; one that fails is not asked again."""

    asking: Any

    @property
    def _llm_type(self) -> str:
        return "compaction-eval"

    def _generate(self, messages: list[Any], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        try:
            text = self.asking.about([read(message) for message in messages])
        except ContextOverflowError as error:
            raise _Overflow(str(error)) from error
        except SummaryError as error:
            raise _Failure(str(error)) from error
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def sections(span: Sequence[Message]) -> tuple[Section, ...]:
    """The sections of our version's summary, for a summariser that is no language model."""
    return ours.SECTIONS


def fill(asking: Asking, signature: Signature, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a class's further arguments: a model, and a trigger that always fires if compaction is forced."""
    found: dict[str, Any] = {"model": LangchainModel(asking=asking)}
    trigger = signature.parameters.get("trigger")
    if options.get("forced", True) and trigger is not None:
        found["trigger"] = 0 if isinstance(trigger.default, int) else ("messages", 1)
    return found


def prepared(name: str, value: Any, asking: Asking) -> Any:
    """A parameter as the peer takes it: sizes are pairs there, which a study file has as lists."""
    is_pair = isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)
    return tuple(value) if is_pair and isinstance(value[1], int | float) else value


def run(thing: Any, history: History, asking: Asking, *, forced: bool = True) -> Sequence[Message]:
    """Compact a history: a middleware's ``before_model`` and then its ``wrap_model_call``, or a context edit."""
    sent = [sent_as(message, position) for position, message in enumerate(history.messages)]
    before = [read(message) for message in sent]
    asking.forms = lambda: [
        (get_buffer_string([message], format="xml"), position, without_reasoning(history, history.messages[position]))
        for position, message in enumerate(map(sent_as, history.messages, range(len(sent))))
    ]
    ids = {message.id: position for position, message in enumerate(sent)}
    left: list[Any] = list(sent)
    if isinstance(thing, AgentMiddleware):
        left = _viewed(thing, _updated(thing, left), asking)
    elif hasattr(thing, "apply"):
        run_awaitable(thing.apply(left, count_tokens=count_tokens_approximately))
    else:
        raise StrategyError(f"{type(thing).__name__} is neither a middleware nor a context edit of langchain")
    found = []
    for message in left:
        position = ids.get(message.id)
        now = read(message)
        found.append(MappedMessage(now) if position is None else MappedMessage(now, position, before[position]))
    return restore_messages(history.messages, found, shown=asking.shown)


def sent_as(message: Message, position: int) -> Any:
    """Converts one of our messages to the peer's type."""
    known: dict[str, Any] = {"content": message.text, "id": f"m{position}"}
    if message.role == "system":
        return SystemMessage(**known)
    if message.role == "user":
        source = {"lc_source": "summarization"} if message.seq is None and message.covers else {}
        return HumanMessage(**known, additional_kwargs=source)
    if message.role == "tool":
        status = "error" if message.is_error else "success"
        return ToolMessage(**known, tool_call_id=message.tool_call_id or "", name=message.tool_name, status=status)
    calls = [{"id": call.id, "name": call.name, "args": call.parsed()} for call in message.tool_calls]
    thoughts = {REASONING: message.reasoning} if message.reasoning else {}
    return AIMessage(**known, tool_calls=calls, additional_kwargs=thoughts)


def read(message: Any) -> Message:
    """Converts one of the peer's messages to ours."""
    text = message.content if isinstance(message.content, str) else str(message.text)
    calls = tuple(
        ToolCall(call["id"] or "", call["name"], json.dumps(call["args"], ensure_ascii=False))
        for call in getattr(message, "tool_calls", ())
    )
    reasoning = str(message.additional_kwargs.get(REASONING, ""))
    return Message(role_of(message.type), text, reasoning, calls, getattr(message, "tool_call_id", None) or None)


def _overrides(thing: AgentMiddleware, name: str) -> bool:
    return getattr(type(thing), name, None) is not getattr(AgentMiddleware, name, None)


def _updated(thing: AgentMiddleware, messages: list[Any]) -> list[Any]:
    """The state's messages after ``before_model``."""
    name = next((name for name in ("before_model", "abefore_model") if _overrides(thing, name)), None)
    update = run_awaitable(getattr(thing, name)({"messages": messages}, None)) if name else None
    if not update or "messages" not in update:
        return messages
    return list(add_messages(messages, update["messages"]))


def _viewed(thing: AgentMiddleware, messages: list[Any], asking: Asking) -> list[Any]:
    """The messages that a model is called with after ``wrap_model_call``."""
    seen = messages

    def look(request: ModelRequest) -> ModelResponse:
        nonlocal seen
        seen = list(request.messages)
        return ModelResponse(result=[AIMessage("")])

    async def alook(request: ModelRequest) -> ModelResponse:
        return look(request)

    request = ModelRequest(model=LangchainModel(asking=asking), messages=messages, state={"messages": messages})
    if _overrides(thing, "wrap_model_call"):
        thing.wrap_model_call(request, look)
    elif _overrides(thing, "awrap_model_call"):
        run_awaitable(thing.awrap_model_call(request, alook))
    return seen
