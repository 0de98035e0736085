"""The objects that a worker process keeps between its tasks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, wraps
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from compaction import CallsStoppedError, Message, Method, Transcript
from flows.config.study import Study
from flows.pipeline.engine import Engine, engine_for
from flows.pipeline.session_cache import SessionCache
from flows.redaction import Redactor
from flows.sessions.session_parts import SessionInfo, load_session, memory_bytes
from flows.store.row_codec import contexts_of
from flows.store.shards import Shards
from flows.store.store import Store
from flows.support import event_log
from flows.support.resource_use import ResourceUse, peak_memory

OPEN_BYTES = 128_000_000
"""Sessions of one process with their contexts, about; beyond, the least recently used are read again when needed."""


@dataclass
class _Open:
    """A session in memory, and what methods have left of it: contexts hold its messages, so they go together."""

    transcript: Transcript
    size: int
    contexts: dict[str, tuple[Message, ...]] = field(default_factory=dict)


_open: SessionCache[tuple[str, str, str], _Open] = SessionCache(OPEN_BYTES)
"""What stays in memory between two tasks. A worker process gets plain data for each task, so this is its own."""


@dataclass
class Tally:
    """The counts and resources of a batch."""

    done: int = 0
    failed: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    used: ResourceUse = field(default_factory=ResourceUse)
    items: list[dict[str, Any]] = field(default_factory=list)
    """Lines for the log, where one an item is wanted (``flows.support.event_log``)."""

    def add(self, status: str) -> None:
        """Count one item."""
        if status == "failed":
            self.failed += 1
        else:
            self.done += 1

    def leave(self) -> None:
        """Count one item that was not begun, because no model call may be made any more."""
        self.counts["left"] = self.counts.get("left", 0) + 1

    @property
    def left(self) -> int:
        """Items that were left."""
        return self.counts.get("left", 0)

    @staticmethod
    def total(tallies: Iterable[Tally]) -> Tally:
        """Sum up several tallies."""
        whole = Tally()
        for tally in tallies:
            whole.done += tally.done
            whole.failed += tally.failed
            for name, number in tally.counts.items():
                whole.counts[name] = whole.counts.get(name, 0) + number
            whole.used.add(tally.used)
        return whole


Item = TypeVar("Item")
Result = TypeVar("Result")
P = ParamSpec("P")


def timed_task(function: Callable[P, Tally]) -> Callable[P, Tally]:
    """A task's function that also says what the task took, wherever it runs."""

    @wraps(function)
    def counted(*args: P.args, **kwargs: P.kwargs) -> Tally:
        start, cpu = time.perf_counter(), time.process_time()
        tally = function(*args, **kwargs)
        tally.used = ResourceUse(time.perf_counter() - start, time.process_time() - cpu, peak_memory())
        return tally

    return counted


class Items:
    """Goes through the items of a task one after the other, as a worker process does."""

    def __init__(self, lines: list[dict[str, Any]] | None = None) -> None:
        """``lines`` takes up the lines for the log, which go back with the task's tally; None where none is wanted."""
        self._lines = lines

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        weight: Callable[[Item], int],
        *,
        cached_first: bool = False,
    ) -> Iterator[Result]:
        """The function of every item, in order.

        ``weight`` says for how many an item counts in the progress. With ``cached_first`` threads leave what the call
        cache answers to one of them.
        """
        return map(function, items)

    def log(self, stage: str, **fields: Any) -> None:
        """Log one item that is done."""
        if self._lines is not None:
            self._lines.append({"stage": stage, **fields})


