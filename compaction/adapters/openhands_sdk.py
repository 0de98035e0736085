"""OpenHands' SDK: its condensers, on a view of events.

A call is an action, those of one assistant message are one response; a result is an observation, the leading system
messages are the one system prompt. As in the SDK's own state a view is checked as a whole when it is made and then
follows its condensations. Over a whole session (``--history prefix``) it is condensed at the earlier points too.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Signature
from typing import Any

from openhands.sdk.context.condenser.base import (
    CondenserBase,
    CondensationRequirement,
    NoCondensationAvailableException,
)
from openhands.sdk.context.view import View
from openhands.sdk.event.condenser import Condensation, CondensationRequest, CondensationSummaryEvent
from openhands.sdk.event.llm_convertible import ActionEvent, MessageEvent, ObservationEvent, SystemPromptEvent
from openhands.sdk.llm import Message as PeerMessage
from openhands.sdk.llm import MessageToolCall, TextContent, ThinkingBlock
from openhands.sdk.mcp.definition import MCPToolAction, MCPToolObservation
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool.schema import Action
from pydantic import PrivateAttr

from compaction.adapters._asking import Asking
from compaction.adapters._messages import role_of
from compaction.strategies import openhands_sdk as ours
from compaction.strategies._openhands_events import action_class, shown_message
from compaction.strategies._parts import cuts, stands_for, system_prompt
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History, StrategyError
from compaction.transcript import Message

SECTIONS = ours.SECTIONS
TOKENS = SUMMARY_TOKENS

_actions: dict[str, type[Any]] = {}


class Client(TestLLM):  # type: ignore[misc]
    """A model whose answers are the run's summariser's, and which counts tokens as the run does."""

    _asking: Any = PrivateAttr(default=None)
    _forms: Any = PrivateAttr(default=())
    _sizes: dict[str, int] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls, asking: Asking) -> Client:
        """A model for one compaction; its window is the budget."""
        made = cls.from_messages([], max_input_tokens=max(1, asking.history.budget))
        made._asking = asking
        return made

    def completion(self, messages: list[Any], *args: Any, **kwargs: Any) -> Any:
        """The summary that some messages ask for."""
        prompt = [Message(role_of(m.role), "".join(part.text for part in m.content)) for m in messages]
        text = self._asking.about(prompt, self._asking.forms)
        reply = PeerMessage(role="assistant", content=[TextContent(text=text)])
        return TestLLM.from_messages([reply]).completion(messages)

    def get_token_count(self, messages: list[Any], *args: Any, **kwargs: Any) -> int:
        """Tokens of some messages, counted as ``compaction.tokens`` counts ours."""
        return sum(map(self._size, messages))

    def _size(self, message: Any) -> int:
        parts = [message.reasoning_content or "", *(block.thinking for block in message.thinking_blocks)]
        parts += [part.text for part in message.content if isinstance(part, TextContent)]
        parts += [text for call in message.tool_calls or () for text in (call.name, call.arguments)]
        text = "\n".join(filter(None, parts))
        if text not in self._sizes:
            self._sizes[text] = self._asking.history.counter.count(text)
        return self._sizes[text]
