"""Which of the answers that are there a backfill scores."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime

from compaction import Method, make_method
from flows.database import connect
from flows.engine import Engine
from flows.intake import moment
from flows.plan import ScoreJob, scored
from flows.problems import UsageProblem
from flows.store import Store
from flows.study import Study


@dataclass(frozen=True)
class Selection:
    """Narrows a backfill. Plain data, so that Prefect can show it."""

    since: str | None = None
    """Answers given at this time (ISO 8601, UTC) or later."""
    methods: tuple[str, ...] = ()
    """Names of methods, as the leaderboard shows them; empty for all."""


def methods_in(store: Store) -> list[Method]:
    """The methods that the database has results of, with the names that they have there."""
    with connect(store.database) as connection:
        rows = connection.execute("SELECT method, strategy, params FROM methods ORDER BY method_id").fetchall()
    found = []
    for name, strategy, params in rows:
        method = make_method(strategy, json.loads(params))
        found.append(method if method.name == name else replace(method, label=name))
    return found


def with_methods_of(study: Study, store: Store) -> Study:
    """The study with all methods that the database has results of."""
    specs = [f"{method.label} = {method.spec}" if method.label else method.spec for method in methods_in(store)]
    return replace(study, strategies=tuple(specs), named_methods=())


def answers_to_judge(store: Store, study: Study, engine: Engine, selection: Selection) -> dict[str, list[ScoreJob]]:
    """Session → answers of the database that this judge has not scored, or failed to; as ``answers_in``."""
    done = scored(store, engine.judge_id)
    jobs = {
        session_id: [job for job in found if (job.answer_id, job.judge_replicate) not in done]
        for session_id, found in answers_in(store, study, selection).items()
    }
    return {session_id: found for session_id, found in jobs.items() if found}


def answers_in(store: Store, study: Study, selection: Selection) -> dict[str, list[ScoreJob]]:
    """Session → answers of the database, by point, method and probe.

    ``study`` names the methods (``with_methods_of``). Raises UsageProblem for a method that the database has not, and
    for a time that is none.
    """
    names = [method.name for method in study.methods()]
    unknown = sorted(set(selection.methods) - set(names))
    if unknown:
        raise UsageProblem(f"--method: the store has no results of {unknown[0]!r}; it has: {', '.join(names)}")
    jobs: dict[str, list[ScoreJob]] = {}
    with connect(store.database) as connection:
        rows = connection.execute(
            "SELECT session_id, answer_id, compaction_id, answers.probe_id, method, cut_seq "
            "FROM answers JOIN compactions USING (compaction_id) JOIN points USING (point_id) "
            "JOIN methods USING (method_id) WHERE answers.status = 'done' "
            "AND ($since IS NULL OR answered_at >= $since) AND (len($methods) = 0 OR method IN $methods) "
            "ORDER BY session_id, cut_seq, method, answers.probe_id, answers.replicate",
            {"since": since_of(selection.since), "methods": list(selection.methods)},
        ).fetchall()
    for session_id, answer_id, compaction_id, probe_id, method, cut_seq in rows:
        jobs.setdefault(session_id, []).extend(
            ScoreJob(answer_id, compaction_id, probe_id, replicate, names.index(method), cut_seq)
            for replicate in range(study.judge_replicates)
        )
    return jobs


def since_of(text: str | None) -> datetime | None:
    """A time as the database has it. Raises UsageProblem for what is none."""
    if text is None:
        return None
    found = moment(text)
    if found is None:
        raise UsageProblem(f"--since: expected a date or a time such as 2026-11-20 or 2026-11-20T02:00, found {text!r}")
    return found
