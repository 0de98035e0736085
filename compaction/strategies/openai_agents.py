"""openai-agents 0.24.0: the extension ``ToolOutputTrimmer``, and the session that compacts by ``responses.compact``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compaction.markers import SHORTENED, Marker
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.provider_native import TOLD, ask_openai, openai_request
from compaction.strategies.shared.parts import make_once, with_text
from compaction.strategy import History
from compaction.transcript import Message

HEADER = "[Trimmed: {tool} output — {chars} chars → {preview} char preview]\n"
UNKNOWN = "unknown_tool"


def _show_preview(holes: Mapping[str, str]) -> str:
    return holes["lines"] + SHORTENED


MARKERS = (Marker("[Trimmed: {tool} output — {n} chars → {preview} char preview]\n{lines}...", _show_preview, "whole"),)

_TRIMMED = re.compile(r"\[Trimmed: .* output — \d+ chars → \d+ char preview\]\n")


@strategy(
    "openai_agents_trim",
    every_turn=True,
    peer="openai-agents",
    peer_version="0.24.0",
    by_default=False,
    markers=MARKERS,
    bites={"recent_turns": 1, "max_output_chars": 100, "preview_chars": 20},
)
def openai_agents_trim(
    history: History,
    *,
    recent_turns: Positive = 2,
    max_output_chars: Positive = 500,
    preview_chars: int = 200,
    trimmable_tools: str | None = None,
) -> Sequence[Message]:
    """Tool results over ``max_output_chars`` become a preview, but those since the last ``recent_turns`` user messages.

    A header with the tool's name and the number of characters, the first ``preview_chars``, and dots; where that is no
    shorter the result stays. With fewer user messages nothing is done. ``trimmable_tools``, names with spaces between
    them, leaves all other tools' results alone. The tool is the one of the latest call with the result's id.
    """
    messages = list(history.messages)
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    trimmable = None if trimmable_tools is None else set(trimmable_tools.split())
    for position in range(_boundary(messages, recent_turns)):
        message = messages[position]
        if message.role != "tool" or len(message.text) <= max_output_chars or _TRIMMED.match(message.text):
            continue
        name = names.get(message.tool_call_id or "")
        if trimmable is not None and name not in trimmable:
            continue
        header = HEADER.format(tool=name or UNKNOWN, chars=len(message.text), preview=preview_chars)
        text = f"{header}{message.text[:preview_chars]}..."
        if len(text) < len(message.text):
            messages[position] = make_once(history.counter, with_text, message, text)
    return messages


def _boundary(messages: Sequence[Message], turns: int) -> int:
    """The position of the last user message but ``turns`` - 1; 0 where there are fewer."""
    users = [position for position, message in enumerate(messages) if message.role == "user"]
    return users[-turns] if len(users) >= turns else 0


@strategy(
    "openai_compaction_session",
    needs_key="openai",
    is_opaque=True,
    peer="openai-agents",
    peer_version="0.24.0",
    by_default=False,
    markers=TOLD,
)
def openai_compaction_session(history: History, *, threshold: Positive = 10, forced: bool = True) -> Sequence[Message]:
    """What OpenAI's endpoint for compaction returns to ``OpenAIResponsesCompactionSession``.

    As ``openai_compact``, but the system prompt, which is no part of such a session, is not sent. The session asks
    after a turn where it holds ``threshold`` items that are neither messages of the user nor a compaction (a call is
    one, its result another); a point is a request of its own, and without ``forced`` that many are asked for.
    """
    request = openai_request(history.messages)
    items = [i for i in request.body["input"] if i.get("role") != "user" and i.get("type") != "compaction"]
    if not forced and len(items) < threshold:
        return history.messages
    body = {name: value for name, value in request.body.items() if name != "instructions"}
    return ask_openai(history, replace(request, body=body))
