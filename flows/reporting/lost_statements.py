"""The kept and lost statements of a session: as text that fits the terminal, as Markdown, as one document."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from flows.pipeline.single_session import ContextOutcomes, SessionOutcomes
from flows.reporting.text_tables import Layout, markdown
from flows.support.plurals import quantity
from flows.support.terminal_text import without_controls
from judge.outcomes import TOPICS, StatementOutcome, Topic
from judge.statement import State, StatementKind

MOST_SHOWN = 10
"""Statements of a context that are shown unless all are asked for."""

SHORT = 200
"""Characters up to which the nearest lines are shown whatever they are."""
LEAST_LETTERS = 0.7
"""Share of letters and spaces from which longer lines are shown: minified code has less, sentences have 0.85."""

TOPIC_NAMES: dict[Topic, str] = {
    "constraints": "constraint",
    "open": "open work",
    "decisions": "decision",
    "files": "file",
    "errors": "error",
    "values": "value",
}
FILE_VERBS: dict[StatementKind, str] = {
    "file_created": "created ",
    "file_modified": "modified ",
    "file_deleted": "deleted ",
    "file_examined": "read ",
}
STATE_NAMES: dict[State, str] = {
    "readable": "kept",
    "partly": "in part",
    "stale": "stale",
    "contradicted": "denied",
    "lost": "LOST",
    "unknown": "unknown",
}
MEANINGS: dict[State, str] = {
    "partly": "in part: some of it can be read, or a file is named without what became of it",
    "stale": "stale: what is told last held before",
    "contradicted": "denied: the opposite is told",
    "unknown": "unknown: only its provider can read the context",
}
FOOT = "No language model read this: what is true is taken from calls, their output and people's own words."


def render_text(found: SessionOutcomes, width: int, *, show_all: bool) -> str:
    """Lines of at most ``width`` columns: of each context what is not kept, or all of it."""
    lines = [*_wrapped(_head(found), width)]
    states: set[State] = set()
    for context in found.contexts:
        shown, more = _select_shown(context, show_all)
        states |= {one.state for one in shown}
        lines += ["", *_wrapped(_summary(found, context), width)]
        for one in shown:
            lines += _rows(one, width)
        lines += _wrapped(more, width) if more else []
    meanings = [meaning for state, meaning in MEANINGS.items() if state in states]
    foot = ". ".join(["; ".join(meanings), FOOT] if meanings else [FOOT])
    return "\n".join([*lines, "", *_wrapped(foot, width)]) + "\n"


def render_markdown(found: SessionOutcomes, *, show_all: bool) -> str:
    """A heading, then for each context a sentence and a table."""
    parts = [f"### {_plain(_head(found))}\n"]
    for context in found.contexts:
        shown, more = _select_shown(context, show_all)
        parts.append(f"{_plain(_summary(found, context))}\n")
        if shown:
            names = ["state", "what", "message", "statement", "needed at", "nearest"]
            parts.append(markdown(names, [_cells(one) for one in shown], [False] * len(names)))
        parts += [f"{more}\n"] if more else []
    return "\n".join([*parts, f"{FOOT}\n"])


def as_document(found: SessionOutcomes) -> dict[str, Any]:
    """All of it, for programs."""
    return {
        "session": found.transcript.session_id,
        "path": found.path,
        "format": found.transcript.source_format,
        "n_messages": len(found.transcript),
        "at": found.cut,
        "tokens_before": found.tokens,
        "contexts": [
            {
                "name": context.name,
                "tokens_after": context.tokens,
                "statements": [{**asdict(one), "is_gone": one.is_gone} for one in context.statements],
            }
            for context in found.contexts
        ],
    }


def gone_of(found: SessionOutcomes, topics: Collection[Topic]) -> str:
    """Count the lost statements of some topics in words; empty if none is lost."""
    gone = {
        (context.name, topic): sum(one.is_gone and one.topic == topic for one in context.statements)
        for context in found.contexts
        for topic in TOPICS
        if topic in topics
    }
    return "; ".join(f"{name} lost {_counted(number, topic)}" for (name, topic), number in gone.items() if number)


def _head(found: SessionOutcomes) -> str:
    transcript = found.transcript
    return (
        f"{found.path}: {transcript.source_format}, {quantity(len(transcript), 'message')}; looked at after "
        f"{quantity(found.cut, 'message')} of {quantity(found.tokens, 'token')}"
    )


def _summary(found: SessionOutcomes, context: ContextOutcomes) -> str:
    """Count the kept statements of each topic."""
    rows = context.statements
    head = f"{context.name}: {quantity(context.tokens, 'token')} left"
    if not rows:
        return f"{head}; nothing before the point can be proved, so nothing can be said"
    parts = [
        f"{sum(one.state == 'readable' for one in rows if one.topic == topic)} of {_counted(number, topic)}"
        for topic in TOPICS
        if (number := sum(one.topic == topic for one in rows))
    ]
    return f"{head}; kept {', '.join(parts)}"


def _counted(number: int, topic: Topic) -> str:
    return f"{number:,} {TOPIC_NAMES[topic]}" if topic == "open" else quantity(number, TOPIC_NAMES[topic])


def _select_shown(context: ContextOutcomes, show_all: bool) -> tuple[Sequence[StatementOutcome], str]:
    """The statements that are shown, and what is said of the others."""
    if show_all:
        return context.statements, ""
    told = [one for one in context.statements if one.state != "readable"]
    kept = len(context.statements) - len(told)
    if not told:
        return [], "all of it is kept; --all shows it" if kept else ""
    # What is told last has a line too, or a long list of files would stand for all that is lost.
    first = {one.topic: one for one in reversed(told)}.values()
    chosen = {id(one) for one in [*first, *(one for one in told if one not in first)][:MOST_SHOWN]}
    shown = [one for one in told if id(one) in chosen]
    more = len(told) - len(shown)
    also = [f"{more:,} more that are not kept"] * (more > 0) + [f"{kept:,} kept"] * (kept > 0)
    return shown, f"not shown: {', '.join(also)} (--all)" if also else ""


def _rows(one: StatementOutcome, width: int) -> Iterator[str]:
    """Yield a line for the statement, and one for its later use and the nearest text, if there is either."""
    place = "" if one.seq is None else f"{one.seq} {one.role}"
    head = f"{STATE_NAMES[one.state]:<8}{TOPIC_NAMES[one.topic]:<11}{place:<15}"
    yield _cut(head + _said(one), width)
    needed = [f"needed at {one.needed_at}"] if one.needed_at is not None else []
    near = "" if one.state == "readable" else _nearest(one)
    nearest = [f"nearest: {near}"] if near else []
    if needed or nearest:
        yield _cut(" " * 8 + "; ".join([*needed, *nearest]), width)


def _cells(one: StatementOutcome) -> list[str]:
    place = "" if one.seq is None else f"{one.seq} {one.role}"
    needed = "" if one.needed_at is None else str(one.needed_at)
    return [STATE_NAMES[one.state], TOPIC_NAMES[one.topic], place, _said(one), needed, _nearest(one)]


def _nearest(one: StatementOutcome) -> str:
    """The nearest lines as one; nothing where they are long and no sentences."""
    text = _plain(one.nearest)
    letters = sum(character.isalpha() or character == " " for character in text)
    return text if len(text) <= SHORT or letters >= LEAST_LETTERS * len(text) else ""


def _said(one: StatementOutcome) -> str:
    return FILE_VERBS.get(one.kind, "") + _plain(one.text)


def _plain(text: str) -> str:
    """A text of a session on one line, without what could take over a terminal."""
    return " ".join(without_controls(text.replace("\r", " ")).split())


def _cut(line: str, width: int) -> str:
    cut = Text(line)
    cut.truncate(width, overflow="ellipsis")
    return cut.plain.rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    return Layout(width=width).note(_plain(text)).splitlines()
