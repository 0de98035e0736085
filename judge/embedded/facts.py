"""What a session proves about itself: the ground on which probes are made, read once and cut off at each point."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from compaction.reading.file_effects import FileOp, Ledger, ToolResults, file_ops
from compaction.reading.file_paths import Roots, find_roots
from compaction.reading.message_facts import read_message
from compaction.reading.prose import sentences, shorten, specific_terms, terms
from compaction.reading.shell.effects import only_reads
from compaction.reading.todos import TodoList, latest_todos
from compaction.transcript import Message, Transcript
from judge.embedded.own_words import own_words
from judge.statement import Statement, StatementKind

CUE_CHARS = 120
MIN_TERMS = 2
"""A fact with fewer telling terms cannot be told from a lucky guess."""

MAX_TERMS = 12
_FILE = re.compile(r"\b[\w-]+\.(?:py|js|jsx|ts|tsx|go|rs|rb|java|kt|c|h|cpp|cs|sh|sql|md|toml|ya?ml|json|html|css)\b")


@dataclass(frozen=True, slots=True)
class FactCandidate:
    """A fact that can be asked for, and the words that identify it in a question."""

    kind: StatementKind
    seq: int
    cue: str
    facts: tuple[Statement, ...]
    quote: str


class SessionFacts:
    """A session read for facts: its file operations, to-do lists, test runs, and who said what."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.messages = transcript.messages
        self.results = ToolResults(self.messages)
        self._ledgers: dict[int, Ledger] = {}

    @cached_property
    def roots(self) -> Roots:
        """Where the project lies."""
        return find_roots(self.messages, self.transcript.cwd)

    @cached_property
    def ops(self) -> dict[int, list[FileOp]]:
        """``seq`` → file operations, told with everything that the session knows."""
        found: dict[int, list[FileOp]] = {}
        for op in file_ops(self.messages, self.transcript.cwd, self.roots):
            found.setdefault(op.seq, []).append(op)
        return found

    @cached_property
    def is_support(self) -> bool:
        """Whether the session serves a customer: it runs no command, touches no file and speaks of no code."""
        if self.ops or any(True for _ in self.calls()):
            return False
        return not any("```" in m.text or _FILE.search(m.text) for m in self.messages if m.role != "system")

    @cached_property
    def person(self) -> list[Message]:
        """The user messages that a person wrote: with words of their own, and not a text that comes again and again."""
        said = (m for m in self.messages if m.role == "user" and m.author is None and own_words(m.text))
        return [m for m in said if not self._is_harness(m)]

    def calls(self) -> Iterator[tuple[Message, str, Message | None]]:
        """(calling message, command, result) of every shell call, in order."""
        for message in self.messages:
            if message.tool_calls:
                for call_id, command in read_message(message).commands:
                    yield message, command, self.results.get(call_id)

    def ledger(self, cut: int) -> Ledger:
        """The state of all files before ``cut``, folded from the nearest earlier cut."""
        if cut not in self._ledgers:
            start = max((known for known in self._ledgers if known < cut), default=0)
            ledger = self._ledgers[start].copy() if start else Ledger()
            for seq in range(start, cut):
                ledger.extend(self.ops.get(seq, ()))
            self._ledgers[cut] = ledger
        return self._ledgers[cut]

    def todos(self, cut: int) -> TodoList | None:
        """The to-do list as it stood at ``cut``."""
        return latest_todos(self.messages[:cut])

    def failing(self, cut: int) -> tuple[int, list[tuple[str, str]]] | None:
        """(seq, failing tests) of the last test run before ``cut``; None when it passed or there was none."""
        for message in reversed(self.messages[:cut]):
            reading = read_message(message)
            if (reading.totals is not None or reading.failing) and message.tool_call_id not in self._shown:
                return (message.seq or 0, reading.failing) if reading.failing else None
        return None

    def request(self, cut: int) -> Message | None:
        """What the person said last before ``cut``."""
        return next((m for m in reversed(self.person) if (m.seq or 0) < cut), None)

    def is_repeated(self, sentence: str) -> bool:
        """Whether a sentence comes again in another message, as templates and reminders do."""
        return self._said[_key(sentence)] > 1

    @cached_property
    def _shown(self) -> frozenset[str]:
        """Ids of the calls that only show or search files: test reports in their output are somebody's text."""
        return frozenset(
            call_id
            for message in self.messages
            if message.tool_calls
            for call_id, command in read_message(message).commands
            if only_reads(command)
        )

    @cached_property
    def _said(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for message in self.messages:
            if message.role in ("user", "assistant"):
                counts.update({_key(sentence) for sentence in sentences(message.text)})
        return counts

    def _is_harness(self, message: Message) -> bool:
        said = sentences(own_words(message.text))
        return bool(said) and all(self.is_repeated(sentence) for sentence in said)


def _key(sentence: str) -> str:
    return re.sub(r"\d+", "0", sentence.lower())


def cue_of(command: str) -> str:
    """The first line of a command as it would be quoted: verbatim, cut at ``CUE_CHARS``."""
    return command.split("\n", 1)[0].strip()[:CUE_CHARS].strip()


def make_fact(
    kind: StatementKind, value: str, message: Message, without: str = "", least: int = MIN_TERMS
) -> Statement | None:
    """A statement of a message; None when too few of its telling words are not in the question."""
    asked = set(terms(without)) | set(specific_terms(without))
    if sum(term not in asked and len(term) > 1 for term in terms(value)) < least:
        return None
    text = shorten(value, 400)
    return Statement(kind, text, (message.seq or 0,), (text,) if text in message.text else ())
