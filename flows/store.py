"""The store: what lies where, who may write, and how a file becomes visible.

Every file is written under a temporary name, synced and renamed, so that a reader sees all of it or none. Parquet
files are never changed in place; what is done is known from the ids that they hold (``flows.plan``).
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.dataset as pads

from flows import migrations, schemas
from flows.files import made_for, make_folder
from flows.permits import end_permits
from flows.places import HERE, SCHEMES, Place
from flows.problems import StoreProblem, UsageProblem, install_extra
from flows.shards import Shards, bits_in
from flows.soundness import check_parquet, damaged, named_damage

STORE_FORMAT = 3
"""Raised when a store of the older layout cannot be read any more without being rewritten."""


CACHE = "cache"
DATABASE = "scores.duckdb"
LOCK = ".lock"
MARKER = "store.json"
"""Says that a folder is a store, of which format, and which tokenizer counts its tokens."""


def is_elsewhere(location: str) -> bool:
    """Whether a store is in an object store, and not in a folder."""
    return "://" in location and urlsplit(location).scheme != "file"


def store_path(location: str) -> Path:
    """The folder of a store given as a path or a ``file://`` URL."""
    parts = urlsplit(location)
    return Path(unquote(parts.path)) if parts.scheme == "file" else Path(location).expanduser()


def place_of(location: str) -> tuple[Path, Place]:
    """The folder below which a store's files are known, and where they are.

    Raises UsageProblem when the URL is of no object store, or the package for them is missing.
    """
    if not is_elsewhere(location):
        return store_path(location), HERE
    parts = urlsplit(location)
    if parts.scheme not in SCHEMES or not parts.netloc:
        raise UsageProblem(f"store {location}: expected a folder, or a URL such as s3://bucket/prefix (also gs, az)")
    try:
        from flows.objects import Objects  # noqa: PLC0415 (its package is an extra)
    except ModuleNotFoundError as error:
        if error.name != "obstore":
            raise
        raise UsageProblem(
            f"store {location}: the package for object stores is missing: {install_extra('cloud')}"
        ) from None
    place = Objects.at(location)
    return place.root, place


