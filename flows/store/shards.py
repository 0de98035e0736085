"""A folder of immutable Parquet files: reading, writing, removing duplicates, splitting and merging.

The sessions of a store are spread over *buckets* by the hash of their ids (``flows.sessions.buckets``). A file holds
rows of one bucket, which its name tells. So a task on a bucket reads only the files of that bucket, and no other task
writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flows.store.storage import LOCAL, FileInfo, Storage
from flows.support.atomic_files import temporary_path
from flows.support.ids import bucket_bits, content_id, overlap

if TYPE_CHECKING:
    import pyarrow.dataset as pads

COMPRESSION = "zstd"
COMPRESSION_LEVEL = 3
ROW_GROUP = 2_000
"""Rows of a row group: reading the prefix of one session stays in the milliseconds, and a scan too."""
SMALL_BYTES = 8_000_000
"""Size below which a file counts as small. Many small files slow every reader."""
MANY_SMALL = 12
"""Number of small files in one bucket from which on they are merged."""
MERGED_BYTES = 64_000_000
"""Approximate size of a merged file."""
REARRANGING = ".rearranging"
_NAME = re.compile(r"b([01]*)-")


def file_bits(name: str) -> str:
    """The bucket in a file's name; ``""`` (all buckets) if the name has none."""
    found = _NAME.match(name)
    return found.group(1) if found else ""


