"""The store: its folders, its lock, and its small JSON records.

Every file is written under a temporary name, synced and renamed, so a reader sees all of it or none. Parquet files are
never changed in place. The ids in them tell which work is done (``flows.pipeline.plan``).
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from flows.store import parquet_schemas
from flows.store.damage import check_parquet, damage_error, name_damaged_file
from flows.store.shards import Shards, file_bits
from flows.store.storage import LOCAL, SCHEMES, Storage
from flows.store.write_permits import end_permits
from flows.support.atomic_files import folder_umask, make_folder, open_in_place
from flows.support.errors import StoreError, UsageError, install_extra

if TYPE_CHECKING:
    import pyarrow.dataset as pads

STORE_FORMAT = 3
"""Format number. Raise it when this version cannot read the older layout without rewriting it."""


CACHE = "cache"
DATABASE = "scores.duckdb"
LOCK = ".lock"
MARKER = "store.json"
"""File that marks a folder as a store; holds its format number and its tokenizer."""


def is_object_store(location: str) -> bool:
    """Whether a location is the URL of an object store, not a folder."""
    return "://" in location and urlsplit(location).scheme != "file"


def store_path(location: str) -> Path:
    """The folder of a store given as a path or a ``file://`` URL."""
    parts = urlsplit(location)
    return Path(unquote(parts.path)) if parts.scheme == "file" else Path(location).expanduser()


def storage_of(location: str) -> tuple[Path, Storage]:
    """The root folder of a store's paths, and its storage.

    Raises UsageError when the URL names no object store, or when the package for object stores is missing.
    """
    if not is_object_store(location):
        return store_path(location), LOCAL
    parts = urlsplit(location)
    if parts.scheme not in SCHEMES or not parts.netloc:
        raise UsageError(f"store {location}: expected a folder, or a URL such as s3://bucket/prefix (also gs, az)")
    try:
        from flows.store.object_storage import ObjectStorage  # noqa: PLC0415 (its package is an extra)
    except ModuleNotFoundError as error:
        if error.name != "obstore":
            raise
        raise UsageError(
            f"store {location}: the package for object stores is missing: {install_extra('cloud')}"
        ) from None
    place = ObjectStorage.at(location)
    return place.root, place