class Store:
    """A store that exists; made by ``Store.open`` or ``Store.create``."""

    def __init__(self, root: Path, bits: str = "", place: Place = HERE) -> None:
        self.root = root
        """Where its files are, or by what they are known (``flows.places``)."""
        self.bits = bits
        """The bucket that is looked at; ``""`` for all."""
        self.place = place
        self.transcripts = root / "transcripts"
        self.quarantine = root / "quarantine"
        self.labels = root / "labels"

    @classmethod
    def at(cls, location: str) -> Store:
        """A store that may not be there yet."""
        root, place = place_of(location)
        return cls(root, place=place)

    @property
    def name(self) -> str:
        """How it is given with ``--store``."""
        return self.place.told(self.root)

    @property
    def full_name(self) -> str:
        """The same, from any folder."""
        return self.place.told(self.root.absolute())

    @property
    def address(self) -> str:
        """By what a worker opens it."""
        return self.place.address(self.root)

    @property
    def database(self) -> Path:
        """Where ``scores.duckdb`` can be read, as it is now; or where it would be."""
        return self.place.here([self.root / DATABASE])[0]

    def texts(self) -> dict[str, pads.Dataset]:
        """What ``flows.database.show_texts`` shows."""
        messages = Shards(
            self.transcripts, schemas.MESSAGES, ("session_id", "seq"), is_bucketed=False, place=self.place
        )
        return {"message_rows": messages.dataset(), "context_rows": self.compactions.dataset()}

    @property
    def is_there(self) -> bool:
        """Whether it has been made."""
        return self.place.look(self.root / MARKER) is not None

    @classmethod
    def open(cls, location: str) -> Store:
        """A store that is there, for reading.

        Raises StoreProblem when there is none, or when a version of another format made it.
        """
        store = cls._there(location)
        store._check_format()
        return store

    @classmethod
    def brought_up(cls, location: str) -> Store:
        """A store that is there, for writing: one of an older format is brought to this version's first.

        Raises StoreProblem when there is none, when it is in use, and when there is no way from its format to this.
        """
        store = cls._there(location)
        store._bring_up()
        return store

    @classmethod
    def _there(cls, location: str) -> Store:
        store = cls.at(location)
        if not store.is_there:
            raise StoreProblem(f"no store at {store.name}; `compaction-eval run` makes one, --store names another")
        return store

    @classmethod
    def create(cls, location: str, tokenizer: str) -> Store:
        """A store for writing: the one that is there, or a new one. It keeps the tokenizer that it was made with."""
        store = cls.at(location)
        if store.is_there:
            store._bring_up()
        else:
            if store.place is HERE and store.root.is_file():
                raise StoreProblem(f"store {store.name}: this is a file; a store is a folder")
            # Looked at again: another command may have made the store in between, and begun to fill it.
            if store.place.holds_something(store.root) and not store.is_there:
                raise StoreProblem(f"store {store.name}: the folder holds other things; name an empty or a new folder")
            try:
                make_folder(store.root)
                with store._held("create"):
                    if not store.is_there:  # or else it would take the tokenizer from whoever was faster
                        store._describe({"format": STORE_FORMAT, "tokenizer": tokenizer})
            except OSError as error:
                raise StoreProblem(f"store {store.name}: cannot be written: {error.strerror}") from None
        if store.settings["tokenizer"] != tokenizer:
            made_with = store.settings["tokenizer"]
            raise UsageProblem(
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
            raise StoreProblem(
                f"{self.place.told(path)}: not the description of a store (JSON with format and tokenizer); if the "
                f'folder is one, put it back, in this version {{"format": {STORE_FORMAT}, '
                '"tokenizer": "o200k_base"} with yours'
            ) from None
        return settings

    def _bring_up(self) -> None:
        """Take the steps from the store's format to this version's. Killed in between, the next run goes on."""
        if not migrations.way(int(self.settings["format"]), STORE_FORMAT):
            self._check_format()
            return
        with self._held("migrate"):
            del self.__dict__["settings"]  # whoever held it before may have been faster
            for step in migrations.way(int(self.settings["format"]), STORE_FORMAT) or ():
                said = f"store {self.name}: from format {step.source} to {step.target}: {step.does}"
                print(said, file=sys.stderr, flush=True)  # noqa: T201 (once in a store's life, and it may take long)
                step.run(self.root)
                content = {**self.settings, "format": step.target}
                self._describe(content)
                del self.__dict__["settings"]

    def _describe(self, content: Mapping[str, Any]) -> None:
        self.place.write(self.root / MARKER, json.dumps(content, indent=2).encode() + b"\n")

    def _check_format(self) -> None:
        found = int(self.settings["format"])
        if found < STORE_FORMAT and migrations.way(found, STORE_FORMAT):
            raise StoreProblem(
                f"store {self.name} has format {found}, made by an earlier version of compaction-eval; bring it to "
                f"format {STORE_FORMAT} with: compaction-eval rebuild --store {self.name} (or with any run)"
            )
        if found < STORE_FORMAT:
            raise StoreProblem(
                f"store {self.name} has format {found}, made by an earlier version of compaction-eval; this version "
                f"writes {STORE_FORMAT} and cannot go on with it: run on the same sources with another --store"
            )
        if found > STORE_FORMAT:
            raise StoreProblem(
                f"store {self.name} has format {found}, made by a newer version of compaction-eval; "
                f"this version reads up to {STORE_FORMAT}: update it, or name another store with --store"
            )

    def within(self, bits: str) -> Store:
        """The same store, of which a bucket is looked at: its folders show and write the files of that bucket."""
        return Store(self.root, bits, self.place)

    def _shards(self, name: str, schema: pa.Schema, key: tuple[str, ...]) -> Shards:
        return Shards(self.root / name, schema, key, place=self.place).within(self.bits)

    def _of_no_session(self, name: str, schema: pa.Schema, key: tuple[str, ...]) -> Shards:
        return Shards(
            self.root / name, schema, key, has_failures=False, is_bucketed=False, place=self.place
        )  # fmt: skip

    @property
    def folders(self) -> tuple[Shards, ...]:
        """Every folder of shards that a run adds to."""
        return (
            self.points, self.compactions, self.probes, self.needs, self.measures, self.answers, self.scores,
            self.anchor_scores, self.calls, self.nights,
        )  # fmt: skip

    def depth(self) -> int | None:
        """Bits of the buckets that its files are of; None where there is no file yet."""
        names = [path.name for shards in self.folders if shards.is_bucketed for path in shards.files()]
        return max((len(bits_in(name)) for name in names), default=None)

    def tidy(self, depth: int) -> None:
        """Have every file in its bucket, of so many bits, and few small files; only the holder of the lock may."""
        for shards in self.folders:
            shards.tidy(depth)

    @cached_property
    def points(self) -> Shards:
        """Where each session's compaction points are."""
        return self._shards("points", schemas.POINTS, ("session_id", "content_sha256", "points_spec"))

    @cached_property
    def compactions(self) -> Shards:
        """What every method left at every point."""
        return self._shards("compactions", schemas.COMPACTIONS, ("compaction_id",))

    @cached_property
    def probes(self) -> Shards:
        """Questions with their proven answers, and those that could not be asked."""
        return self._shards("probes", schemas.PROBES, ("probe_id",))

    @cached_property
    def answers(self) -> Shards:
        """What the responder said."""
        return self._shards("answers", schemas.ANSWERS, ("answer_id",))

    @cached_property
    def scores(self) -> Shards:
        """What the judge made of it."""
        return self._shards("scores", schemas.SCORES, ("answer_id", "judge_id", "judge_replicate"))

    @cached_property
    def label_samples(self) -> Shards:
        """Answers that were drawn for people to label."""
        return self._of_no_session("label_samples", schemas.LABEL_SAMPLES, ("sample_id",))

    @cached_property
    def anchor_scores(self) -> Shards:
        """What the judge made of the anchors, day by day."""
        return self._shards("anchor_scores", schemas.ANCHOR_SCORES, ("answer_id", "judge_id", "taken_on"))

    @cached_property
    def needs(self) -> Shards:
        """What each session needed again after a point."""
        return self._shards("needs", schemas.NEEDS, ("needs_id",))

    @cached_property
    def measures(self) -> Shards:
        """What was measured of compacted contexts without a question."""
        return self._shards("measures", schemas.MEASURES, ("measure_id",))

    @cached_property
    def nights(self) -> Shards:
        """What the leaderboard was after each night (``flows.nights``)."""
        return self._of_no_session("nights", schemas.NIGHTS, ("study_key", "night"))

    @cached_property
    def calls(self) -> Shards:
        """Calls of language models, as they left the journal (``flows.journal``)."""
        return self._of_no_session("calls", schemas.CALLS, ("call_id",))

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
                raise damaged(self.place.told(path), lost)
            found.append(row)
        return found

    def record(self, kind: str, name: str, content: Mapping[str, Any], *, replace: bool = False) -> None:
        """Write a small JSON record; one that is there already stays as it is unless ``replace``."""
        path = self.root / kind / f"{name}.json"
        if replace or self.place.look(path) is None:
            self.place.write(path, json.dumps(content, indent=2, ensure_ascii=False).encode("utf-8", "replace"))

    @contextmanager
    def locked(self, what: str) -> Iterator[None]:
        """Hold the store for writing, and remove what a killed run left. Raises as ``_held``."""
        with self._held(what):
            self._sweep()
            with named_damage(self.root, self.place):
                yield

    @contextmanager
    def _held(self, what: str) -> Iterator[None]:
        """Hold the store, as it is; what is written meanwhile is for whom the store's folder is (``flows.files``).

        An operating-system lock: it is gone when the process is gone, however it ended. Raises StoreProblem when
        another process holds it.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(made_for(self.root))
                file = stack.enter_context((self.root / LOCK).open("a+"))
            except OSError as error:
                raise StoreProblem(f"store {self.name}: cannot be written: {error.strerror}") from None
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                holder = file.read().strip() or "another process"
                raise StoreProblem(
                    f"store {self.name} is in use by {holder}; wait until it has ended, or name another with --store"
                ) from None
            file.truncate(0)
            file.write(f"`compaction-eval {what}` (process {os.getpid()})")
            file.flush()
            with self.place.claimed(what):
                yield

    def is_locked(self) -> bool:
        """Whether some process writes to the store now."""
        return self.holder() is not None

    def holder(self) -> str | None:
        """The command that writes to the store now, and its process; None where none does."""
        path = self.root / LOCK
        if path.exists():
            with path.open("r", encoding="utf-8", errors="replace") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    return file.read().strip() or "another process"
        return self.place.claimant()

    def _sweep(self) -> None:
        """Remove what a killed run left unfinished; only the holder of the lock may."""
        self.place.sweep(self.root)
        end_permits(self.root, self.place)
        check_parquet(self.root)
        for kind in ("runs", "methods", "judges"):
            self.records(kind)  # a damaged one is to be said before anything is done
        for shards in self.folders:
            shards.finish_rearranging()
