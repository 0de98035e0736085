"""The sessions that a command is about, read from the store once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from flows.config.study import Study
from flows.pipeline.plan import PointInfo, inputs_of, known_points, sessions_in_scope, stored_sessions, unread_inputs
from flows.sessions.buckets import Bucket, buckets_of, depth_for
from flows.sessions.session_parts import Part, SessionInfo, read_parts
from flows.sources import Input
from flows.store.store import Store

SMALL = 1_000_000
"""Bytes of sources that are not worth a worker process: to start one takes a core two seconds, and all defaults over so
much take less."""


class Scope:
    """The parts, sessions and buckets of a command, each read when first used, and kept until ``reread``."""

    def __init__(
        self,
        store: Store,
        study: Study,
        inputs: list[Input] | None = None,
        *,
        is_whole_store: bool = False,
        n_workers: Callable[[], int] = lambda: 1,
    ) -> None:
        """``is_whole_store``: all sessions that the store holds, not those of the study's sources, which may be gone.

        ``inputs`` are those of the study's sources, where they are known; else they are looked for when needed.
        ``n_workers`` is asked when the buckets of a new store are made.
        """
        self.store, self.study, self.is_whole_store = store, study, is_whole_store
        self._n_workers = n_workers
        if inputs is not None:
            self.inputs = inputs

    @cached_property
    def inputs(self) -> list[Input]:
        """The study's sources."""
        return inputs_of(self.study)

    @cached_property
    def parts(self) -> list[Part]:
        """The ingested parts."""
        return read_parts(self.store)

    @cached_property
    def sessions(self) -> list[SessionInfo]:
        """The sessions, in the order of their paths."""
        if self.is_whole_store:
            return stored_sessions(self.parts)[: self.study.limit]
        return sessions_in_scope(self.parts, self.study, self.study.limit)

    @cached_property
    def _buckets(self) -> list[Bucket]:
        depth = self.depth(self._n_workers())
        self.store.tidy(depth)
        return buckets_of(self.sessions, depth)

    def buckets(self) -> list[Bucket]:
        """The sessions by bucket; the store's files are first split into as many buckets."""
        return self._buckets

    def depth(self, n_workers: int) -> int:
        """Bits of the buckets (``flows.sessions.buckets``)."""
        n_tokens = sum(info.n_tokens for part in self.parts for info in part.sessions)
        return depth_for(self.store, n_tokens, n_workers)

    @property
    def is_small(self) -> bool:
        """Whether the run's own process is through with it before a worker process has started."""
        return not self.is_whole_store and sum(one.size for one in self.inputs) <= SMALL

    def points(self) -> dict[str, list[PointInfo]]:
        """Session → its compaction points, as far as they have been found by now."""
        return known_points(self.store, self.study, self.sessions)

    def unread(self) -> list[Input]:
        """The inputs that are not in the store as they are now."""
        return unread_inputs(self.parts, self.inputs, self.study)

    def reread(self) -> None:
        """Look again: an ingestion has changed the sessions."""
        for name in ("inputs", "parts", "sessions", "_buckets"):
            self.__dict__.pop(name, None)
