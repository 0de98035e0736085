"""The work left to do: everything that the study asks for, less what the store already holds.

Nothing here writes. Ids are content hashes, so work is done if its id is in the store. A run that was killed at any
moment continues with exactly what is missing.
"""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from compaction import CompactionPoint, Method
from flows.config.study import IN_FLIGHT, Study
from flows.llm.remote_model import display_name
from flows.pipeline.engine import Engine, engine_for
from flows.redaction import Redactor
from flows.sessions import task_type_rule
from flows.sessions.session_parts import Fingerprint, Part, SessionInfo
from flows.sources import Input, SourceError, coverage_of, discover, registry
from flows.sources.reading.inputs import path_text
from flows.store.shards import Shards
from flows.store.store import Store
from flows.support.errors import UsageError
from flows.support.ids import content_id
from flows.support.sample_sessions import sample_folder
from judge import PROBE_TYPES

MOST_TASKS = 200
"""Limit on the number of reading tasks: Prefect's server spends 20–30 ms on each."""
BYTES_A_TASK = 8_000_000
"""Bytes of logs in one reading task: some seconds of work."""


@dataclass(frozen=True)
class PointInfo:
    """A compaction point with its id."""

    point_id: str
    point: CompactionPoint


@dataclass(frozen=True)
class CompactionJob:
    """One compaction to make."""

    compaction_id: str
    point: PointInfo
    method: int
    """Index into the study's methods."""
    replicate: int
    before: str | None = None
    """In a chain: id of the same method's compaction at the point before."""


@dataclass(frozen=True)
class AnswerJob:
    """One probe to answer from one compacted context."""

    answer_id: str
    compaction_id: str
    probe_id: str
    replicate: int
    method: int
    """Index into the study's methods."""
    cut_seq: int


@dataclass(frozen=True)
class ScoreJob:
    """One answer to judge."""

    answer_id: str
    compaction_id: str
    probe_id: str
    judge_replicate: int
    method: int | None
    """Index into the study's methods; None for one that the study does not name."""
    cut_seq: int


def inputs_of(study: Study) -> list[Input]:
    """The files and folders to read for the study's sources. Raises UsageError for a source that does not exist."""
    try:
        return discover(study.sources or (sample_folder(),))
    except SourceError as error:
        raise UsageError(str(error)) from None


MOST_LOOKED_AT = 20
"""Inputs of a new store that are looked at before anything is started for them."""


def check_sources(study: Study) -> list[Input]:
    """Look at the sources before anything is started for them, and return their inputs.

    Raises:
        UsageError: a source does not exist; or nothing has been stored yet, and no format knows any of a few inputs.
    """
    inputs = inputs_of(study)
    if not 0 < len(inputs) <= MOST_LOOKED_AT or Store.at(study.store).is_there:
        return inputs
    if any(input.kind == "folder" or registry.recognise(input.path) is not None for input in inputs):
        return inputs
    raise UsageError(f"{inputs[0].label}: no known format; compaction-eval list formats names those that are read")


def input_name(input: Input) -> str:
    """Name of an input in the store: its absolute path."""
    return path_text(input.path.absolute())


def reader_of(study: Study, format: str | None = None) -> str:
    """Versions of the code that reads logs of a format; of all where no format is given, or knew the log.

    A log read by other versions is read again.
    """
    names = [registry.reader_version(format), f"task-types@{task_type_rule.VERSION}"]
    if study.redact:
        names.append(content_id(Redactor().version))  # hashed, since the key takes part
    return "+".join(names)


def fingerprint(input: Input, study: Study) -> Fingerprint:
    """Fingerprint that tells whether an input has changed since it was read."""
    return Fingerprint(input_name(input), input.size, input.mtime_ns, reader_of(study))


def is_gone(path: str) -> bool:
    """Whether an input's path no longer exists. False for a path stored with escapes, which cannot be checked."""
    return "\\x" not in path and not os.path.lexists(path)


