"""Packs of answers that a packed judge scores in one call each.

A pack holds the answers to questions about one context, in the order of their ids, which is by lot. What is scored
already is in none. Packs that are paid for, or under way in a batch, are formed again as they were, whatever has been
answered since: a run that was killed before it had stored their scores finds them in the call cache.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from typing import Protocol, TypeVar

import pyarrow.compute as pc

from flows.llm.batch.record import BatchStore
from flows.pipeline.plan import ScoreJob
from flows.sessions.buckets import Slice
from flows.sessions.session_parts import SessionInfo
from flows.store.call_cache_sync import batches_folder
from flows.store.store import Store
from judge import JudgeCase
from judge.llm import PackedJudge

AFTER = "+"
"""Stands after the id of each answer of a pack, where the journal of calls says what a call was made for. A call for
one answer alone is told by it from that of the judge which packs nothing."""


class AskedAnswer(Protocol):
    """One answer to be judged."""

    @property
    def info(self) -> SessionInfo:
        """Its session."""

    @property
    def job(self) -> ScoreJob:
        """The answer among others."""

    @property
    def case(self) -> JudgeCase:
        """What the judge sees."""


Asked = TypeVar("Asked", bound=AskedAnswer)


def item_of(pack: Sequence[AskedAnswer]) -> str:
    """The name of a pack in the journal of calls."""
    return "".join(f"{asked.job.answer_id}{AFTER}" for asked in pack)


def paid_packs(store: Store) -> list[tuple[str, ...]]:
    """The answers of each pack whose call is paid for, or under way in a batch.

    The journal has to be in the store already (``flows.store.call_journal``).
    """
    is_pack = (pc.field("stage") == "score") & (pc.field("status") == "done")
    is_pack &= pc.match_substring(pc.field("item_id"), AFTER)
    items = store.calls.dataset().to_table(columns=["item_id"], filter=is_pack)["item_id"].to_pylist()
    if (folder := batches_folder(store)).is_dir():
        with closing(BatchStore(folder)) as batches:
            items += [item for item in batches.items_under_way() if AFTER in item]
    return [tuple(item.split(AFTER)[:-1]) for item in dict.fromkeys(items)]


def in_packing_order(work: Slice[ScoreJob]) -> Slice[ScoreJob]:
    """The work with jobs on one context beside each other, in the order of the answers' ids."""
    return Slice(tuple((info, tuple(sorted(jobs, key=_place))) for info, jobs in work.items))


def form_packs(
    judge: PackedJudge, asked: Iterable[Asked], known: Collection[tuple[str, ...]]
) -> Iterator[tuple[Asked, ...]]:
    """Yield the packs of answers that are in packing order; ``known`` are those that are paid for."""
    wanted: dict[str, list[tuple[str, ...]]] = {}
    for pack in known:
        wanted.setdefault(pack[0], []).append(pack)
    for _, of_one in groupby(asked, key=lambda one: (one.info.session_id, *_place(one.job)[:2])):
        for found in _by_context(of_one):
            yield from ((one,) for one in found if not one.case.criteria)  # nobody is asked about it
            open_ones = {one.job.answer_id: one for one in found if one.case.criteria}
            for id in list(open_ones):
                for pack in sorted(wanted.get(id, ()), key=len, reverse=True):
                    if open_ones.keys() >= set(pack):
                        yield tuple(open_ones.pop(id) for id in pack)
            left = iter(open_ones.values())
            for size in judge.split([one.case for one in open_ones.values()]):
                if size:
                    yield tuple(next(left) for _ in range(size))


def _place(job: ScoreJob) -> tuple[str, int, str]:
    return job.compaction_id, job.judge_replicate, job.answer_id


def _by_context(found: Iterable[Asked]) -> list[list[Asked]]:
    """The answers by what they were given from: a method that fetches leaves each question a context of its own."""
    groups: list[list[Asked]] = []
    for one in found:
        same = next((group for group in groups if group[0].case.context == one.case.context), None)
        if same is None:
            groups.append([one])
        else:
            same.append(one)
    return groups
