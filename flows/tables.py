"""The tables of ``scores.duckdb``, made from the files of the store.

They hold what is comparable with a study: points of its spec, methods with its history and summariser, probes and
answers of its prober and responder; of these all that the store has, and every judge. Rows that no longer belong to a
session as it is now stay behind in the Parquet files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flows import measured
from flows.database import build, schemas
from flows.engine import engine_for
from flows.ids import content_id
from flows.journal import read_calls
from flows.labels import stored_labels
from flows.measured import measure_tables
from flows.nights import TakeNight, night_tables
from flows.plan import known_points, method_rows
from flows.store import Store, write_atomically
from flows.study import Study
from flows.task_labels import Labels, read_labels
from flows.transcripts import Part, SessionInfo, read_parts

Rows = list[dict[str, Any]]

EMBEDDED = "embedded-"
"""What the names of the embedded engine's parts begin with."""
FOLDED = "copy of a session that is stored"
"""Reason under which the messages of folded sessions are set aside; the view ``accounting`` knows it."""


@dataclass(frozen=True)
class Makers:
    """What made the rows of a database. Of embedded parts and of measurements the names change with their code."""

    summarizer: str
    prober: str
    responder: str
    measuring: str

    @classmethod
    def now(cls, study: Study) -> Makers:
        """What a run of the study would make them with."""
        engine = engine_for(study)
        return cls(engine.summarizer.name, engine.prober.name, engine.responder.name, measured.measuring())

    @classmethod
    def noted(cls, store: Store) -> Makers | None:
        """What made those that the database shows; None when it does not say."""
        try:
            return cls(**_noted(store)["makers"])
        except (KeyError, TypeError):
            return None


def rebuild(
    store: Store,
    study: Study,
    see: Callable[[dict[str, pa.Table]], None] | None = None,
    *,
    makers: Makers | None = None,
    night: TakeNight | None = None,
) -> None:
    """Make ``scores.duckdb`` from the Parquet files, and note of what.

    ``see`` is shown the tables before; what it writes to the records of runs is still taken up. ``makers``: whose rows
    are taken, for what adds to results that are there (``Makers.noted``); without it those of the code as it is now.
    ``night`` takes the night (``flows.nights``).
    """
    before = stamp(store)
    makers = makers or Makers.now(study)
    content = tables(store, study, makers)
    if see is not None:
        see(content)
    build({**content, "runs": runs(store)}, store.database, night)
    noted = {
        **_key(study),
        "night": night and _methods(study),
        "stamp": before,
        "study": study.as_dict(),
        "makers": asdict(makers),
    }
    write_atomically(store.root / "loaded.json", json.dumps(noted).encode())


def _key(study: Study) -> dict[str, Any]:
    return {"study_key": study.study_key, "labels": study.label_sha256}


