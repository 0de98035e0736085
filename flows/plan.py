"""What is to be done: everything that the study asks for, less what the store already holds.

Nothing here changes anything. Ids are content hashes, so that "done" means "an id is there": a run that was killed at
any instant goes on with exactly what is missing.
"""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from compaction import CompactionPoint, Method
from compaction.version import code_version
from flows.engine import Engine, engine_for
from flows.ids import content_id
from flows.problems import UsageProblem
from flows.redaction import Redactor
from flows.shards import Shards
from flows.sources import Input, SourceError, covers, discover
from flows.sources.base import path_text
from flows.store import Store
from flows.study import Study
from flows.transcripts import Fingerprint, Part, SessionInfo
from judge import PROBE_TYPES

MOST_TASKS = 200
"""Task runs that read: Prefect's server spends 20–30 ms on each."""
BYTES_A_TASK = 8_000_000
"""Bytes of log from which on a batch of inputs is a task of its own: some seconds of work."""


@dataclass(frozen=True)
class PointInfo:
    """A compaction point with its id."""

    point_id: str
    point: CompactionPoint


@dataclass(frozen=True)
class CompactionJob:
    """One compaction to be made."""

    compaction_id: str
    point: PointInfo
    method: int
    """Index into the study's methods."""
    replicate: int
    before: str | None = None
    """In a chain: the same method's compaction at the session's last point."""


@dataclass(frozen=True)
class AnswerJob:
    """One probe to be answered from one compacted context."""

    answer_id: str
    compaction_id: str
    probe_id: str
    replicate: int
    method: int
    """Index into the study's methods."""
    cut_seq: int


@dataclass(frozen=True)
class ScoreJob:
    """One answer to be judged."""

    answer_id: str
    compaction_id: str
    probe_id: str
    judge_replicate: int
    method: int | None
    """Index into the study's methods; None for one that the study does not name."""
    cut_seq: int


def samples() -> str:
    """The folder of the sample sessions that come with the package."""
    return str(files("flows").joinpath("samples"))


def inputs_of(study: Study) -> list[Input]:
    """The study's sources as files and folders to read. Raises UsageProblem when one leads nowhere."""
    try:
        return discover(study.sources or (samples(),))
    except SourceError as error:
        raise UsageProblem(str(error)) from None


def absolute(input: Input) -> str:
    """By what an input is named in the store."""
    return path_text(input.path.absolute())


@cache
def _redaction() -> str:
    return content_id(code_version("flows/redaction"), Redactor().version)


def fingerprint(input: Input, study: Study) -> Fingerprint:
    """By what an input is known again."""
    reader = code_version("flows/sources", "flows/task_types.py")
    if study.redact:
        reader += f"+{_redaction()}"
    return Fingerprint(absolute(input), input.size, input.mtime_ns, reader)


def is_gone(path: str) -> bool:
    """Whether nothing is any more where an input was. Of a path that is stored with escapes it cannot be told."""
    return "\\x" not in path and not os.path.lexists(path)


def unread(parts: Sequence[Part], inputs: Sequence[Input], study: Study) -> list[Input]:
    """The inputs that are not in the store as they are now."""
    known = {record.fingerprint for part in parts for record in part.inputs}
    return [input for input in inputs if fingerprint(input, study) not in known]


def in_scope(parts: Sequence[Part], study: Study, limit: int | None) -> list[SessionInfo]:
    """Every session of the store, whether its log is still there or not; or the first ``limit`` of them.

    With a limit the sessions of the study's sources come first, then all others, each by path. Every stage and the
    load go by this, so that all methods are asked the same questions.
    """
    found = all_stored(parts)
    if limit is None or limit >= len(found):
        return found
    is_inside = covers(study.sources or (samples(),))
    copies = {info.folded_into for part in parts for info in part.folded if is_inside(info.input_path)}
    found.sort(key=lambda info: not (is_inside(info.input_path) or info.session_id in copies))
    return found[:limit]


