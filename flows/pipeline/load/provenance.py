"""The study of a database, and the summariser, prober, responder and measures that made its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import duckdb

from flows.config.study import Study
from flows.pipeline import measure_plan
from flows.pipeline.engine import engine_for
from flows.store.store import Store
from flows.support.errors import StoreError

NOTE_FILE = "loaded.json"
"""File beside the database that notes what it was made from."""


@dataclass(frozen=True)
class Provenance:
    """Names, with versions, of the parts that made the rows of a database."""

    summarizer: str
    prober: str
    responder: str
    measuring: str
    limit: int | None = None
    """Number of sessions; None for all (``flows.pipeline.plan.sessions_in_scope``)."""

    @classmethod
    def now(cls, study: Study) -> Provenance:
        """The names and versions that a run of the study would use now."""
        engine = engine_for(study)
        return cls(
            engine.summarizer.name,
            engine.prober.name,
            engine.responder.name,
            measure_plan.measure_code_version(),
            study.limit,
        )

    @classmethod
    def noted(cls, store: Store) -> Provenance | None:
        """The provenance noted beside the database; None if there is no note."""
        return _as_provenance(read_note(store).get("makers"))

    @classmethod
    def of_results(cls, store: Store, study: Study) -> Provenance:
        """Find the versions that made the results of a study in the store, whatever versions run now.

        What the database was made with last; where that is not known or was another study, what the latest run of the
        study was made with; of a store whose runs do not say, what the rows themselves name.
        """
        noted = cls.noted(store) if read_note(store).get("study_key") == study.study_key else None
        for row in _runs(store):
            if noted is None and row.get("study_key") == study.study_key:
                noted = _as_provenance(row.get("makers"))
        return noted or cls._of_rows(store, study)

    @classmethod
    def _of_rows(cls, store: Store, study: Study) -> Provenance:
        """The versions as they are now where they have made rows, else what made the latest answers of that kind."""
        now = cls.now(study)
        summarizers = [
            row["summarizer"]
            for row in sorted(store.records("methods"), key=lambda row: str(row["last_run_at"]))
            if row["history"] == study.history and row["summarizer"]
        ]
        with duckdb.connect() as connection:
            connection.register("probes", store.probes.dataset())
            connection.register("answers", store.answers.dataset())
            probers = connection.execute(
                "SELECT prober FROM probes LEFT JOIN answers USING (probe_id) GROUP BY ALL ORDER BY max(answered_at)"
            ).fetchall()
            responders = connection.execute(
                "SELECT responder FROM answers GROUP BY ALL ORDER BY max(answered_at)"
            ).fetchall()
        return cls(
            _latest(now.summarizer, summarizers),
            _latest(now.prober, [name for (name,) in probers]),
            _latest(now.responder, [name for (name,) in responders]),
            now.measuring,
            study.limit,
        )


def _latest(now: str, names: list[str]) -> str:
    """``now`` where it is among the names, else the last of its kind."""
    alike = [name for name in names if _kind(name) == _kind(now)]
    return now if now in names or not alike else alike[-1]


def _kind(name: str) -> str:
    """The name of a part without its version."""
    return name.partition("@")[0]


def _as_provenance(values: Any) -> Provenance | None:
    try:
        return Provenance(**values)
    except TypeError:
        return None


def read_note(store: Store) -> Mapping[str, Any]:
    """Read the note beside the database on its makers and content; empty if there is none."""
    try:
        found = json.loads(store.place.read(store.root / NOTE_FILE) or b"{}")
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_note(store: Store, study: Study, makers: Provenance, content: Mapping[str, Any]) -> None:
    """Note the database's makers and content."""
    noted = {**content, "study": study.as_dict(), "makers": asdict(makers)}
    store.place.write(store.root / NOTE_FILE, json.dumps(noted).encode())


def loaded_study(store: Store) -> Study | None:
    """The study that the database was last made for, None when there is none yet or it is of another version."""
    return _as_study(read_note(store).get("study"))


def study_of_results(store: Store) -> Study:
    """The study that the database was last made for, or that of the latest run, with the store where it is now.

    Raises:
        StoreError: neither is known.
    """
    found = loaded_study(store)
    for row in _runs(store):
        found = found or _as_study(row.get("study"))
    if found is None:
        raise StoreError(f"store {store.name} has nothing to make results of: no run is recorded; start one first")
    return found


def newest_study(store: Store, study_key: str) -> Study | None:
    """The study of the newest run of a study key, None when none is recorded.

    Runs that took up the whole store, as a backfill does, name the methods that they worked on, not those of a study.
    """
    rows = (row for row in _runs(store) if row.get("study_key") == study_key and not row.get("is_whole_store"))
    return next((found for row in rows if (found := _as_study(row.get("study"))) is not None), None)


def _as_study(values: Any) -> Study | None:
    try:
        plain: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
        return Study(**plain)
    except (TypeError, AttributeError):
        return None


def _runs(store: Store) -> list[dict[str, Any]]:
    """The records of runs, the latest first; those that came to an end before those that were killed or broke."""
    rows = sorted(store.records("runs"), key=lambda row: str(row["started_at"]), reverse=True)
    return sorted(rows, key=lambda row: row["status"] not in ("done", "stopped"))
