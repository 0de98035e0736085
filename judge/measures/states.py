"""States of the probes' statements in compacted contexts, at their own point and at later points."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from compaction.reading.file_effects import same_file
from compaction.reading.todos import TodoList, latest_todos
from compaction.recognition import READABLE, Claim, Matcher, PointMatcher, TextIndex
from compaction.transcript import Message
from judge.measures.file_mentions import file_mentions
from judge.measures.kept_files import USE, Files, FileUse
from judge.measures.told_outcome import Outcome, told_outcome
from judge.probe import Probe
from judge.statement import Statement, StatementKind, StatementState

PARTLY = 0.25
"""Support from which on a statement counts as partly readable."""
NAMED = 0.4
"""Support of a file that a context names without saying what was done to it."""
OF_DETAILS = 0.4
"""Share of the names of what was changed in a file: files without them score 3 of 5, as the rubric's anchor says."""

FILE_USE: Mapping[StatementKind, FileUse] = {
    "file_created": "created",
    "file_modified": "modified",
    "file_deleted": "gone",
    "file_examined": "read",
}
OPPOSITE: Mapping[StatementKind, Outcome] = {"open_task": "done", "failing_test": "done", "done_task": "open"}
"""Kind → what a context can tell of it that contradicts it."""
LESS: Mapping[FileUse, frozenset[FileUse]] = {
    "created": frozenset({"modified", "read"}),
    "modified": frozenset({"read"}),
    "gone": frozenset(),
    "read": frozenset(),
}
"""Use of a file → what is less than that and denies nothing: who changes a file has read it."""
OF_A_MOMENT: frozenset[StatementKind] = frozenset(
    {*FILE_USE, "open_task", "failing_test", "untested_edit", "next_step"}
)
"""Kinds that cease to be true: at a later point only those that its own probes state again are looked for."""

_NO = re.compile(
    r"\b(?:no|not|never|none|nor|cannot|dont|avoid|without|only|forbid\w*|un(?:changed|touched)|instead|read-only)\b|"
    r"n['’]t\b",
    re.IGNORECASE,
)
"""Words by which a line forbids something."""


@dataclass(frozen=True, slots=True)
class Tracked:
    """A statement that holds at a point."""

    statement: Statement
    probe: str
    """Id of the point's own probe that states it, else of the first one that did."""
    position: int
    """Place among that probe's statements, from 1."""
    since: str
    """Id of the first probe that stated it."""


class SessionStatements:
    """The statements of one session's probes, followed from point to point."""

    def __init__(self, probes: Sequence[Mapping[str, Probe]]) -> None:
        """``probes`` has for each point in order the probes by id; one that was not asked is left out."""
        self._by_point: list[list[Tracked]] = []
        known: dict[tuple[str, str], Tracked] = {}
        for by_id in probes:
            own, now = [], dict[tuple[str, str], Tracked]()
            for id, probe in by_id.items():
                for position, statement in enumerate(probe.statements, 1):
                    key = statement.kind, " ".join(statement.text.lower().split())
                    own.append(Tracked(statement, id, position, known[key].since if key in known else id))
                    now[key] = own[-1]
            earlier = (t for key, t in known.items() if key not in now and t.statement.kind not in OF_A_MOMENT)
            self._by_point.append([*own, *earlier])
            known |= now

    def at(self, number: int, cut: int) -> Sequence[Tracked]:
        """The statements that hold at a point, before the message at ``cut``: all earlier ones that have not ended.

        Of the kinds that hold for a moment it is what the point's own probes state.
        """
        return [one for one in self._by_point[number] if one.statement.until is None or one.statement.until >= cut]


