"""The facts that a session proves about itself: candidates for probes, each with the message that proves it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from compaction.reading.file_effects import FileOp, Ledger, ToolResults, file_ops
from compaction.reading.file_paths import Roots, find_roots
from compaction.reading.message_facts import iter_readings, read_message
from compaction.reading.prose import shorten, specific_terms, split_reason, terms
from compaction.reading.shell.effects import only_reads, program_runs
from compaction.reading.todos import TodoList, latest_todos
from compaction.transcript import Message, Transcript
from judge.probe import Fact, FactKind

CUE_CHARS = 120
MIN_TERMS = 2
"""A fact with fewer telling terms cannot be told from a lucky guess."""

MAX_TERMS = 12


@dataclass(frozen=True, slots=True)
class FactCandidate:
    """A fact that can be asked for, and the words that identify it in a question."""

    kind: FactKind
    seq: int
    cue: str
    facts: tuple[Fact, ...]
    quote: str


class SessionFacts:
    """All candidates of a session in order, found once and cut off at each point."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.messages = transcript.messages
        self.results = ToolResults(self.messages)
        self._ledgers: dict[int, Ledger] = {}

    @cached_property
    def recall(self) -> list[FactCandidate]:
        """Errors, commands, versions and requests; each is asked about at its first occurrence."""
        found = [*self._errors(), *self._commands(), *self._versions(), *self._requests()]
        return sorted(found, key=lambda candidate: candidate.seq)

    @cached_property
    def decisions(self) -> list[FactCandidate]:
        """What the agent or the person decided, with the reason where one is given."""
        return list(self._decisions())

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
            if reading.totals is not None or reading.failing:
                return (message.seq or 0, reading.failing) if reading.failing else None
        return None

    def request(self, cut: int) -> Message | None:
        """What the person said last before ``cut``."""
        return next((m for m in reversed(self.messages[:cut]) if m.role == "user" and m.text.strip()), None)

    def _calls(self) -> Iterator[tuple[Message, str, Message | None]]:
        """(calling message, command, result) of every shell call, in order."""
        for message in self.messages:
            if message.tool_calls:
                for call_id, command in read_message(message).commands:
                    yield message, command, self.results.get(call_id)

    def _errors(self) -> Iterator[FactCandidate]:
        seen: set[str] = set()
        for _, command, result in self._calls():
            cue = cue_of(command)
            if result is None or cue in seen or len(cue) < 6 or only_reads(command):
                continue
            errors = read_message(result).errors
            if not errors:
                continue
            seen.add(cue)
            fact = make_fact("error", errors[0].line, result, without=cue)
            if fact is not None:
                yield FactCandidate("error", result.seq or 0, cue, (fact,), errors[0].line)
        first = next((m for m in self.messages if m.role == "user"), None)
        if first is not None and read_message(first).errors:
            line = read_message(first).errors[0].line
            fact = make_fact("error", line, first)
            if fact is not None:
                yield FactCandidate("error", first.seq or 0, "", (fact,), line)

    def _commands(self) -> Iterator[FactCandidate]:
        seen: set[str] = set()
        for message, command, _ in self._calls():
            for run in program_runs(command):
                program = run.split()[0].rsplit("/", 1)[-1]
                if program in seen:
                    continue
                seen.add(program)
                fact = make_fact("command", run, message, without=program)
                if fact is not None and run in command:
                    yield FactCandidate("command", message.seq or 0, program, (fact,), run)

    def _versions(self) -> Iterator[FactCandidate]:
        seen: set[str] = set()
        for message in self.messages:
            if message.role != "tool":
                continue
            for name, version in read_message(message).versions[:40]:
                if name.lower() in seen or "." not in version or len(name) < 3:
                    continue
                seen.add(name.lower())
                stated = terms(version) or (version.lower(),)  # as an answer is read: ^20.14.0 has the term 20.14.0
                fact = Fact("version", f"{name} {version}", stated, (), (message.seq or 0,))
                yield FactCandidate("version", message.seq or 0, name, (fact,), version)

    def _requests(self) -> Iterator[FactCandidate]:
        for message in self.messages:
            if message.role != "user":
                continue
            for sentence in read_message(message).sentences:
                if sentence.startswith("<"):
                    continue
                fact = make_fact("request", sentence, message)
                topic = self._topic(sentence)
                if fact is None or not topic:
                    continue
                kept = tuple(term for term in fact.terms if term not in terms(topic))
                if len(kept) >= 3:
                    reduced = Fact("request", fact.value, kept, (), fact.seqs)
                    yield FactCandidate("request", message.seq or 0, topic, (reduced,), sentence)

    @cached_property
    def _spoken(self) -> Counter[str]:
        """In how many sentences of people and agents each term stands."""
        counts: Counter[str] = Counter()
        for reading in iter_readings(self.messages):
            for sentence in reading.sentences:
                counts.update(terms(sentence))
        return counts

    def _topic(self, sentence: str) -> str:
        """The one or two terms that single a sentence out, as they are written in it; empty when none do."""
        rare = sorted(
            (t for t in terms(sentence) if len(t) >= 4 and self._spoken[t] <= 6),
            key=lambda t: (t not in specific_terms(sentence), self._spoken[t], -len(t)),
        )
        written = [m[0] for t in rare[:2] if (m := re.search(re.escape(t), sentence, re.IGNORECASE))]
        return "` and `".join(written) if len(terms(sentence)) >= 6 else ""

    def _decisions(self) -> Iterator[FactCandidate]:
        for message in self.messages:
            if message.role not in ("user", "assistant"):
                continue
            for sentence in read_message(message).decisions:
                choice, reason = split_reason(sentence)
                topic = self._topic(sentence)
                if not topic:
                    continue
                decided = make_fact("decision", choice, message, without=topic)
                because = make_fact("reason", reason, message, without=topic) if reason else None
                facts = tuple(fact for fact in (decided, because) if fact is not None)
                if facts and facts[0].kind == "decision":
                    yield FactCandidate("decision", message.seq or 0, topic, facts, sentence)


def cue_of(command: str) -> str:
    """The first line of a command as it would be quoted: verbatim, cut at ``CUE_CHARS``."""
    return command.split("\n", 1)[0].strip()[:CUE_CHARS].strip()


def make_fact(kind: FactKind, value: str, message: Message, without: str = "") -> Fact | None:
    """A fact whose terms are those of its statement less the words of the question; None when too few are left."""
    asked = set(terms(without)) | set(specific_terms(without))
    found = tuple(term for term in terms(value) if term not in asked and len(term) > 1)[:MAX_TERMS]
    if len(found) < MIN_TERMS:
        return None
    details = tuple(term for term in specific_terms(value) if term not in asked)[:MAX_TERMS]
    return Fact(kind, shorten(value, 400), found, details, (message.seq or 0,))
