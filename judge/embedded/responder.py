"""An extractive reader: finds in the compacted context what a question asks for, and says so when it is not there.

It sees the context and the question only. It reads what every method leaves in the same way: tool calls where they
are still there, prose and summaries where they are not. It never makes anything up, but it can pick the wrong thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from compaction.reading.file_effects import FileOp, ToolResults, same_file
from compaction.reading.file_paths import Roots, find_roots
from compaction.reading.message_facts import context_ledger, iter_readings, project_ops, read_message
from compaction.reading.prose import shorten, specific_terms
from compaction.reading.shell.effects import program_runs
from compaction.reading.todos import latest_todos
from compaction.transcript import Message
from judge.answer import Answer
from judge.embedded.claims import ABSTENTION
from judge.embedded.decisions import is_choice
from judge.embedded.labelled_statements import MAX_LINE, Statement, statements
from judge.embedded.mentions import file_mentions, section_items
from judge.embedded.open_work import announced, open_request
from judge.embedded.own_words import asked_for, own_words
from judge.embedded.recall_facts import error_of

VERSION = 2
"""Raise it when an answer comes out otherwise."""

CHARS_PER_TOKEN = 2.5
"""Cautious: paths and code have fewer characters a token than prose, and the limit must hold."""

_CUES = re.compile(r"`([^`]+)`")
_TEST = re.compile(r"\btests?\b|test_|_test\b|::|\bspec\b|\bsuite\b", re.IGNORECASE)
MIN_SAID = 8
"""Characters that an error has at least."""

_ERROR_WORD = re.compile(r"(?:Error|Exception|FAILED)\b")
_ERROR_LEAD = re.compile(
    r"^[`'\"*]*[\s,:;|→>-]*(?:\(?(?:(?:first )?(?:failed|ended|stopped|broke|died)(?: with| by)?|"
    r"error(?: message)?(?: is| was)?|gave|printed|raised|output|result|with|the error|and|it)\b[\s,:;|→>-]*)*",
    re.IGNORECASE,
)
_COMMAND_LABEL = re.compile(r"command|\bran\b|\brun\b|invoked|executed", re.IGNORECASE)
_COUNTS = re.compile(r"\b\d+ (?:passed|failed|errors?)\b")
_VERSION = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)*(?:[-.]?(?:a|b|rc|alpha|beta|dev)\d*)?)(?![\w])")


class EmbeddedResponder:
    """Answers from the context by looking things up in it."""

    name = f"embedded-responder@{VERSION}"

    def answer(self, context: Sequence[Message], question: str, max_tokens: int, replicate: int = 0) -> Answer:
        """An extract of the context within the limit, or the words that the context does not say."""
        asked = question.lower()
        limit = int(max_tokens * CHARS_PER_TOKEN)
        if "created:" in asked and "modified:" in asked:
            text = _artifact(context, limit, _told_roots(question) or find_roots(context))
        elif "`open:`" in asked:
            text = _continuation(context, limit)
        else:
            cues = _CUES.findall(question)
            text = _lookup(context, _CUES.sub("", asked), cues, limit)
        return Answer(text or ABSTENTION, self.name)


def _lookup(context: Sequence[Message], asked: str, cues: list[str], limit: int) -> str:
    if "how many tests" in asked and cues:
        return _totals_of(context, cues[0])
    if "at the beginning" in asked:
        return shorten(_first_request(context), limit)
    if "error" in asked and cues:
        return shorten(_error_of(context, cues[0]), limit)
    if "error" in asked:
        return shorten(_reported_error(context), limit)
    if "version" in asked and cues:
        return _version_of(context, cues[0])
    if "command" in asked and cues:
        return shorten(_command_of(context, cues[0]), limit)
    return shorten(_statement_on(context, cues, "choice" in asked), limit)


def _error_of(context: Sequence[Message], command: str) -> str:
    """The first error that the command's results show; else an error that stands in one line with the command."""
    results = ToolResults(context)
    for reading in iter_readings(context):
        for call_id, text in reading.commands:
            result = results.get(call_id)
            failure = error_of(result) if result is not None and text.startswith(command) else None
            if failure is not None:
                return failure.line
    for statement, following in _told(context):
        if command in statement.whole:
            rest = statement.whole.split(command, 1)[-1]
            said = _ERROR_LEAD.sub("", rest).strip(" `|")
            if len(said) >= MIN_SAID:
                return said
            if following is not None and _ERROR_WORD.search(following.text):
                return following.text
    wanted = set(specific_terms(command))
    best, best_score = "", 0.0
    for message in context:
        if message.seq is None or message.role == "assistant":
            for error in read_message(message).errors if message.role != "assistant" else _error_like(message.text):
                line = error if isinstance(error, str) else error.line
                score = len(wanted & set(specific_terms(line)))
                if score > best_score:
                    best, best_score = line, score
    return best


