"""The tables of ``scores.duckdb``, made from the files of the store.

They hold what is comparable with a study: points of its spec, methods with its history and summariser, probes and
answers of its prober and responder; of these all that the store has, and every judge. Rows that no longer belong to a
session as it is now stay behind in the Parquet files.

What is one row a session, point or more is selected in SQL (``sql/load``) from the shards batch by batch, and rows of
Python are made part by part: a load takes the same memory however many sessions there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

import duckdb
import pyarrow.dataset as pads

from flows.config.study import Study
from flows.database.database_draft import MATERIALIZED, DatabaseDraft, new_database, store_info, write_text_views
from flows.database.scores_db import is_sound
from flows.database.sql_model import sql_sha256, table_keys
from flows.llm.prices import Prices
from flows.pipeline.load.intake_tables import as_table, fill_intake, fill_quarantine
from flows.pipeline.load.nights import TakeNight, night_tables
from flows.pipeline.load.provenance import Provenance, newest_study, read_note, write_note
from flows.pipeline.next_action_plan import next_action_code_version
from flows.pipeline.plan import method_rows, sessions_in_scope
from flows.pipeline.replay_plan import replay_code_version
from flows.sessions.session_parts import read_parts
from flows.sessions.task_type_labels import Labels, read_labels
from flows.store.human_labels import stored_labels
from flows.store.store import DATABASE, Store, is_object_store
from flows.support.errors import EvalError
from flows.support.ids import ID_LENGTH, content_id
from flows.support.progress import Report, Silent
from judge import PROBE_TYPES
from judge.llm.recovery import recovering_name

Rows = list[dict[str, Any]]

EMBEDDED = "embedded-"
"""What the names of the embedded engine's parts begin with."""

SHARDS = tuple(
    """points compactions probes answers next_actions scores label_samples anchor_scores comparisons needs measures
    replays calls""".split()
)
"""Folders of the store that ``sql/load`` reads, each as ``shard_<name>``."""

LOADED = tuple(
    """item_costs points equal_contexts compactions probes probes_not_asked answers superseded_scores scores
    verdicts human_scores label_samples anchor_scores comparisons measured_points wanted_measures needs measures
    statement_states replay_calls next_actions calls""".split()
)
"""Files of ``sql/load`` in the order in which they are run: each reads what those before it made."""

STEPS = len(LOADED) + len(MATERIALIZED) + 2
"""Steps of ``rebuild_database``, as its progress counts them."""

MET_TWICE = frozenset(
    """points compactions probes answers verdicts label_samples anchor_scores comparisons needs measures
    statement_states replay_calls next_actions calls""".split()
)
"""Tables of which one row of each key is loaded: a run that was killed can leave a unit of work in two shards."""


class NewDatabase(NamedTuple):
    """A database that is not published yet."""

    connection: duckdb.DuckDBPyConnection
    violations: list[tuple[str, int]]
    """Of its checks (``flows.database.scores_db.violations``)."""


def rebuild_database(
    store: Store,
    study: Study,
    see: Callable[[NewDatabase], None] | None = None,
    *,
    makers: Provenance | None = None,
    night: TakeNight | None = None,
    is_whole_store: bool = False,
    report: Report | None = None,
) -> None:
    """Make ``scores.duckdb`` from the Parquet files, and note its makers and content.

    Args:
        store: Locked for writing.
        study: What the tables are to be comparable with.
        see: Is called with the database before it is published. Records of runs that it writes are still loaded.
        makers: The versions whose rows are loaded; by default the current ones. A command that adds to existing
            results gives those that made them (``Provenance.noted``).
        night: Takes the night (``flows.pipeline.load.nights``).
        is_whole_store: The command is about all sessions of the store. The study then does not say which methods are
            current (``_current``).
        report: Shows how far it is.
    """
    before = files_stamp(store)
    makers = makers or Provenance.now(study)
    with (
        (report or Silent()).stage("load", STEPS, "steps") as shown,
        new_database(store.root / DATABASE, store.place) as draft,
    ):
        current = _current(store, study, is_whole_store=is_whole_store)
        fill_tables(draft, store, study, makers, partial(shown.advance, 1), current)
        for name, rows in (night(draft.connection) if night is not None else {}).items():
            draft.insert(name, rows)
        _fill_runs(draft, store)
        found = draft.check()
        if see is not None:
            see(NewDatabase(draft.connection, found))
        elsewhere = f'the texts are in {store.name}: compaction-eval sql "…" --store {store.name}'
        write_text_views(
            draft,
            {"message_rows": store.transcripts, "context_rows": store.compactions.folder},
            elsewhere if is_object_store(store.name) else None,
        )
        _fill_runs(draft, store)
        settings = {"store_format": store.settings["format"], "tokenizer": store.settings["tokenizer"]}
        draft.insert("store_info", store_info(**settings, study_key=study.study_key))
        shown.advance(1)
    write_note(
        store,
        study,
        makers,
        {
            **_key(study),
            "current": current,
            "stamp": before,
            "database": _stat(store),
            "night": _methods(study) if night else None,
            "violations": found,
        },
    )