def _noted(store: Store) -> dict[str, Any]:
    try:
        found = json.loads((store.root / "loaded.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def has_night(store: Store, study: Study) -> bool:
    """Whether the night was taken when the database was made, of these methods."""
    return _noted(store).get("night") == _methods(study)


def _methods(study: Study) -> list[str]:
    return sorted(row["method_id"] for row in method_rows(study))


def loaded_study(store: Store) -> Study | None:
    """The study that the database was last made for, None when there is none yet or it is of another version."""
    try:
        noted: dict[str, Any] = _noted(store)["study"]
        values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in noted.items()}
        return Study(**values)
    except (KeyError, TypeError, AttributeError):
        return None


def stamp(store: Store) -> str:
    """Hash over all files that the database is made from."""
    folders = (
        "transcripts", "points", "compactions", "probes", "answers", "scores", "calls", "methods", "judges",
        "quarantine", "labels", "label_samples", "anchor_scores", "needs", "measures",
    )  # fmt: skip
    found = []
    for folder in folders:
        for path in sorted((store.root / folder).glob("*")):
            stat = path.stat()
            found.append((folder, path.name, stat.st_size, stat.st_mtime_ns))
    return content_id(found)


def is_loaded(store: Store, study: Study, makers: Makers | None = None) -> bool:
    """Whether the database is made from the files as they are now, for this study; ``makers`` as in ``rebuild``."""
    wanted = {**_key(study), "stamp": stamp(store), "makers": asdict(makers or Makers.now(study))}
    noted = _noted(store)
    return store.database.is_file() and {name: noted.get(name) for name in wanted} == wanted


def tables(store: Store, study: Study, makers: Makers) -> dict[str, pa.Table]:
    """All tables of the database but ``runs``."""
    parts = read_parts(store)
    sessions = [info for part in parts for info in part.sessions]
    labels = read_labels(study.task_types) if study.task_types else Labels()
    points = known_points(store, study, sessions)
    point_rows = [
        {
            "point_id": info.point_id,
            "session_id": session,
            "cycle": info.point.cycle,
            "cut_seq": info.point.cut_seq,
            "tokens_before": info.point.tokens_before,
            "points_spec": str(study.points_spec),
        }
        for session, infos in points.items()
        for info in infos
    ]
    methods = _latest_code(
        row for row in store.records("methods")
        if row["history"] == study.history and row["summarizer"] in (None, makers.summarizer)
    )  # fmt: skip
    judges = store.records("judges")

    shard = store.compactions.read([name for name in store.compactions.schema.names if name != "context"])
    shard = _only(shard, "point_id", (row["point_id"] for row in point_rows))
    shard = _only(shard, "points_spec", [str(study.points_spec)])
    compactions = _only(shard, "method_id", (row["method_id"] for row in methods))

    probes = _only(store.probes.read(), "point_id", (row["point_id"] for row in point_rows))
    probes = _only(probes, "prober", [makers.prober])
    asked = probes.filter(pc.equal(probes["status"], "done"))
    not_asked = probes.filter(pc.not_equal(probes["status"], "done"))

    answers = _only(store.answers.read(), "compaction_id", compactions["compaction_id"])
    answers = _only(answers, "probe_id", asked["probe_id"])
    answers = _only(answers, "responder", [makers.responder])

    scores = _only(store.scores.read(), "answer_id", answers["answer_id"])
    scores = _only(scores, "judge_id", (row["judge_id"] for row in judges))
    return {
        "sessions": _rows("sessions", (_labelled(_session_row(info), labels) for info in sessions)),
        "points": _rows("points", point_rows),
        "methods": _rows("methods", ({**row, "params": json.dumps(row["params"])} for row in methods)),
        "compactions": _like("compactions", compactions),
        "probes": _like("probes", asked),
        "probes_not_asked": _like("probes_not_asked", not_asked),
        "answers": _like("answers", answers),
        "judges": _rows("judges", ({**row, "params": json.dumps(row["params"])} for row in judges)),
        "criteria": _rows("criteria", _criteria(judges)),
        "scores": _like("scores", scores),
        "verdicts": _verdicts(scores),
        **_again(store, answers["answer_id"], judges),
        **night_tables(store, study.study_key),
        **measure_tables(store, sessions, points, compactions, asked, makers.prober, makers.measuring),
        "calls": pa.concat_tables([_compaction_calls(compactions), _answer_calls(answers), _model_calls(store)]),
        **_intake(parts),
        "quarantine": _rows("quarantine", ({**row, "source_path": row["path"]} for row in quarantined(store))),
    }


def _again(store: Store, answers: pa.ChunkedArray, judges: Rows) -> dict[str, pa.Table]:
    """What was said of answers beside the scores: by people, and by judges that were asked again."""
    taken = _only(store.anchor_scores.read(), "judge_id", (row["judge_id"] for row in judges))
    found = {
        "human_scores": stored_labels(store), "label_samples": store.label_samples.read(), "anchor_scores": taken
    }  # fmt: skip
    return {name: _like(name, _only(table, "answer_id", answers)) for name, table in found.items()}


def _verdicts(scores: pa.Table) -> pa.Table:
    """What models stated beside their scores, once for each verdict."""
    stated = scores.filter(pc.is_valid(scores["asked_again"]))
    names = schemas()["verdicts"].names
    return stated.select(names).group_by(names).aggregate([]).select(names)


def _latest_code(methods: Iterable[dict[str, Any]]) -> Rows:
    """Of methods that differ in the version of their code only, the one that was run last."""
    found: dict[str, dict[str, Any]] = {}
    for row in methods:
        key = json.dumps([row["strategy"], row["params"], row["history"], row["summarizer"]], sort_keys=True)
        if key not in found or row["last_run_at"] > found[key]["last_run_at"]:
            found[key] = row
    return sorted(found.values(), key=lambda row: str(row["method_id"]))


def runs(store: Store) -> pa.Table:
    """The table of runs."""
    return _rows("runs", map(_run_row, store.records("runs")))


def quarantined(store: Store) -> Rows:
    """Everything that could not be read, with the ``input`` that it was part of."""
    return [
        json.loads(line)
        for path in sorted(store.quarantine.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def _only(table: pa.Table, column: str, values: Iterable[str] | pa.ChunkedArray) -> pa.Table:
    if not isinstance(values, pa.ChunkedArray):
        values = pa.chunked_array([pa.array(sorted(set(values)), pa.string())])
    return table.filter(pc.is_in(table[column], value_set=values.combine_chunks()))


def _rows(name: str, rows: Iterable[dict[str, Any]]) -> pa.Table:
    schema = schemas()[name]
    picked = [{column: row[column] for column in schema.names} for row in rows]
    for field in schema:
        if pa.types.is_timestamp(field.type):
            for row in picked:
                row[field.name] = moment(row[field.name])
    return pa.Table.from_pylist(picked, schema=schema)


def _like(name: str, table: pa.Table) -> pa.Table:
    return table.select(schemas()[name].names)


def moment(text: str | None) -> datetime | None:
    """A recorded time as UTC without its offset; None for what is no time. One without an offset is taken as UTC."""
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    if found is None or found.tzinfo is None:
        return found
    return found.astimezone(UTC).replace(tzinfo=None)


def _session_row(info: SessionInfo) -> dict[str, Any]:
    usage = info.usage
    return {
        "session_id": info.session_id,
        "source_format": info.source_format,
        "source_path": info.source_path or info.input_path,
        "input_path": info.input_path,
        "title": info.title,
        "task_type": info.task_type,
        "task_type_by": info.task_type_by,
        "n_messages": info.n_messages,
        "n_tokens": info.n_tokens,
        "started_at": info.started_at,
        "ended_at": info.ended_at,
        **{f"n_{role}": info.roles.get(role, 0) for role in ("system", "user", "assistant", "tool")},
        "n_tool_calls": info.n_tool_calls,
        "n_open_calls": info.n_open_calls,
        "n_stray_results": info.n_stray_results,
        "n_set_aside": sum(info.set_aside.values()),
        "n_recorded_compactions": len(info.compactions),
        "parent_session_id": info.parent_session_id,
        "model": info.model,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "cost_usd": usage.cost_usd,
        "tokenizer": info.tokenizer,
        "content_sha256": info.content_sha256,
    }


def _labelled(row: dict[str, Any], labels: Labels) -> dict[str, Any]:
    label = labels.find(row["session_id"], row["source_path"])
    return row if label is None else {**row, "task_type": label, "task_type_by": "label file"}


def _intake(parts: Iterable[Part]) -> dict[str, pa.Table]:
    """What was read, and what became of it."""
    inputs: Rows = []
    met: Rows = []
    aside: Rows = []
    masked: Rows = []
    folded: Rows = []
    for part in parts:
        copies: dict[str, list[SessionInfo]] = {}
        for info in part.folded:
            copies.setdefault(info.input_path, []).append(info)
            folded.append({**_session_row(info), "recorded_id": info.recorded_id, "folded_into": info.folded_into,
                           "n_apart": info.n_apart})  # fmt: skip
        for record in part.inputs:
            path = record.fingerprint.path
            here = copies.get(path, [])
            inputs.append({
                "input_path": path, "source_format": record.format, "n_bytes": record.fingerprint.size,
                "n_sessions": record.n_sessions, "n_folded": len(here), "n_messages": record.n_messages,
                "n_quarantined": record.n_set_aside,
            })  # fmt: skip
            met += [{"input_path": path, "kind": kind, "n_met": number} for kind, number in record.met.items()]
            copied = sum((Counter(info.by_kind()) for info in here), Counter[str]())
            left = [*record.aside, *((kind, FOLDED, number) for kind, number in copied.items())]
            aside += [
                {"input_path": path, "kind": kind, "reason": reason, "n_set_aside": number}
                for kind, reason, number in left if number
            ]  # fmt: skip
            masked += [
                {"input_path": path, "kind": kind, "n_masked": number} for kind, number in record.masked.items()
            ]  # fmt: skip
    found = {
        "inputs": inputs, "messages_met": met, "set_aside": aside, "masked_secrets": masked, "folded_sessions": folded
    }  # fmt: skip
    return {name: _rows(name, rows) for name, rows in found.items()}


def _criteria(judges: Rows) -> Iterable[dict[str, Any]]:
    rubrics = {judge["rubric"]: judge["criteria"] for judge in judges}
    return ({"rubric": rubric, **criterion} for rubric, criteria in rubrics.items() for criterion in criteria)


def _run_row(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, **{name: json.dumps(row[name]) for name in ("study", "versions", "counts")}}


def _model_calls(store: Store) -> pa.Table:
    """Calls of language models, whatever they were for: all that was spent on this store."""
    found = read_calls(store)
    schema = schemas()["calls"]
    times = pa.array([moment(text) for text in found["started_at"].to_pylist()], schema.field("started_at").type)
    found = found.set_column(found.schema.get_field_index("started_at"), "started_at", times)
    return found.select(schema.names).cast(schema)


def _compaction_calls(compactions: pa.Table) -> pa.Table:
    """Calls of the embedded summariser; those of language models are in the journal."""
    rows = [
        {
            "call_id": f"{id}-{number}",
            "stage": "compact",
            "item_id": id,
            "cached": False,
            "status": "done",
            "error": None,
            "run_id": None,
            "started_at": None,
            **call,
        }
        for id, calls in zip(compactions["compaction_id"].to_pylist(), compactions["calls"].to_pylist(), strict=True)
        for number, call in enumerate(calls or ())
        if call["model"].startswith(EMBEDDED)
    ]
    return _rows("calls", rows)


def _answer_calls(answers: pa.Table) -> pa.Table:
    """Answers of the embedded responder."""
    made = answers.filter(pc.fill_null(pc.starts_with(answers["model"], EMBEDDED), fill_value=False))
    columns = {
        "call_id": made["answer_id"],
        "stage": pa.array(["answer"] * len(made)),
        "item_id": made["answer_id"],
        "cached": pa.array([False] * len(made)),
        **{name: made[name] for name in ("model", "input_tokens", "output_tokens", "cost_usd", "seconds", "status")},
        **{name: pa.nulls(len(made)) for name in ("error", "run_id", "started_at")},
    }
    schema = schemas()["calls"]
    return pa.table([columns[name] for name in schema.names], names=schema.names).cast(schema)
