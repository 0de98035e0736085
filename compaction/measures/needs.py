"""Finds the things that a session needed again after a point, and those that a compacted context has lost.

The session as it is recorded is the evidence: its agent had the history in its context (less what its own harness had
taken out), so that what it did after the point shows what it worked with. Definitions and limits are in
``docs/tokens-per-task.md``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal, get_args

from compaction.measures.said import (
    Names,
    acted_text,
    defined_names,
    is_code_name,
    is_id,
    long_lines,
    name_forms,
    said_text,
    telling_lines,
)
from compaction.reading.call_outcomes import ToolResults
from compaction.reading.file_effects import FileOp, Ledger, file_ops
from compaction.reading.file_paths import find_roots, same_file
from compaction.reading.shell.effects import Effect
from compaction.reading.tool_calls import call_effects
from compaction.tokens import TokenCounter, total_tokens
from compaction.transcript import Message, Transcript

NeedKind = Literal["path", "identifier", "quote"]
NEED_KINDS: tuple[NeedKind, ...] = get_args(NeedKind)

MIN_PART = 12
"""Characters of the old text of an edit by which its place in an observation is found."""
LARGE_LINE = 2_000
"""Characters; a longer line of what an agent writes is data."""


@dataclass(frozen=True, slots=True)
class Need:
    """A fact from before a point that the session used after it, before it was shown again."""

    kind: NeedKind
    """``path``: a file is edited whose content had been seen. ``identifier``: a name is used that an observation had
    brought. ``quote``: a line of an observation is repeated word by word."""
    value: str
    """The file's path, the name, or the line."""
    observation: int
    """``seq`` of the tool result to fetch again: the latest before the point that has it."""
    tokens: int
    """Tokens of that tool result."""
    needed_at: int
    """``seq`` of the first message after the point that makes use of it."""
    turns_after: int
    """Responses of the agent from the point on until then, that one included: 1 for the first."""
    holders: frozenset[int] = frozenset()
    """``seq`` of every message before the point that meets the need when it stays as it was."""
    part: str = ""
    """Text that meets the need wherever it stands; empty where only a name, or nothing else, does."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The needs of a point that a compacted context does not meet any more."""

    lost: tuple[int, ...]
    """Positions in the point's needs, from 0."""
    fetched: tuple[int, ...]
    """``seq`` of the tool results that have to be fetched again, each once, in the order in which they are needed."""
    tokens: int
    """Tokens of these."""


@dataclass(frozen=True, slots=True)
class _Edit:
    """A change of a file after which its content as read before does not hold any more, or its reading."""

    seq: int
    path: str
    is_read: bool
    part: str = ""
    needs_content: bool = False


