"""Histories of every awkward shape, from words; hypothesis and the recorder of golden vectors both use them."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from string import printable
from typing import Any

from hypothesis import strategies as st

from compaction.testing import CharacterCounter
from compaction.tokens import counted
from compaction.transcript import Message, RecordedCompaction, ToolCall

WORDS = (
    "system",
    "user",
    "text",
    "empty",
    "reasoning",
    "call1",
    "call2",
    "call3",
    "thoughtful_call",
    "result",
    "late_result",
    "orphan",
    "reused_call",
    "giant",
    "cjk",
)
WEIGHTS = (1, 3, 4, 1, 2, 6, 3, 1, 2, 12, 3, 1, 1, 1, 1)
COUNTER = CharacterCounter()


@dataclass
class _Writer:
    messages: list[Message] = field(default_factory=list)
    pending: list[ToolCall] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    seq: int = 0

    def add(self, message: Message) -> None:
        self.messages.append(counted(replace(message, seq=self.seq), COUNTER))
        self.seq += 1

    def call(self, ids: list[str], reasoning: str = "") -> None:
        calls = tuple(ToolCall(id, f"tool_{len(id)}", f'{{"n": {self.seq}}}') for id in ids)
        self.pending += calls
        self.used += ids
        self.add(Message("assistant", "trying" if self.seq % 2 else "", reasoning, calls))

    def result(self, call: ToolCall | None) -> None:
        id = call.id if call else f"lost-{self.seq}"
        text = f" line {self.seq}\n" * (self.seq * 7 % 40 if self.seq % 7 else 500)
        self.add(Message("tool", text, tool_call_id=id, tool_name=call.name if call else None))

    def write(self, word: str) -> None:
        n = self.seq
        if word.startswith("call"):
            self.call([f"c{n}-{i}" for i in range(int(word[4:]))])
        elif word == "thoughtful_call":
            self.call([f"c{n}-0"], f"thinking {n}")
        elif word == "reused_call":
            self.call([self.used[-1] if self.used else "again"])
        elif word == "result":
            self.result(self.pending.pop(0) if self.pending else None)
        elif word == "late_result":
            self.result(self.pending.pop() if self.pending else None)
        elif word == "orphan":
            self.result(None)
        elif word == "summary":
            self.messages.append(counted(Message("user", f"earlier {n}", covers=tuple(range(n, n + 3))), COUNTER))
            self.seq += 3
        else:
            self.add(
                {
                    "system": Message("system", f"rules {n}"),
                    "user": Message("user", f"please {n}"),
                    "text": Message("assistant", f"done {n} " * (n % 9 + 1)),
                    "empty": Message("assistant"),
                    "reasoning": Message("assistant", reasoning=f"thought {n}"),
                    "giant": Message("user", "giant " * 2_000),
                    "cjk": Message("user", "请把 auth.py 里的登录错误修好。" * (n % 5 + 1)),
                }[word]
            )


def build(words: list[str]) -> tuple[Message, ...]:
    """The history that some words describe, counted."""
    writer = _Writer()
    for word in words:
        writer.write(word)
    return tuple(writer.messages)


def random_words(seed: int) -> list[str]:
    """Words for a history of up to 40 messages."""
    source = random.Random(seed)
    return ["system"] * (seed % 3 > 0) + source.choices(WORDS, WEIGHTS, k=source.randint(1, 40))


def written(message: Message) -> dict[str, str]:
    """A message that a strategy made, as golden vectors hold it: a long text by its digest."""
    if len(message.text) <= 200:
        return {"role": message.role, "text": message.text}
    digest = hashlib.sha256(message.text.encode()).hexdigest()
    return {"role": message.role, "starts": message.text[:60], "ends": message.text[-30:], "sha256": digest}


def packed(left: list[Any]) -> list[Any]:
    """What stays as golden vectors hold it: runs of positions as ``"3-7"``, all else as it is."""
    found: list[Any] = []
    start = previous = None
    for item in [*left, None]:
        if isinstance(item, int) and previous is not None and item == previous + 1:
            previous = item
            continue
        if previous is not None:
            found.append(previous if start == previous else f"{start}-{previous}")
        start = previous = item if isinstance(item, int) else None
        if item is not None and previous is None:
            found.append(item)
    return found


def digest(text: str) -> str:
    """A text as golden vectors hold it where only its identity counts: a short one is itself."""
    return text if len(text) <= 60 else f"{len(text)}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def compacted(messages: tuple[Message, ...]) -> list[RecordedCompaction]:
    """Compactions that an agent could have recorded of a session: what comes later changes none of them.

    The first does nothing. Then one after every seven messages: it keeps two at the start and three at the end and
    clears the results among these; two of three write a summary.
    """
    found, gone = [RecordedCompaction(0, dropped=())], set[int]()
    said = [message for message in messages if message.seq is not None]
    for number, end in enumerate(range(7, len(said), 7)):
        standing = [message for message in said[:end] if message.seq not in gone]
        dropped = tuple(message.seq for message in standing[2:-3] if message.seq is not None)
        gone.update(dropped)
        found.append(
            RecordedCompaction(
                (said[end - 1].seq or 0) + 1,
                f"the agent's summary {number}" if number % 3 and dropped else None,
                dropped,
                summary_at=2 if number % 2 else None,
                cleared=tuple(m.seq for m in standing[-3:] if m.role == "tool" and m.seq is not None),
                cleared_text="[cleared]",
            )
        )
    return found


LETTERS = dict(zip(printable, (*WORDS, *["call1"] * 3, *["result"] * 8, "summary"), strict=False))
"""Words by letters: Hypothesis draws a text at once, and a list one item after the other."""
_short, _long = st.text("".join(LETTERS), max_size=12), st.text("".join(LETTERS), min_size=10, max_size=40)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Any history: also with an earlier summary in it, also empty."""
    return timed(build([LETTERS[letter] for letter in draw(_short | _long)]))


def timed(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages of a session a minute apart, and a long pause before every fifth."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return tuple(
        message if message.seq is None else replace(message, timestamp=_time(start, message.seq))
        for message in messages
    )


def _time(start: datetime, seq: int) -> str:
    return (start + timedelta(minutes=seq + seq // 5 * 20)).isoformat()


def varied(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same history with failed results, long texts before calls, and tools of MCP servers among its messages."""
    return tuple(counted(_varied(message, message.seq or 0), COUNTER) for message in messages)


def _varied(message: Message, n: int) -> Message:
    text = message.text + f" because {n}" * 80 if message.role == "assistant" and n % 7 == 3 else message.text
    calls = tuple(replace(c, name=f"mcp__server__{c.name}") if n % 3 == 0 else c for c in message.tool_calls)
    failed = message.role == "tool" and n % 5 == 0
    return replace(message, text=text, tool_calls=calls, tool_name=None, is_error=failed, tokens=None)