class ContextReader:
    """Tells the states of statements in the contexts of one session. All contexts are given at once."""

    def __init__(self, history: Sequence[Message], contexts: Iterable[Sequence[Message]]) -> None:
        self._matcher = Matcher(history, TextIndex(history, contexts))

    def states(
        self,
        statements: Sequence[Statement],
        cut: int,
        contexts: Sequence[Sequence[Message]],
        files: Sequence[Files],
        true: Files,
    ) -> list[list[StatementState]]:
        """The states of the statements in each context; in the unchanged history, all can be read.

        Args:
            statements: What is true at the point before the message at ``cut``.
            cut: Position in the session.
            contexts: Contexts of the point, among those that the reader was made with.
            files: What each of them tells of files.
            true: What the history before the cut tells of files.
        """
        # The history is read like a context: what it tells wrong itself is held against none.
        contexts, files = [self._matcher.history[:cut], *contexts], [true, *files]
        point = self._matcher.at(cut, contexts)
        has_matters = any(statement.kind in OPPOSITE for statement in statements)
        lists = [latest_todos(context) if has_matters else None for context in contexts]
        paths = frozenset[str]().union(*(some for told in files for some in told.values()))
        by_statement = [
            self._files(statement, point, files, {path for path in paths if same_file(statement.text, path)})
            if statement.kind in FILE_USE
            else self._judge_words(statement, point, contexts, lists)
            for statement in statements
        ]
        return [[states[n] for states in by_statement] for n in range(1, len(contexts))]

    def _files(
        self, statement: Statement, point: PointMatcher, files: Sequence[Files], same: Set[str]
    ) -> list[StatementState]:
        """The states of a statement about a file, by its slot (created, modified, deleted) in each context.

        Words decide only on details.
        """
        first = {use for use, paths in files[0].items() if use != "any" and not same.isdisjoint(paths)}
        own = FILE_USE[statement.kind]
        use = next(iter(first)) if len(first) == 1 else own
        found = point.find_file(statement.text, statement.details)
        states = []
        for told, named in zip(files, found, strict=True):
            has = {other for other, paths in told.items() if not same.isdisjoint(paths)}
            if use in has or (use == "read" and named.is_named):
                support = 1 - OF_DETAILS * (1 - min(1.0, named.share / (found[0].share or 1.0)))
                states.append(StatementState("readable", support, named.line or statement.text))
            elif has & LESS[use]:
                states.append(StatementState("partly", PARTLY, named.line))
            elif has - {"any"}:
                states.append(StatementState("contradicted", 0.0, named.line))
            else:
                states.append(_state(NAMED if has or named.is_named else 0.0, named.line))
        return states

    def _judge_words(
        self,
        statement: Statement,
        point: PointMatcher,
        contexts: Sequence[Sequence[Message]],
        lists: Sequence[TodoList | None],
    ) -> list[StatementState]:
        """The states of a statement in words; the last words about an outcome decide."""
        opposite = OPPOSITE.get(statement.kind)
        claim = Claim(statement.text, statement.evidence, statement.quotes, statement.exact, is_latest=bool(opposite))
        found = point.find(claim)
        states = [_state(one.support, one.lines) for one in found]
        if opposite:
            is_misread = told_outcome(statement.text, contexts[0], lists[0]) == opposite
            for n, (context, todo) in enumerate(() if is_misread else zip(contexts, lists, strict=True)):
                # That something done is still open is believed of a list alone: of what is done much else is told.
                said = context if opposite == "done" else ()
                if found[n].support >= PARTLY and told_outcome(statement.text, said, todo) == opposite:
                    states[n] = StatementState("contradicted", 0.0, states[n].lines)
        elif statement.kind == "constraint" and all(map(_NO.search, (statement.text, found[0].lines))):
            # An answer, of which no message is the evidence, was asked what is forbidden and need not say that it is.
            stands = point.has(statement.text)
            for n, one in enumerate(found if statement.evidence else ()):
                if one.support >= PARTLY and not stands[n] and not _NO.search(one.lines):
                    states[n] = StatementState("partly", PARTLY, one.lines)
        elif statement.exact and statement.foils:
            names = statement.exact[:-1]
            true = point.last_with(statement.exact)
            false = [
                max(places)
                for places in zip(*(point.last_with((*names, foil)) for foil in statement.foils), strict=True)
            ]
            for n, (right, wrong) in enumerate(zip(true, false, strict=True)):
                if wrong > right and true[0] >= false[0]:
                    states[n] = StatementState("stale", 0.0, states[n].lines)
        return states


def unknown(statements: Sequence[Statement]) -> list[StatementState]:
    """The states of statements in a context that nobody but its provider can read."""
    return [StatementState("unknown", None) for _ in statements]


def _state(support: float, lines: str) -> StatementState:
    if support >= READABLE:
        return StatementState("readable", support, lines)
    return StatementState("partly", support, lines) if support >= PARTLY else StatementState("lost", support)


def states_in_answer(statements: Sequence[Statement], answer: str) -> list[StatementState]:
    """The states of statements in an answer in free words; files by their verbs."""
    said, truth = Message("assistant", answer), [Message("user", statement.text) for statement in statements]
    told: dict[FileUse, frozenset[str]] = {
        use: frozenset(op.path for op in file_mentions(Message("user", answer)) if USE[op.verb] == use)
        for use in FILE_USE.values()
    }
    true = {use: frozenset(s.text for s in statements if FILE_USE.get(s.kind) == use) for use in FILE_USE.values()}
    reader = ContextReader(truth, [[said]])
    claims = [replace(statement, evidence=(), quotes=()) for statement in statements]
    return reader.states(claims, len(truth), [[said]], [{**told, "any": frozenset().union(*told.values())}], true)[0]
