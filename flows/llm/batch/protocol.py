"""The protocol for a provider's batch interface: submission, state and results.

A ``BatchClient`` does one step at a time and keeps nothing. It never submits twice by itself: where it cannot say
whether a batch was taken, it says so, and the batch is looked for (``BatchClient.find``) before anything is sent again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson

from compaction.model import ModelRequest
from flows.llm.clients.faults import clean_text
from flows.llm.clients.transport import CallFault
from flows.llm.settings import ModelSettings

READ_TRIES = 4
"""Tries again of a request that changes nothing, by the client itself."""


class BatchFault(Exception):  # noqa: N818 (one step's outcome; what follows from it is decided above)
    """A step that did not succeed; nothing was submitted. The text never holds a key or a header."""

    def __init__(self, reason: str, *, again: bool) -> None:
        super().__init__(reason)
        self.again = again
        """Whether the same step may succeed later (a limit, a broken connection)."""


class SubmitUnknown(BatchFault):
    """The answer to a submission was lost: the provider may have taken the batch, or not."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, again=True)


class BatchGone(BatchFault):
    """The provider does not know the batch, or its results any more."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, again=False)


@dataclass(frozen=True, slots=True)
class Intent:
    """A batch that was about to be submitted, or was, with the facts to find it at the provider."""

    marker: str
    """32 random hex digits, sent along where the provider keeps such a thing."""
    created: float
    """Seconds since 1970, by this machine's clock."""
    size: int
    """Requests in it."""


@dataclass(frozen=True, slots=True)
class FoundBatch:
    """The result of a look for a batch."""

    batch_id: str | None
    unsure: bool = False
    """No batch is known to be it, but one that cannot be looked into yet may be."""


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """The state of a batch."""

    state: str
    """In the provider's word."""
    ended: bool
    done: int
    """Requests that were answered so far, 0 where the provider tells only at the end."""
    reason: str = ""
    """Why the provider did not take it, or stopped it."""


@dataclass(frozen=True, slots=True)
class BatchLine:
    """The outcome of one request of a batch."""

    key: str
    body: Mapping[str, Any] | None
    """The provider's response, the same as to a live call; None when there was none."""
    fault: CallFault | None = None
    """Why there was none."""
    served: bool = True
    """Whether the model was asked at all: not when the batch expired or was cancelled before."""


class BatchClient(Protocol):
    """One provider's batch interface at one base URL."""

    most_requests: int
    """Requests of one batch."""
    most_bytes: int
    """Size of one batch as it is written, in bytes."""

    def line(self, settings: ModelSettings, request: ModelRequest, key: str) -> bytes:
        """One request as it stands in a batch: one line of JSON with its end."""

    def submit(self, intent: Intent, settings: ModelSettings, path: Path) -> str:
        """Submit a file of lines; the provider's id of the batch.

        Raises BatchFault when it was certainly not taken, SubmitUnknown when that is not known.
        """

    def find(self, intent: Intent, keys: Set[str], known: Set[str]) -> FoundBatch:
        """Look for a batch of these keys that may have been submitted, beside those known by id. Raises BatchFault."""

    def status(self, batch_id: str) -> BatchStatus:
        """Look up the state of a batch. Raises BatchFault, BatchGone."""

    def results(self, batch_id: str) -> Iterator[BatchLine]:
        """Yield the results of an ended batch, in any order.

        Raises BatchFault (also when the download breaks off), BatchGone.
        """


def line_bytes(parts: Mapping[str, Any]) -> bytes:
    """A request as one line; its body as the live client writes it."""
    try:
        return orjson.dumps(parts) + b"\n"
    except orjson.JSONEncodeError:  # half a surrogate pair from a cut log: no JSON can carry it
        return json.dumps(parts, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def json_lines(chunks: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a download, one a line; other lines are left out.

    Only a line feed ends a line: an answer may hold other characters that some readers take for one.
    """
    held = bytearray()
    for chunk in chunks:
        held += chunk
        *lines, rest = held.split(b"\n")
        held = bytearray(rest)
        yield from _objects(lines)
    yield from _objects([held])


def _objects(lines: Iterable[bytes | bytearray]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        try:
            found = json.loads(line) if line.strip() else None
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def describe_failure(step: str, error: Exception, keys: Sequence[str]) -> str:
    """Describe the failure of a step briefly. These keys are taken out of the text."""
    said = str(error) or type(error).__name__
    status = getattr(error, "status_code", None)
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(inner, dict) and inner.get("message"):
        said = f"{status}: {inner['message']}"
    return f"{step}: {clean_text(said, keys)}"


@contextmanager
def batch_faults(
    step: str, errors: tuple[type[Exception], type[Exception]], keys: Sequence[str], *, makes: bool, gone: bool
) -> Iterator[None]:
    """Turn a client's exceptions, those with a status and all of them, into faults without these keys.

    ``makes``: the step makes a batch; ``gone``: 404 means that it is not there any more.
    """
    with_status, every = errors
    try:
        yield
    # A body that is no JSON, or not the object that was expected, is not caught by the client.
    except (every, OSError, ValueError, AttributeError, TypeError) as error:
        reason = describe_failure(step, error, keys)
        status = getattr(error, "status_code", 0) if isinstance(error, with_status) else None
        if makes and (status is None or status >= 500 or status in (408, 409)):
            raise SubmitUnknown(reason) from None
        if gone and status == 404:
            raise BatchGone(reason) from None
        raise BatchFault(reason, again=status is None or status in (408, 409, 429) or status >= 500) from None