def _told(context: Sequence[Message]) -> Iterator[tuple[Statement, Statement | None]]:
    """What prose and summaries state, each statement with the one after it."""
    for message in context:
        if message.role != "tool":
            said = statements(message.text)
            yield from zip(said, (*said[1:], None), strict=False)


def _error_like(text: str) -> list[str]:
    lines = (line for line in text.splitlines() if len(line) <= MAX_LINE)
    return [line.strip(" -*") for line in lines if _ERROR_WORD.search(line)]


def _reported_error(context: Sequence[Message]) -> str:
    for message in context:
        if message.role == "user" and (errors := read_message(message).errors):
            return errors[0].line
    for message in context:
        if message.role != "tool" and (lines := _error_like(message.text)):
            return lines[0]
    return ""


def _totals_of(context: Sequence[Message], command: str) -> str:
    """What the first test run by a command counted; else the counts in a line of prose that names the command."""
    results = ToolResults(context)
    for reading in iter_readings(context):
        for call_id, text in reading.commands:
            result = results.get(call_id)
            totals = read_message(result).totals if result is not None and text.startswith(command) else None
            if totals is not None:
                return f"{totals[0]} passed, {totals[1]} failed"
    for statement, following in _told(context):
        if command in statement.whole:
            counts = _COUNTS.findall(statement.whole) or _COUNTS.findall(following.text if following else "")
            if counts:
                return ", ".join(counts)
    return ""


def _first_request(context: Sequence[Message]) -> str:
    """What the first message of a person asks for; else the first item of a summary's section on the request."""
    for message in context:
        if message.role == "user" and message.seq is not None and own_words(message.text):
            return asked_for(message.text)
        if message.seq is None and (listed := section_items(message.text, "intent")):
            return listed[0]
    return ""


def _version_of(context: Sequence[Message], name: str) -> str:
    """The version that a tool reported; else the one that was stated last beside the name."""
    wanted = name.lower()
    for message in context:
        if message.role == "tool" and wanted in message.text.lower():
            for found, version in read_message(message).versions:
                if found.lower() == wanted:
                    return version
    stated = ""
    for statement, _ in _told(context):
        low = statement.whole.lower()
        if wanted in low and (match := _VERSION.search(low.split(wanted, 1)[1])):
            stated = match[1]
    return stated


def _command_of(context: Sequence[Message], program: str) -> str:
    for reading in iter_readings(context):
        for _, text in reading.commands:
            if program in text:
                for run in program_runs(text):
                    if run.split()[0].rsplit("/", 1)[-1] == program:
                        return run
    running = re.compile(r"(?:^|[\s`'\"|:])(" + re.escape(program) + r"(?=[\s`'\"|]|$)[^`|\n]*)")
    for statement, _ in _told(context):
        quoted = next((code for code in statement.text.split("`")[1::2] if running.search(code)), None)
        match = running.search(quoted or statement.text)
        if match and (quoted or statement.text.startswith(program) or _COMMAND_LABEL.search(statement.label)):
            return quoted or match[1].strip(" .,;'\"")
    return ""


def _statement_on(context: Sequence[Message], cues: list[str], decided: bool) -> str:
    """The statement that speaks of most of the cues; of several a decision, then the earliest."""
    wanted = [cue.lower() for cue in cues]
    best, best_score = "", 0.0
    for message in context:
        if message.role not in ("user", "assistant"):
            continue
        spoken = f"{message.reasoning}\n{message.text}".lower() if message.reasoning else message.text.lower()
        if not any(cue in spoken for cue in wanted):
            continue
        made = message.seq is None
        for sentence in [s.text for s in statements(message.text)] if made else read_message(message).sentences:
            low = sentence.lower()
            hits = sum(cue in low for cue in wanted)
            if not hits:
                continue
            score = hits + (1.5 if decided and is_choice(sentence) else 0.0)
            score += 0.25 if not decided and message.role == "user" else 0.0
            if score > best_score:
                best, best_score = sentence, score
    return best


def _told_roots(question: str) -> Roots | None:
    """Where the project lies, if the question says so."""
    if "The working directory is" not in question:
        return None
    places = _CUES.findall(question.split(". Wh", 1)[0])
    return Roots(tuple(sorted(set(places), key=len, reverse=True)), places[0]) if places else None