def all_stored(parts: Sequence[Part]) -> list[SessionInfo]:
    """Every session of the store, by path, wherever its log is now."""
    found = [info for part in parts for info in part.sessions if info.n_messages]
    return sorted(found, key=lambda info: (info.input_path, info.first_row, info.session_id))


def input_batches(inputs: Sequence[Input], workers: int) -> list[list[Input]]:
    """Inputs in batches of about equal size."""
    wanted = math.ceil(sum(input.size for input in inputs) / BYTES_A_TASK)
    return _spread([(input.size + 10_000.0, input) for input in inputs], max(wanted, min(len(inputs), 2 * workers)))


Item = TypeVar("Item")


def _spread(weighted: Sequence[tuple[float, Item]], number: int) -> list[list[Item]]:
    """The heaviest first, each to the bin that is lightest so far."""
    number = max(1, min(number, MOST_TASKS, len(weighted)))
    heap = [(0.0, index) for index in range(number)]
    bins: list[list[Item]] = [[] for _ in range(number)]
    for weight, item in sorted(weighted, key=lambda pair: -pair[0]):
        total, index = heapq.heappop(heap)
        bins[index].append(item)
        heapq.heappush(heap, (total + weight, index))
    return [content for content in bins if content]


def known_points(store: Store, study: Study, sessions: Iterable[SessionInfo]) -> dict[str, list[PointInfo]]:
    """Session → its points, for the sessions whose points have been found as they are now."""
    current = {info.session_id: info.content_sha256 for info in sessions}
    spec = str(study.points_spec)
    found: dict[str, list[PointInfo]] = {}
    for row in store.points.read().to_pylist():
        id = row["session_id"]
        if row["points_spec"] == spec and current.get(id) == row["content_sha256"]:
            cuts = tuple(point["cut_seq"] for point in row["points"])
            found[id] = [
                PointInfo(
                    p["point_id"], CompactionPoint(id, p["cycle"], p["cut_seq"], p["tokens_before"], cuts[:index])
                )
                for index, p in enumerate(row["points"])
            ]
    return found


def method_rows(study: Study) -> list[dict[str, Any]]:
    """The study's methods as rows of the table ``methods``."""
    summarizer = engine_for(study).summarizer.name
    return [_method_row(method, study.history, summarizer) for method in study.methods()]


def _method_row(method: Method, history: str, summarizer: str) -> dict[str, Any]:
    strategy = method.strategy
    uses = summarizer if method.needs != "nothing" else None
    params = dict(method.params)
    return {
        "method_id": content_id(
            "method", strategy.id, params, strategy.peer, strategy.peer_version, history, uses, method.code
        ),
        "method": method.name,
        "strategy": strategy.id,
        "params": params,
        "peer": strategy.peer,
        "peer_version": strategy.peer_version or None,
        "mode": method.mode,
        "needs_model": method.needs_model,
        "history": history,
        "summarizer": uses,
        "code": method.code,
    }


def expected_compactions(study: Study, points: Mapping[str, Sequence[PointInfo]]) -> dict[str, list[CompactionJob]]:
    """Session → every compaction that the study asks for, a method's points in order."""
    spec, chain = str(study.points_spec), study.history == "chain"
    methods = method_rows(study)
    return {
        session_id: [
            job
            for index, row in enumerate(methods)
            for replicate in range(study.replicates)
            for job in _line(infos, index, row["method_id"], replicate, spec, chain)
        ]
        for session_id, infos in points.items()
    }


def _line(
    infos: Sequence[PointInfo], index: int, method_id: str, replicate: int, spec: str, chain: bool
) -> list[CompactionJob]:
    jobs: list[CompactionJob] = []
    for info in infos:
        before = jobs[-1].compaction_id if chain and jobs else None
        # The spec is part of it: it sets the budget and the earlier cuts that a method works with.
        id = content_id("compaction", info.point_id, method_id, replicate, spec, before)
        jobs.append(CompactionJob(id, info, index, replicate, before))
    return jobs


