"""The run of an inner method without the message of the strategy around it, and that message's place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compaction.strategies.shared.parts import is_made, system_prompt
from compaction.strategy import History, Method
from compaction.transcript import Message


def run_without(history: History, over: Method, mark: str) -> tuple[Message, ...]:
    """Run the inner method on the history without the messages that begin with ``mark``."""
    if not any(is_made(message, mark) for message in history.messages):
        return tuple(over.run(history))
    previous = tuple(message for message in history.previous if not is_made(message, mark))
    messages = tuple(message for message in history.messages if not is_made(message, mark))
    return tuple(over.run(replace(history, messages=messages, previous=previous)))


def put_in(history: History, left: Sequence[Message], found: Message, mark: str) -> tuple[Message, ...]:
    """These messages with one more where the system prompt ends; it is the earlier one where that says the same."""
    earlier = (message for message in history.messages if is_made(message, mark))
    same = next((m for m in earlier if (m.text, m.covers) == (found.text, found.covers)), found)
    place = len(system_prompt(left))
    return (*left[:place], same, *left[place:])