def unread_inputs(parts: Sequence[Part], inputs: Sequence[Input], study: Study) -> list[Input]:
    """The inputs whose current content is not in the store."""
    readers = {name: reader_of(study, name) for name in (None, *(known.name for known in registry.formats()))}
    known = {
        (record.fingerprint.path, record.fingerprint.size, record.fingerprint.mtime_ns)
        for part in parts
        for record in part.inputs
        if record.fingerprint.reader == readers.get(record.format)
    }
    return [input for input in inputs if (input_name(input), input.size, input.mtime_ns) not in known]


def sessions_in_scope(parts: Sequence[Part], study: Study, limit: int | None) -> list[SessionInfo]:
    """All sessions of the store, or the first ``limit`` of them. Their logs may be gone.

    With a limit, the sessions of the study's sources come first, then all others, each sorted by path. Every stage and
    the load use this list, so that all methods get the same questions.
    """
    found = stored_sessions(parts)
    if limit is None or limit >= len(found):
        return found
    is_inside = coverage_of(study.sources or (sample_folder(),))
    copies = {info.folded_into for part in parts for info in part.folded if is_inside(info.input_path)}
    found.sort(key=lambda info: not (is_inside(info.input_path) or info.session_id in copies))
    return found[:limit]


def stored_sessions(parts: Sequence[Part]) -> list[SessionInfo]:
    """All sessions of the store that have messages, sorted by path."""
    found = [info for part in parts for info in part.sessions if info.n_messages]
    return sorted(found, key=lambda info: (info.input_path, info.first_row, info.session_id))


def input_batches(inputs: Sequence[Input], workers: int) -> list[list[Input]]:
    """Split inputs into batches of about equal size."""
    wanted = math.ceil(sum(input.size for input in inputs) / BYTES_A_TASK)
    return _spread([(input.size + 10_000.0, input) for input in inputs], max(wanted, min(len(inputs), 2 * workers)))


Item = TypeVar("Item")


def _spread(weighted: Sequence[tuple[float, Item]], number: int) -> list[list[Item]]:
    """Distribute items over bins: the heaviest first, each to the lightest bin so far."""
    number = max(1, min(number, MOST_TASKS, len(weighted)))
    heap = [(0.0, index) for index in range(number)]
    bins: list[list[Item]] = [[] for _ in range(number)]
    for weight, item in sorted(weighted, key=lambda pair: -pair[0]):
        total, index = heapq.heappop(heap)
        bins[index].append(item)
        heapq.heappush(heap, (total + weight, index))
    return [content for content in bins if content]


def known_points(store: Store, study: Study, sessions: Iterable[SessionInfo]) -> dict[str, list[PointInfo]]:
    """Session id → its points, for the sessions whose current content has been searched for points.

    Those within what a session was given are another session's: here they are only earlier cuts.
    """
    sessions = list(sessions)
    current = {info.session_id: info.content_sha256 for info in sessions}
    given = {info.session_id: info.n_given for info in sessions}
    spec = study.points_spec
    found: dict[str, list[PointInfo]] = {}
    batches = store.points.read().to_batches(max_chunksize=1_000)  # a row has many times the size of what is kept of it
    for row in (row for batch in batches for row in batch.to_pylist()):
        id = row["session_id"]
        if row["points_spec"] == str(spec) and current.get(id) == row["content_sha256"]:
            cuts = tuple(point["cut_seq"] for point in row["points"])
            found[id] = [
                PointInfo(
                    p["point_id"],
                    CompactionPoint(id, p["cycle"], p["cut_seq"], p["tokens_before"], spec.earlier(cuts[:index])),
                )
                for index, p in enumerate(row["points"])
                if not given[id] or p["cut_seq"] > given[id]
            ]
    return found


