"""The Complexity Trap: checkpoints of an agent's turns, as the fork of SWE-agent behind the paper makes them.

``SummarizeEveryNTurns`` of the repository's fork, commit 1b07dec, as the paper's configurations set it: n=21, m=10,
and with masking on top n=43, m=10. Read from source; the original cannot be installed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from compaction.markers import removed, wrapper
from compaction.model import SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.masking import OMITTED, mask_sweagent
from compaction.strategies.openhands_sdk import MARKERS as HEADINGS
from compaction.strategies.openhands_sdk import SECTIONS
from compaction.strategies.shared.parts import compaction_cuts, stands_for, system_prompt, whole_cuts, without_reasoning
from compaction.strategies.shared.requests import instructions, summary_or_empty
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

PEER = "The Complexity Trap"
VERSION = "fork 1b07dec"

Mode = Literal["faithful", "fixed"]

MARKERS = (
    *wrapper("Checkpoint for the last {n} turns:"),
    *removed("Previous {n} turns omitted for brevity."),
    *HEADINGS,
)

_CHECKPOINT = re.compile(r"Checkpoint for the last \d+ turns:\n|Previous \d+ turns omitted for brevity\.")


@strategy(
    "complexity_trap_summary",
    needs_model=True,
    peer=PEER,
    peer_version=VERSION,
    variants=({"mode": "fixed"},),
    markers=MARKERS,
    bites={"n": 2, "keep_last_m_turns": 1},
    by_default=False,
)
def complexity_trap_summary(
    history: History,
    *,
    n: Positive = 21,
    keep_last_m_turns: int = 10,
    omit_turns: bool = False,
    summary_tokens: Positive = SUMMARY_TOKENS,
    mode: Mode = "faithful",
    forced: bool = True,
) -> Sequence[Message]:
    """A checkpoint for every ``n`` turns, behind what came before the first turn; at least the last m turns stay.

    A turn is an assistant message and the tool results right behind it. When ``n`` + ``keep_last_m_turns`` turns have
    no checkpoint, the first n get one, an assistant message, written from the one before (at first from the problem)
    and the turns. A point forces one for all but the last ``keep_last_m_turns`` turns; with ``forced`` off there are
    only those that fell due. ``omit_turns``: a fixed sentence instead of a summary, without a model.

    ``faithful`` has two faults of the original. Its static checkpointing, which should keep the newest checkpoint
    alone, does so only in the call that writes one: all calls until the next see every checkpoint there has been.
    After a forced one the context is that of these calls; with ``forced`` off it is that of the call at the point.
    And what belongs to no turn, such as later user messages, is gone as soon as there is a checkpoint. ``fixed``
    keeps the newest checkpoint alone and counts such messages to the turn that they follow.
    """
    checkpoints = _Checkpoints(history, n, keep_last_m_turns, omit_turns, summary_tokens, mode, forced)
    return checkpoints.compacted()


@strategy(
    "complexity_trap_hybrid",
    needs_model=True,
    peer=PEER,
    peer_version=VERSION,
    variants=({"mode": "fixed"},),
    markers=(*MARKERS, *OMITTED),
    bites={"n": 3, "keep_last_m_turns": 2, "mask_n": 1},
)
def complexity_trap_hybrid(
    history: History,
    *,
    n: Positive = 43,
    keep_last_m_turns: int = 10,
    mask_n: Positive = 10,
    omit_turns: bool = False,
    summary_tokens: Positive = SUMMARY_TOKENS,
    mode: Mode = "faithful",
    forced: bool = True,
) -> Sequence[Message]:
    """Checkpoints as ``complexity_trap_summary`` makes them, and of the tool results that stay the last ``mask_n``.

    ``n``, ``keep_last_m_turns``, ``omit_turns`` and ``forced`` as there; older results are masked as ``mask_sweagent``
    does it. The summariser is shown them whole, since the original masks only what it sends.
    """
    left = _Checkpoints(history, n, keep_last_m_turns, omit_turns, summary_tokens, mode, forced).compacted()
    return mask_sweagent(replace(history, messages=tuple(left)), n=mask_n)


@dataclass(frozen=True, slots=True)
class _Turn:
    start: int
    """Position of its first message in the history."""
    messages: tuple[Message, ...]

    @property
    def end(self) -> int:
        """Position after its last message."""
        return self.start + len(self.messages)


@dataclass(frozen=True)
class _Checkpoints:
    history: History
    n: int
    keep: int
    omit_turns: bool
    summary_tokens: int
    mode: Mode
    forced: bool

    def compacted(self) -> Sequence[Message]:
        messages = self.history.messages
        head = _head(messages)
        start = head
        while start < len(messages) and _is_checkpoint(messages[start]):
            start += 1
        made = list(messages[head:start])
        turns = self._turns(start)
        starts = [turn.start for turn in turns]
        done = 0
        is_newest_due = False
        for end in compaction_cuts(self.history, start):
            known = bisect_left(starts, end)
            is_newest_due = False
            for stop in self._stops(turns[:known], done, end):
                made.append(self._checkpoint(messages[:head], made, turns[done:stop]))
                done = stop
                is_newest_due = known - stop == self.keep
        if not made:
            return messages
        if self.mode == "fixed" or (is_newest_due and not self.forced):
            # It was written from the one before, so it stands for all; else each stands for its own turns.
            made = [replace(made[-1], covers=stands_for(made))] if len(made) > 1 else made
        return [*messages[:head], *made, *(message for turn in turns[done:] for message in turn.messages)]

    def _turns(self, start: int) -> list[_Turn]:
        """The turns from a position on; ``fixed``: with all that follows them, and before the first."""
        messages = self.history.messages
        found: list[_Turn] = []
        position = start
        while position < len(messages):
            end = position + 1
            while end < len(messages) and messages[end].role == "tool":
                end += 1
            if messages[position].role == "assistant" and end > position + 1:
                found.append(_Turn(position, messages[position:end]))
            position = end
        if self.mode == "faithful" or not found:
            return found
        starts = [start, *(turn.start for turn in found[1:])]
        return [_Turn(i, messages[i:end]) for i, end in zip(starts, [*starts[1:], len(messages)], strict=True)]

    def _stops(self, turns: Sequence[_Turn], done: int, end: int) -> list[int]:
        """List the numbers of turns at which checkpoints are written before the position ``end``."""
        stops: list[int] = []
        while len(turns) - done >= self.n + self.keep:
            done += self.n
            stops.append(done)
        if self.forced and len(turns) - done > self.keep:
            stops.append(len(turns) - self.keep)
        return stops if self.mode == "faithful" else [s for s in stops if self._may_end(turns[s - 1], end)]

    def _may_end(self, turn: _Turn, end: int) -> bool:
        """Whether all of the turn has been said and no result after it answers a call in it or before it."""
        return turn.end <= end and (turn.end == len(self.history.messages) or turn.end in self._legal)

    @cached_property
    def _legal(self) -> set[int]:
        return whole_cuts(self.history.messages)

    @cached_property
    def _unmasked(self) -> dict[int | None, Message]:
        """The session's messages as they were said: in a chain those that are left can be masked."""
        return {message.seq: message for message in self.history.session if message.seq is not None}

    def _checkpoint(self, head: Sequence[Message], made: Sequence[Message], turns: Sequence[_Turn]) -> Message:
        gone = [message for turn in turns for message in turn.messages]
        covers = stands_for(gone)
        if self.omit_turns:
            return Message("assistant", f"Previous {len(turns)} turns omitted for brevity.", covers=covers)
        text = summary_or_empty(self.history, self._request(head, made, turns), self.mode)
        return Message("assistant", f"Checkpoint for the last {len(turns)} turns:\n{text}", covers=covers)

    def _request(self, head: Sequence[Message], made: Sequence[Message], turns: Sequence[_Turn]) -> SummaryRequest:
        problem = [message for message in head if message.role == "user"]
        previous = made[-1].text if made else ""
        if previous:
            parts = [f"<PREVIOUS_CHECKPOINT>\n{previous}\n</PREVIOUS_CHECKPOINT>\n"]
        else:
            stated = "\n\n".join(message.text for message in problem)
            parts = [f"<PROBLEM_STATEMENT>\n{stated}\n</PROBLEM_STATEMENT>\n"]
        span = [] if previous else problem
        for number, turn in enumerate(turns):
            said = [
                without_reasoning(self.history, self._unmasked.get(message.seq, message)) for message in turn.messages
            ]
            parts.append(f"\n<TURN-{number}>\n{''.join(map(_message_text, said))}\n</TURN-{number}>\n")
            span += said
        parts.append("\nThese are all of the turns. Write the checkpoint.")
        prompt = (
            Message("system", instructions(self.history, "complexity_trap", SECTIONS, self.summary_tokens)),
            Message("user", "".join(parts)),
        )
        return SummaryRequest(prompt, tuple(span), SECTIONS, previous, self.summary_tokens)


def _head(messages: Sequence[Message]) -> int:
    """Number of messages before the agent's first: the system prompt and the task."""
    length = len(system_prompt(messages))
    while length < len(messages) and messages[length].role not in ("assistant", "tool"):
        length += 1
    return length


def _is_checkpoint(message: Message) -> bool:
    return message.seq is None and message.role == "assistant" and _CHECKPOINT.match(message.text) is not None


def _message_text(message: Message) -> str:
    actions = "".join(f"ACTION: {call.name} {call.arguments}\n" for call in message.tool_calls)
    return f"{message.role.upper()}: {message.text}\n{actions}"
