"""The threads of a run, and what each of their calls goes through."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path

from compaction.model import Completion
from flows.config.study import Study
from flows.execution.model_calls import ModelCalls
from flows.llm.gateway import Gateway
from flows.pipeline.tasks.task_context import unless_stopped
from flows.store.store import Store
from tests.flows.llm.scripted import SETTINGS, ScriptedTransport, request


def test_one_thread_does_what_the_cache_answers_and_the_others_ask_for_the_rest(tmp_path: Path) -> None:
    study = Study(store=str(tmp_path / "store"), concurrency=2)
    here = threading.get_ident()
    transport = ScriptedTransport()

    def asked(text: str) -> tuple[Completion, bool]:
        return calls.gateway().complete(SETTINGS, request(text)), threading.get_ident() == here

    with ExitStack() as stack:
        calls = ModelCalls(study, Store.create(study.store, study.tokenizer), stack, "run")
        _ = calls.threads
        gateway = Gateway(calls.cache, transport=transport, hold=lambda call: calls.items.wants_cached)
        calls._gateway = stack.enter_context(gateway)
        asked("old")
        found = list(calls.items.map(unless_stopped(asked), ["old", "new"], lambda _: 1, cached_first=True))
        after = asked("another")
    assert [(done[0].cached, done[1]) for done in found if done] == [(True, True), (False, False)]
    assert not after[0].cached
