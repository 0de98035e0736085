"""The answers that a backfill must have judged, found in SQL and kept in a file to save memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from flows.config.study import Study
from flows.database.scores_db import connect_with_files
from flows.database.sql_model import sql_text
from flows.pipeline.backfill.selection import Selection, query_values
from flows.pipeline.engine import Engine
from flows.pipeline.plan import ScoreJob
from flows.sessions.buckets import Bucket
from flows.sessions.session_parts import SessionInfo
from flows.store.store import Store
from flows.support.atomic_files import TMP

ALL_DAYS = "all days"
NO_DAY = "no day"
"""Stands for the day of answers of which it was not noted."""
BITS = 16
"""Bits of a session's place (``flows.support.ids.bucket_bits``)."""
ROWS_AT_ONCE = 20_480
"""Rows of a row group: a bucket's jobs are read without most of the others."""


@dataclass(frozen=True)
class Backlog:
    """Answers for a judge, in a file that tasks read in shares. Plain data."""

    store: str
    """By what a worker opens the store that the tasks work on."""
    name: str
    """The file, below that store's folder."""
    days: tuple[tuple[str, int], ...]
    """Day (ISO, or ``NO_DAY``) on which answers were given, and how many verdicts are wanted; the newest first."""

    @property
    def n_jobs(self) -> int:
        """Verdicts that are wanted."""
        return sum(number for _, number in self.days)

    def jobs(self, study: Study, bits: str = "", day: str = ALL_DAYS) -> dict[str, list[ScoreJob]]:
        """Session → its jobs: those of a bucket, and of a day."""
        names = {method.name: index for index, method in enumerate(study.methods())}
        low, high = _places(bits)
        found: dict[str, list[ScoreJob]] = {}
        for batch in self._batches(day, (pc.field("place") >= low) & (pc.field("place") < high)):
            for row in batch.to_pylist():
                found.setdefault(row["session_id"], []).append(
                    ScoreJob(
                        row["answer_id"],
                        row["compaction_id"],
                        row["probe_id"],
                        row["judge_replicate"],
                        names[row["method"]],
                        row["cut_seq"],
                    )
                )
        return found

    def shares(self, buckets: Sequence[Bucket], day: str = ALL_DAYS) -> list[int]:
        """Count the jobs of each bucket, for one day or all."""
        numbers = [0] * len(buckets)
        for batch in self._batches(day, None, ["place"]):
            places = batch.column("place")
            for index, bucket in enumerate(buckets):
                low, high = _places(bucket.bits)
                inside = pc.and_(pc.greater_equal(places, low), pc.less(places, high))
                numbers[index] += pc.sum(inside).as_py() or 0
        return numbers

    def _batches(
        self, day: str, among: pc.Expression | None, columns: list[str] | None = None
    ) -> Iterable[pa.RecordBatch]:
        if day != ALL_DAYS:
            is_of_day = pc.field("day") == day
            among = is_of_day if among is None else among & is_of_day
        store = Store.at(self.store)
        (path,) = store.place.local_paths([store.root / self.name])
        batches: Iterable[pa.RecordBatch] = pads.dataset(str(path), format="parquet").to_batches(
            columns=columns, filter=among, batch_readahead=1, fragment_readahead=1
        )
        return batches


def _places(bits: str) -> tuple[int, int]:
    """The places of a bucket: from the first one to before the second."""
    low = int(bits or "0", 2) << (BITS - len(bits))
    return low, low + (1 << (BITS - len(bits)))


@contextmanager
def backlog_of(
    store: Store,
    study: Study,
    engine: Engine,
    selection: Selection,
    sessions: Sequence[SessionInfo],
    *,
    beside: Store | None = None,
) -> Iterator[Backlog]:
    """The answers of the database that this judge has not scored, or failed to; the file is gone at the end.

    Args:
        store: Where the answers are.
        study: Names the methods (``with_methods_of``).
        engine: Its judge is asked.
        selection: Of these answers.
        sessions: And of these sessions.
        beside: The store that the tasks work on, where the file is written; ``store`` itself without one. Only the
            holder of its lock may.

    Raises:
        UsageError: a method that the database has not, or a time that is none.
    """
    known = query_values(study, selection)
    beside = beside or store
    root = beside.root.absolute()
    # A name that the next run removes, should this one be killed.
    with TemporaryDirectory(prefix=".backlog.", suffix=f"{TMP}.d", dir=root) as folder, ExitStack() as stack:
        path = Path(folder) / "backlog.parquet"
        with connect_with_files(store.database, Path(folder)) as connection:
            connection.register("shard_scores", store.scores.dataset())
            ids = pa.array([info.session_id for info in sessions], pa.string())
            connection.register("chosen_sessions", pa.table({"session_id": ids}))
            for name, value in {
                "judge_id": engine.judge_id,
                "judge_replicates": study.judge_replicates,
                **known,
            }.items():
                connection.execute(f"SET VARIABLE {name} = $value", {"value": value})
            query = sql_text("queries/backfill", "backlog")
            connection.execute(
                f"COPY (SELECT * REPLACE (coalesce(CAST(day AS VARCHAR), '{NO_DAY}') AS day) FROM (\n{query}\n)) "  # noqa: S608
                f"TO '{str(path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet, ROW_GROUP_SIZE {ROWS_AT_ONCE})"
            )
            days = (
                connection.read_parquet(str(path)).aggregate("day, count(*) AS n", "day").order("day DESC").fetchall()
            )
        if study.on_cluster:
            beside.place.publish(path, path)
            stack.callback(beside.place.remove, path)
        dated = [(day, n) for day, n in days if day != NO_DAY]
        name = path.relative_to(root).as_posix()
        yield Backlog(beside.address, name, (*dated, *((day, n) for day, n in days if day == NO_DAY)))
