"""Answers of a slice of sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, NamedTuple

import pyarrow as pa

from compaction import CallsStoppedError, Message, Method
from compaction.strategies.recovery import Recovery, fetch_by_question, fetches_of, inner_of, request_for
from compaction.tokens import total_tokens
from flows.llm.calling_for import calling_for
from flows.pipeline.engine import Engine
from flows.pipeline.plan import AnswerJob
from flows.pipeline.tasks.measured_states import MeasuredStates
from flows.pipeline.tasks.task_context import (
    Contexts,
    Items,
    SliceRows,
    Tally,
    TaskContext,
    recalled,
    session,
    unless_stopped,
    why,
)
from flows.sessions.buckets import Slice
from flows.sessions.session_parts import SessionInfo
from flows.store import parquet_schemas
from flows.store.row_codec import probe_of
from flows.support import event_log
from judge import Probe
from judge.answer import Answer
from judge.embedded import EmbeddedResponder
from judge.llm.recovery import write_request


class _Asked(NamedTuple):
    """One answer to be made."""

    info: SessionInfo
    job: AnswerJob
    context: tuple[Message, ...]
    probe: Probe


def answer_all(task: TaskContext, work: Slice[AnswerJob]) -> Tally:
    """Answer probes, each from one compacted context and what its method fetches for the question."""
    store, parts, methods = task.store, task.engine, task.methods
    states = MeasuredStates(store, [info.session_id for info, _ in work.items])
    rows, tally = [], Tally()

    def answered(asked: _Asked) -> dict[str, Any]:
        job = asked.job
        method, question = methods[job.method], asked.probe.question

        def said() -> tuple[Message, ...]:
            return session(store, asked.info).messages[: job.cut_seq]

        if fetches_of(method):
            row = _answer_with_fetches(parts, method, said(), asked, states)
        else:
            context, fetched = recalled(method, asked.context, question, said)
            row = _answer(parts, context, asked.probe, job, states)
            row["fetched_tokens"] = total_tokens(fetched, parts.counter)
        row.update(
            answer_id=job.answer_id,
            session_id=asked.info.session_id,
            compaction_id=job.compaction_id,
            probe_id=job.probe_id,
            replicate=job.replicate,
            responder=parts.answerer(method),
            answered_at=datetime.now(UTC).replace(tzinfo=None),
        )
        return row

    for row in task.items.map(unless_stopped(answered), _items(task, work), lambda _: 1, cached_first=True):
        if row is None:
            tally.leave()
            continue
        rows.append(row)
        tally.add(row["status"])
        _log(task.items, row)
    store.answers.write(pa.Table.from_pylist(rows, schema=parquet_schemas.ANSWERS))
    return tally


def _log(items: Items, row: dict[str, Any]) -> None:
    names = """answer_id compaction_id probe_id session_id replicate status model input_tokens output_tokens cost_usd
    seconds""".split()
    items.log("answer", **{name: row.get(name) for name in names}, error=event_log.unquoted_reason(row.get("error")))


def _items(task: TaskContext, work: Slice[AnswerJob]) -> Iterator[_Asked]:
    """Yield the questions with their contexts.

    The embedded responder quotes what was measured: without contexts, but to fetch for.
    """
    store, is_quoted = task.store, isinstance(task.engine.responder, EmbeddedResponder)
    sessions = [info.session_id for info, _ in work.items]
    left, probes = Contexts(store, sessions), SliceRows(store.probes, "probe_id", sessions)
    for info, jobs in work.items:
        read = (job.compaction_id for job in jobs if not is_quoted or task.methods[job.method].recalls)
        contexts = left.of(info, read)
        asked = {id: probe_of(row) for id, row in probes.rows({job.probe_id for job in jobs}).items()}
        for job in jobs:
            yield _Asked(info, job, contexts.get(job.compaction_id, ()), asked[job.probe_id])


def _answer(
    parts: Engine, context: tuple[Message, ...], probe: Probe, job: AnswerJob, states: MeasuredStates
) -> dict[str, Any]:
    def answer() -> Answer:
        if isinstance(parts.responder, EmbeddedResponder):
            return parts.responder.quote(states.of(job.compaction_id, probe, job.probe_id), probe.max_tokens)
        return parts.responder.answer(context, probe.question, probe.max_tokens, job.replicate)

    return _try_answer(parts, job, answer)


def _answer_with_fetches(
    parts: Engine, method: Method, history: tuple[Message, ...], asked: _Asked, states: MeasuredStates
) -> dict[str, Any]:
    """An answer for which dropped messages can be fetched: by the model's requests, else by the question's words."""
    job, probe = asked.job, asked.probe
    fetches = fetches_of(method)
    context, recalls = recalled(inner_of(method), asked.context, probe.question, lambda: history)
    recovery = Recovery(context, history)
    requests: tuple[str, ...] = ()
    responder = parts.recovering
    if responder is None or recovery.is_empty:
        if responder is None:
            n_found = fetch_by_question(recovery, probe.question, fetches)
            requests = (write_request(request_for(probe.question)),) * n_found
        row = _answer(parts, context, probe, job, states)
    else:

        def answer() -> Answer:
            nonlocal requests
            given = responder.answer(context, probe.question, probe.max_tokens, recovery, fetches, job.replicate)
            requests = given.requests
            return given.answer

        row = _try_answer(parts, job, answer)
    fetched = total_tokens([*recalls, *recovery.fetched], parts.counter)
    return {**row, "fetched_tokens": fetched, "fetches": list(requests)}


def _try_answer(parts: Engine, job: AnswerJob, make: Callable[[], Answer]) -> dict[str, Any]:
    start = perf_counter()
    try:
        with calling_for("answer", job.answer_id):
            answer = make()
    except CallsStoppedError:
        raise
    except Exception as error:  # whatever a responder raises costs this answer and no other
        return {"status": "failed", "error": why(error), "seconds": perf_counter() - start}
    return {
        "status": "done",
        "text": answer.text,
        "n_tokens": parts.counter.count(answer.text),
        "model": answer.model,
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "cost_usd": answer.cost_usd,
        "seconds": perf_counter() - start,
    }