def method_rows(study: Study) -> list[dict[str, Any]]:
    """The study's methods as rows of the table ``methods``."""
    summarizer = engine_for(study).summarizer.name
    embedders = {settings.spec: display_name(settings) for settings in study.embedders}
    return [
        _method_row(method, study.history, summarizer, embedders.get(method.embedder)) for method in study.methods()
    ]


def _method_row(method: Method, history: str, summarizer: str, embedder: str | None) -> dict[str, Any]:
    strategy = method.strategy
    uses = summarizer if method.needs_model or method.provider else None
    more = [embedder] if embedder else []
    params = {**method.params, **method.instructions.params}
    return {
        "method_id": content_id(
            "method", strategy.id, params, strategy.peer, strategy.peer_version, history, uses, method.version, *more
        ),
        "method": method.name,
        "strategy": strategy.id,
        "params": params,
        "peer": strategy.peer,
        "peer_version": strategy.peer_version or None,
        "mode": method.mode,
        "needs_model": method.needs_model,
        "history": history,
        "over_id": _method_row(method.inner, history, summarizer, embedder)["method_id"] if method.inner else None,
        "summarizer": uses,
        "version": method.version,
        "code_sha256": strategy.code_sha256,
    }


def expected_compactions(study: Study, points: Mapping[str, Sequence[PointInfo]]) -> dict[str, list[CompactionJob]]:
    """Session id → every compaction that the study asks for; the points of a method in order."""
    spec, chain = str(study.points_spec), study.history == "chain"
    methods = method_rows(study)
    return {
        session_id: [
            job
            for index, row in enumerate(methods)
            for replicate in range(study.replicates)
            for job in _method_jobs(infos, index, row["method_id"], replicate, spec, chain)
        ]
        for session_id, infos in points.items()
    }


def _method_jobs(
    infos: Sequence[PointInfo], index: int, method_id: str, replicate: int, spec: str, chain: bool
) -> list[CompactionJob]:
    jobs: list[CompactionJob] = []
    for info in infos:
        before = jobs[-1].compaction_id if chain and jobs else None
        # The spec is part of the id: it sets the budget and the earlier cuts that a method gets.
        id = content_id("compaction", info.point_id, method_id, replicate, spec, before)
        jobs.append(CompactionJob(id, info, index, replicate, before))
    return jobs


def probe_id(point_id: str, probe_type: str, prober: str) -> str:
    """Id of the probe of a type at a point."""
    return content_id("probe", point_id, probe_type, prober)


def unit_statuses(shards: Shards, id: str) -> dict[str, str]:
    """Unit → ``done``, ``failed``, ``not_applicable`` …; the better one for a unit in two files."""
    found: dict[str, str] = {}
    table = shards.read([id, "status"])
    for unit, status in zip(table[id].to_pylist(), table["status"].to_pylist(), strict=True):
        if status != "failed" or unit not in found:
            found[unit] = status
    return found


def compactions_to_do(
    store: Store, study: Study, points: Mapping[str, Sequence[PointInfo]]
) -> dict[str, list[CompactionJob]]:
    """Session id → compactions that are missing or failed. One that is not applicable counts as done."""
    settled = {id for id, status in unit_statuses(store.compactions, "compaction_id").items() if status != "failed"}
    expected = expected_compactions(study, points)
    return {session: [job for job in jobs if job.compaction_id not in settled] for session, jobs in expected.items()}


def probes_to_do(store: Store, engine: Engine, points: Mapping[str, Sequence[PointInfo]]) -> dict[str, list[PointInfo]]:
    """Session id → points where the probe of some type is missing or failed. One not asked counts as done."""
    done = {id for id, status in unit_statuses(store.probes, "probe_id").items() if status != "failed"}
    name = engine.prober.name
    return {
        session: [i for i in infos if not all(probe_id(i.point_id, kind, name) in done for kind in PROBE_TYPES)]
        for session, infos in points.items()
    }


