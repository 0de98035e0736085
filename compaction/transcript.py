"""The data types of a session, the same for the logs of every agent.

Normal form: one ``assistant`` message per model response (text, reasoning and all of its tool calls together), one
``tool`` message per tool result, paired with its call by id and never by position.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]
Author = Literal["rules", "harness"]
"""Who wrote a message of role user when no person did: a file of rules (AGENTS.md), or the agent's harness (hooks,
reminders, skills)."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of an assistant message."""

    id: str
    name: str
    arguments: str
    """JSON text of an object. A tool that takes free text has it under the key ``input``."""

    def parsed(self) -> dict[str, Any]:
        """The arguments as a dict; ``{"input": text}`` when they are not a JSON object."""
        try:
            value = json.loads(self.arguments)
        except (ValueError, RecursionError):  # the latter: nested too deep to be read
            return {"input": self.arguments}
        return value if isinstance(value, dict) else {"input": value}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a session, or of a compacted context.

    A message of the session has its ``seq``. A message that a strategy made has none and says in ``covers`` which
    messages it stands for (a summary). A message that a strategy shortened in place keeps its ``seq``.
    """

    role: Role
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool = False
    seq: int | None = None
    """Position in the session, from 0; None when a strategy made the message."""
    tokens: int | None = None
    """Tokens of text, reasoning, call names and call arguments; None until counted."""
    covers: tuple[int, ...] = ()
    """``seq`` of every message that this one stands for."""
    timestamp: str | None = None
    """ISO 8601, as recorded."""
    source_ref: str = ""
    """Where it was read: ``file:line`` or ``file#index``."""
    opaque: str = ""
    """JSON of a provider's own item (an encrypted summary), sent back to that provider unchanged; no one else can
    read it. ``text`` then holds what of it is readable."""

    @property
    def is_unreadable(self) -> bool:
        """Whether the message is an item that only its provider can read."""
        return bool(self.opaque) and not self.text.strip()

    author: Author | None = field(default=None, metadata={"added": "later"})
    """Who wrote it in the person's name, where the log says so; None for what a person wrote, and where it does not."""

    def with_text(self, text: str) -> Message:
        """Copy the message with another text, to be counted anew."""
        return replace(self, text=text, tokens=None)


@dataclass(frozen=True, slots=True)
class RecordedCompaction:
    """A compaction that the agent itself made while the session ran.

    What the model saw from then on: the messages that had not been dropped, by this compaction or an earlier one,
    those in ``cleared`` with ``cleared_text`` in the place of their text, and the summary among them.
    """

    at_seq: int
    """The messages before this position had been said when it fired."""
    summary: str | None = None
    """The text that replaced the history; None where the log does not hold it, or where there was none."""
    dropped: tuple[int, ...] | None = None
    """``seq`` of the messages that left the context; None where the log does not say."""
    tokens_before: int | None = None
    """Context tokens as the agent counted them, system prompt and tools included."""
    trigger: str | None = None
    summary_at: int | None = None
    """Messages of the context that stand before the summary; None: it stands behind the leading system messages."""
    cleared: tuple[int, ...] = ()
    """``seq`` of the tool results that stayed without their text (a pruning agent)."""
    cleared_text: str = ""
    """The text that replaced that of the cleared results."""
    has_opaque_summary: bool = False
    """Whether a summary replaced the history that the log holds encrypted or not at all: it cannot be replayed."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of a session, as the provider counted and the log recorded them; None if unknown."""

    input_tokens: int | None = None
    """Prompt tokens over all responses, those read from and written to a cache included."""
    output_tokens: int | None = None
    """Tokens of all responses, reasoning included."""
    cached_tokens: int | None = None
    """The part of the input tokens that was read from a cache."""
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole session in the normal form."""

    session_id: str
    messages: tuple[Message, ...]
    source_format: str = ""
    source_path: str = ""
    title: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    """Time of the last thing that the log dates."""
    model: str | None = None
    cwd: str | None = None
    parent_session_id: str | None = None
    """The session that started this one as a sub-agent, or that it was forked from."""
    task_type: str | None = None
    """Kind of work as the log itself labels it; None where it does not."""
    usage: Usage = Usage()
    compactions: tuple[RecordedCompaction, ...] = ()
    set_aside: dict[str, int] = field(default_factory=dict)
    """Reason → number of things in the file that are deliberately no message (a demonstration, a summary…)."""
    forked_at: int | None = field(default=None, metadata={"added": "later"})
    """Of a fork: messages that are left out of it as its parent's; None for any other session."""
    n_inherited: int = field(default=0, metadata={"added": "later"})
    """Messages of its parent that its log has too: they are set aside here and stored there."""
    resolved: bool | None = field(default=None, metadata={"added": "later"})
    """Whether the task was solved, as the log says; None where it does not."""
    exit_status: str | None = field(default=None, metadata={"added": "later"})
    """How the run ended, in the log's own words; None where it says nothing."""

    def __len__(self) -> int:
        return len(self.messages)


def unpaired(messages: Sequence[Message]) -> tuple[set[str], set[str]]:
    """Ids of calls without a result, and of results without a call *before* them.

    A provider refuses a list of messages in which the second set is not empty.
    """
    open_calls: set[str] = set()
    answered: set[str] = set()
    orphans: set[str] = set()
    for message in messages:
        if message.role == "tool" and message.tool_call_id is not None:
            if message.tool_call_id in open_calls or message.tool_call_id in answered:
                open_calls.discard(message.tool_call_id)
                answered.add(message.tool_call_id)
            else:
                orphans.add(message.tool_call_id)
        open_calls.update(call.id for call in message.tool_calls)
    return open_calls, orphans
