"""OpenAI's batch interface: a file of requests is uploaded, a batch is made from it, its results are files too.

Limits: 50,000 requests and 200 MB a file (the client's docstrings, openai 3.54), one model a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

import openai

from compaction.model import ModelRequest
from flows.llm.batch.protocol import (
    READ_TRIES,
    BatchFault,
    BatchLine,
    BatchStatus,
    FoundBatch,
    Intent,
    batch_faults,
    json_lines,
    line_bytes,
)
from flows.llm.clients import openai_client
from flows.llm.clients.faults import clean_text
from flows.llm.clients.transport import CallFault
from flows.llm.settings import ModelSettings

MARKER = "marker"
"""Name of the batch's metadata by which a batch is known again whose id was lost."""
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
NOT_SERVED = frozenset({"batch_expired", "batch_cancelled"})
"""Codes of requests that the model was not asked."""
CLOCKS = 3_600
"""Seconds by which two clocks may differ."""

Endpoint = Literal["/v1/chat/completions", "/v1/responses"]


class OpenAIBatches:
    """The batch interface of OpenAI, and of servers that have the same."""

    most_requests = 50_000
    most_bytes = 200_000_000

    def __init__(self, client: openai.OpenAI, keys: Sequence[str] = ()) -> None:
        """``keys``: what no message may hold."""
        self._keys = keys
        # What makes something is tried once: a second try could make it twice.
        self._once = client.with_options(max_retries=0)
        self._client = client.with_options(max_retries=READ_TRIES)

    def line(self, settings: ModelSettings, request: ModelRequest, key: str) -> bytes:
        """One request as it stands in a batch's file."""
        body = openai_client.request_body(settings, request)
        parts = {"custom_id": key, "method": "POST", "url": _endpoint(settings), "body": body}
        return line_bytes(parts)

    def submit(self, intent: Intent, settings: ModelSettings, path: Path) -> str:
        """Upload the file and make the batch; its id."""
        with self._faults("upload of a batch's file"), path.open("rb") as file:
            uploaded = self._once.files.create(file=(f"{intent.marker}.jsonl", file), purpose="batch")
        with self._faults("submission of a batch", makes=True):
            batch = self._once.batches.create(
                completion_window="24h",
                endpoint=_endpoint(settings),
                input_file_id=uploaded.id,
                metadata={MARKER: intent.marker},
            )
            return str(batch.id)

    def find(self, intent: Intent, keys: Set[str], known: Set[str]) -> FoundBatch:
        """The batch whose metadata has the marker."""
        newest = 0
        with self._faults("list of batches"):
            for batch in self._client.batches.list(limit=100):
                if (batch.metadata or {}).get(MARKER) == intent.marker:
                    return FoundBatch(batch.id)
                newest = max(newest, batch.created_at)
                # Newest first is what the list shows, but nowhere promised: only after a fall is the rest older.
                if batch.created_at < min(newest, intent.created - CLOCKS):
                    break
        return FoundBatch(None)

    def status(self, batch_id: str) -> BatchStatus:
        """Look up the state of a batch."""
        batch = self._batch(batch_id)
        errors = [error.message or error.code or "" for error in (batch.errors.data or [])] if batch.errors else []
        reason = f"batch {batch.status}: {errors[0][:300]}" if errors else f"batch {batch.status}"
        done = batch.request_counts.completed if batch.request_counts else 0
        ended = batch.status in ENDED
        return BatchStatus(batch.status, ended, done, "" if batch.status == "completed" or not ended else reason)

    def results(self, batch_id: str) -> Iterator[BatchLine]:
        """The lines of the output file and of the error file, whichever exist."""
        batch = self._batch(batch_id)
        answered = 0
        for file_id in (batch.output_file_id, batch.error_file_id):
            if not file_id:
                continue
            with (
                self._faults("download of a batch's results"),
                self._client.files.with_streaming_response.content(file_id) as response,
            ):
                for found in json_lines(response.iter_bytes()):
                    line = self._result(found)
                    if line is not None:
                        answered += line.body is not None
                        yield line
        if batch.request_counts and answered < batch.request_counts.completed:
            raise BatchFault(
                f"the results of a batch broke off: {answered:,} of {batch.request_counts.completed:,} answers came",
                again=True,
            )

    def _batch(self, batch_id: str) -> openai.types.Batch:
        with self._faults("state of a batch", gone=True):
            return self._client.batches.retrieve(batch_id)

    def _result(self, found: Mapping[str, Any]) -> BatchLine | None:
        key = found.get("custom_id")
        if not isinstance(key, str):
            return None
        error, response = found.get("error"), found.get("response")
        if isinstance(error, dict) and error:
            fault = CallFault("server", clean_text(str(error.get("message") or error.get("code")), self._keys))
            return BatchLine(key, None, fault, served=error.get("code") not in NOT_SERVED)
        response = response if isinstance(response, dict) else {}
        status, body = response.get("status_code"), response.get("body")
        if status == 200 and isinstance(body, dict):
            return BatchLine(key, body)
        return BatchLine(key, None, openai_client.status_fault(status if isinstance(status, int) else 500, body))

    def _faults(self, step: str, *, makes: bool = False, gone: bool = False) -> AbstractContextManager[None]:
        errors = (openai.APIStatusError, openai.APIError)
        return batch_faults(step, errors, self._keys, makes=makes, gone=gone)


def _endpoint(settings: ModelSettings) -> Endpoint:
    return "/v1/responses" if settings.api == "responses" else "/v1/chat/completions"
