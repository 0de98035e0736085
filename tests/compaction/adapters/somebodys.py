"""A module of somebody's own with callables on chat messages, and a history to compact."""

from __future__ import annotations

from collections.abc import Callable

from compaction import (
    Method,
)
from compaction.testing import talk

OURS = '''
"""What a team ships."""

import asyncio


def last(messages, keep=3):
    """The system prompt and the last messages."""
    return [m for m in messages[:-keep] if m["role"] == "system"] + messages[-keep:]


def same(messages):
    return [{**m} for m in messages]


async def last_later(messages, *, keep):
    await asyncio.sleep(0)
    return messages[-keep:]


def masked(messages):
    for m in messages:
        if m["role"] == "tool":
            m["content"] = "[gone]"
    return messages


def masked_copies(messages):
    return [{**m, "content": "[gone]"} if m["role"] == "tool" else dict(m) for m in messages]


def noted(messages):
    return [messages[0], {"role": "developer", "content": "things were said"}, *messages[-2:]]


class Summarizing:
    """The middle as a summary."""

    def __init__(self, summarize, budget, keep=2):
        self.summarize, self.budget, self.keep = summarize, budget, keep

    def __call__(self, messages):
        middle = messages[1:-self.keep]
        asked = [*middle, {"role": "user", "content": f"Sum this up within {self.budget} tokens."}]
        return [messages[0], {"role": "user", "content": self.summarize(asked)}, *messages[-self.keep:]]


def prompted(messages, summarize):
    text = "\\n".join(m["content"] for m in messages[1:-1])
    return [messages[0], {"role": "user", "content": summarize("Sum up:\\n" + text)}, messages[-1]]


def stubborn(messages, summarize):
    try:
        summary = summarize(messages)
    except Exception:
        return messages
    return [{"role": "user", "content": summary}] if summary else messages


def reckless(messages, summarize):
    try:
        return [{"role": "user", "content": "About: " + summarize(messages)}]
    except Exception:
        return messages[-1:]


def counting(messages, count_tokens):
    return [m for m in messages if count_tokens(m["content"]) < 3]


def anything(messages, **settings):
    return messages[-settings["keep"]:]


def wrong(messages):
    return "a text"


def broken(messages):
    raise KeyError("the roof is off")


figure = 3
'''


Shipped = Callable[[str], Method]
TALK = talk("s u a2 u a1 a u")
