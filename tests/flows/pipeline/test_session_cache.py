"""What a worker process keeps in memory between its tasks."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from compaction import Message
from flows.config.study import Study
from flows.pipeline.session_cache import SessionCache
from flows.pipeline.tasks import task_context
from flows.pipeline.tasks.ingest import ingest_batch
from flows.sessions.session_parts import SessionInfo, read_parts
from flows.sources import discover
from flows.store.store import Store
from tests.flows.conftest import write_session


class Marked(str):
    """A text that tells when it is gone."""

    __slots__ = ("__weakref__",)


@pytest.fixture
def open_sessions(monkeypatch: pytest.MonkeyPatch) -> SessionCache[tuple[str, str, str], task_context._Open]:
    """Room for about one of the sessions."""
    kept: SessionCache[tuple[str, str, str], task_context._Open] = SessionCache(20_000)
    monkeypatch.setattr(task_context, "_open", kept)
    return kept


@pytest.fixture
def infos(tmp_path: Path) -> tuple[Store, list[SessionInfo]]:
    store = Store.create(str(tmp_path / "store"), "o200k_base")
    for number in range(3):
        write_session(tmp_path / "logs" / f"{number}.jsonl", f"session-{number}", 10)
    ingest_batch(str(store.root), Study(), discover([str(tmp_path / "logs")]), 1)
    return store, [info for part in read_parts(store) for info in part.sessions]


def test_contexts_are_kept_with_their_session_and_go_with_it(
    open_sessions: SessionCache[tuple[str, str, str], task_context._Open], infos: tuple[Store, list[SessionInfo]]
) -> None:
    store, (first, second, _) = infos
    text = Marked("what a method has left")
    gone = weakref.ref(text)
    context = (*task_context.session(store, first).messages, Message("user", text, covers=(0,)))
    task_context.remember(store, first, {"kept": context})
    del text
    found = task_context.Contexts(store, [first.session_id]).of(first, iter(["kept", "kept"]))
    assert found == {"kept": context}
    assert found["kept"][0] is task_context.session(store, first).messages[0]
    del found, context
    gc.collect()
    assert gone() is not None
    task_context.session(store, second)
    gc.collect()
    assert gone() is None, "the context holds its session's messages, so it may not outlive the session"


def test_a_context_of_a_session_that_had_to_go_is_not_kept(
    open_sessions: SessionCache[tuple[str, str, str], task_context._Open], infos: tuple[Store, list[SessionInfo]]
) -> None:
    store, (first, second, _) = infos
    context = task_context.session(store, first).messages[:3]
    task_context.session(store, second)
    task_context.remember(store, first, {"late": context})
    assert task_context._opened(store, first).contexts == {}