class Store:
    """A store. Made by ``Store.open`` (must exist), ``Store.create`` or ``Store.at`` (may not exist yet)."""

    def __init__(self, root: Path, bits: str = "", place: Storage = LOCAL) -> None:
        self.root = root
        """Root of the paths of its files (``flows.store.storage``)."""
        self.bits = bits
        """The bucket to which this view is limited; ``""`` for all."""
        self.place = place
        self.transcripts = root / "transcripts"
        self.quarantine = root / "quarantine"
        self.labels = root / "labels"

    @classmethod
    def at(cls, location: str) -> Store:
        """A store that may not exist yet."""
        root, place = storage_of(location)
        return cls(root, place=place)

    @property
    def name(self) -> str:
        """The store as given with ``--store``."""
        return self.place.display_name(self.root)

    @property
    def full_name(self) -> str:
        """The store's name with an absolute path."""
        return self.place.display_name(self.root.absolute())

    @property
    def address(self) -> str:
        """The address for workers to open the store."""
        return self.place.address(self.root)

    @property
    def database(self) -> Path:
        """Local path of ``scores.duckdb`` (fetched if needed); the path it would have if it does not exist."""
        return self.place.local_paths([self.root / DATABASE])[0]

    def texts(self) -> dict[str, pads.Dataset]:
        """The datasets for ``flows.database.scores_db.show_texts``, by macro name."""
        messages = Shards(
            self.transcripts, parquet_schemas.MESSAGES, ("session_id", "seq"), is_bucketed=False, place=self.place
        )
        return {"message_rows": messages.dataset(), "context_rows": self.compactions.dataset()}

    @property
    def is_there(self) -> bool:
        """Whether the store exists."""
        return self.place.stat(self.root / MARKER) is not None

    @classmethod
    def open(cls, location: str) -> Store:
        """Open an existing store.

        Raises StoreError when there is none, or when it has another format.
        """
        store = cls.at(location)
        if not store.is_there:
            raise StoreError(f"no store at {store.name}; `compaction-eval run` makes one, --store names another")
        store._check_format()
        return store

    @classmethod
    def create(cls, location: str, tokenizer: str) -> Store:
        """Open the store for writing, or make a new one. An existing store keeps its tokenizer."""
        store = cls.at(location)
        if store.is_there:
            store._check_format()
        else:
            if store.place is LOCAL and store.root.is_file():
                raise StoreError(f"store {store.name}: this is a file; a store is a folder")
            # Looked at again: another command may have made the store in between, and begun to fill it.
            if store.place.holds_something(store.root) and not store.is_there:
                raise StoreError(f"store {store.name}: the folder holds other things; name an empty or a new folder")
            try:
                make_folder(store.root)
                with store._hold("create"):
                    if not store.is_there:  # or else it would take the tokenizer from whoever was faster
                        content = {"format": STORE_FORMAT, "tokenizer": tokenizer}
                        store.place.write(store.root / MARKER, json.dumps(content, indent=2).encode() + b"\n")
            except OSError as error:
                raise StoreError(f"store {store.name}: cannot be written: {error.strerror}") from None
        if store.settings["tokenizer"] != tokenizer:
            made_with = store.settings["tokenizer"]
            raise UsageError(
                f"store {store.name} counts tokens with {made_with}, the study with {tokenizer}; use another store"
            )
        return store

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Content of ``store.json``."""
        path = self.root / MARKER
        try:
            settings: Mapping[str, Any] = json.loads(self.place.read(path) or b"")
            _ = int(settings["format"]), settings["tokenizer"]
        except (OSError, ValueError, KeyError, TypeError):
            raise StoreError(
                f"{self.place.display_name(path)}: not the description of a store (JSON with format and tokenizer); if "
                f'the folder is one, put it back, in this version {{"format": {STORE_FORMAT}, '
                '"tokenizer": "o200k_base"} with yours'
            ) from None
        return settings

    def _check_format(self) -> None:
        found = int(self.settings["format"])
        if found < STORE_FORMAT:
            raise StoreError(
                f"store {self.name} has format {found}, made by an earlier version of compaction-eval; this version "
                f"writes {STORE_FORMAT} and cannot go on with it: run on the same sources with another --store"
            )
        if found > STORE_FORMAT:
            raise StoreError(
                f"store {self.name} has format {found}, made by a newer version of compaction-eval; "
                f"this version reads up to {STORE_FORMAT}: update it, or name another store with --store"
            )

    def within(self, bits: str) -> Store:
        """A view of the store limited to one bucket: its folders list and write files of that bucket only."""
        return Store(self.root, bits, self.place)

    def _shards(self, name: str, schema: pa.Schema, key: tuple[str, ...]) -> Shards:
        return Shards(self.root / name, schema, key, place=self.place).within(self.bits)

    def _of_no_session(self, name: str, schema: pa.Schema, key: tuple[str, ...]) -> Shards:
        return Shards(self.root / name, schema, key, has_failures=False, is_bucketed=False, place=self.place)

    @property
    def folders(self) -> tuple[Shards, ...]:
        """Every folder of shards that a run adds to."""
        return (
            self.points,
            self.compactions,
            self.probes,
            self.needs,
            self.measures,
            self.replays,
            self.answers,
            self.next_actions,
            self.scores,
            self.anchor_scores,
            self.comparisons,
            self.calls,
            self.nights,
        )

    def depth(self) -> int | None:
        """Number of bits in the bucket names of its files; None if there is no file yet."""
        names = [path.name for shards in self.folders if shards.is_bucketed for path in shards.files()]
        return max((len(file_bits(name)) for name in names), default=None)

    def tidy(self, depth: int) -> None:
        """Split files into buckets of ``depth`` bits and merge small ones. The caller must hold the lock."""
        for shards in self.folders:
            shards.tidy(depth)

    @cached_property
    def points(self) -> Shards:
        """The compaction points of each session."""
        return self._shards("points", parquet_schemas.POINTS, ("session_id", "content_sha256", "points_spec"))

    @cached_property
    def compactions(self) -> Shards:
        """The contexts of every method at every point."""
        return self._shards("compactions", parquet_schemas.COMPACTIONS, ("compaction_id",))

    @cached_property
    def probes(self) -> Shards:
        """Questions with their proven answers, and those that could not be asked."""
        return self._shards("probes", parquet_schemas.PROBES, ("probe_id",))

    @cached_property
    def answers(self) -> Shards:
        """The responder's answers."""
        return self._shards("answers", parquet_schemas.ANSWERS, ("answer_id",))

    @cached_property
    def next_actions(self) -> Shards:
        """The next actions that a model would take, from contexts and from whole histories."""
        return self._shards("next_actions", parquet_schemas.NEXT_ACTIONS, ("next_action_id",))

    @cached_property
    def scores(self) -> Shards:
        """The judge's scores of the answers."""
        return self._shards("scores", parquet_schemas.SCORES, ("answer_id", "judge_id", "judge_replicate"))

    @cached_property
    def label_samples(self) -> Shards:
        """Answers that were drawn for people to label."""
        return self._of_no_session("label_samples", parquet_schemas.LABEL_SAMPLES, ("sample_id",))

    @cached_property
    def anchor_scores(self) -> Shards:
        """The judge's scores of the anchors, day by day."""
        return self._shards("anchor_scores", parquet_schemas.ANCHOR_SCORES, ("answer_id", "judge_id", "taken_on"))

    @cached_property
    def comparisons(self) -> Shards:
        """Which of two answers a judge prefers."""
        return self._shards("comparisons", parquet_schemas.COMPARISONS, ("comparison_id",))

    @cached_property
    def needs(self) -> Shards:
        """The facts that each session needed again after a point."""
        return self._shards("needs", parquet_schemas.NEEDS, ("needs_id",))

    @cached_property
    def measures(self) -> Shards:
        """The measures of compacted contexts without a question."""
        return self._shards("measures", parquet_schemas.MEASURES, ("measure_id",))

    @cached_property
    def replays(self) -> Shards:
        """What the model calls of sessions would have been sent under each method."""
        return self._shards("replays", parquet_schemas.REPLAYS, ("replay_id",))

    @cached_property
    def nights(self) -> Shards:
        """The leaderboard after each night (``flows.pipeline.load.nights``)."""
        return self._of_no_session("nights", parquet_schemas.NIGHTS, ("study_key", "night"))

    @cached_property
    def calls(self) -> Shards:
        """Calls of language models, as they left the journal (``flows.store.call_journal``)."""
        return self._of_no_session("calls", parquet_schemas.CALLS, ("call_id",))

    def records(self, kind: str) -> list[dict[str, Any]]:
        """All small JSON records of a kind (``methods``, ``judges``, ``runs``), by name."""
        found = []
        for path, content in self.place.contents(self.root / kind, ".json"):
            try:
                row = json.loads(content)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                lost = "that run is missing from the table of runs" if kind == "runs" else "a run writes it anew"
                raise damage_error(self.place.display_name(path), lost)
            found.append(row)
        return found

    def record(self, kind: str, name: str, content: Mapping[str, Any], *, replace: bool = False) -> None:
        """Write a small JSON record; one that is there already stays as it is unless ``replace``."""
        path = self.root / kind / f"{name}.json"
        if replace or self.place.stat(path) is None:
            self.place.write(path, json.dumps(content, indent=2, ensure_ascii=False).encode("utf-8", "replace"))

    @contextmanager
    def locked(self, what: str) -> Iterator[None]:
        """Lock the store for writing and remove unfinished files of a killed run. Raises as ``_hold``."""
        with self._hold(what):
            self._sweep()
            with name_damaged_file(self.root, self.place):
                yield

    @contextmanager
    def _hold(self, what: str) -> Iterator[None]:
        """Lock the store. Files written under the lock get modes by the folder's (``flows.support.atomic_files``).

        The lock is the operating system's: it ends with the process, however that ends. Raises StoreError when
        another process holds it.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(folder_umask(self.root))
                file = stack.enter_context(open_in_place(self.root / LOCK))
            except OSError as error:
                raise StoreError(f"store {self.name}: cannot be written: {error.strerror}") from None
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                holder = file.read().strip() or "another process"
                raise StoreError(
                    f"store {self.name} is in use by {holder}; wait until it has ended, or name another with --store"
                ) from None
            file.truncate(0)
            file.write(f"`compaction-eval {what}` (process {os.getpid()})")
            file.flush()
            with self.place.claim(what):
                yield

    def is_locked(self) -> bool:
        """Whether a process holds the store for writing now."""
        return self.holder() is not None

    def holder(self) -> str | None:
        """The command that holds the store for writing now, with its process; None if none does."""
        path = self.root / LOCK
        if path.exists():
            with path.open("r", encoding="utf-8", errors="replace") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    return file.read().strip() or "another process"
        return self.place.claimant()

    def _sweep(self) -> None:
        """Remove unfinished files of a killed run. The caller must hold the lock."""
        self.place.sweep(self.root)
        end_permits(self.root, self.place)
        check_parquet(self.root)
        for kind in ("runs", "methods", "judges"):
            self.records(kind)  # a damaged one is to be said before anything is done
        for shards in self.folders:
            shards.finish_rearranging()