def _fill_runs(draft: DatabaseDraft, store: Store) -> None:
    """Put the runs as they are recorded now in the place of those that were."""
    runs = store.records("runs")
    run_rows = [{**row, **{name: json.dumps(row[name]) for name in ("study", "versions", "counts")}} for row in runs]
    for name, rows in {"runs": run_rows, "run_stages": _stage_rows(runs)}.items():
        draft.connection.execute(f"DELETE FROM {name}")  # noqa: S608 (names of our own)
        draft.insert(name, as_table(name, rows))


def stored_violations(store: Store) -> list[tuple[str, int]]:
    """The checks that did not hold when the database was made: to ask anew takes long in a large store."""
    return [(name, number) for name, number in read_note(store).get("violations", ())]


def fill_tables(
    draft: DatabaseDraft,
    store: Store,
    study: Study,
    makers: Provenance,
    advance: Callable[[], None],
    current: Collection[str] | None = None,
) -> None:
    """Load all tables but ``runs`` and ``store_info``; ``current`` as ``_current`` gives it."""
    fill_intake(draft, store, read_labels(study.task_types) if study.task_types else Labels())
    fill_quarantine(draft, store)
    methods = _latest_versions(
        row
        for row in store.records("methods")
        if row["history"] == study.history and row["summarizer"] in (None, makers.summarizer)
    )
    methods = [{**row, "is_current": current is None or _without_version(row) in current} for row in methods]
    if not any(row["is_current"] for row in methods):  # a run that was stopped before it compacted anything
        methods = [{**row, "is_current": True} for row in methods]
    judges = store.records("judges")
    # In older stores the hash of the code stands in the place of the version.
    methods = [{"version": row.get("code"), "code_sha256": None, "over_id": None, **row} for row in methods]
    draft.insert("methods", as_table("methods", map(_with_params, methods)))
    draft.insert("judges", as_table("judges", map(_with_params, judges)))
    draft.insert("criteria", as_table("criteria", _criteria(judges)))
    tried = (row for record in store.records("validity") for row in record["rows"])
    draft.insert("price_lists", as_table("price_lists", _price_lists(study)))
    draft.insert("judge_validity", as_table("judge_validity", tried))
    for name, rows in night_tables(store, study.study_key).items():
        draft.insert(name, rows)
    advance()
    shards = {f"shard_{name}": getattr(store, name).dataset() for name in SHARDS}
    shards["shard_labels"] = pads.dataset(stored_labels(store))
    for name, value in _load_variables(store, study, makers).items():
        draft.connection.execute(f"SET VARIABLE {name} = ?", [value])
    for name in LOADED:
        draft.load(name, shards)
        if name in MET_TWICE:
            _drop_repetitions(draft, name, table_keys()[name]["key"])
        advance()
    for name in MATERIALIZED:
        draft.materialize(name)
        advance()


def _load_variables(store: Store, study: Study, makers: Provenance) -> dict[str, Any]:
    """Variables that ``sql/load`` reads."""
    limit = makers.limit
    shown = None if limit is None else [info.session_id for info in sessions_in_scope(read_parts(store), study, limit)]
    return {
        "session_ids": shown,
        "points_spec": str(study.points_spec),
        "prober": makers.prober,
        "responder": makers.responder,
        "recovering": recovering_name(makers.responder),
        "measuring": makers.measuring,
        "replaying": replay_code_version(),
        "acting": next_action_code_version(),
        "embedded": EMBEDDED,
        "probe_types": list(PROBE_TYPES),
        "id_length": ID_LENGTH,
    }


def _drop_repetitions(draft: DatabaseDraft, table: str, unit: str) -> None:
    """Leave one row of each unit: one that is done, where there is one, and of several alike any."""
    columns = {name for name, *_ in draft.connection.execute(f'DESCRIBE "{table}"').fetchall()}
    first = "status = 'failed', " if "status" in columns else ""
    doubled = f'SELECT {unit} FROM "{table}" GROUP BY {unit} HAVING count(*) > 1'  # noqa: S608 (names of our own)
    ranked = f"row_number() OVER (PARTITION BY {unit} ORDER BY {first}rowid DESC)"
    draft.connection.execute(
        f'DELETE FROM "{table}" WHERE rowid IN '  # noqa: S608 (as above)
        f'(SELECT rowid FROM "{table}" SEMI JOIN ({doubled}) AS doubled USING ({unit}) QUALIFY {ranked} > 1)'
    )


