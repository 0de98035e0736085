"""Buckets: the sessions of a store, spread by the hash of their ids.

A bucket is what one task works on, and the only thing that a task needs to be told. It is named by the first bits of
the hashes of its sessions' ids. A store that grows has more, smaller shares of itself as buckets: one bit more halves
each of them. Memory is then bounded by a bucket, whatever the number of sessions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from flows.sessions.session_parts import SessionInfo
from flows.store.store import Store
from flows.support.ids import bucket_bits

TOKENS_A_BUCKET = 4_000_000
"""Session tokens that a bucket has, about: with four methods some seconds of work, a hundred times what its task costs
Prefect (0.03 s of a processor)."""
MANY_BUCKETS = 256
"""Buckets up to which there are more of them as a store grows; from there on they grow themselves."""
MOST_TOKENS = 16_000_000
"""Session tokens of a bucket from which on there are more buckets all the same."""
MOST_DEPTH = 12
TOKENS_A_SLICE = 1_000_000
"""Session tokens in a slice: results are written after each slice, so a kill loses at most one."""

Job = TypeVar("Job")


def depth_for(store: Store, n_tokens: int, workers: int) -> int:
    """Bits of the buckets of a store with so many session tokens: four buckets a worker at least in a new one.

    A store's buckets never become larger shares of it again.
    """
    known = store.depth()
    least = 4.0 * workers if known is None else 1.0
    wanted = min(max(n_tokens / TOKENS_A_BUCKET, least), MANY_BUCKETS)
    return max(min(math.ceil(math.log2(max(wanted, n_tokens / MOST_TOKENS, 1.0))), MOST_DEPTH), known or 0)


@dataclass(frozen=True)
class Bucket:
    """Some sessions of a store."""

    bits: str
    sessions: tuple[SessionInfo, ...]

    @property
    def key(self) -> str:
        """The bucket's name."""
        return f"bucket-{self.bits or 'all'}"

    @property
    def weight(self) -> float:
        """Estimated work, to balance buckets between workers."""
        return float(sum(info.n_tokens for info in self.sessions))


def buckets_of(sessions: Sequence[SessionInfo], depth: int) -> list[Bucket]:
    """The buckets of some sessions, sorted by name. The order of the sessions is kept."""
    found: dict[str, list[SessionInfo]] = {}
    for info in sessions:
        found.setdefault(bucket_bits(info.session_id)[:depth], []).append(info)
    return [Bucket(bits, tuple(infos)) for bits, infos in sorted(found.items())]


@dataclass(frozen=True)
class Slice(Generic[Job]):
    """Sessions with their jobs that a task works on together."""

    items: tuple[tuple[SessionInfo, tuple[Job, ...]], ...]


def bucket_slices(sessions: Sequence[SessionInfo], jobs: Mapping[str, Sequence[Job]]) -> Iterator[Slice[Job]]:
    """The sessions that have something to do, so many at a time as make about ``TOKENS_A_SLICE``."""
    items: list[tuple[SessionInfo, tuple[Job, ...]]] = []
    tokens = 0
    for info in sessions:
        if jobs.get(info.session_id):
            items.append((info, tuple(jobs[info.session_id])))
            tokens += info.n_tokens
            if tokens >= TOKENS_A_SLICE:
                yield Slice(tuple(items))
                items, tokens = [], 0
    if items:
        yield Slice(tuple(items))
