"""A history in the wire shapes of two providers' APIs, for compaction on their side."""

from __future__ import annotations

from collections.abc import Sequence

from compaction import dialogue
from compaction.dialogue import Item, exchanges, sendable_text
from compaction.strategies.shared.parts import system_prompt
from compaction.transcript import Message


def instructions_of(messages: Sequence[Message]) -> str:
    """The system prompt as one text."""
    return sendable_text("\n\n".join(message.text for message in system_prompt(messages) if message.text))


def openai_items(messages: Sequence[Message]) -> list[Item]:
    """Input items of OpenAI's Responses API."""
    return dialogue.responses_items(exchanges(messages))


def anthropic_messages(messages: Sequence[Message]) -> list[Item]:
    """Messages of Anthropic's API; a system message among them is a user's text there."""
    return dialogue.anthropic_turns(exchanges(messages))


def anthropic_tools(messages: Sequence[Message]) -> list[Item]:
    """The tools that some messages call."""
    return dialogue.anthropic_tools(exchanges(messages))
