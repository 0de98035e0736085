"""A store in an object store: S3, Google Cloud Storage, Azure, and servers that speak like one of them.

An object becomes visible as a whole, so nothing has to be renamed. Names, sizes and versions (ETags) of objects are
asked from the server. Contents are fetched once and cached by version in a working folder of this machine. The working
folder may be removed when no command runs. Only the call cache has content that the object store lacks, until
``flows.store.call_cache_sync`` uploads it.
"""

# ruff: noqa: D102 (docstrings are in ``Storage``)

from __future__ import annotations

import io
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import obstore
import pyarrow as pa
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import from_url

from flows.store.local_copies import A_DAY, ENDPOINTS, WorkingFolder, age_seconds, working_folder
from flows.store.object_lease import CLOCK, Lease, fresh_holder, holder_of
from flows.store.storage import FileInfo, Result, Storage, remove_unfinished
from flows.support.atomic_files import TMP, check_first, temporary_path
from flows.support.errors import StoreError, UsageError

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

RETRY: RetryConfig = {"max_retries": 10, "retry_timeout": timedelta(minutes=3)}
"""Retries when a server does not answer or answers with a server error: about a minute in all."""
CLIENT: ClientConfig = {"timeout": "60s", "connect_timeout": "10s"}
PIECE = 16_000_000
"""Bytes fetched by one request, small enough to end well before the client's timeout."""
AT_ONCE = 8
"""Number of parallel requests that fetch files."""
BY_PIECES = 2
"""Number of times a file is read in ranges (its footer, some rows) before it is fetched whole."""
CHECK_SECONDS = 5.0
"""Seconds after which a writer checks again that it still holds the store. Before a removal it always checks."""


class _Pieces(io.RawIOBase):
    """A file object that reads ranges of an object."""

    def __init__(self, place: ObjectStorage, seen: FileInfo) -> None:
        self._place, self._seen, self._at = place, seen, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._seen.size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._seen.size if size < 0 else min(self._at + size, self._seen.size)
        found = self._place.piece(self._seen, self._at, end) if end > self._at else b""
        self._at += len(found)
        return found