@dataclass(frozen=True)
class Shards:
    """A folder of immutable Parquet files with one schema."""

    folder: Path
    schema: pa.Schema
    key: tuple[str, ...]
    """Columns that identify a unit of work; all rows of a unit have the same values in them."""
    has_failures: bool = True
    """Whether a unit may be in several files, because it failed and was tried again."""
    bits: str = ""
    """The bucket to which this view is limited; ``""`` for all."""
    is_bucketed: bool = True
    """Whether its rows belong to sessions, and so to buckets."""
    place: Storage = LOCAL

    def within(self, bits: str) -> Shards:
        """A view limited to the files that share sessions with a bucket; new files get that bucket's name."""
        return replace(self, bits=bits) if self.is_bucketed else self

    def files(self) -> list[Path]:
        """The visible files, sorted by name."""
        return [path for path in self.place.paths(self.folder) if overlap(file_bits(path.name), self.bits)]

    def _seen(self) -> list[FileInfo]:
        return [one for one in self.place.list_files(self.folder) if overlap(file_bits(one.path.name), self.bits)]

    def read(self, columns: Sequence[str] | None = None, files: Sequence[Path] | None = None) -> pa.Table:
        """Rows of some files, or of all; an empty table if there are none.

        The column ``file`` has the local path from which a row was read.
        """
        paths = self.files() if files is None else files
        fields = [name for name in columns or self.schema.names if name != "file"]
        if not paths:
            empty = pa.schema([self.schema.field(name) for name in fields]).empty_table()
            return empty.append_column("file", pa.array([], pa.string())) if "file" in (columns or ()) else empty
        dataset = self.dataset(paths)
        if "file" not in (columns or ()):
            return dataset.to_table(columns=fields)
        return dataset.to_table(columns=[*fields, "__filename"]).rename_columns([*fields, "file"])

    def dataset(self, files: Sequence[Path] | None = None) -> pads.Dataset:
        """A dataset of some files, or of all, to be read batch by batch; empty if there are none."""
        import pyarrow.dataset as pads  # noqa: PLC0415 (it imports pandas where that is installed)

        paths = [str(path) for path in self.place.local_paths(self.files() if files is None else files)]
        if not paths:
            return pads.dataset(self.schema.empty_table())
        return pads.dataset(paths, schema=self.schema, format="parquet")

    def write(self, table: pa.Table) -> Path | None:
        """Write rows as a new file; its path, or None without rows.

        The name is a hash of the units in it, so writing the same units again replaces the file.
        """
        if table.num_rows == 0:
            return None
        units = sorted({*zip(*(table.column(name).to_pylist() for name in self.key), strict=True)})
        path = self.folder / f"b{self.bits}-{content_id(units)}.parquet"
        self._write_to(path, table)
        return path

    def _write_to(self, path: Path, table: pa.Table) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        tmp = temporary_path(path)
        pq.write_table(
            table, tmp, compression=COMPRESSION, compression_level=COMPRESSION_LEVEL, row_group_size=16 * ROW_GROUP
        )
        self.place.publish(tmp, path)

    def drop_superseded(self) -> int:
        """Remove failed rows of units that were done since, and repetitions; return the number of units.

        A unit that was tried again stands in two files until this has run. A done one wins over a failed one; of two
        alike the one in the file that was written last.
        """
        if not self.has_failures:
            return 0
        status = ["status"] if "status" in self.schema.names else []
        index = self.read([*self.key, *status, "file"])
        places_of_units = index.group_by([*self.key, "file"]).aggregate([]).num_rows
        if places_of_units == index.group_by(list(self.key)).aggregate([]).num_rows:
            return 0  # each unit stands in one file, as nearly always
        units = list(zip(*(index.column(name).to_pylist() for name in self.key), strict=True))
        failed = [one == "failed" for one in index["status"].to_pylist()] if status else [False] * len(units)
        written = {one.path: one.written_ns for one in self._seen()}
        known = {file: self.place.store_path(file) for file in index["file"].unique().to_pylist()}
        places: dict[tuple[Any, ...], dict[Path, bool]] = {}
        for unit, has_failed, file in zip(units, failed, index["file"].to_pylist(), strict=True):
            places.setdefault(unit, {})[known[file]] = has_failed
        losers: dict[Path, set[tuple[Any, ...]]] = {}
        for unit, files in places.items():
            if len(files) > 1:
                winner = min(files, key=lambda file, files=files: (files[file], -written[file], file))  # type: ignore[misc]
                for file in files.keys() - {winner}:
                    losers.setdefault(file, set()).add(unit)
        for file, gone in losers.items():
            table = self.read(files=[file])
            rows = zip(*(table.column(name).to_pylist() for name in self.key), strict=True)
            left = table.filter(pa.array([unit not in gone for unit in rows]))
            if left.num_rows:
                self._write_to(file, left)
            else:
                self.place.remove(file)
        return sum(map(len, losers.values()))

    def drop_sessions(self, sessions: Collection[str]) -> int:
        """Remove all rows of some sessions, and return their number."""
        gone = pa.array(sorted(sessions), pa.string())
        n_rows = 0
        for path in self.files():
            is_gone = pc.is_in(self.read(["session_id"], [path])["session_id"], value_set=gone)
            number = pc.sum(is_gone).as_py() or 0
            if not number:
                continue
            n_rows += number
            left = self.read(files=[path]).filter(pc.invert(is_gone))
            if left.num_rows:
                self._write_to(path, left)
            else:
                self.place.remove(path)
        return n_rows

    def rewrite(self, change: Callable[[pa.Table], pa.Table]) -> None:
        """Replace each file by what ``change`` leaves of its rows."""
        for path in self.files():
            rows = self.read(files=[path])
            left = change(rows)
            if left.num_rows == 0:
                self.place.remove(path)
            elif left.num_rows < rows.num_rows:
                self._write_to(path, left)

    def tidy(self, depth: int) -> None:
        """Give every file its bucket, of so many bits, and merge the small ones where a bucket has many.

        Killed at any instant it loses nothing: rows are written in their new place before they leave the old one, and
        ``finish_rearranging`` takes out what then stands twice.
        """
        found = self._seen()
        shallow = [one.path for one in found if len(file_bits(one.path.name)) < depth] if self.is_bucketed else []
        small: dict[str, list[Path]] = {}
        for one in found:
            if one.path not in shallow and one.size < SMALL_BYTES:
                small.setdefault(file_bits(one.path.name), []).append(one.path)
        crowded = {bits: paths for bits, paths in small.items() if len(paths) >= MANY_SMALL}
        if not shallow and not crowded:
            return
        with self._rearranging():
            for path in shallow:
                self._split(path, depth)
            for bits, paths in crowded.items():
                self.within(bits).drop_superseded()
                left = [one for one in self._seen() if one.path in paths]
                for some in _groups_up_to(MERGED_BYTES, left):
                    self.within(bits)._merge(some)

    def finish_rearranging(self) -> None:
        """Remove duplicate rows that a killed ``tidy`` left."""
        if self.place.stat(self.folder / REARRANGING):
            with self._rearranging():
                for bits in sorted({file_bits(path.name) for path in self.files()}):
                    self.within(bits).drop_superseded()

    @contextmanager
    def _rearranging(self) -> Iterator[None]:
        mark = self.folder / REARRANGING
        self.place.write(mark, b"")
        yield
        self.place.remove(mark)

    def _split(self, path: Path, depth: int) -> None:
        table = self.read(files=[path])
        of = [bucket_bits(session)[:depth] for session in table["session_id"].to_pylist()]
        for bits in sorted(set(of)):
            self.within(bits).write(table.filter(pa.array([one == bits for one in of])))
        self.place.remove(path)

    def _merge(self, paths: Sequence[Path]) -> None:
        merged = self.write(self.read(files=paths))
        for path in paths:
            if path != merged:
                self.place.remove(path)


def _groups_up_to(size: int, files: Sequence[FileInfo]) -> Iterator[list[Path]]:
    """Group files in order; each group has at most ``size`` bytes, or one file."""
    some: list[Path] = []
    total = 0
    for one in files:
        if some and total + one.size > size:
            yield some
            some, total = [], 0
        some.append(one.path)
        total += one.size
    if some:
        yield some
