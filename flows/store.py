"""The store: what lies where, who may write, and how a file becomes visible.

Every file is written under a temporary name, synced and renamed, so that a reader sees all of it or none. Parquet
files are never changed in place; what is done is known from the ids that they hold (``flows.plan``).
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from flows import schemas
from flows.ids import content_id
from flows.problems import StoreProblem, UsageProblem

STORE_FORMAT = 2
"""Raised when a store of the older layout cannot be read any more without being rewritten."""
COMPRESSION = "zstd"
COMPRESSION_LEVEL = 3
ROW_GROUP = 2_000
"""Rows of a row group: reading the prefix of one session stays in the milliseconds, and a scan too."""
MANY_FILES = 400
"""Shards in a folder from which on they are merged at the start of a run: small files slow every reader."""
TMP = ".tmp"


def store_path(location: str) -> Path:
    """The folder of a store given as a path or a ``file://`` URL."""
    parts = urlsplit(location)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    if "://" in location:
        raise UsageProblem(f"store {location}: only a folder can be a store in this version, not {parts.scheme}://")
    return Path(location).expanduser()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a small file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = path.with_name(f"{path.name}.{os.getpid()}{TMP}")
    with tmp.open("wb") as file:
        file.write(content)
    publish(tmp, path)


def publish(tmp: Path, path: Path) -> None:
    """Sync a finished temporary file and give it its name."""
    with tmp.open("rb") as file:
        os.fsync(file.fileno())
    tmp.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@dataclass(frozen=True)
class Shards:
    """A folder of immutable Parquet files with one schema."""

    folder: Path
    schema: pa.Schema
    key: tuple[str, ...]
    """Columns that name a unit of work; rows of one unit share them."""
    has_failures: bool = True
    """Whether a unit may stand in several files, because it failed and was tried again."""

    def files(self) -> list[Path]:
        """The files that are visible, by name."""
        return sorted(self.folder.glob("*.parquet"))

    def read(self, columns: Sequence[str] | None = None, files: Sequence[str | Path] | None = None) -> pa.Table:
        """Rows of some files, or of all; an empty table when there are none."""
        paths = [str(path) for path in (self.files() if files is None else files)]
        fields = [name for name in columns or self.schema.names if name != "file"]
        if not paths:
            empty = pa.schema([self.schema.field(name) for name in fields]).empty_table()
            return empty.append_column("file", pa.array([], pa.string())) if "file" in (columns or ()) else empty
        dataset = self.dataset(paths)
        if "file" not in (columns or ()):
            return dataset.to_table(columns=fields)
        return dataset.to_table(columns=[*fields, "__filename"]).rename_columns([*fields, "file"])

    def dataset(self, files: Sequence[str | Path] | None = None) -> pads.Dataset:
        """Rows of some files, or of all, to be read batch by batch; without rows when there are none."""
        paths = [str(path) for path in (self.files() if files is None else files)]
        if not paths:
            return pads.dataset(self.schema.empty_table())
        return pads.dataset(paths, schema=self.schema, format="parquet")

    def write(self, table: pa.Table) -> Path | None:
        """Write rows as a new shard; its name is made from the units in it, so that a repetition replaces it."""
        if table.num_rows == 0:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        units = sorted({*zip(*(table.column(name).to_pylist() for name in self.key), strict=True)})
        path = self.folder / f"{content_id(units)}.parquet"
        self._write_to(path, table)
        return path

    def _write_to(self, path: Path, table: pa.Table) -> None:
        tmp = path.with_name(f"{path.name}.{os.getpid()}{TMP}")
        pq.write_table(
            table, tmp, compression=COMPRESSION, compression_level=COMPRESSION_LEVEL, row_group_size=16 * ROW_GROUP
        )
        publish(tmp, path)

    def drop_superseded(self) -> int:
        """Remove failed rows whose unit has been done since, and repetitions of a unit; how many units.

        A unit that was tried again stands in two files until this has run. A done one wins over a failed one; of two
        alike the one in the file that was written last.
        """
        index = self.read([*self.key, "status", "file"])
        if index.num_rows == 0:
            return 0
        units = list(zip(*(index.column(name).to_pylist() for name in self.key), strict=True))
        written = {str(path): path.stat().st_mtime_ns for path in self.files()}
        places: dict[tuple[Any, ...], dict[str, bool]] = {}
        for unit, status, file in zip(units, index["status"].to_pylist(), index["file"].to_pylist(), strict=True):
            places.setdefault(unit, {})[file] = status == "failed"
        losers: dict[str, set[tuple[Any, ...]]] = {}
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
                self._write_to(Path(file), left)
            else:
                Path(file).unlink()
        return sum(map(len, losers.values()))

    def merge_if_many(self) -> None:
        """Merge the shards into few when there are very many; killed at any instant it loses nothing."""
        files = self.files()
        if len(files) < MANY_FILES:
            return
        if self.has_failures:
            self.drop_superseded()
        files = self.files()
        for start in range(0, len(files), 50):
            some = files[start : start + 50]
            merged = self.write(self.read(files=some))
            for path in some:
                if path != merged:
                    path.unlink()


