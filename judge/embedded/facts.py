"""What a session proves about itself: the ground on which probes are made, read once and cut off at each point."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from compaction.measures.needs import SessionNeeds
from compaction.reading.call_outcomes import exit_code
from compaction.reading.file_effects import FileOp, Ledger, ToolResults
from compaction.reading.file_paths import Roots
from compaction.reading.message_facts import read_message
from compaction.reading.prose import sentences
from compaction.reading.shell.effects import only_reads, program_runs
from compaction.reading.todos import TodoList, latest_todos
from compaction.reading.tool_calls import call_effects
from compaction.tokens import TiktokenCounter
from compaction.transcript import Message, ToolCall, Transcript
from judge.embedded.own_words import own_words
from judge.probe import Statement

MIN_TERMS = 2
"""A fact with fewer telling terms cannot be told from a lucky guess."""

MAX_TERMS = 12
MAX_CUE = 160
"""Characters of a command that a question quotes."""

_INTERPRETER = re.compile(
    r"\b(?:python[\d.]*|node|bun|deno|go|cargo|npm|npx|pnpm|yarn|make|ruby|java|mvn|gradle|dotnet|tsc|php|perl|Rscript)\b"
)
_BEFORE = re.compile(r"^(?:cd [^;&|\n]+(?:&&|;)\s*)+")
_PIPED = re.compile(r"\||;\s*(?:echo|true)\b")
_TESTS = re.compile(
    r"\b(?:pytest|unittest|runtests(?:\.py)?|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|tests?)\b(?!\.\w)", re.IGNORECASE
)
_WRAPPER = re.compile(
    r"exited with|exit (?:code|status)|command failed|non-zero|ELIFECYCLE|\*\*\*|CalledProcessError|tests? failed|"
    r"Process completed|^(?:--- )?FAIL(?:ED)?\b(?!.* - \w)|^ERROR:? \S+(?: \(.*\))?$|^not ok|^test \S+ \.\.\.|"
    r"Interrupted|^npm (?:ERR!|error) (?:code|errno|A complete|Lifecycle|command)|SystemExit|BrokenPipe|"
    r"^error: (?:recipe|script|could not compile|aborting|test failed|could not apply)|Warning:|(?:…|\.\.\.|:)$",
    re.IGNORECASE,
)
"""Lines that say only that something failed, or half of what failed."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question with its true answer."""

    kind: str
    question: str
    truth: str
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A shell call that tests, builds or runs something."""

    seq: int
    """Of the call."""
    command: str
    name: str
    """What it runs, as a question would quote it."""
    result: Message

    @property
    def failed(self) -> bool:
        """Whether its status, its totals, or the last line of its output say so."""
        code = None if _PIPED.search(self.command) else exit_code(self.result.text)
        reading = read_message(self.result)
        if self.result.is_error or code not in (0, None) or (reading.totals is not None and reading.totals[1] > 0):
            return True
        if code == 0 or reading.totals is not None or not reading.errors:
            return False
        last = [line.strip() for line in self.result.text.rstrip().splitlines()[-6:]]
        return any(line.startswith(reading.errors[-1].line[:200]) for line in last)

    @property
    def errors(self) -> tuple[str, ...]:
        """The lines that say what went wrong, none of which follows from another; none where the run passed."""
        if not self.failed:
            return ()
        told = [e for e in read_message(self.result).errors if not _WRAPPER.search(e.line)]
        own = [e for e in told if e.kind in ("exception", "compiler", "package", "program") or e.line.startswith("E ")]
        return tuple(dict.fromkeys(e.line for e in (own[-1:] if own and own[-1].kind == "exception" else own)))

    @property
    def error(self) -> str:
        """The only line that says what went wrong; empty where several do or none."""
        return self.errors[0] if len(self.errors) == 1 else ""


class Edit(NamedTuple):
    """A text that a call writes."""

    path: str
    new: str
    old: str
    """What it replaces, where the call says so."""


class SessionFacts:
    """A session read for facts: its file operations, to-do lists, runs, and who said what."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.messages = transcript.messages
        self.results = ToolResults(self.messages)
        self.needs = SessionNeeds(transcript, TiktokenCounter())
        self._ledgers: dict[int, Ledger] = {}

    @property
    def roots(self) -> Roots:
        """Where the project lies."""
        return self.needs.roots

    @cached_property
    def ops(self) -> dict[int, list[FileOp]]:
        """``seq`` → file operations, told with everything that the session knows."""
        found: dict[int, list[FileOp]] = {}
        for op in self.needs.ops:
            found.setdefault(op.seq, []).append(op)
        return found

    @cached_property
    def person(self) -> list[Message]:
        """The user messages that a person wrote: with words of their own, and not a text that comes again and again."""
        return [m for m in self.messages if m.role == "user" and own_words(m.text) and not self._is_harness(m)]

    @cached_property
    def commands(self) -> list[tuple[int, str, Message | None]]:
        """(seq, command, result) of every shell call, in order."""
        return [
            (seq, command, self.results.get(call_id))
            for seq, message in enumerate(self.messages)
            if message.tool_calls
            for call_id, command in read_message(message).commands
        ]

    @cached_property
    def _commands_by_seq(self) -> dict[int, list[tuple[int, str, Message | None]]]:
        found: dict[int, list[tuple[int, str, Message | None]]] = {}
        for call in self.commands:
            found.setdefault(call[0], []).append(call)
        return found

    def commands_at(self, seq: int) -> list[tuple[int, str, Message | None]]:
        """The shell calls of one message."""
        return self._commands_by_seq.get(seq, [])

    @cached_property
    def _calls(self) -> dict[str, tuple[int, str]]:
        """Call id → (seq, command line or nothing)."""
        found = {call.id: (seq, "") for seq, m in enumerate(self.messages) for call in m.tool_calls}
        for seq, message in enumerate(self.messages):
            if message.tool_calls:
                found.update({call_id: (seq, command) for call_id, command in read_message(message).commands})
        return found

    def command_of(self, call_id: str | None) -> str:
        """The command line of a call; empty for a call of another tool."""
        return self._calls.get(call_id or "", (0, ""))[1]

    def ops_of(self, call_id: str | None) -> list[FileOp]:
        """The file operations of the message with a call, if it has no other call."""
        seq, _ = self._calls.get(call_id or "", (-1, ""))
        return self.ops.get(seq, []) if seq >= 0 and len(self.messages[seq].tool_calls) == 1 else []

    def uses(self, seq: int, word: str) -> bool:
        """Whether a message of the agent has a word in its calls."""
        return any(word in call.arguments for call in self.messages[seq].tool_calls)

    def happened(self, seq: int) -> bool:
        """Whether the calls of a message were carried out, as far as the log has results at all."""
        calls = self.messages[seq].tool_calls
        return not self._has_results or any(self.results.get(call.id) is not None for call in calls)

    @cached_property
    def _has_results(self) -> bool:
        return any(message.role == "tool" for message in self.messages)

    def tool_calls(self, cut: int) -> Iterator[tuple[Message, ToolCall, Message | None]]:
        """(message, call, result) of every call that was answered before ``cut``."""
        for message in self.messages[:cut]:
            for call in message.tool_calls:
                result = self.results.get(call.id)
                if result is None or (result.seq or 0) < cut:
                    yield message, call, result

    @cached_property
    def _edits(self) -> dict[int, list[Edit]]:
        found: dict[int, list[Edit]] = {}
        for message, call, result in self.tool_calls(len(self.messages)):
            if result is None or not self.results.is_error(call.id):
                for effect in call_effects(call, self.roots.cwd):
                    if effect.content or effect.removed:
                        path = self.roots.name(effect.path)[0]
                        found.setdefault(message.seq or 0, []).append(Edit(path, effect.content, effect.removed))
        return found

    def edits(self, seq: int) -> list[Edit]:
        """What the calls of a message write, with the text that it replaces."""
        return self._edits.get(seq, [])

    def may_test(self, seq: int, command: str) -> bool:
        """Whether a command runs something that could show a fault; a script that only edits files does not."""
        if only_reads(command):
            return False
        changes = any(op.verb != "examined" for op in self.ops.get(seq, ()))
        return bool(program_runs(command)) or (not changes and _INTERPRETER.search(command) is not None)

    @cached_property
    def runs(self) -> list[Run]:
        """Every call that runs something, in order."""
        found = []
        for seq, command, result in self.commands:
            if result is not None and not only_reads(command) and (names := program_runs(command)):
                tests = [name for name in names if _TESTS.search(name)]
                found.append(Run(seq, command, (tests or names)[-1], result))
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

    def holders(self, words: tuple[str, ...], cut: int) -> tuple[int, ...]:
        """``seq`` of the messages before ``cut`` that have all of some words."""
        return tuple(seq for seq in range(cut) if all(word in self.needs.text(seq) for word in words))

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


def cue_of(run: Run) -> str:
    """A run as a question quotes it; empty for one that is too long, or whose text goes on in other lines."""
    whole = _BEFORE.sub("", run.command).strip()
    if "\n" in whole or len(whole) > MAX_CUE:
        return "" if "\n" in run.name or len(run.name) > MAX_CUE or "<<" in run.command else run.name
    return whole


def is_test(run: Run) -> bool:
    """Whether a run is one of tests, by its name or its report."""
    return bool(_TESTS.search(run.name)) or read_message(run.result).totals is not None