def _artifact(context: Sequence[Message], limit: int, roots: Roots) -> str:
    ledger = context_ledger(context, ToolResults(context), roots)
    known = _KnownFiles()
    for op in project_ops(
        op for ops in (ledger.created, ledger.modified, ledger.deleted, ledger.examined) for op in ops.values()
    ):
        known.add(op, proven=True)
    for message in context:
        if message.seq is None or (message.role == "assistant" and not message.tool_calls):
            for op in file_mentions(message):
                known.add(op)
    return _labelled_lines(
        [(label, known.items(label.lower())) for label in ("Created", "Modified", "Examined")], limit
    )


class _KnownFiles:
    """Files under one name each, with the strongest thing that is known to have been done to them."""

    _STRENGTH: ClassVar[Mapping[str, int]] = {"examined": 0, "modified": 1, "moved": 1, "created": 2, "deleted": 3}

    def __init__(self) -> None:
        self._by_name: dict[str, list[FileOp]] = {}
        self._proven: set[str] = set()

    def add(self, op: FileOp, *, proven: bool = False) -> None:
        """Take one operation in. What is only said changes nothing that a tool call proves, but may add details."""
        same_name = self._by_name.setdefault(op.path.rsplit("/", 1)[-1], [])
        for i, other in enumerate(same_name):
            if same_file(op.path, other.path):
                details = tuple(dict.fromkeys((*other.details, *op.details)))
                stronger = self._STRENGTH[op.verb] > self._STRENGTH[other.verb] and (
                    proven or other.path not in self._proven
                )
                same_name[i] = replace(other, verb=op.verb if stronger else other.verb, details=details)
                return
        same_name.append(op)
        if proven:
            self._proven.add(op.path)

    def items(self, verb: str) -> list[str]:
        """The files that this was done to, as the answer states them."""
        ops = [op for same_name in self._by_name.values() for op in same_name]
        return [_file_item(op) for op in ops if op.verb == verb or (verb == "modified" and op.verb == "moved")]


def _file_item(op: FileOp) -> str:
    names = [name for name in op.details if not set(name) & set("();")][:6]
    return f"{op.path} ({', '.join(names)})" if names and op.verb != "examined" else op.path


def _continuation(context: Sequence[Message], limit: int) -> str:
    failing: list[str] = []
    for message in reversed(context):
        reading = read_message(message)
        if reading.totals is not None or reading.failing:
            failing = [f"{test}: {shorten(reason, 120)}" if reason else test for test, reason in reading.failing[:10]]
            break
        if message.seq is None and (listed := _failing_items(message)):
            failing = listed[-4:]
            break
    found = dict.fromkeys([*_open_tasks(context), *_asked_and_announced(context)])
    return _labelled_lines([("Open", list(found)), ("Failing", failing)], limit)


def _failing_items(message: Message) -> list[str]:
    """What a summary says of failing tests; other errors are none."""
    return [item for item in section_items(message.text, "errors") if _TEST.search(item)]


def _open_tasks(context: Sequence[Message]) -> list[str]:
    if any(call.name in ("TaskCreate", "TaskUpdate") for message in context for call in message.tool_calls):
        todo = latest_todos(context)
        return [item.text for item in todo.unfinished] if todo else []
    for message in reversed(context):
        todo = read_message(message).todos
        if todo is not None:
            return [item.text for item in todo.items if item.status != "done"]
        if message.seq is None and (listed := section_items(message.text, "next_steps")):
            return listed
    return []


def _asked_and_announced(context: Sequence[Message]) -> list[str]:
    """What the person asked for last and the agent has not answered, and what the agent said it would do."""
    person = [m for m in context if m.role == "user" and m.seq is not None and own_words(m.text)]
    request = open_request(person, context, ())
    steps = [asked_for(request.text)] if request is not None else []
    if not person:
        listed = next((s for m in reversed(context) if m.seq is None and (s := section_items(m.text, "intent"))), [])
        steps += listed[-1:]
    step = announced(context)
    return [shorten(text, 300) for text in (*steps, step[1] if step else "") if text]


def _labelled_lines(sections: list[tuple[str, list[str]]], limit: int) -> str:
    """Labelled lines; when they are too long, items of the last sections are left out first."""
    room = limit - sum(len(label) + 8 for label, _ in sections)
    if not any(items for _, items in sections):
        return ""
    lines = []
    for label, items in sections:
        kept = []
        for item in items:
            flat = " ".join(item.replace(";", ",").split())
            if len(flat) + 2 > room:
                break
            room -= len(flat) + 2
            kept.append(flat)
        lines.append(f"{label}: {'; '.join(kept) or 'none'}")
    return "\n".join(lines)