class ObjectStorage(Storage):
    """Storage of a store's files as objects below a URL. Made by ``ObjectStorage.at``."""

    def __init__(self, url: str, root: Path, store: ObjectStore) -> None:
        self.url = url
        self.root = root
        """The working folder."""
        self.work = WorkingFolder(root, url)
        self.token: str | None = None
        """Token of the writer that this process belongs to; None for a reader."""
        self._store = store
        self._last: dict[Path, FileInfo] = {}
        self._opened: Counter[tuple[Path, str]] = Counter()
        self._checked = 0.0

    @classmethod
    def at(cls, location: str) -> ObjectStorage:
        """The storage for a URL, the same object each time. ``#`` and a writer's token may follow the URL.

        Raises UsageError when the settings in the environment cannot be used.
        """
        url, _, token = location.partition("#")
        url = url.rstrip("/")
        settings = tuple(sorted((n, v) for n, v in os.environ.items() if n.startswith(("AWS_", "GOOGLE_", "AZURE_"))))
        root = working_folder(url)
        key = _Key(url, root, settings)
        with _storages_lock:
            if key not in _storages:
                _storages[key] = cls(url, root, _opened(url))
            place = _storages[key]
        place.token = token or place.token
        return place

    def address(self, root: Path) -> str:
        return f"{self.url}#{self.token}" if self.token else self.url

    def display_name(self, path: Path) -> str:
        known = self.store_path(path)
        below = known.relative_to(self.root).as_posix() if known.is_relative_to(self.root) else None
        return str(path) if below is None else self.url if below == "." else f"{self.url}/{below}"

    def holds_something(self, folder: Path) -> bool:
        with self._asking():
            return any(
                not PurePosixPath(meta["path"]).parts[0].startswith(".")
                for some in obstore.list(self._store)
                for meta in some
            )

    def paths(self, folder: Path, suffix: str = ".parquet") -> list[Path]:
        return [one.path for one in self.list_files(folder, suffix)]

    def list_files(self, folder: Path, suffix: str = ".parquet") -> list[FileInfo]:
        with self._asking():
            listed = obstore.list_with_delimiter(self._store, self._key(folder))["objects"]
        found = [self._noted(meta) for meta in listed if meta["path"].endswith(suffix)]
        return sorted(found, key=lambda one: one.path)

    def list_all_files(self, root: Path, suffix: str = ".parquet") -> list[FileInfo]:
        depth = len(self.root.parts) + 2
        found = [one for one in self._everything() if len(one.path.parts) == depth and one.path.name.endswith(suffix)]
        return sorted(found, key=lambda one: one.path)

    def stat(self, path: Path) -> FileInfo | None:
        try:
            with self._asking():
                return self._noted(obstore.head(self._store, self._key(path)))
        except FileNotFoundError:
            self._last.pop(path, None)
            return None

    def local_paths(self, paths: Iterable[Path]) -> list[Path]:
        wanted = list(paths)
        missing = [path for path in wanted if (one := self._last.get(path)) is None or not self.work.copy(one).exists()]
        if missing and self.work.is_due:
            self.work.prune(self._everything())
        if len(missing) > 1:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                list(pool.map(self._fetch, missing))
        elif missing:
            self._fetch(missing[0])
        return [self.work.copy(self._last[path]) if path in self._last else path for path in wanted]

    def store_path(self, found: str | Path) -> Path:
        return self.work.store_path(Path(found))

    def open(self, seen: FileInfo) -> Any:
        copy = self.work.copy(seen)
        if copy.exists():
            return copy
        self._opened[seen.path, seen.version] += 1
        if self._opened[seen.path, seen.version] > BY_PIECES:
            return self.local_paths([seen.path])[0]
        return pa.PythonFile(_Pieces(self, seen), "r")

    def piece(self, seen: FileInfo, start: int, end: int) -> bytes:
        """A range of bytes of an object. Raises StoreError when the object was replaced since it was listed."""
        try:
            with self._asking():
                got = obstore.get(
                    self._store, self._key(seen.path), options={"range": (start, end), "if_match": seen.version}
                )
                return bytes(got.bytes())
        except (PreconditionError, FileNotFoundError):
            raise self._replaced(seen.path) from None

    def each(self, function: Callable[[FileInfo], Result], files: Iterable[FileInfo]) -> list[Result]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(function, files))

    def read(self, path: Path) -> bytes | None:
        try:
            with self._asking():
                return bytes(obstore.get(self._store, self._key(path)).bytes())
        except FileNotFoundError:
            return None

    def contents(self, folder: Path, suffix: str) -> Iterator[tuple[Path, bytes]]:
        paths = self.paths(folder, suffix)
        for path, copy in zip(paths, self.local_paths(paths), strict=True):
            yield path, copy.read_bytes()

    def write(self, path: Path, content: bytes) -> None:
        check_first()
        with self._writing():
            put = obstore.put(self._store, self._key(path), content)
        self.work.keep(FileInfo(path, len(content), 0, put["e_tag"] or ""), content)
        self._last.pop(path, None)

    def publish(self, tmp: Path, path: Path) -> None:
        check_first()
        with self._writing():
            # A large one goes in parts, which nobody sees before the end.
            put = obstore.put(self._store, self._key(path), tmp)
        self.work.take(FileInfo(path, tmp.stat().st_size, 0, put["e_tag"] or ""), tmp)
        self._last.pop(path, None)

    def remove(self, path: Path) -> None:
        with self._writing(relied_on=0.0), suppress(FileNotFoundError):
            obstore.delete(self._store, self._key(path))
        self._last.pop(path, None)

    def clear(self, folder: Path) -> None:
        for path in self.paths(folder, ""):
            self.remove(path)

    @contextmanager
    def claim(self, what: str) -> Iterator[None]:
        """Hold the store as the only writer. The caller holds the lock of the working folder."""
        with self._asking():
            lease = Lease(self._store, self.url, what, self.work.id)
            lease.take()
        self.token, self._checked = lease.token, time.monotonic()
        try:
            yield
        finally:
            self.token = None
            lease.release()

    def claimant(self) -> str | None:
        with self._asking():
            return fresh_holder(self._store)

    def sweep(self, root: Path) -> None:
        """Remove unfinished files of a killed command, on both sides, and copies of objects that no longer exist."""
        found = self._everything()
        for seen in found:
            top = seen.path.relative_to(self.root).parts[0]
            if TMP in top or (top.startswith(CLOCK) and age_seconds(seen.written_ns) > A_DAY):
                self.remove(seen.path)
        remove_unfinished(*root.glob(f"*/*{TMP}"), *root.glob(f"cache/**/*{TMP}"), *root.glob(f".*{TMP}*"))
        self.work.prune(found)

    def cached(self, root: Path) -> list[Path]:
        return self.work.all_copies()

    def _everything(self) -> list[FileInfo]:
        with self._asking():
            return [self._noted(meta) for some in obstore.list(self._store) for meta in some]

    def _fetch(self, path: Path) -> None:
        """Fetch the copy of a file; the current version if the file was replaced since it was listed."""
        for _ in range(3):
            seen = self._last.get(path) or self.stat(path)
            if seen is None or self.work.copy(seen).exists():
                return
            copy = self.work.copy(seen)
            copy.parent.mkdir(parents=True, exist_ok=True)
            tmp = temporary_path(copy)
            try:
                with tmp.open("wb") as file:
                    for start in range(0, seen.size, PIECE):
                        file.write(self.piece(seen, start, min(start + PIECE, seen.size)))
                tmp.replace(copy)
                return
            except _ReplacedError:
                self._last.pop(path, None)
            finally:
                tmp.unlink(missing_ok=True)
        raise self._replaced(path)

    def _replaced(self, path: Path) -> _ReplacedError:
        return _ReplacedError(
            f"{self.display_name(path)} was replaced while it was read, by another process; try again"
        )

    def _noted(self, meta: Any) -> FileInfo:
        path = self.root / meta["path"]
        written = int(meta["last_modified"].timestamp() * 1e9)
        self._last[path] = FileInfo(path, meta["size"], written, meta["e_tag"] or meta["version"] or str(written))
        return self._last[path]

    def _key(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    @contextmanager
    def _writing(self, relied_on: float | None = None) -> Iterator[None]:
        """Write as the holder of the store. Raises StoreError when another process has taken it over.

        ``relied_on``: seconds for which the last check counts; by default ``CHECK_SECONDS``.
        """
        with self._asking():
            since = time.monotonic() - self._checked
            if self.token is not None and since > (CHECK_SECONDS if relied_on is None else relied_on):
                held = holder_of(self._store)
                if held is None or held["token"] != self.token:
                    by = "it" if held is None else f"{held['holder']} has taken it over, because this one"
                    why = f"{by} was not heard of for too long" if held else "its mark of being in use is gone"
                    raise StoreError(f"store {self.url}: {why}; nothing more was written: run again")
                self._checked = time.monotonic()
            yield

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Turn an error of the server into a StoreError with its message."""
        try:
            yield
        except (AlreadyExistsError, PreconditionError):
            raise
        except (BaseError, PermissionError) as error:
            said = re.sub(r"\s+", " ", re.split(r"\n\s*\n", str(error))[0]).strip(" -:")
            raise StoreError(
                f"store {self.url}: the object store cannot be used: {said}; what was finished is kept: see to it, and "
                "run again"
            ) from None


class _ReplacedError(StoreError):
    """An object was replaced since it was listed."""


class _Key(NamedTuple):
    url: str
    root: Path
    settings: tuple[tuple[str, str], ...]


_storages: dict[_Key, ObjectStorage] = {}
_storages_lock = threading.Lock()


def _opened(url: str) -> ObjectStore:
    client: ClientConfig = {**CLIENT}
    if any(os.environ.get(name, "").startswith("http://") for name in ENDPOINTS):
        client["allow_http"] = True
    try:
        return from_url(url, client_options=client, retry_config=RETRY)
    except (BaseError, ValueError) as error:
        raise UsageError(f"store {url}: cannot be opened: {str(error).splitlines()[0]}") from None