def expected_answers(
    store: Store, study: Study, engine: Engine, points: Mapping[str, Sequence[PointInfo]]
) -> dict[str, list[AnswerJob]]:
    """Session id → every answer that can be made: each probe of the point of each compaction that is done."""
    compacted, methods = unit_statuses(store.compactions, "compaction_id"), study.methods()
    asked = {id for id, status in unit_statuses(store.probes, "probe_id").items() if status == "done"}
    expected: dict[str, list[AnswerJob]] = {}
    for session, jobs in expected_compactions(study, points).items():
        probes = {
            info.point_id: [
                id for kind in PROBE_TYPES if (id := probe_id(info.point_id, kind, engine.prober.name)) in asked
            ]
            for info in points[session]
        }
        expected[session] = [
            AnswerJob(
                content_id("answer", job.compaction_id, probe, engine.answerer(methods[job.method]), replicate),
                job.compaction_id,
                probe,
                replicate,
                job.method,
                job.point.point.cut_seq,
            )
            for job in jobs
            if compacted.get(job.compaction_id) == "done"
            for probe in probes[job.point.point_id]
            for replicate in range(study.replicates)
        ]
    return expected


def answers_to_do(
    store: Store, study: Study, engine: Engine, points: Mapping[str, Sequence[PointInfo]]
) -> dict[str, list[AnswerJob]]:
    """Session id → answers that are missing or failed."""
    done = {id for id, status in unit_statuses(store.answers, "answer_id").items() if status == "done"}
    expected = expected_answers(store, study, engine, points)
    return {session: [job for job in jobs if job.answer_id not in done] for session, jobs in expected.items()}


def scored_answers(store: Store, judge_id: str) -> set[tuple[str, int]]:
    """(answer id, judge replicate) of every answer that the judge has scored."""
    names = ("answer_id", "judge_id", "judge_replicate", "status")
    table = store.scores.read(names)
    return {
        (answer, replicate)
        for answer, judge, replicate, status in zip(*(table[name].to_pylist() for name in names), strict=True)
        if judge == judge_id and status == "done"
    }


def scores_to_do(
    store: Store, study: Study, engine: Engine, points: Mapping[str, Sequence[PointInfo]]
) -> dict[str, list[ScoreJob]]:
    """Session id → answers that this judge has not scored, or failed to score."""
    answered, done = unit_statuses(store.answers, "answer_id"), scored_answers(store, engine.judge_id)
    return {
        session: [
            ScoreJob(job.answer_id, job.compaction_id, job.probe_id, replicate, job.method, job.cut_seq)
            for job in jobs
            if answered.get(job.answer_id) == "done"
            for replicate in range(study.judge_replicates)
            if (job.answer_id, replicate) not in done
        ]
        for session, jobs in expected_answers(store, study, engine, points).items()
    }


AskingJob = TypeVar("AskingJob", AnswerJob, ScoreJob)


def shuffle_jobs(jobs: Mapping[str, Sequence[AskingJob]], study: Study) -> dict[str, list[AskingJob]]:
    """The jobs of each session in hash order, so that the order of asking does not depend on the method.

    Jobs on one context stand close together: of so many contexts as calls are in flight first one job each, then the
    others. A provider has the context in its prompt cache then, and nothing waits for that.
    """
    return {id: list(_by_context(found, study.concurrency or IN_FLIGHT)) for id, found in jobs.items()}


def _by_context(jobs: Sequence[AskingJob], in_flight: int) -> Iterator[AskingJob]:
    contexts: dict[str, list[AskingJob]] = {}
    for job in sorted(jobs, key=lambda job: (job.compaction_id, job.answer_id)):  # replicates stay in their order
        contexts.setdefault(job.compaction_id, []).append(job)
    groups = list(contexts.values())
    for start in range(0, len(groups), in_flight):
        some = groups[start : start + in_flight]
        yield from (found[0] for found in some)
        yield from (job for found in some for job in found[1:])