class Store:
    """A store that exists; made by ``Store.open`` or ``Store.create``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.transcripts = root / "transcripts"
        self.quarantine = root / "quarantine"
        self.labels = root / "labels"
        self.database = root / "scores.duckdb"

    @classmethod
    def open(cls, location: str) -> Store:
        """A store that is there. Raises StoreProblem when it is not, or when a newer version made it."""
        store = cls(store_path(location))
        if not (store.root / "store.json").is_file():
            raise StoreProblem(f"no store at {store.root}; `compaction-eval run` makes one, --store names another")
        store._check_format()
        return store

    @classmethod
    def create(cls, location: str, tokenizer: str) -> Store:
        """A store for writing: the one that is there, or a new one. It keeps the tokenizer that it was made with."""
        store = cls(store_path(location))
        marker = store.root / "store.json"
        if marker.is_file():
            store._check_format()
        else:
            if store.root.is_file():
                raise StoreProblem(f"store {store.root}: this is a file; a store is a folder")
            if store.root.is_dir() and any(not entry.name.startswith(".") for entry in store.root.iterdir()):
                raise StoreProblem(f"store {store.root}: the folder holds other things; name an empty or a new folder")
            try:
                content = {"format": STORE_FORMAT, "tokenizer": tokenizer}
                write_atomically(marker, json.dumps(content, indent=2).encode() + b"\n")
            except OSError as error:
                raise StoreProblem(f"store {store.root}: cannot be written: {error.strerror}") from None
        if store.settings["tokenizer"] != tokenizer:
            made_with = store.settings["tokenizer"]
            raise UsageProblem(
                f"store {store.root} counts tokens with {made_with}, the study with {tokenizer}; use another store"
            )
        return store

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Content of ``store.json``."""
        path = self.root / "store.json"
        try:
            settings: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            _ = int(settings["format"]), settings["tokenizer"]
        except (OSError, ValueError, KeyError, TypeError):
            raise StoreProblem(f"{path}: not the description of a store (JSON with format and tokenizer)") from None
        return settings

    def _check_format(self) -> None:
        found = int(self.settings["format"])
        if found < STORE_FORMAT:
            raise StoreProblem(
                f"store {self.root} has format {found}, made by an earlier version of compaction-eval; this version "
                f"writes {STORE_FORMAT} and cannot go on with it: run on the same sources with another --store"
            )
        if found > STORE_FORMAT:
            raise StoreProblem(
                f"store {self.root} has format {found}, made by a newer version of compaction-eval; "
                f"this version reads up to {STORE_FORMAT}: update it, or name another store with --store"
            )

    @cached_property
    def points(self) -> Shards:
        """Where each session's compaction points are."""
        return Shards(self.root / "points", schemas.POINTS, ("session_id", "content_sha256", "points_spec"))

    @cached_property
    def compactions(self) -> Shards:
        """What every method left at every point."""
        return Shards(self.root / "compactions", schemas.COMPACTIONS, ("compaction_id",))

    @cached_property
    def probes(self) -> Shards:
        """Questions with their proven answers, and those that could not be asked."""
        return Shards(self.root / "probes", schemas.PROBES, ("probe_id",))

    @cached_property
    def answers(self) -> Shards:
        """What the responder said."""
        return Shards(self.root / "answers", schemas.ANSWERS, ("answer_id",))

    @cached_property
    def scores(self) -> Shards:
        """What the judge made of it."""
        return Shards(self.root / "scores", schemas.SCORES, ("answer_id", "judge_id", "judge_replicate"))

    @cached_property
    def label_samples(self) -> Shards:
        """Answers that were drawn for people to label."""
        return Shards(self.root / "label_samples", schemas.LABEL_SAMPLES, ("sample_id",), has_failures=False)

    @cached_property
    def anchor_scores(self) -> Shards:
        """What the judge made of the anchors, day by day."""
        return Shards(self.root / "anchor_scores", schemas.ANCHOR_SCORES, ("answer_id", "judge_id", "taken_on"))

    @cached_property
    def needs(self) -> Shards:
        """What each session needed again after a point."""
        return Shards(self.root / "needs", schemas.NEEDS, ("needs_id",))

    @cached_property
    def measures(self) -> Shards:
        """What was measured of compacted contexts without a question."""
        return Shards(self.root / "measures", schemas.MEASURES, ("measure_id",))

    @cached_property
    def nights(self) -> Shards:
        """What the leaderboard was after each night (``flows.nights``)."""
        return Shards(self.root / "nights", schemas.NIGHTS, ("study_key", "night"), has_failures=False)

    @cached_property
    def calls(self) -> Shards:
        """Calls of language models, as they left the journal (``flows.journal``)."""
        return Shards(self.root / "calls", schemas.CALLS, ("call_id",), has_failures=False)

    def records(self, kind: str) -> list[dict[str, Any]]:
        """All small JSON records of a kind (``methods``, ``judges``, ``runs``), by name."""
        return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((self.root / kind).glob("*.json"))]

    def record(self, kind: str, name: str, content: Mapping[str, Any], *, replace: bool = False) -> None:
        """Write a small JSON record; one that is there already stays as it is unless ``replace``."""
        path = self.root / kind / f"{name}.json"
        if replace or not path.exists():
            write_atomically(path, json.dumps(content, indent=2, ensure_ascii=False).encode("utf-8", "replace"))

    @contextmanager
    def locked(self, what: str) -> Iterator[None]:
        """Hold the store for writing.

        An operating-system lock: it is gone when the process is gone, however it ended. Raises StoreProblem when
        another process holds it.
        """
        try:
            lock = (self.root / ".lock").open("a+")
        except OSError as error:
            raise StoreProblem(f"store {self.root}: cannot be written: {error.strerror}") from None
        with lock as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                holder = file.read().strip() or "another process"
                raise StoreProblem(
                    f"store {self.root} is in use by {holder}; wait until it has ended, or name another with --store"
                ) from None
            file.truncate(0)
            file.write(f"`compaction-eval {what}` (process {os.getpid()})")
            file.flush()
            self._sweep()
            yield

    def is_locked(self) -> bool:
        """Whether some process writes to the store now."""
        path = self.root / ".lock"
        if not path.exists():
            return False
        with path.open("r") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
        return False

    def _sweep(self) -> None:
        """Remove what a killed run left unfinished; only the holder of the lock may."""
        for tmp in self.root.glob(f"**/*{TMP}"):
            tmp.unlink(missing_ok=True)
        for shards in (
            self.points, self.compactions, self.probes, self.answers, self.scores, self.calls, self.anchor_scores,
            self.needs, self.measures, self.nights,
        ):  # fmt: skip
            shards.merge_if_many()
