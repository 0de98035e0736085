"""fast-jev-compaction 0.2.0: ``compact``, which deletes calls and results that a small model scores as not needed.

The original's scorer is Jev, which answers with probabilities; here any model is asked for them. A message of the
original's is a turn here: results that follow each other are one. The system prompt is no message there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compaction.groups import declarations
from compaction.markers import shortened
from compaction.model import SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import make_once, system_prompt, turns_of, with_calls, with_text
from compaction.strategies.shared.requests import instructions
from compaction.strategy import History
from compaction.transcript import Message, ToolCall

TRUNCATED = "[fast-jev-compaction truncated {n} chars of this tool result{error}; re-run the tool if needed]"
ERROR = " (error)"
NOTE_CHARS = 120
"""A result that is longer than its head by no more than this stays whole."""

INPUT_CHARS = (1000, 200, 60)
"""Characters of a call's arguments that the scorer is shown, fewer and fewer while it is shown too much."""
TEXT_HEAD, TEXT_TAIL = 400, 150
GOAL_MESSAGES, GOAL_CHARS = 3, 500
QUESTION_TOKENS = 100
"""Room that the questions have at least."""
ANSWER_TOKENS = 16
"""Room for the answer on one call."""

_SCORES = re.compile(
    r"^\W*t(\d+)\W+(0(?:\.\d+)?|1(?:\.0+)?|\.\d+)[\s,;]+(0(?:\.\d+)?|1(?:\.0+)?|\.\d+)\W*$", re.MULTILINE
)
_PATH = re.compile(r"[\w.~-]*/[\w./~-]*\w|\b[\w-]+\.[A-Za-z]\w{0,5}\b")


@dataclass(frozen=True, slots=True)
class Pair:
    """A call with its result."""

    number: int
    call: ToolCall
    asked_at: int
    """Position of the message that calls."""
    result_at: int
    result: Message


@strategy(
    "jev_prune",
    version=1,
    needs_model=True,
    peer="fast-jev-compaction",
    peer_version="0.2.0",
    variants=({"keep_threshold": 0.35}, {"keep_threshold": 0.65}),
    by_default=False,
    bites={"preserve_recent": 1, "truncate_head": 20},
    markers=shortened(TRUNCATED.replace("{error}", ERROR), TRUNCATED.replace("{error}", "")),
)
def jev_prune(
    history: History,
    *,
    keep_threshold: float = 0.5,
    preserve_recent: int = 6,
    truncate_head: int = 300,
    max_state_tokens: Positive = 25_000,
    max_request_tokens: Positive = 30_000,
) -> Sequence[Message]:
    """Old calls scored by a model: kept, cut to the result's head, or dropped; what anybody said stays word for word.

    For each call before the last ``preserve_recent`` turns, but those of the first, the summariser gives two
    probabilities: that the call, and that its whole result is still needed. From ``keep_threshold`` on the result
    stays; else the call stays with the result's first ``truncate_head`` characters; else both go. It is shown the
    conversation with notes in the place of results, in about ``max_state_tokens``, and asked in as many requests of
    ``max_request_tokens`` as there must be. A call without an answer is scored by a rule: how old it is, how long its
    result, and whether a later call names its path (flag ``scored_by_rule``). The embedded summariser never answers.
    """
    apart = system_prompt(history.messages)
    messages = history.messages[len(apart) :]
    pairs = _find_pairs(messages, preserve_recent)
    if not pairs:
        return history.messages
    scores = _ask(history, messages, pairs, max_state_tokens, max_request_tokens)
    if len(scores) < len(pairs):
        history.flag("scored_by_rule")
        scores = {**_score_by_rule(history.session, pairs), **scores}
    cut: set[int] = set()
    gone: set[int] = set()
    for pair in pairs:
        keep_call, keep_result = scores[pair.number]
        if keep_result < keep_threshold:
            (cut if keep_call >= keep_threshold else gone).add(pair.result_at)
    dropped: dict[int, frozenset[str]] = {}
    for pair in pairs:
        if pair.result_at in gone:
            dropped[pair.asked_at] = dropped.get(pair.asked_at, frozenset()) | {pair.call.id}
    return (*apart, *_apply(history, messages, dropped, cut, gone, truncate_head))


def _find_pairs(messages: Sequence[Message], preserve_recent: int) -> list[Pair]:
    """The calls that may go, each with its one result; ids used twice are left alone."""
    turns = turns_of(messages)
    turn_at = [number for number, turn in enumerate(turns) for _ in turn]
    free = range(1, len(turns) - preserve_recent)
    asked_for = Counter(call.id for message in messages for call in message.tool_calls)
    answered = Counter(message.tool_call_id for message in messages if message.role == "tool")
    found: list[Pair] = []
    for position, (message, asked) in enumerate(zip(messages, declarations(messages), strict=True)):
        id = message.tool_call_id
        if asked is None or id is None or not asked_for[id] == answered[id] == 1:
            continue
        if turn_at[asked] in free and turn_at[position] in free:
            call = next(call for call in messages[asked].tool_calls if call.id == id)
            found.append(Pair(len(found) + 1, call, asked, position, message))
    return found


