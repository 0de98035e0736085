"""An extractive reader: finds in the compacted context what a question asks for, and says so when it is not there.

It sees the context and the question only. It reads what every method leaves in the same way: tool calls where they
are still there, prose and summaries where they are not. It never makes anything up, but it can pick the wrong thing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from compaction.artifacts import FileOp, Ledger, same_file
from compaction.reading import failed_calls, iter_readings, read, results_by_call
from compaction.transcript import Message
from compaction.words import is_decision, is_intent, iter_terms, shorten, specific_terms, terms
from judge.answer import Answer
from judge.embedded.claims import ABSTENTION
from judge.embedded.mentions import file_mentions, section_items

CHARS_PER_TOKEN = 2.5
"""Cautious: paths and code have fewer characters a token than prose, and the limit must hold."""

_CUES = re.compile(r"`([^`]+)`")
_VERSION = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)*(?:[-.]?(?:a|b|rc|alpha|beta|dev)\d*)?)(?![\w])")


class EmbeddedResponder:
    """Answers from the context by looking things up in it."""

    name = "embedded-responder@1"

    def answer(self, context: Sequence[Message], question: str, max_tokens: int) -> Answer:
        """An extract of the context within the limit, or the words that the context does not say."""
        asked = question.lower()
        limit = int(max_tokens * CHARS_PER_TOKEN)
        if "created:" in asked and "modified:" in asked:
            text = _artifact(context, limit)
        elif "open:" in asked and "next:" in asked:
            text = _continuation(context, limit)
        else:
            cues = [cue for cue in _CUES.findall(question) if not cue.endswith(":")]
            text = _lookup(context, asked, cues, limit)
        return Answer(text or ABSTENTION, self.name)


def _lookup(context: Sequence[Message], asked: str, cues: list[str], limit: int) -> str:
    if "error" in asked and cues:
        return shorten(_error_of(context, cues[0]), limit)
    if "error" in asked:
        return shorten(_reported_error(context), limit)
    if "version" in asked and cues:
        return _version_of(context, cues[0])
    if "command" in asked and cues:
        return shorten(_command_of(context, cues[0]), limit)
    return shorten(_statement_on(context, cues, "decided" in asked), limit)


def _error_of(context: Sequence[Message], command: str) -> str:
    """The first error that the command's results show; else an error that stands in one line with the command."""
    results = results_by_call(context)
    for reading in iter_readings(context):
        for call_id, text in reading.commands:
            result = results.get(call_id)
            if result is not None and text.startswith(command):
                if errors := read(result).errors:
                    return errors[0].line
    for message in context:
        if message.role != "tool" and command in message.text:
            line = next(line for line in message.text.splitlines() or [message.text] if command[:40] in line)
            return line.split(command, 1)[-1].strip(" `:→->") or line
    wanted = set(specific_terms(command))
    best, best_score = "", 0.0
    for message in context:
        if message.seq is None or message.role == "assistant":
            for error in read(message).errors if message.role != "assistant" else _error_like(message.text):
                line = error if isinstance(error, str) else error.line
                score = len(wanted & set(specific_terms(line)))
                if score > best_score:
                    best, best_score = line, score
    return best


def _error_like(text: str) -> list[str]:
    return [line.strip(" -*") for line in text.splitlines() if re.search(r"\b\w*(?:Error|Exception)\b|\bFAILED\b", line)]


def _reported_error(context: Sequence[Message]) -> str:
    for message in context:
        if message.role == "user" and (errors := read(message).errors):
            return errors[0].line
    for message in context:
        if message.role != "tool" and (lines := _error_like(message.text)):
            return lines[0]
    return ""


def _version_of(context: Sequence[Message], name: str) -> str:
    wanted = name.lower()
    for message in context:
        if name not in message.text and wanted not in message.text.lower():
            continue
        if message.role == "tool":
            for found, version in read(message).versions:
                if found.lower() == wanted:
                    return version
            continue
        for line in message.text.splitlines():
            if wanted in line.lower() and (match := _VERSION.search(line.lower().split(wanted, 1)[1])):
                return match[1]
    return ""


def _command_of(context: Sequence[Message], program: str) -> str:
    from compaction.shell import runs

    for reading in iter_readings(context):
        for _, text in reading.commands:
            if program in text:
                for run in runs(text):
                    if run.split()[0].rsplit("/", 1)[-1] == program:
                        return run
    quoted = re.compile(r"`([^`\n]*\b" + re.escape(program) + r"\b[^`\n]*)`")
    for message in context:
        if message.role != "tool" and program in message.text and (match := quoted.search(message.text)):
            return match[1]
    return ""


