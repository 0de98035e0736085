"""The parts of a request that are sent: its messages as turns that the provider takes, and its token limit.

The key of a call is made from this, and so is the body, so that an answer is never served for what was not asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from compaction.dialogue import Exchange, exchanges, sendable_text
from compaction.model import ModelRequest, NativeRequest
from compaction.transcript import Message
from flows.llm.reasoning_room import reasoning_room
from flows.llm.settings import ModelSettings

CHAT_ID_CHARS = 40
"""Longest id of a call in chat completions."""
LEAST_TOKENS = 16
"""Least token limit of OpenAI's Responses API."""

OPENING = "The conversation begins here."
"""What the user says before an assistant's first turn: Anthropic wants a user's turn first."""
CLOSING = "The conversation ends here. Now do what the instructions before it ask for."
"""What the user says after an assistant's last turn: Claude models from 4.6 on, and some compatible servers, refuse to
go on from there, and others go on with its text instead of answering."""
NATIVE_CLOSING = "The conversation ends here."
"""The same where the service has instructions of its own."""


def sent_turns(settings: ModelSettings, messages: Sequence[Message]) -> tuple[Exchange, ...]:
    """The messages as they are sent. Those without calls and results stay as they are, as far as they are legal."""
    chars = CHAT_ID_CHARS if settings.provider == "openai" and settings.api == "chat" else None
    if any(message.role == "tool" or (message.role == "assistant" and message.tool_calls) for message in messages):
        shown = [message if message.is_unreadable else replace(message, opaque="") for message in messages]
        said = list(exchanges(shown, chars) if chars else exchanges(shown))
    else:
        said = [
            Exchange(m.role, sendable_text(m.text), (), m.opaque if m.is_unreadable else "")
            for m in messages
            if m.role != "tool"
        ]
    if settings.provider == "anthropic":
        said = [one for one in said if one.text.strip() or one.calls or one.opaque]
        lead = leading_system(said)
        if lead < len(said) and said[lead].role == "assistant":
            said.insert(lead, Exchange("user", OPENING))
        if lead == len(said) or _waits_for_nobody(said[-1]):
            said.append(Exchange("user", CLOSING))
    elif said and _waits_for_nobody(said[-1]) and not settings.is_official:
        said.append(Exchange("user", CLOSING))
    return tuple(said)


def leading_system(said: Sequence[Exchange]) -> int:
    """Count the turns of the system prompt."""
    return next((number for number, one in enumerate(said) if one.role != "system"), len(said))


def _waits_for_nobody(last: Exchange) -> bool:
    return last.role == "assistant" and not last.calls and not last.opaque


def token_limit(settings: ModelSettings, request: ModelRequest) -> int:
    """The token limit that is sent."""
    limit = request.max_tokens + reasoning_room(settings)
    responses = settings.provider == "openai" and settings.api == "responses"
    return max(limit, LEAST_TOKENS) if responses else limit


EMBEDDINGS = "/v1/embeddings"
"""Path of a native request that is no compaction: it writes nothing."""


def native_body(request: NativeRequest) -> Mapping[str, Any]:
    """The body of a native request, between a user's turns where the provider wants them."""
    messages = request.body.get("messages")
    if request.provider != "anthropic" or not messages:
        return request.body
    first, last = messages[0], messages[-1]
    around = list(messages)
    if last["role"] == "assistant":
        around.append({"role": "user", "content": [{"type": "text", "text": NATIVE_CLOSING}]})
    # A compaction is sent back first, in the place of all that it stands for.
    if first["role"] == "assistant" and first["content"][0]["type"] != "compaction":
        around.insert(0, {"role": "user", "content": [{"type": "text", "text": OPENING}]})
    return request.body if len(around) == len(messages) else {**request.body, "messages": around}