def probe_id(point_id: str, probe_type: str, prober: str) -> str:
    """Id of the question of a type at a point."""
    return content_id("probe", point_id, probe_type, prober)


def statuses(shards: Shards, id: str) -> dict[str, str]:
    """Unit → ``done``, ``failed``, ``not_applicable`` …; where a unit stands in two files, the better of them."""
    found: dict[str, str] = {}
    table = shards.read([id, "status"])
    for unit, status in zip(table[id].to_pylist(), table["status"].to_pylist(), strict=True):
        if status != "failed" or unit not in found:
            found[unit] = status
    return found


def compactions_to_do(
    store: Store, study: Study, points: Mapping[str, Sequence[PointInfo]]
) -> dict[str, list[CompactionJob]]:
    """Session → compactions that are missing or failed last time; one that is not applicable is settled."""
    settled = {id for id, status in statuses(store.compactions, "compaction_id").items() if status != "failed"}
    expected = expected_compactions(study, points)
    return {session: [job for job in jobs if job.compaction_id not in settled] for session, jobs in expected.items()}


def probes_to_do(store: Store, engine: Engine, points: Mapping[str, Sequence[PointInfo]]) -> dict[str, list[PointInfo]]:
    """Session → points that lack a probe, asked or known not to be askable."""
    done = {id for id, status in statuses(store.probes, "probe_id").items() if status != "failed"}
    name = engine.prober.name
    return {
        session: [i for i in infos if not all(probe_id(i.point_id, kind, name) in done for kind in PROBE_TYPES)]
        for session, infos in points.items()
    }


def answers_expected(
    store: Store, study: Study, engine: Engine, points: Mapping[str, Sequence[PointInfo]]
) -> dict[str, list[AnswerJob]]:
    """Session → every answer that can be asked for: of each compaction that is done, each probe of its point."""
    compacted = statuses(store.compactions, "compaction_id")
    asked = {id for id, status in statuses(store.probes, "probe_id").items() if status == "done"}
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
                content_id("answer", job.compaction_id, probe, engine.responder.name, replicate),
                job.compaction_id, probe, replicate, job.method, job.point.point.cut_seq,
            )
            for job in jobs
            if compacted.get(job.compaction_id) == "done"
            for probe in probes[job.point.point_id]
            for replicate in range(study.replicates)
        ]  # fmt: skip
    return expected


def answers_to_do(
    store: Store, study: Study, engine: Engine, points: Mapping[str, Sequence[PointInfo]]
) -> dict[str, list[AnswerJob]]:
    """Session → answers that are missing or failed last time."""
    done = {id for id, status in statuses(store.answers, "answer_id").items() if status == "done"}
    expected = answers_expected(store, study, engine, points)
    return {session: [job for job in jobs if job.answer_id not in done] for session, jobs in expected.items()}


def scored(store: Store, judge_id: str) -> set[tuple[str, int]]:
    """Answers, with the judge replicate, of which a judge has given its verdict."""
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
    """Session → answers that this judge has not scored, or failed to."""
    answered, done = statuses(store.answers, "answer_id"), scored(store, engine.judge_id)
    return {
        session: [
            ScoreJob(job.answer_id, job.compaction_id, job.probe_id, replicate, job.method, job.cut_seq)
            for job in jobs
            if answered.get(job.answer_id) == "done"
            for replicate in range(study.judge_replicates)
            if (job.answer_id, replicate) not in done
        ]
        for session, jobs in answers_expected(store, study, engine, points).items()
    }


def shuffled(jobs: Mapping[str, Sequence[ScoreJob]]) -> dict[str, list[ScoreJob]]:
    """The jobs of each session in the order of a hash: when an answer is judged says nothing about its method."""
    return {id: sorted(found, key=lambda job: (job.answer_id, job.judge_replicate)) for id, found in jobs.items()}
