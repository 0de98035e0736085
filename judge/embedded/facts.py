"""Facts that a session proves about itself: the ground of probes, read once and cut off at each point."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from compaction.measures.needs import SessionNeeds
from compaction.reading.call_outcomes import exit_code
from compaction.reading.message_facts import read_message
from compaction.reading.prose import sentences, terms
from compaction.reading.shell.commands import placed_commands
from compaction.reading.shell.effects import only_reads, program_runs
from compaction.reading.todos import TodoList, latest_todos
from compaction.tokens import TiktokenCounter
from compaction.transcript import Message, ToolCall, Transcript
from judge.embedded.own_words import own_words
from judge.statement import Statement

MIN_TERMS = 2
"""A fact with fewer telling terms cannot be told from a lucky guess."""

MAX_CUE = 160
"""Characters of a command that a question quotes."""

BEFORE = re.compile(r"^(?:cd [^;&|\n]+(?:&&|;)\s*)+")
_PIPED = re.compile(r"\||;\s*(?:echo|true)\b")
_TESTS = re.compile(
    r"\b(?:pytest|unittest|runtests(?:\.py)?|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|tests?)\b(?!\.\w)"
)
_COMMITS = frozenset({"git commit", "git rebase", "git cherry-pick", "git am", "git revert"})
_UNMADE = frozenset({"--abort", "--quit", "--dry-run", "--no-commit"})
"""Options with which these commit nothing."""

_CHAINED = re.compile(r"^(?:During handling of|The above exception was|Caused by:)|\[cause\]:", re.MULTILINE)
_INTERPRETER = re.compile(
    r"\b(?:python[\d.]*|node|bun|deno|go|cargo|npm|npx|pnpm|yarn|make|ruby|java|mvn|gradle|tsc)\b"
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
    """What it runs, without what only wraps it."""
    result: Message

    @property
    def ended(self) -> int:
        """``seq`` of the result."""
        return self.result.seq or 0

    @property
    def cue(self) -> str:
        """The command as a question quotes it; empty if it is too long, or goes on in other lines."""
        whole = BEFORE.sub("", self.command).strip()
        if "\n" not in whole and len(whole) <= MAX_CUE:
            return whole
        return "" if "\n" in self.name or len(self.name) > MAX_CUE or "<<" in self.command else self.name

    @property
    def is_test(self) -> bool:
        """Whether the run is of tests, by its name or its report."""
        return bool(_TESTS.search(self.name)) or read_message(self.result).totals is not None

    @property
    def failed(self) -> bool:
        """Whether its status, its totals, or the end of its output say so."""
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
        """The error lines of a failed run, without those that follow from another; none if it passed."""
        told = [e for e in read_message(self.result).errors if not _WRAPPER.search(e.line)] if self.failed else []
        own = [e for e in told if e.kind in ("exception", "compiler", "package", "program") or e.line.startswith("E ")]
        chained = own and own[-1].kind == "exception" and _CHAINED.search(self.result.text)
        return tuple(dict.fromkeys(e.line for e in (own[-1:] if chained else own)))


@dataclass(frozen=True, slots=True)
class GitCall:
    """A call of git that went well."""

    seq: int
    subcommand: str
    """With ``git`` before it."""
    words: tuple[str, ...]
    """Its arguments."""
    output: str
    """Of the whole command line that it stands in."""
    is_whole: bool
    """Whether the output passed through no other program."""


class SessionFacts(SessionNeeds):
    """A session as the measures read it, read further for facts: its to-do lists, runs, and who said what."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript, TiktokenCounter())
        self.followed: dict[int, list[Any]] = {}
        """Cut → the files that ``net_files`` has followed up to it."""

    @cached_property
    def person(self) -> list[Message]:
        """The user messages that a person wrote: with words of their own, and not a text that comes again and again."""
        said = (m for m in self.messages if m.role == "user" and m.author is None and own_words(m.text))
        return [m for m in said if not self._is_harness(m)]

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
    def runs(self) -> list[Run]:
        """Every answered call that runs something, in order; of several programs, tests are what it runs."""
        found = []
        for seq, command, result in self.commands:
            if result is not None and not only_reads(command) and (names := program_runs(command)):
                name = next((name for name in reversed(names) if _TESTS.search(name)), names[-1])
                found.append(Run(seq, command, name, result))
        return found

    @cached_property
    def git(self) -> list[GitCall]:
        """Every call of git that went well, in order."""
        found = []
        for seq, command, result in self.commands:
            if "git" in command and result is not None and not result.is_error and not exit_code(result.text):
                placed = list(placed_commands(command, None))
                whole = not any(one.command.joined_by == "|" or one.command.redirects for one in placed)
                for one in placed:
                    if one.program.startswith("git "):
                        words = tuple(word.text for word in one.words)
                        found.append(GitCall(seq, one.program, words, result.text, whole))
        return found

    @cached_property
    def commits(self) -> dict[int, GitCall]:
        """The calls that committed what had been changed, by ``seq``."""
        return {c.seq: c for c in self.git if c.subcommand in _COMMITS and _UNMADE.isdisjoint(c.words)}

    @cached_property
    def _callers(self) -> dict[str, Message]:
        return {call.id: message for message in self.messages for call in message.tool_calls}

    def shown_file(self, result: Message) -> str:
        """The only file that the call of a result looked at; empty for any other call."""
        caller = self._callers.get(result.tool_call_id or "")
        ops = self.ops.get(caller.seq or 0, []) if caller is not None and len(caller.tool_calls) == 1 else []
        return ops[0].path if len(ops) == 1 and ops[0].verb == "examined" else ""

    def tool_calls(self, cut: int) -> Iterator[tuple[Message, ToolCall, Message]]:
        """(message, call, result) of every call that was answered before ``cut``."""
        for message in self.messages[:cut]:
            for call in message.tool_calls:
                result = self.results.get(call.id)
                if result is not None and (result.seq or 0) < cut:
                    yield message, call, result

    def happened(self, seq: int) -> bool:
        """Whether the calls of a message were carried out, as far as the log has results at all."""
        calls = self.messages[seq].tool_calls
        return not self._has_results or any(self.results.get(call.id) is not None for call in calls)

    def may_have_changed(self, since: int, cut: int) -> set[str]:
        """The files that calls without a result change between two positions, so that nobody tells what they did."""
        ops = (op for seq in range(since, cut) if not self.happened(seq) for op in self.ops.get(seq, ()))
        return {op.path for op in ops if op.verb != "examined" and not op.scratch}

    @cached_property
    def _has_results(self) -> bool:
        return any(message.role == "tool" for message in self.messages)

    def may_test(self, seq: int, command: str) -> bool:
        """Whether a command runs something that could show a fault; a script that only edits files does not."""
        changes = any(op.verb != "examined" for op in self.ops.get(seq, ()))
        tries = bool(program_runs(command)) or (not changes and _INTERPRETER.search(command) is not None)
        return tries and not only_reads(command)

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
        """The person's last message before ``cut``."""
        return next((m for m in reversed(self.person) if (m.seq or 0) < cut), None)

    def before(self, seq: int) -> Message | None:
        """The message before one, those of the system and the harness aside."""
        earlier = reversed(self.messages[:seq])
        return next(
            (m for m in earlier if m.role in ("assistant", "tool") or (m.role == "user" and not m.author)), None
        )

    def told_before(self, seq: int, cut: int) -> str:
        """The agent's last sentence before its turn ended; empty if it was at work, or repeats the sentence."""
        before = self.before(seq)
        if before is None or before.role != "assistant" or before.tool_calls:
            return ""
        told = (sentences(before.text) or [""])[-1]
        return told if sum(told in m.text for m in self.messages[:cut] if m.role == "assistant") == 1 else ""

    def is_taken_up(self, message: Message, cut: int) -> bool:
        """Whether the person's next words are about the same again, so that what was said before is not settled."""
        later = next((m for m in self.person if (message.seq or 0) < (m.seq or 0) < cut), None)
        same = set(terms(own_words(message.text))) & set(terms(own_words(later.text) if later else ""))
        return len(same) > MIN_TERMS

    def holders(self, words: tuple[str, ...], cut: int) -> tuple[int, ...]:
        """``seq`` of the messages before ``cut`` that have all of some words."""
        return tuple(seq for seq in range(cut) if all(word in self.text(seq) for word in words))

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
        return bool(said) and all(self._said[_key(sentence)] > 1 for sentence in said)


def _key(sentence: str) -> str:
    return re.sub(r"\d+", "0", sentence.lower())