def _apply(
    history: History,
    messages: Sequence[Message],
    dropped: Mapping[int, frozenset[str]],
    cut: set[int],
    gone: set[int],
    head: int,
) -> Iterator[Message]:
    for position, message in enumerate(messages):
        if position in dropped:
            calls = tuple(call for call in message.tool_calls if call.id not in dropped[position])
            if calls or message.text.strip():
                yield make_once(history.counter, with_calls, message, calls)
        elif position in cut and len(message.text) > head + NOTE_CHARS:
            note = TRUNCATED.format(n=len(message.text) - head, error=ERROR if message.is_error else "")
            text = f"{message.text[:head]}\n{note}" if head else note
            yield make_once(history.counter, with_text, message, text)
        elif position not in gone:
            yield message


def _ask(
    history: History, messages: Sequence[Message], pairs: Sequence[Pair], max_state: int, max_request: int
) -> dict[int, tuple[float, float]]:
    """The summariser's two probabilities for each call that it answered, by number."""
    state = _fit_state(history, messages, pairs, min(max_state, max_request - QUESTION_TOKENS))
    room = max_request - history.counter.count(state)
    span = tuple(message for message in messages if message.role != "tool")
    scores: dict[int, tuple[float, float]] = {}
    for questions in _in_batches(history, pairs, room):
        max_tokens = ANSWER_TOKENS * len(questions)
        prompt = (
            Message("system", instructions(history, "jev_prune", (), max_tokens)),
            Message("user", f"{state}\n\n<calls>\n" + "\n".join(questions) + "\n</calls>"),
        )
        text = history.summarize(SummaryRequest(prompt, span, (), max_tokens=max_tokens))
        scores.update({int(n): (float(call), float(result)) for n, call, result in _SCORES.findall(text)})
    known = {pair.number for pair in pairs}
    return {number: score for number, score in scores.items() if number in known}


def _in_batches(history: History, pairs: Sequence[Pair], room: int) -> Iterator[list[str]]:
    """The questions in as few parts as there must be; each has one at least."""
    batch: list[str] = []
    tokens = 0
    for pair in pairs:
        question = f"t{pair.number} ({pair.call.name}, {len(pair.result.text)} characters)"
        more = history.counter.count(question + "\n")
        if batch and tokens + more > room:
            yield batch
            batch, tokens = [], 0
        batch.append(question)
        tokens += more
    yield batch


def _fit_state(history: History, messages: Sequence[Message], pairs: Sequence[Pair], max_tokens: int) -> str:
    """The goal and the conversation without results: arguments cut first, then texts, then these, then old lines."""
    said = [m.text[:GOAL_CHARS] for m in messages if m.role == "user" and m.text.strip()][-GOAL_MESSAGES:]
    goal = "\n".join(said)
    by_call = {(pair.asked_at, pair.call.id): pair for pair in pairs}
    lines: list[str] = []
    for inputs, texts in (
        *((chars, "") for chars in INPUT_CHARS),
        (INPUT_CHARS[-1], "abridged"),
        (INPUT_CHARS[-1], "gone"),
    ):
        lines = [
            line
            for position, message in enumerate(messages)
            if message.role != "tool"
            for line in _state_lines(position, message, by_call, inputs, texts)
        ]
        if history.counter.count(_write_state(goal, lines)) <= max_tokens:
            return _write_state(goal, lines)
    room, kept = max_tokens - history.counter.count(_write_state(goal, ())), len(lines)
    while kept and (room := room - history.counter.count(lines[kept - 1] + "\n")) >= 0:
        kept -= 1
    return _write_state(goal, [f"[… {kept} lines left out …]", *lines[kept:]])


def _write_state(goal: str, lines: Sequence[str]) -> str:
    return f"<goal>\n{goal}\n</goal>\n\n<history>\n" + "\n".join(lines) + "\n</history>"


def _state_lines(
    position: int, message: Message, by_call: Mapping[tuple[int, str], Pair], inputs: int, texts: str
) -> Iterator[str]:
    text = message.text
    if texts == "gone" and text:
        text = f"[… {len(text)} characters left out …]"
    elif texts and len(text) > TEXT_HEAD + TEXT_TAIL + 40:
        text = f"{text[:TEXT_HEAD]}\n[… {len(text) - TEXT_HEAD - TEXT_TAIL} characters left out …]\n{text[-TEXT_TAIL:]}"
    if text.strip():
        yield f"{message.role}: {text}"
    for call in message.tool_calls:
        pair = by_call.get((position, call.id))
        name = f"t{pair.number} " if pair else ""
        given = call.arguments if len(call.arguments) <= inputs else call.arguments[: inputs - 1] + "…"
        came = f"{'error' if pair.result.is_error else 'ok'}, {len(pair.result.text)} characters" if pair else "kept"
        yield f"call {name}{call.name} {given} → {came}"


def _score_by_rule(session: Sequence[Message], pairs: Sequence[Pair]) -> dict[int, tuple[float, float]]:
    """Two scores for each call, higher for a recent one, for one whose path a later call names, for a short result."""
    last_use: dict[str, int] = {}
    for position, message in enumerate(session):
        for call in message.tool_calls:
            last_use.update(dict.fromkeys(_PATH.findall(call.arguments), position))
    place = {message.seq: position for position, message in enumerate(session) if message.seq is not None}
    found = {}
    for pair in pairs:
        position = place.get(pair.result.seq or 0, 0)
        recency = position / len(session)
        is_used = any(last_use.get(path, 0) > position for path in _PATH.findall(pair.call.arguments))
        is_short = max(0.0, 1 - len(pair.result.text) / 4000)
        found[pair.number] = (
            0.3 + 0.4 * recency + 0.3 * is_used,
            0.55 * recency + 0.25 * is_used + 0.2 * is_short,
        )
    return found
