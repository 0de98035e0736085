"""The selection of stored answers that a backfill scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from compaction import Method, make_method
from compaction.closest import closest_or_all
from flows.config.runner_spec import LOCAL
from flows.config.study import Study, with_judge
from flows.database.scores_db import connect
from flows.pipeline.load.provenance import loaded_study
from flows.pipeline.plan import ScoreJob
from flows.store.store import Store
from flows.support.choices import Versions
from flows.support.clock import utc_time
from flows.support.errors import StoreError, UsageError


@dataclass(frozen=True)
class Selection:
    """Narrows a backfill. Plain data, so that Prefect can show it."""

    since: str | None = None
    """Answers given at this time (ISO 8601, UTC) or later."""
    methods: tuple[str, ...] = ()
    """Names of methods, as the leaderboard shows them; empty for all."""
    until: str | None = None
    """Answers given before this time."""
    at_most: int | None = None
    """So many answers, the newest day first."""
    versions: Versions = "current"
    """``all``: those of earlier versions of methods and of dropped ones too. Named methods are taken in any case."""

    @property
    def is_narrow(self) -> bool:
        """Whether the selection leaves answers out."""
        return self != Selection(versions=self.versions)


def methods_in(store: Store, versions: Versions = "all") -> list[Method]:
    """The methods that the database has results of, with the names that they have there."""
    with connect(store.database) as connection:
        rows = connection.execute(
            "SELECT method, strategy, params FROM stg_methods WHERE is_current OR $all ORDER BY method_id",
            {"all": versions == "all"},
        ).fetchall()
    found = []
    for name, strategy, params in rows:
        method = make_method(strategy, json.loads(params))
        found.append(method if method.name == name else replace(method, label=name))
    return found


def with_methods_of(study: Study, store: Store, versions: Versions = "all") -> Study:
    """The study with the methods that the database has results of, all or the current ones."""
    specs = [
        f"{method.label} = {method.spec}" if method.label else method.spec for method in methods_in(store, versions)
    ]
    return replace(study, strategies=tuple(specs), named_methods=())


def study_of_backfill(store: Store, flags: Mapping[str, object], path: str | None, versions: Versions = "all") -> Study:
    """The study that the store's results are of, with another judge. Raises StoreError where there are none."""
    loaded = loaded_study(store)
    if loaded is None:
        raise StoreError(f"store {store.name} has no results yet; make some with: compaction-eval run")
    located = replace(
        loaded, store=store.name, limit=None, budget_usd=None, budget_tokens=None, concurrency=None, runner=LOCAL
    )
    return with_judge(with_methods_of(located, store, versions), flags, path)


def query_values(study: Study, selection: Selection) -> Mapping[str, Any]:
    """A selection as a query takes it.

    ``study`` names the methods (``with_methods_of``). Raises UsageError for a method that the database has not, and
    for a time that is none.
    """
    names = [method.name for method in study.methods()]
    unknown = sorted(set(selection.methods) - set(names))
    if unknown:
        raise UsageError(f"--method: the store has no results of {unknown[0]!r}{closest_or_all(unknown[0], names)}")
    return {
        "since": time_of("--since", selection.since),
        "until": time_of("--until", selection.until),
        "methods": list(selection.methods or names),
        "at_most": selection.at_most,
    }


def answers_in(store: Store, study: Study) -> dict[str, list[ScoreJob]]:
    """Session → every answer of the database, by point, method and probe; ``study`` names the methods."""
    names = [method.name for method in study.methods()]
    jobs: dict[str, list[ScoreJob]] = {}
    with connect(store.database) as connection:
        rows = connection.execute(
            "SELECT points.session_id, answer_id, compaction_id, answers.probe_id, method, cut_seq "
            "FROM answers JOIN compactions USING (compaction_id) JOIN points USING (point_id) "
            "JOIN stg_methods USING (method_id) WHERE answers.status = 'done' "
            "ORDER BY session_id, cut_seq, method, answers.probe_id, answers.replicate"
        ).fetchall()
    for session_id, answer_id, compaction_id, probe_id, method, cut_seq in rows:
        jobs.setdefault(session_id, []).extend(
            ScoreJob(answer_id, compaction_id, probe_id, replicate, names.index(method), cut_seq)
            for replicate in range(study.judge_replicates)
        )
    return jobs


def time_of(option: str, text: str | None) -> datetime | None:
    """A time as the database has it. Raises UsageError for what is none."""
    if text is None:
        return None
    found = utc_time(text)
    if found is None:
        raise UsageError(f"{option}: expected a date or a time such as 2026-11-20 or 2026-11-20T02:00, found {text!r}")
    return found
