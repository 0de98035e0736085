"""The history as a model that writes probes is shown it: numbered messages as JSON lines, within a token budget.

JSON keeps hostile text inside its string, and a model that copies an escaped run into its own JSON answer copies it
right. Every line remembers which verbatim pieces of its message it shows; only those can be quoted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compaction.points import CompactionPoint
from compaction.reading.file_effects import FileOp
from compaction.reading.message_facts import project_ops
from compaction.reading.todos import Todo
from compaction.tokens import TokenCounter, counted_text
from compaction.transcript import Message
from judge.embedded.constraints import said_by_rule_givers
from judge.embedded.facts import SessionFacts
from judge.llm.data import json_text

TEXT, REASONING, OUTPUT, ARGUMENT = 4_000, 2_000, 1_600, 1_200
"""Characters of a message's text, its reasoning, a tool's output and one argument of a call that are shown; of a longer
one the middle is left out. Outputs get least: they are most of a session, and begin and end tell most of them."""

FULL_BUDGET = 6_000
"""Tokens from which on the limits above hold; below, they shrink in proportion."""

LEAST_CHARS = 120
MAX_OPEN_TASKS = 20
_END_MARK = re.compile(r"<(?=/?session>)", re.IGNORECASE)
_SPEAKERS = {"user": "person", "assistant": "agent", "tool": "tool"}


@dataclass(frozen=True, slots=True)
class ShownHistory:
    """The part of a history that a model is shown."""

    text: str
    """JSON lines."""
    pieces: Mapping[int, tuple[str, ...]]
    """``seq`` → the runs of the message's text, reasoning and call arguments that are shown, to the letter."""


@dataclass(slots=True)
class _Line:
    seq: int
    content: dict[str, Any]
    pieces: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return _END_MARK.sub(r"\\u003c", json_text(self.content))


def draw_number(point: CompactionPoint, purpose: str) -> int:
    """A pseudo-random number that depends only on the point and the purpose."""
    seed = f"model|{point.session_id}|{point.cut_seq}|{purpose}".encode()
    return int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest(), "big")


def history_windows(
    history: Sequence[Message], place: int, budget: int, counter: TokenCounter, most: int
) -> Iterator[ShownHistory]:
    """Up to ``most`` windows of following messages, each within ``budget`` tokens; the first begins at ``place``.

    A window that reaches the history's end goes on at its beginning, so a place drawn evenly shows every message with
    the same chance. A system prompt is no part of it: no method takes that away.
    """
    said = _spoken_messages(history)
    start, left = place % len(said) if said else 0, len(said)
    for _ in range(most):
        lines: list[_Line] = []
        room, taken = budget, 0
        for i in range(left):
            line = _line(said[(start + i) % len(said)], _scale(budget))
            cost = counter.count(str(line)) + 1
            if cost > room and lines:
                break
            taken += 1
            if cost <= room:  # a message that alone is too much is passed over
                lines.append(line)
                room -= cost
        if not lines:
            return
        yield _shown_history(lines, history)
        start, left = start + taken, left - taken


