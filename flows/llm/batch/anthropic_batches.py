"""Anthropic's Message Batches: the requests go in one body, the results come as one file of lines.

Limits: 100,000 requests and 256 MB a batch (Anthropic's guide to batch processing, November 2026). There is no place
for a marker of ours, so a batch whose id was lost is known again by its size and time, and then by its custom ids,
which can be read when it has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import anthropic
import orjson
from anthropic.types.messages import MessageBatch

from compaction.model import ModelRequest
from flows.llm.batch.protocol import (
    READ_TRIES,
    BatchFault,
    BatchGone,
    BatchLine,
    BatchStatus,
    FoundBatch,
    Intent,
    batch_faults,
    line_bytes,
)
from flows.llm.clients import anthropic_client
from flows.llm.clients.transport import CallFault
from flows.llm.settings import ModelSettings

CLOCKS = 3_600
"""Seconds by which two clocks may differ, and an upload may last."""


class AnthropicBatches:
    """The Message Batches of Anthropic, and of servers that have the same."""

    most_requests = 100_000
    most_bytes = 100_000_000
    """Below the provider's 256 MB: the body is built in memory, several times over."""

    def __init__(self, client: anthropic.Anthropic, keys: Sequence[str] = ()) -> None:
        """``keys``: what no message may hold."""
        self._keys = keys
        self._once = client.with_options(max_retries=0)
        self._client = client.with_options(max_retries=READ_TRIES)

    def line(self, settings: ModelSettings, request: ModelRequest, key: str) -> bytes:
        """One request as it stands in a batch."""
        parts = {"custom_id": key, "params": anthropic_client.request_body(settings, request)}
        return line_bytes(parts)

    def submit(self, intent: Intent, settings: ModelSettings, path: Path) -> str:
        """Make the batch; its id."""
        with path.open("rb") as file:
            requests = [orjson.loads(line) for line in file]
        with self._faults("submission of a batch", makes=True):
            return str(self._once.messages.batches.create(requests=requests).id)

    def find(self, intent: Intent, keys: Set[str], known: Set[str]) -> FoundBatch:
        """The batch of the same time and size, unknown so far, whose results are of these keys."""
        unsure = False
        with self._faults("list of batches"):
            for batch in self._client.messages.batches.list(limit=1000):  # newest first, says its documentation
                made = batch.created_at.timestamp()
                if made < intent.created - CLOCKS:
                    break
                if made > intent.created + CLOCKS or _size(batch) != intent.size or batch.id in known:
                    continue
                if batch.processing_status != "ended":
                    unsure = True
                elif batch.results_url and self._first_key(batch.id) in keys:
                    return FoundBatch(batch.id)
        return FoundBatch(None, unsure)

    def status(self, batch_id: str) -> BatchStatus:
        """Look up the state of a batch."""
        with self._faults("state of a batch", gone=True):
            batch = self._client.messages.batches.retrieve(batch_id)
            counts, ended = batch.request_counts, batch.processing_status == "ended"
            if ended and not batch.results_url:
                raise BatchGone(f"the results of batch {batch_id} are not kept any more")
            stopped = [f"{name} {number:,}" for name in ("canceled", "expired") if (number := getattr(counts, name))]
            reason = f"batch ended: {', '.join(stopped)}" if stopped else ""
            return BatchStatus(batch.processing_status, ended, counts.succeeded, reason)

    def results(self, batch_id: str) -> Iterator[BatchLine]:
        """The lines of the results."""
        seen = 0
        with self._faults("download of a batch's results", gone=True):
            size = _size(self._client.messages.batches.retrieve(batch_id))
            with closing(self._client.messages.batches.results(batch_id)) as lines:
                for found in lines:
                    seen += 1
                    yield _result(found.to_dict(mode="json"))
        if seen < size:
            raise BatchFault(f"the results of a batch broke off: {seen:,} of {size:,} lines came", again=True)

    def _first_key(self, batch_id: str) -> str | None:
        with closing(self._client.messages.batches.results(batch_id)) as lines:
            return next((line.custom_id for line in lines), None)

    def _faults(self, step: str, *, makes: bool = False, gone: bool = False) -> AbstractContextManager[None]:
        errors = (anthropic.APIStatusError, anthropic.AnthropicError)
        return batch_faults(step, errors, self._keys, makes=makes, gone=gone)


def _size(batch: MessageBatch) -> int:
    counts = batch.request_counts
    return counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired


def _result(found: Mapping[str, Any]) -> BatchLine:
    key, result = str(found.get("custom_id")), found.get("result") or {}
    kind = result.get("type")
    if kind == "succeeded":
        return BatchLine(key, result["message"])
    if kind in ("expired", "canceled"):
        return BatchLine(key, None, CallFault("server", f"the batch was {kind} before it"), served=False)
    return BatchLine(key, None, anthropic_client.error_fault(result.get("error")))