class SessionNeeds:
    """An index over a session, made once, for the needs of all its points.

    Time and room are linear in the session's text; a point costs one look-up for each name and line that the agent
    uses. Every message must have been counted, or a counter be given.
    """

    def __init__(self, transcript: Transcript, counter: TokenCounter | None = None) -> None:
        self.transcript = transcript
        self.messages = transcript.messages
        self.roots = find_roots(self.messages, transcript.cwd)
        self.results = ToolResults(self.messages)
        self._counter = counter
        self._plain = [said_text(message) for message in self.messages]
        self._names_in = Names(self.roots)
        self._ledgers: dict[int, Ledger] = {}

    @cached_property
    def ops(self) -> dict[int, list[FileOp]]:
        """``seq`` → file operations, told with everything that the session knows."""
        found: dict[int, list[FileOp]] = {}
        for op in file_ops(self.messages, self.transcript.cwd, self.roots):
            found.setdefault(op.seq, []).append(op)
        return found

    def ledger(self, cut: int) -> Ledger:
        """The state of all files before ``cut``, folded from the nearest earlier cut."""
        if cut not in self._ledgers:
            start = max((known for known in self._ledgers if known < cut), default=0)
            ledger = self._ledgers[start].copy() if start else Ledger()
            for seq in range(start, cut):
                ledger.extend(self.ops.get(seq, ()))
            self._ledgers[cut] = ledger
        return self._ledgers[cut]

    def text(self, seq: int) -> str:
        """The plain text of a message of the session."""
        return self._plain[seq]

    def at(self, cut: int) -> tuple[Need, ...]:
        """The needs of the point before the message at ``cut``, in the order of their first use."""
        found = [*self._content(cut), *self._names(cut), *self._quotes(cut)]
        return tuple(sorted(found, key=lambda need: (need.needed_at, NEED_KINDS.index(need.kind), need.value)))

    @cached_property
    def _used_names(self) -> list[set[str]]:
        """The names that each message of the agent uses; reasoning does not count."""
        return [self._names_in.of(acted_text(m)) if m.role == "assistant" else set() for m in self.messages]

    @cached_property
    def _wanted(self) -> set[str]:
        used: set[str] = set().union(*self._used_names)
        return used | {form for name in used for form in name_forms(name)}

    @cached_property
    def _seen_names(self) -> dict[str, list[int]]:
        """Name → every message that has it, ascending."""
        found: dict[str, list[int]] = {}
        for seq, text in enumerate(self._plain):
            for name in self._names_in.of(text) & self._wanted:
                found.setdefault(name, []).append(seq)
        return found

    @cached_property
    def _first_defined(self) -> dict[str, int]:
        """Code name → the first observation that shows its definition."""
        found: dict[str, int] = {}
        for message, text in zip(self.messages, self._plain, strict=True):
            if message.role == "tool":
                for name in defined_names(text) & self._wanted:
                    found.setdefault(name, message.seq or 0)
        return found

    @cached_property
    def _used_lines(self) -> list[set[str]]:
        return [telling_lines(acted_text(m)) if m.role == "assistant" else set() for m in self.messages]

    @cached_property
    def _seen_lines(self) -> dict[str, list[int]]:
        """Line that the agent writes → every message that has it, ascending."""
        used: set[str] = set().union(*self._used_lines)
        found: dict[str, list[int]] = {}
        for seq, text in enumerate(self._plain):
            for line in used.intersection(long_lines(text)):
                found.setdefault(line, []).append(seq)
        return found

    @cached_property
    def _turns(self) -> list[int]:
        """Number of responses of the agent before each message, and after the last one."""
        counts = [0]
        for message in self.messages:
            counts.append(counts[-1] + (message.role == "assistant"))
        return counts

    def _names(self, cut: int) -> Iterable[Need]:
        for name in self._seen_names:
            if "/" not in name and "." in name:
                continue  # a file without its directory: too many files are called alike
            found = self._first_use(name, cut)
            if found is None:
                continue
            used_at, before = found
            if self.messages[before[0]].role != "tool":
                continue  # the person or the agent brought it up
            if is_code_name(name) and not is_id(name) and self._first_defined.get(name, cut) >= cut:
                continue  # not known to be a name of this project
            shown = [seq for seq in self._seen_names[name] if seq < cut and self.messages[seq].role == "tool"]
            if shown:
                yield self._need("identifier", name, shown[-1], used_at, cut, before)

    def _first_use(self, name: str, cut: int) -> tuple[int, list[int]] | None:
        """Find the agent's first use of a name after the cut, unless it was shown between, and its earlier places."""
        seen = self._seen_names
        before: list[int] = []
        after: list[int] = []
        for form in name_forms(name):
            places = seen.get(form, [])
            at = bisect_left(places, cut)
            before += places[:at]
            after += places[at:]
        if not before or not after:
            return None
        for seq in sorted(set(after)):
            if self.messages[seq].role != "assistant":
                return None
            if name in self._used_names[seq]:
                return seq, sorted(set(before))
        return None

    def _quotes(self, cut: int) -> Iterable[Need]:
        for line, places in self._seen_lines.items():
            at = bisect_left(places, cut)
            before = places[:at]
            shown = [seq for seq in before if self.messages[seq].role == "tool"]
            if not shown:
                continue
            for seq in places[at:]:
                if self.messages[seq].role != "assistant":
                    break
                if line in self._used_lines[seq]:
                    yield self._need("quote", line, shown[-1], seq, cut, before, line)
                    break

    @cached_property
    def _edits(self) -> list[_Edit]:
        """Readings of files, and edits with the old text that they name, in order."""
        found: list[_Edit] = []
        for op in chain.from_iterable(self.ops.values()):
            if op.scratch:
                continue
            if op.verb == "examined":
                found.append(_Edit(op.seq, op.path, is_read=True))
            elif op.verb in ("modified", "created") and 0 <= op.seq < len(self.messages):
                effect = self._effect(self.messages[op.seq], op)
                removed = effect.removed if effect else ""
                by_place = effect is not None and effect.verb == "edit" and effect.program in ("sed", "edit")
                found.append(_Edit(op.seq, op.path, False, _longest(removed), bool(removed.strip()) or by_place))
        return found

    def _effect(self, message: Message, op: FileOp) -> Effect | None:
        """Find the effect of the call that made an operation."""
        name = op.path.rsplit("/", 1)[-1]
        for call in message.tool_calls:
            if name in call.arguments:
                for effect in call_effects(call, self.roots.cwd, None, self.results.text(call.id)):
                    if effect.verb in ("edit", "append") and same_file(self.roots.name(effect.path)[0], op.path):
                        return effect
        return None

    @cached_property
    def _answers(self) -> dict[int, list[int]]:
        """Message with calls → the tool results that answer them."""
        return {
            seq: [r.seq for call in m.tool_calls if (r := self.results.get(call.id)) is not None and r.seq is not None]
            for seq, m in enumerate(self.messages)
            if m.tool_calls
        }

    @cached_property
    def _edits_by_path(self) -> dict[str, list[_Edit]]:
        found: dict[str, list[_Edit]] = {}
        for edit in self._edits:
            found.setdefault(edit.path, []).append(edit)
        return found

    def _content(self, cut: int) -> Iterable[Need]:
        """Files that are edited after the cut without being read again, and whose content was seen before it."""
        for path, edits in self._edits_by_path.items():
            first = next((edit for edit in edits if edit.seq >= cut), None)
            if first is None or not first.needs_content:
                continue
            name = path.rsplit("/", 1)[-1]
            if any(
                first.part and first.part in self._plain[seq]
                for seq in range(cut, first.seq)
                if self.messages[seq].role != "assistant" and name in self._plain[seq]
            ):
                continue  # shown again by something else: a search, a diff
            observed = [
                seq
                for edit in edits
                if edit.seq < cut
                for seq in self._answers.get(edit.seq, ())
                if edit.is_read or name in self._plain[seq]
            ]
            observed = [seq for seq in observed if not self.messages[seq].is_error]
            if first.part:
                own = [edit.seq for edit in edits if edit.seq < cut]
                observed = [seq for seq in observed if first.part in self._plain[seq]]
                holders = observed + [seq for seq in own if first.part in self._plain[seq]]
            else:
                holders = observed[-1:]
            if observed:
                yield self._need("path", path, max(observed), first.seq, cut, holders, first.part)

    def _need(
        self,
        kind: NeedKind,
        value: str,
        observation: int,
        needed_at: int,
        cut: int,
        holders: Sequence[int],
        part: str = "",
    ) -> Need:
        message = self.messages[observation]
        tokens = message.tokens
        if tokens is None:
            if self._counter is None:
                raise ValueError(f"message {observation} has no token count")
            tokens = total_tokens((message,), self._counter)
        turns = self._turns[needed_at + 1] - self._turns[cut]
        return Need(kind, value, observation, tokens, needed_at, turns, frozenset(holders), part)

    def loss(self, needs: Sequence[Need], context: Sequence[Message]) -> Loss:
        """Find the needs that a compacted context of the same point does not meet, and the results to fetch for them.

        A need is met by a message that stays as it was and has it, and by the name or the words themselves wherever
        they stand in an edited message or in one that the strategy made. What is fetched for one need serves all later
        ones that the same tool result has.
        """
        kept, others = self.parted(context)
        text = "\n".join(map(said_text, others))
        told = self._names_in.of(text) if any(need.kind == "identifier" for need in needs) else set()
        lost: list[int] = []
        fetched: dict[int, int] = {}
        for position, need in enumerate(needs):
            if _is_met(need, kept, text, told):
                continue
            lost.append(position)
            if need.holders.isdisjoint(fetched):
                fetched[need.observation] = need.tokens
        return Loss(tuple(lost), tuple(fetched), sum(fetched.values()))

    def parted(self, context: Sequence[Message]) -> tuple[set[int], list[Message]]:
        """``seq`` of the messages that stay as they were, and all other messages of the context."""
        kept: set[int] = set()
        others: list[Message] = []
        for message in context:
            seq = message.seq
            if seq is not None and 0 <= seq < len(self.messages) and self._is_as_it_was(seq, message):
                kept.add(seq)
            else:
                others.append(message)
        return kept, others

    def _is_as_it_was(self, seq: int, message: Message) -> bool:
        return self.messages[seq] is message or self._plain[seq] == said_text(message)


def _is_met(need: Need, kept: Collection[int], text: str, told: Collection[str]) -> bool:
    if not need.holders.isdisjoint(kept):
        return True
    if need.kind == "identifier":
        return any(form in told for form in name_forms(need.value))
    return bool(need.part) and need.part in text


def _longest(text: str) -> str:
    """The longest line of a text, without outer space; empty when it is too short to be told from others."""
    line = max((line.strip() for line in text.splitlines() if len(line) < LARGE_LINE), key=len, default="")
    return line if len(line) >= MIN_PART else ""