def end_of(facts: SessionFacts, cut: int, budget: int, counter: TokenCounter) -> ShownHistory | None:
    """The end of the history, and from before it the open tasks, the last failing test run and the last request.

    None when not even one message has room.
    """
    history = facts.messages[:cut]
    todo, failing, request = facts.todos(cut), facts.failing(cut), facts.request(cut)
    tasks = [_task_line(item, history) for item in (todo.unfinished if todo else ())[:MAX_OPEN_TASKS]]
    wanted = [] if request is None else [request]
    wanted += [history[failing[0]]] if failing else []
    chosen: dict[int, _Line] = {}
    room = budget - sum(counter.count(str(line)) + 1 for line in tasks)
    ends = 0
    for message in (*wanted, *reversed(_spoken_messages(history))):
        if (message.seq or 0) in chosen:
            continue
        line = _line(message, _scale(budget))
        cost = counter.count(str(line)) + 1
        is_end = not any(message is other for other in wanted)
        if cost > room and ends:
            break
        if cost <= (room if is_end else room // 3):
            chosen[line.seq] = line
            room -= cost
            ends += is_end
    if not chosen:
        return None
    return _shown_history([chosen[seq] for seq in sorted(chosen)], history, tasks)


def rule_givers(facts: SessionFacts, cut: int, budget: int, counter: TokenCounter) -> ShownHistory | None:
    """The person's messages and the rules files, the latest first, as far as there is room; None if there are none."""
    lines: list[_Line] = []
    for message in reversed(said_by_rule_givers(facts, cut)):
        line = _line(message, _scale(budget))
        cost = counter.count(str(line)) + 1
        if cost <= budget:
            lines.append(line)
            budget -= cost
    return _shown_history(lines, facts.messages[:cut]) if lines else None


def file_calls(facts: SessionFacts, cut: int, budget: int, counter: TokenCounter) -> ShownHistory | None:
    """Every call of the whole history that changes a file of the project, then those that only look at one.

    Calls are shortened until all changes have room; if even that is too much, the first and the last change of each
    file stay, and then as many as there is room for, spread over the history. None when none has room.
    """
    ledger = facts.ledger(cut)
    last = [op for ops in (ledger.created, ledger.modified, ledger.examined) for op in ops.values()]
    known = {op.path for op in project_ops(last)}
    changes: dict[int, list[FileOp]] = {}
    looks: dict[int, list[FileOp]] = {}
    for seq in range(cut):
        for op in facts.ops.get(seq, ()):
            name = op.moved_to or op.path
            if name in ledger.examined and name in known and ledger.examined[name].seq == seq:
                looks.setdefault(seq, []).append(op)
            elif op.verb != "examined" and name in known:
                changes.setdefault(seq, []).append(op)
    lines: list[_Line] = []
    for chosen in (changes, _ends(changes)):
        for scale in (1.0, 0.5, 0.25, 0.1):
            lines = [_file_line(facts.messages[seq], ops, scale) for seq, ops in chosen.items()]
            if sum(counter.count(str(line)) + 1 for line in lines) <= budget:
                break
        else:
            continue
        break
    lines = _fitting(lines, budget, counter)
    room = budget - sum(counter.count(str(line)) + 1 for line in lines)
    lines += _fitting([_file_line(facts.messages[seq], ops, 0.1) for seq, ops in looks.items()], room, counter)
    lines.sort(key=lambda line: line.seq)
    return ShownHistory("\n".join(map(str, lines)), {line.seq: tuple(line.pieces) for line in lines}) if lines else None


def _ends(changes: Mapping[int, list[FileOp]]) -> dict[int, list[FileOp]]:
    """The changes that are the first or the last of their file."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for seq, ops in changes.items():
        for op in ops:
            first.setdefault(op.moved_to or op.path, seq)
            last[op.moved_to or op.path] = seq
    kept = {*first.values(), *last.values()}
    return {seq: ops for seq, ops in changes.items() if seq in kept}


def _fitting(lines: Sequence[_Line], budget: int, counter: TokenCounter) -> list[_Line]:
    """Evenly spread lines, as many as there is room for in the budget."""
    costs = [counter.count(str(line)) + 1 for line in lines]
    if sum(costs) <= budget:
        return list(lines)
    step = 2
    while step < 2 * len(lines) and sum(costs[::step]) > budget:
        step += 1
    kept = list(lines[::step])
    return kept if sum(costs[::step]) <= budget else []


def _spoken_messages(history: Sequence[Message]) -> list[Message]:
    return [m for m in history if m.role != "system" and m.seq is not None and counted_text(m).strip()]


def _scale(budget: int) -> float:
    return min(1.0, budget / FULL_BUDGET)


def _line(message: Message, scale: float) -> _Line:
    line = _Line(message.seq or 0, {"message": message.seq, "from": _SPEAKERS.get(message.role, message.role)})
    if message.role == "tool":
        line.content["tool"] = message.tool_name or ""
        line.content["failed" if message.is_error else "output"] = _cut(message.text, OUTPUT * scale, line.pieces)
        return line
    if message.reasoning:
        line.content["thinks"] = _cut(message.reasoning, REASONING * scale, line.pieces)
    if message.text:
        line.content["says"] = _cut(message.text, TEXT * scale, line.pieces)
    if message.tool_calls:
        line.content["calls"] = _calls(message, scale, line.pieces)
    return line


def _file_line(message: Message, ops: Iterable[FileOp], scale: float) -> _Line:
    line = _Line(message.seq or 0, {"message": message.seq})
    line.content["files"] = {op.moved_to or op.path: op.verb for op in ops}
    line.content["calls"] = _calls(message, scale, line.pieces)
    return line


def _task_line(item: Todo, history: Sequence[Message]) -> _Line:
    source = next((m for m in reversed(history) if item.text in counted_text(m)), None)
    seq = source.seq if source is not None and source.seq is not None else -1
    place = {} if seq < 0 else {"message": seq}
    return _Line(seq, {**place, "task": item.text, "status": item.status}, [item.text])


def _calls(message: Message, scale: float, pieces: list[str]) -> list[dict[str, Any]]:
    return [
        {"tool": call.name, "arguments": _argument(call.parsed(), ARGUMENT * scale, pieces)}
        for call in message.tool_calls
    ]


def _argument(value: Any, most: float, pieces: list[str]) -> Any:
    """The value with its long strings shortened."""
    if isinstance(value, str):
        return _cut(value, most, pieces)
    if isinstance(value, dict):
        return {key: _argument(inner, most, pieces) for key, inner in value.items()}
    if isinstance(value, list):
        return [_argument(inner, max(most / max(len(value), 1), LEAST_CHARS), pieces) for inner in value[:100]]
    return value


def _cut(text: str, most: float, pieces: list[str]) -> str:
    """The text, without its middle if it is too long; the remaining pieces go into ``pieces``."""
    limit = max(LEAST_CHARS, int(most))
    if len(text) <= limit:
        pieces.append(text)
        return text
    head, tail = text[: limit * 2 // 3], text[-(limit // 3) :]
    pieces += (head, tail)
    return f"{head} [… {len(text) - len(head) - len(tail)} characters left out …] {tail}"


def _shown_history(lines: Sequence[_Line], history: Sequence[Message], first: Sequence[_Line] = ()) -> ShownHistory:
    said = {m.seq: i for i, m in enumerate(_spoken_messages(history))}
    ordered = sorted(lines, key=lambda line: line.seq)
    text = [str(line) for line in first]
    before: int | None = None
    for line in ordered:
        place = said.get(line.seq, 0)
        if before is not None and place > before + 1:
            text.append(json_text({"left out": f"{place - before - 1} messages"}))
        before = place
        text.append(str(line))
    pieces: dict[int, tuple[str, ...]] = {}
    for line in (*first, *ordered):
        if line.seq >= 0:
            pieces[line.seq] = (*pieces.get(line.seq, ()), *line.pieces)
    return ShownHistory("\n".join(text), pieces)