def _statement_on(context: Sequence[Message], cues: list[str], decided: bool) -> str:
    """The statement that speaks of the cues; of several the one with most of them, a decision first, then the earliest."""
    wanted = [cue.lower() for cue in cues]
    best, best_score = "", 0.0
    for message in context:
        if message.role not in ("user", "assistant"):
            continue
        spoken = f"{message.reasoning}\n{message.text}".lower() if message.reasoning else message.text.lower()
        if not any(cue in spoken for cue in wanted):
            continue
        for sentence in read(message).sentences:
            low = sentence.lower()
            hits = sum(cue in low for cue in wanted)
            if not hits:
                continue
            score = hits + (0.5 if decided and is_decision(sentence) else 0.0)
            score += 0.25 if not decided and message.role == "user" else 0.0
            if score > best_score:
                best, best_score = sentence, score
    return best


def _artifact(context: Sequence[Message], limit: int) -> str:
    ledger = Ledger()
    failed = failed_calls(context)
    mentioned: list[FileOp] = []
    for message in context:
        ledger.extend(read(message).ops(failed))
        if message.role != "tool" and (message.seq is None or not message.tool_calls):
            mentioned += file_mentions(message)
    known = [*ledger.created.values(), *ledger.modified.values(), *ledger.examined.values(), *ledger.deleted.values()]
    sections: dict[str, list[FileOp]] = {
        "created": [op for op in ledger.created.values() if not op.scratch],
        "modified": [op for op in ledger.modified.values() if not op.scratch],
        "examined": [op for op in ledger.examined.values() if not op.scratch],
    }
    for op in mentioned:
        holder = next((k for k in known if same_file(k.path, op.path)), None)
        if holder is None:
            known.append(op)
            sections.setdefault(op.verb, []).append(op)
        elif op.verb != "examined" and any(holder is k for k in sections["examined"]):
            sections["examined"].remove(holder)
            sections[op.verb].append(op)
            known.append(op)
        elif op.verb == "created" and any(holder is k for k in sections["modified"]):
            sections["modified"].remove(holder)
            sections["created"].append(holder)
    if not any(sections.get(name) for name in ("created", "modified", "examined")):
        return ""
    return _three_lines(
        [(label, [_file_item(op) for op in sections[label.lower()]]) for label in ("Created", "Modified", "Examined")],
        limit,
    )


def _file_item(op: FileOp) -> str:
    if op.verb == "examined" or not op.details:
        return op.path
    return f"{op.path} ({', '.join(op.details[:6])})"


def _continuation(context: Sequence[Message], limit: int) -> str:
    open_tasks = _open_tasks(context)
    failing: list[str] = []
    for message in reversed(context):
        reading = read(message)
        if reading.totals is not None or reading.failing:
            failing = [f"{test}: {shorten(reason, 120)}" if reason else test for test, reason in reading.failing[:8]]
            break
        if message.seq is None and (listed := section_items(message.text, "errors")):
            failing = listed[-4:]
            break
    steps = _next_steps(context)
    if not (open_tasks or failing or steps):
        return ""
    return _three_lines([("Open", open_tasks), ("Failing", failing), ("Next", steps)], limit)


def _open_tasks(context: Sequence[Message]) -> list[str]:
    for message in reversed(context):
        todo = read(message).todos
        if todo is not None:
            return [item.text for item in todo.items if item.status != "done"]
        if message.seq is None and (listed := section_items(message.text, "next_steps")):
            return listed
    return []


def _next_steps(context: Sequence[Message]) -> list[str]:
    """What the person asked for last, what the agent announced last, and the file it worked on last."""
    steps: list[str] = []
    request = next((m for m in reversed(context) if m.role == "user" and m.seq is not None and m.text.strip()), None)
    if request is not None:
        said = [s for s in read(request).sentences if len(terms(s)) >= 3]
        steps += [shorten(sentence, 200) for sentence in said[:1]]
    else:
        for message in reversed(context):
            if message.seq is None and (listed := section_items(message.text, "intent")):
                steps.append(shorten(listed[-1], 200))
                break
    announced = ""
    touched: list[str] = []
    failed = failed_calls(context)
    for message in reversed(context):
        if message.role != "assistant":
            continue
        if not announced:
            announced = next((s for s in reversed(read(message).sentences) if is_intent(s)), "")
        for op in read(message).ops(failed):
            if op.verb != "examined" and not op.scratch and not any(same_file(op.path, t) for t in touched):
                touched.append(op.path)
        if announced and len(touched) >= 2:
            break
    if announced:
        steps.append(shorten(announced, 200))
    for message in context:
        if len(touched) < 2 and message.seq is None:
            changed = [op.path for op in file_mentions(message) if op.verb != "examined"]
            touched += changed[-2:]
    return steps + [f"work on {path}" for path in touched[:2]]


def _three_lines(sections: list[tuple[str, list[str]]], limit: int) -> str:
    """Labelled lines; when they are too long, items of the last sections are left out first."""
    room = limit - sum(len(label) + 8 for label, _ in sections)
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


def rank_by_overlap(lines: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Lines by how many of the wanted terms they have, best first, ties in order."""
    goal = set(wanted)
    return sorted(lines, key=lambda line: -len(goal & set(iter_terms(line))))
