"""Answers of one batch of sessions."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import pyarrow as pa

from compaction import Message
from compaction.tokens import total_tokens
from flows import schemas
from flows.models import Engine
from flows.plan import AnswerJob, Batch
from flows.study import Study
from flows.work.process import Tally, contexts, engine, open_store, rows_by_id, session, why


def answer_batch(
    root: str, study: Study, batch: Batch[AnswerJob], compaction_files: Sequence[str], probe_files: Sequence[str]
) -> Tally:
    """Answer the probes of a batch, each from one compacted context and what its method fetches for the question."""
    store, parts, methods = open_store(root), engine(study), study.methods()
    rows, tally = [], Tally()
    for info, jobs in batch.items:
        left = contexts(store, {job.compaction_id: info for job in jobs}, compaction_files)
        probes = rows_by_id(store.probes, "probe_id", (job.probe_id for job in jobs), probe_files)
        for job in jobs:
            context, question = left[job.compaction_id], probes[job.probe_id]["question"]
            fetched: list[Message] = []
            if methods[job.method].recalls:
                said, before = session(store, info).messages[: job.cut_seq], set(map(id, context))
                context = methods[job.method].recall(context, question, said)
                fetched = [message for message in context if id(message) not in before]
            row = _answer(parts, context, probes[job.probe_id])
            row.update(
                fetched_tokens=total_tokens(fetched, parts.counter),
                answer_id=job.answer_id, session_id=info.session_id, compaction_id=job.compaction_id,
                probe_id=job.probe_id, replicate=job.replicate, responder=parts.responder.name,
            )  # fmt: skip
            rows.append(row)
            tally.add(row["status"])
    store.answers.write(pa.Table.from_pylist(rows, schema=schemas.ANSWERS))
    return tally


def _answer(parts: Engine, context: tuple[Message, ...], probe: dict[str, Any]) -> dict[str, Any]:
    start = perf_counter()
    try:
        answer = parts.responder.answer(context, probe["question"], probe["max_tokens"])
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
