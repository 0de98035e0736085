"""The outcome in a compacted context of each statement that was true at a point, for ``compaction-eval lost``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from compaction.adapters.callables import align_messages, chat_message
from compaction.measures.needs import SessionNeeds
from compaction.provider import number_messages
from compaction.reading.file_paths import same_file
from compaction.transcript import Message, Role, Transcript
from judge.embedded.prober import provable_statements
from judge.measures.kept_files import KeptFiles
from judge.measures.states import FILE_USE, ContextReader, unknown
from judge.statement import State, Statement, StatementKind, StatementState

Topic = Literal["constraints", "open", "decisions", "files", "errors", "values"]
TOPICS: tuple[Topic, ...] = get_args(Topic)
"""In the order in which they are told: what hurts most when it is gone stands first."""

_TOPIC: Mapping[StatementKind, Topic] = {
    "constraint": "constraints",
    "open_task": "open",
    "failing_test": "open",
    "untested_edit": "open",
    "next_step": "open",
    "request": "open",
    "decision": "decisions",
    "reason": "decisions",
    **dict.fromkeys(FILE_USE, "files"),
    "error": "errors",
}
"""All other kinds are values."""

GONE: frozenset[State] = frozenset({"lost", "stale", "contradicted"})
"""States of a statement that a context does not tell as it is."""


@dataclass(frozen=True, slots=True)
class StatementOutcome:
    """The outcome in a context of one statement that was true at the point."""

    topic: Topic
    kind: StatementKind
    text: str
    """As one would state it; of a file its path."""
    seq: int | None
    """Number of the latest message before the point that proves it, from 0."""
    role: Role | None
    """Who said that message."""
    needed_at: int | None
    """Number of the first message from the point on that makes use of it, where the session shows one."""
    state: State
    support: float | None
    """How far it can be read, 0-1; None where the context cannot be read."""
    nearest: str
    """The lines of the context that say most of it; empty where none says a quarter."""

    @property
    def is_gone(self) -> bool:
        """Whether the context does not tell it as it is: lost, stale or contradicted. What is told in part is not."""
        return self.state in GONE


def lost(
    messages: Sequence[Message], compacted: Sequence[Message] | str, at: int | None = None
) -> tuple[StatementOutcome, ...]:
    """The kept and lost statements of a compacted context: constraints first, then open work, and so on.

    No language model is asked: statements are those that calls, their output and people's own words prove.

    Args:
        messages: The session. Messages without ``seq`` get the next numbers.
        compacted: What is left of it, in any shape: a message that says the same as one of the session counts as kept.
            A text is one message, such as a summary.
        at: Number of messages that had been said when it was compacted; without it all of them. Those behind it show
            what was needed later.

    Raises:
        ValueError: ``at`` is not in the session, or a ``seq`` is there twice.
    """
    numbered = number_messages(messages)
    cut = len(numbered) if at is None else at
    if not 0 < cut <= len(numbered):
        raise ValueError(f"at is {cut}; the session has {len(numbered)} messages, so expected 1 to {len(numbered)}")
    left = [Message("user", compacted)] if isinstance(compacted, str) else compacted
    return outcomes(Transcript("session", numbered), cut, [recognised(numbered[:cut], left)])[0]


def recognised(history: Sequence[Message], compacted: Sequence[Message]) -> tuple[Message, ...]:
    """The messages of a context, each with the ``seq`` of the one of the history that it is or is left of, if any."""
    sent, left = list(map(chat_message, history)), list(map(chat_message, compacted))
    places = align_messages(sent, sent, left, by_turn=False)
    return tuple(
        message if place is None else replace(message, seq=history[place].seq)
        for message, place in zip(compacted, places, strict=True)
    )


def outcomes(
    transcript: Transcript, cut: int, contexts: Sequence[Sequence[Message]]
) -> list[tuple[StatementOutcome, ...]]:
    """The outcomes in each context of every provable statement of the point before the message at ``cut``.

    They stand by topic, in a topic what was needed later first, then in the order of the session.
    """
    session, statements = provable_statements(transcript, cut)
    kept = KeptFiles(session)
    readable = [context for context in contexts if not any(message.is_unreadable for message in context)]
    reader = ContextReader(transcript.messages, readable)
    told = [kept.told(context, cut) for context in readable]
    found = iter(reader.states(statements, cut, readable, told, kept.true(cut)))
    uses = _Uses(session, cut)
    return [
        _in_order(transcript, statements, next(found) if context in readable else unknown(statements), uses)
        for context in contexts
    ]


class _Uses:
    """The places after a point that use something again."""

    def __init__(self, session: SessionNeeds, cut: int) -> None:
        self._needs = [need for need in session.at(cut) if need.kind != "path"] if cut < len(session.messages) else []
        self._files = [(seq, op.path) for seq, ops in session.ops.items() if seq >= cut for op in ops]

    def of(self, statement: Statement) -> int | None:
        """The first use: where the statement says it, or of its file, or of a name or line in its exact words."""
        if statement.kind in FILE_USE:
            used = [seq for seq, path in self._files if same_file(statement.text, path)]
        else:
            used = [n.needed_at for n in self._needs if any(n.value in words for words in statement.exact)]
        return min([*used, *([statement.needed_at] if statement.needed_at is not None else [])], default=None)


def _in_order(
    transcript: Transcript, statements: Sequence[Statement], states: Sequence[StatementState], uses: _Uses
) -> tuple[StatementOutcome, ...]:
    rows = [_outcome(transcript, one, state, uses.of(one)) for one, state in zip(statements, states, strict=True)]
    rows.sort(key=lambda row: (TOPICS.index(row.topic), row.needed_at is None, row.seq or 0))
    by_text: dict[str, StatementOutcome] = {}
    for row in rows:  # what is a rule and a part of the last request too is told once, as the rule
        by_text.setdefault(row.text, row)
    return tuple(by_text.values())


def _outcome(
    transcript: Transcript, statement: Statement, state: StatementState, needed_at: int | None
) -> StatementOutcome:
    seq = statement.evidence[-1] if statement.evidence else None
    return StatementOutcome(
        topic=_TOPIC.get(statement.kind, "values"),
        kind=statement.kind,
        text=statement.text,
        seq=seq,
        role=None if seq is None else transcript.messages[seq].role,
        needed_at=needed_at,
        state=state.state,
        support=state.support,
        nearest=state.lines,
    )