def _key(study: Study) -> dict[str, Any]:
    sources = None if study.limit is None else [*study.sources]  # they say which sessions come first
    return {"study_key": study.study_key, "labels": study.label_sha256, "sql": sql_sha256(), "sources": sources}


def files_stamp(store: Store) -> str:
    """Hash all files that go into the database."""
    folders = """transcripts points compactions probes answers scores calls methods judges validity quarantine labels
    label_samples anchor_scores comparisons needs measures replays next_actions""".split()
    return content_id(
        [
            (folder, one.path.name, one.size, one.version or one.written_ns)
            for folder in folders
            for one in store.place.list_files(store.root / folder, "")
        ]
    )


def is_loaded(store: Store, study: Study, makers: Provenance | None = None, *, is_whole_store: bool = False) -> bool:
    """Whether the database is made from the files as they are now, for this study, by the SQL as it is now.

    ``makers`` and ``is_whole_store`` as in ``rebuild_database``.
    """
    current = _current(store, study, is_whole_store=is_whole_store)
    wanted = {
        **_key(study),
        "current": current,
        "stamp": files_stamp(store),
        "makers": asdict(makers or Provenance.now(study)),
    }
    noted = read_note(store)
    same = {name: noted.get(name) for name in wanted} == wanted and noted.get("database") == _stat(store)
    return same and is_sound(store.database)


def _stat(store: Store) -> list[int | str] | None:
    """Size and time of change of the database: another program may have written to it, or cut it short."""
    found = store.place.stat(store.root / DATABASE)
    return None if found is None else [found.size, found.version or found.written_ns]


def has_night(store: Store, study: Study) -> bool:
    """Whether the night was taken when the database was made, of these methods."""
    return bool(read_note(store).get("night") == _methods(study))


def _methods(study: Study) -> list[str]:
    return sorted(row["method_id"] for row in method_rows(study))


def _latest_versions(methods: Iterable[dict[str, Any]]) -> Rows:
    """Choose the version that ran last, among methods that differ only in their version."""
    found: dict[str, dict[str, Any]] = {}
    for row in methods:
        key = json.dumps([_without_version(row), row["summarizer"]])
        if key not in found or row["last_run_at"] > found[key]["last_run_at"]:
            found[key] = row
    return sorted(found.values(), key=lambda row: str(row["method_id"]))


def _without_version(row: Mapping[str, Any]) -> str:
    """The study's description of a method, without version and summariser."""
    return json.dumps([row["strategy"], row["params"], row["history"]], sort_keys=True)


def _current(store: Store, study: Study, *, is_whole_store: bool) -> list[str] | None:
    """The methods that are asked for now, as ``_without_version``.

    They are those of the study. A command that is about all that a store has leaves them as they were at the last load;
    where that is not known, they are those of the newest run. None where that is not known either: then none is told
    apart.
    """
    noted = read_note(store)
    if is_whole_store and noted.get("study_key") == study.study_key and noted.get("current"):
        return [str(key) for key in noted["current"]]
    chosen = newest_study(store, study.study_key) if is_whole_store else study
    if chosen is None:
        return None
    try:
        return sorted({_without_version(row) for row in method_rows(chosen)})
    except EvalError:  # a strategy that this installation does not have
        return None


def _with_params(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "params": json.dumps(row["params"])}


def _price_lists(study: Study) -> Rows:
    """Prices of the dated table, and of the study's own models where it says them."""
    prices = Prices()
    own = {model.spec: price for model in (*study.model_settings, *study.embedders) if (price := prices.price(model))}
    return [
        {
            "price_list": spec,
            "source": price.source,
            "above": price.above,
            **{f"{name}{suffix}": value for suffix, rate in (("", price.rate), ("_long", price.long or price.rate))
               for name, value in rate.as_dict().items()},
        }
        for spec, price in {**prices.list_prices(), **own}.items()
    ]  # fmt: skip


def _criteria(judges: Rows) -> Iterable[dict[str, Any]]:
    rubrics = {judge["rubric"]: judge["criteria"] for judge in judges}
    return ({"rubric": rubric, **criterion} for rubric, criteria in rubrics.items() for criterion in criteria)


def _stage_rows(runs: Rows) -> Iterable[dict[str, Any]]:
    """Rows of ``run_stages``; the records of earlier versions' runs tell of no stages."""
    for run in runs:
        for stage in run.get("stages", ()):
            yield {
                **stage,
                "run_id": run["run_id"],
                "items_left": stage["left"],
                "sessions_settled": stage["settled"],
                "peak_memory_bytes": stage["peak_memory_bytes"] or None,
            }