class ItemThreads(Items):
    """Works on many items at a time, in threads of this process: for work that waits for a model."""

    def __init__(self, number: int, flush: Callable[[], None]) -> None:
        """``flush`` is called when all items of a task are done, before the task stores what came of them."""
        super().__init__()
        self._pool = ThreadPoolExecutor(number, thread_name_prefix="item")
        self._flush = flush
        self._advance: list[Callable[[int], None]] = []
        self._alone = threading.Lock()
        self._alone_thread: int | None = None

    @contextmanager
    def reporting(self, advance: Callable[[int], None]) -> Iterator[None]:
        """Tell of every item that is done."""
        self._advance.append(advance)
        try:
            yield
        finally:
            self._advance.remove(advance)

    @property
    def wants_cached(self) -> bool:
        """Whether this thread does just now what the call cache answers, and nothing else."""
        return self._alone_thread == threading.get_ident()

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        weight: Callable[[Item], int],
        *,
        cached_first: bool = False,
    ) -> Iterator[Result]:
        """The function of every item, in order, side by side.

        With ``cached_first`` what the call cache answers is done by one thread alone (many that do not wait are in
        each other's way: a third of the speed), and only the items of which the function gives None then go to the
        threads.
        """

        def one(item: Item) -> Result:
            result = function(item)
            for advance in self._advance if result is not None else ():
                advance(weight(item))
            return result

        yield from self._cached_first(one, items) if cached_first else self._pool.map(one, items)
        self._flush()

    def _cached_first(self, one: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        found: list[Result | Future[Result]] = []
        for item in items:
            with self._alone:
                self._alone_thread = threading.get_ident()
                try:
                    result = one(item)
                finally:
                    self._alone_thread = None
            found.append(self._pool.submit(one, item) if result is None else result)
        for outcome in found:
            yield outcome.result() if isinstance(outcome, Future) else outcome

    def log(self, stage: str, **fields: Any) -> None:
        """Log one item at once."""
        event_log.item(stage, **fields)

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class TaskTools:
    """The engine and items of a task: a worker's own, or the run's in a thread of its process."""

    engine: Engine
    items: Items


@dataclass(frozen=True)
class TaskContext:
    """All that the functions of a stage work with, made once at the start of a task."""

    store: Store
    """Whose lock the run holds; it shows one bucket."""
    study: Study
    engine: Engine
    items: Items

    @cached_property
    def methods(self) -> Sequence[Method]:
        """The study's methods, in its order."""
        return self.study.methods()

    @classmethod
    def of_bucket(cls, root: str, study: Study, bits: str, tools: TaskTools | None = None) -> TaskContext:
        """The context of a task on a bucket; without ``tools`` that of a worker."""
        tools = tools or TaskTools(engine_for(study), Items())
        return cls(Store.at(root).within(bits), study, tools.engine, tools.items)


def with_item_log(function: Callable[..., Tally], root: str, study: Study, *args: Any) -> Tally:
    """A task in a worker process, with the log's lines of its items."""
    lines: list[dict[str, Any]] = []
    tally = function(root, study, *args, tools=TaskTools(engine_for(study), Items(lines)))
    tally.items = lines
    return tally


def unless_stopped(function: Callable[[Item], Result]) -> Callable[[Item], Result | None]:
    """The function, giving None where no model call may be made any more: the item is left for another run."""

    def tried(item: Item) -> Result | None:
        try:
            return function(item)
        except CallsStoppedError:
            return None

    return tried


def warm_up(study: Study) -> None:
    """Import and load what every batch needs, while the parent is busy with other things."""
    engine_for(study).counter.count("warm")


def session(store: Store, info: SessionInfo) -> Transcript:
    """A session, with the same message objects as last time while they are in memory."""
    return _opened(store, info).transcript


def _opened(store: Store, info: SessionInfo) -> _Open:
    key = (str(store.root), info.session_id, info.content_sha256)
    found = _open.get(key)
    if found is None:
        transcript = load_session(store, info)
        found = _Open(transcript, memory_bytes(transcript.messages))
        _open.put(key, found, found.size)
    return found


def remember(store: Store, info: SessionInfo, contexts: Mapping[str, tuple[Message, ...]]) -> None:
    """Keep contexts of a session, by compaction, for the next stage."""
    key = (str(store.root), info.session_id, info.content_sha256)
    found = _open.get(key)
    if found is None:  # other threads have needed the room
        return
    for id, context in contexts.items():
        own = [message for message in context if message.seq is None or message.covers]
        found.size += 64 + 8 * len(context) + memory_bytes(own)
        found.contexts[id] = context
    _open.put(key, found, found.size)


@cache
def redactor() -> Redactor:
    """Return the masker of secrets, made once."""
    return Redactor()


def why(error: Exception) -> str:
    """An exception as the reason of a failed item; one that is no engine error with its type."""
    text = " ".join(str(error).split())
    return text if type(error).__module__.startswith(("compaction", "judge")) else f"{type(error).__name__}: {text}"


class SliceRows:
    """Rows of some sessions that have not failed, by id; read from the store when one is first asked for."""

    def __init__(self, shards: Shards, id: str, sessions: Iterable[str], columns: Sequence[str] | None = None) -> None:
        self._shards, self._id = shards, id
        self._sessions = sorted(set(sessions))
        self._columns = list(columns or shards.schema.names)

    @cached_property
    def _table(self) -> pa.Table:
        is_wanted = pc.field("session_id").isin(self._sessions) & (pc.field("status") != "failed")
        return self._shards.dataset().to_table(columns=self._columns, filter=is_wanted)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {id: place for place, id in enumerate(self._table[self._id].to_pylist())}

    def table(self, ids: Iterable[str]) -> pa.Table:
        """The rows with these ids, as far as there are any, in their order."""
        return self._table.take(pa.array([self._places[id] for id in ids if id in self._places], pa.int64()))

    def rows(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The rows with these ids, as far as there are any."""
        return {row[self._id]: row for row in self.table(ids).to_pylist()}


class Contexts:
    """Compacted contexts of some sessions, from memory or rebuilt from the store."""

    def __init__(self, store: Store, sessions: Iterable[str]) -> None:
        self._store = store
        self._rows = SliceRows(
            store.compactions, "compaction_id", sessions, ["compaction_id", "status", "context", "session_id"]
        )

    def of(self, info: SessionInfo, ids: Iterable[str]) -> dict[str, tuple[Message, ...]]:
        """Compaction → its context; all of them compactions of this session."""
        wanted, opened = list(dict.fromkeys(ids)), _opened(self._store, info)
        found = {id: opened.contexts[id] for id in wanted if id in opened.contexts}
        missing = [id for id in wanted if id not in found]
        if missing:
            table = self._rows.table(missing)
            rebuilt = contexts_of(table["context"], [opened.transcript] * len(table))
            left = dict(zip(table["compaction_id"].to_pylist(), rebuilt, strict=True))
            remember(self._store, info, left)
            found |= left
        return found


def recalled(
    method: Method, context: tuple[Message, ...], question: str, said: Callable[[], tuple[Message, ...]]
) -> tuple[tuple[Message, ...], list[Message]]:
    """Return a question's context, and the messages in it that the method fetched.

    ``said`` gives all that was said before the point; it is asked only of a method that fetches.
    """
    if not method.recalls:
        return context, []
    before = set(map(id, context))
    whole = method.recall(context, question, said())
    return whole, [message for message in whole if id(message) not in before]
