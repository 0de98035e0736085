"""The summary of a run: counts, failures, things set aside, and places to look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from flows.config.study import Study
from flows.database.scores_db import connect
from flows.pipeline.load.intake_tables import each_quarantined
from flows.pipeline.missing_points import explain_missing_points
from flows.pipeline.plan import input_name, is_gone, stored_sessions
from flows.sessions.deduplicate import WORSE
from flows.sessions.session_parts import InputRecord, Part, SessionInfo
from flows.sessions.task_type_labels import read_labels
from flows.sources import Input
from flows.store.store import Store
from flows.support.errors import DONE, INCOMPLETE, STOPPED
from flows.support.plurals import first_few, quantity

EXAMPLES = 3
"""Reasons that are shown of each kind."""


@dataclass(frozen=True)
class Shortfall:
    """A result that is not as it was asked."""

    what: str
    count: int
    reasons: tuple[tuple[str, int], ...]
    """The commonest, with how often."""
    look: str
    """Where to see all of them."""


@dataclass(frozen=True)
class Summary:
    """A run's outcome over the sessions of its study."""

    counts: dict[str, int]
    shortfalls: tuple[Shortfall, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = field(default=())
    """Sentences that explain why there is no leaderboard."""
    stopped: str = ""
    """Why no more calls were made, and what is left; blank when the run came to its end."""

    @property
    def exit_code(self) -> int:
        """0; 4 when the budget or a failing provider stopped it; else 3 when something failed or was set aside."""
        if self.stopped:
            return STOPPED
        return INCOMPLETE if self.shortfalls or self.problems else DONE

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for ``--json``."""
        return {**asdict(self), "exit_code": self.exit_code}

    def lines(self) -> list[str]:
        """The summary as text."""
        text = ", ".join(f"{number:,} {_named(name, number)}" for name, number in self.counts.items())
        lines = [text, *self.notes]
        for item in self.shortfalls:
            lines.append(f"{item.count:,} {item.what}; see {item.look}")
            lines += [f"    {number:,} × {reason}" for reason, number in item.reasons]
        return [*lines, *self.problems, *filter(None, [self.stopped])]


def _named(name: str, number: int) -> str:
    return name.removesuffix("s") if number == 1 else name


def masked_note(records: Iterable[InputRecord]) -> str:
    """Count the masked secrets by kind; blank if there are none. The values are nowhere."""
    tally = sum((Counter(record.masked) for record in records), Counter[str]())
    if not tally:
        return ""
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(tally.items(), key=lambda p: (-p[1], p[0])))
    return f"masked before anything was stored: {quantity(tally.total(), 'secret')}: {kinds} (table masked_secrets)"


def label_note(study: Study, parts: Iterable[Part]) -> str:
    """Count the labels of task types that belong to no session; blank if all do."""
    if not study.task_types:
        return ""
    sessions = [(info.session_id, info.source_path or info.input_path) for part in parts for info in part.sessions]
    unknown = read_labels(study.task_types).n_unknown(sessions)
    return f"{quantity(unknown, 'label')} in {study.task_types} of no session of the store" if unknown else ""


def scope_notes(parts: Sequence[Part]) -> list[str]:
    """Count the sessions whose id, log or reading is not that of a present log."""
    stored = list(stored_sessions(parts))
    gone = [info for info in stored if is_gone(info.input_path)]
    renamed = [info for info in stored if info.session_id != info.recorded_id]
    kept = [record for record in all_records(parts) if record.kept_because]
    notes = []
    if gone:
        notes.append(
            f"{quantity(len(gone), 'session')} whose log is gone stay in the results; to take them out: "
            "compaction-eval store drop --gone"
        )
    if renamed:
        notes.append(
            f"{quantity(len(renamed), 'session')} under the id of another one, and called otherwise here: "
            f"{first_few([info.session_id for info in renamed])}"
        )
    if kept:
        notes.append(
            f"{quantity(len(kept), 'log')} {WORSE} (table quarantine): "
            f"{first_few([record.fingerprint.path for record in kept])}"
        )
    return notes


def records_of(parts: Iterable[Part], inputs: Iterable[Input]) -> list[InputRecord]:
    """The records of some inputs, as they were read."""
    paths = set(map(input_name, inputs))
    return [record for record in all_records(parts) if record.fingerprint.path in paths]


def all_records(parts: Iterable[Part]) -> list[InputRecord]:
    """Every input that the store has, as it was read, by path."""
    return sorted((record for part in parts for record in part.inputs), key=lambda record: record.fingerprint.path)


def summarize_run(
    store: Store,
    study: Study,
    parts: Sequence[Part],
    sessions: Sequence[SessionInfo],
    records: Sequence[InputRecord],
    checks: Sequence[tuple[str, int]],
    draft: duckdb.DuckDBPyConnection | None = None,
    stopped: str = "",
    run_id: str = "",
) -> Summary:
    """The outcome over some sessions and inputs, as the database holds it now, or as the one that is being made will.

    ``checks`` are those that do not hold, with their numbers of violations. ``stopped`` says why the run made no more
    calls; ``run_id`` names the run whose model calls are told of.
    """
    counts = {"sessions": len(sessions), "messages": sum(info.n_messages for info in sessions)}
    shortfalls, notes = [], []
    aside = _set_aside(store, records)
    paths = {record.fingerprint.path for record in records}
    copies = sum(info.input_path in paths for part in parts for info in part.folded)
    if copies:
        notes.append(f"not stored again: {quantity(copies, 'copy', 'copies')} of a session (table folded_sessions)")
    notes += scope_notes(parts)
    notes.append(masked_note(records))
    notes.append(label_note(study, parts))
    with _scope(connect(store.database) if draft is None else draft.cursor(), sessions) as query:
        counts |= query.counts()
        if counts["points"]:
            notes.append(query.spent(run_id))
            notes += [explain_missing_points(query.without_points(sessions), len(sessions), study.points_spec)]
            notes += [query.not_asked()]
            notes += query.not_applicable(is_asked_for=bool(study.strategies))
        shortfalls = [*aside, *query.failures(), *failed_checks(checks)]
    problems = [] if counts["points"] else [explain_missing_points(sessions, len(sessions), study.points_spec)]
    return Summary(counts, tuple(shortfalls), tuple(note for note in notes if note), tuple(problems), stopped)


def _set_aside(store: Store, records: Sequence[InputRecord]) -> list[Shortfall]:
    paths = {record.fingerprint.path for record in records}
    tally = Counter(row["reason"] for row in each_quarantined(store) if row["input"] in paths)
    if not tally:
        return []
    what = f"{'place' if tally.total() == 1 else 'places'} in the sources set aside, which could not be read"
    commonest = sorted(tally.items(), key=lambda pair: (-pair[1], pair[0]))[:EXAMPLES]
    return [Shortfall(what, tally.total(), tuple(commonest), store.place.display_name(store.quarantine))]


def failed_checks(checks: Sequence[tuple[str, int]]) -> list[Shortfall]:
    """The checks that do not hold, each with its number of violations, as one entry; none where all hold."""
    if not checks:
        return []
    what = f"violations of {quantity(len(checks), 'check')}: the figures are not on the same questions, or not whole"
    look = 'compaction-eval sql "FROM checks WHERE violations > 0"'
    return [Shortfall(what, sum(number for _, number in checks), tuple(checks[:EXAMPLES]), look)]


@contextmanager
def _scope(connection: duckdb.DuckDBPyConnection, sessions: Sequence[SessionInfo]) -> Iterator[_Scope]:
    """Queries over some sessions; the connection is closed at the end."""
    with connection:
        ids = pa.table({"session_id": pa.array([info.session_id for info in sessions], pa.string())})
        connection.register("session_ids", ids)
        yield _Scope(connection)


class _Scope:
    """Queries over the study's sessions; their ids are in ``session_ids``."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(_WITH + sql, list(values)).fetchall()

    def counts(self) -> dict[str, int]:
        names = ("points", "methods", "compactions", "probes", "answers", "scores", "measurements")
        row = self._all(
            """SELECT (SELECT count(*) FROM p),
            (SELECT count(DISTINCT method_id) FROM made), (SELECT count(*) FROM made),
            (SELECT count(*) FROM q), (SELECT count(*) FROM a),
            (SELECT count(*) FROM scores SEMI JOIN a USING (answer_id) WHERE score IS NOT NULL),
            (SELECT count(*) FROM measures SEMI JOIN c USING (compaction_id) WHERE status = 'done')"""
        )[0]
        return dict(zip(names, row, strict=True))

    def without_points(self, sessions: Sequence[SessionInfo]) -> list[SessionInfo]:
        ids = {id for (id,) in self._all("SELECT session_id FROM session_ids ANTI JOIN p USING (session_id)")}
        return [info for info in sessions if info.session_id in ids]

    def not_asked(self) -> str:
        rows = self._all(
            "SELECT reason, count(*) AS n FROM probes_not_asked SEMI JOIN p USING (point_id) "
            "WHERE NOT starts_with(reason, 'failed: ') GROUP BY ALL ORDER BY n DESC, reason"
        )
        why = "; ".join(f"{number:,} × {reason}" for reason, number in rows[:EXAMPLES])
        more = "; …" if len(rows) > EXAMPLES else ""
        number = sum(n for _, n in rows)
        return f"not asked: {quantity(number, 'probe')} ({why}{more}; table probes_not_asked)" if rows else ""

    def not_applicable(self, *, is_asked_for: bool) -> list[str]:
        """A note per method that does not apply at some points.

        Of one that applies at no point nothing is said, unless the study names its strategies: then it was asked for.
        """
        rows = self._all(
            """SELECT method_id, method, c.error, count(DISTINCT point_id) AS n FROM c JOIN methods USING (method_id)
            WHERE c.status = 'not_applicable' GROUP BY ALL ORDER BY method, method_id, n DESC, c.error"""
        )
        n_points = self._all("SELECT count(*) FROM p")[0][0]
        reasons: dict[tuple[str, str], list[tuple[str, int]]] = {}
        for method_id, method, reason, number in rows:
            reasons.setdefault((method_id, method), []).append((reason, number))
        notes = []
        for (_, method), found in reasons.items():
            number = sum(n for _, n in found)
            if number < n_points or is_asked_for:
                why = "; ".join(f"{n:,} × {reason}" for reason, n in found[:EXAMPLES])
                notes.append(f"{method}: {number:,} of {quantity(n_points, 'point')} not applicable ({why})")
        return notes

    def spent(self, run_id: str) -> str:
        """Sum up a run's model calls and their cost; blank if it made none."""
        row = self._all(
            "SELECT count(*) FILTER (WHERE NOT cached), count(*) FILTER (WHERE cached), "
            "count(*) FILTER (WHERE NOT cached AND status <> 'done'), sum(input_tokens) FILTER (WHERE NOT cached), "
            "sum(output_tokens) FILTER (WHERE NOT cached), sum(cost_usd) FILTER (WHERE NOT cached), "
            "count(*) FILTER (WHERE NOT cached AND cost_usd IS NULL AND status = 'done') "
            "FROM calls WHERE run_id = ?",
            [run_id],
        )[0]
        sent, cached, faulty, tokens_in, tokens_out, cost, unknown = row
        if not sent and not cached:
            return ""
        price = f"${cost or 0:,.4f}"
        if unknown:
            price = f"{price} and {quantity(unknown, 'call')} of unknown price" if cost else "cost unknown"
        return (
            f"{quantity(sent, 'model call')} sent ({faulty:,} of them faulty), {cached:,} answered from the cache; "
            f"{tokens_in or 0:,} tokens sent, {tokens_out or 0:,} received, {price} (view costs)"
        )

    def failures(self) -> list[Shortfall]:
        kinds = (
            (
                "compactions failed",
                "SELECT error FROM c WHERE status = 'failed'",
                "SELECT * FROM compactions WHERE status = 'failed'",
            ),
            (
                "probes could not be made",
                "SELECT reason FROM probes_not_asked SEMI JOIN p USING (point_id) "
                "WHERE starts_with(reason, 'failed: ')",
                "SELECT * FROM probes_not_asked WHERE starts_with(reason, 'failed: ')",
            ),
            (
                "measurements failed",
                "SELECT error FROM measures SEMI JOIN c USING (compaction_id) WHERE status = 'failed'",
                "SELECT * FROM measures WHERE status = 'failed'",
            ),
            (
                "answers failed",
                "SELECT error FROM a WHERE status = 'failed'",
                "SELECT * FROM answers WHERE status = 'failed'",
            ),
            (
                "next actions failed",
                "SELECT error FROM next_actions SEMI JOIN p USING (point_id) WHERE status = 'failed'",
                "SELECT * FROM next_actions WHERE status = 'failed'",
            ),
            (
                "scores failed",
                "SELECT unscored_reason FROM scores SEMI JOIN a USING (answer_id) "
                "WHERE starts_with(unscored_reason, 'the judge failed')",
                "SELECT * FROM scores WHERE starts_with(unscored_reason, 'the judge failed')",
            ),
        )
        found = []
        for what, sql, look in kinds:
            rows = self._all(
                f"SELECT coalesce(reason, '') AS reason, count(*) AS n, sum(n) OVER ()::BIGINT "  # noqa: S608 (as above)
                f"FROM ({sql}) AS failed (reason) GROUP BY ALL ORDER BY n DESC, reason LIMIT {EXAMPLES}"
            )
            if rows:
                where = f'compaction-eval sql "{look}"'
                found.append(Shortfall(what, rows[0][2], tuple((reason, n) for reason, n, _ in rows), where))
        return found


_WITH = """WITH p AS (SELECT * FROM points SEMI JOIN session_ids USING (session_id)),
c AS (SELECT * FROM compactions SEMI JOIN p USING (point_id)),
made AS (SELECT * FROM c WHERE status <> 'not_applicable'),
q AS (SELECT * FROM probes SEMI JOIN p USING (point_id)),
a AS (SELECT * FROM answers SEMI JOIN c USING (compaction_id))
"""
