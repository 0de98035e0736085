"""Processes that end in the middle of a batch: the next one goes on, and nothing is paid twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from flows.llm.batch import take
from flows.llm.batch.protocol import BatchClient
from flows.llm.batch.record import BatchStore
from flows.llm.batch.take import Taker
from flows.llm.cache.call_cache import CallCache
from flows.llm.settings import ModelSettings
from tests.flows.llm.batch.filling import KEY, assert_paid_once, calls, fill, limited, settings_of
from tests.flows.llm.batch_server import BatchProvider


class Crash(BaseException):
    """The end of a process."""


STEPS: dict[str, tuple[Any, str, str]] = {
    "before the intent": (BatchStore, "add_intent", "before"),
    "after the intent": (BatchStore, "add_intent", "after"),
    "before the submission is sent": ("client", "submit", "before"),
    "after the batch was made": ("client", "submit", "after"),
    "after its id is on record": (BatchStore, "mark_submitted", "after"),
    "while it is looked at": ("client", "status", "after"),
    "while results come": ("client", "results", "middle"),
    "before results are on record": (BatchStore, "end", "before"),
    "after results are on record": (BatchStore, "end", "after"),
    "after the journal": (Taker, "journal", "after"),
    "before an answer is cached": (CallCache, "put", "before"),
    "after an answer is cached": (CallCache, "put", "after"),
    "before results are settled": (BatchStore, "settle", "before"),
    "after results are settled": (BatchStore, "settle", "after"),
}


class TestCrashes:
    @pytest.mark.parametrize(("api", "passes"), [("chat", 0), ("chat", 1), ("messages", 1)])
    @pytest.mark.parametrize("step", STEPS)
    def test_a_run_that_ends_between_two_steps_pays_nothing_twice_and_loses_nothing(
        self, provider: BatchProvider, tmp_path: Path, api: str, step: str, passes: int
    ) -> None:
        items = calls(settings_of(provider, api), range(4))
        with pytest.MonkeyPatch.context() as patch, CallCache(tmp_path / "cache") as cache:
            clients = crashing(patch, *STEPS[step], passes=passes)
            with pytest.raises(Crash):
                fill(items, cache, clients=clients)
        with CallCache(tmp_path / "cache") as cache:
            outcome = fill(items, cache, run_id="second run")
            assert outcome.cached + outcome.answered == 4
            assert_paid_once(provider, cache, items)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("api", "point"),
        [
            *(("chat", point) for point in ("upload", "create", "created", "look", "download")),
            *(("messages", point) for point in ("created", "look")),
        ],
    )
    def test_a_process_that_is_killed_is_followed_by_one_that_goes_on(
        self, provider: BatchProvider, tmp_path: Path, api: str, point: Any
    ) -> None:
        killed: list[object] = []

        def kill(request: Any) -> None:
            if not killed:
                killed.append(process)
                process.kill()
                wait([process.sentinel])

        provider.on[point] = kill
        process, _ = start(provider, tmp_path, api)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        second, answered = start(provider, tmp_path, api)
        second.join()
        assert second.exitcode == 0
        assert answered.recv() == 4
        with CallCache(tmp_path / "cache") as cache:
            assert_paid_once(provider, cache, calls(settings_of(provider, api), range(4)))

    def test_files_of_a_killed_run_are_none_of_the_records(
        self, provider: BatchProvider, cache: CallCache, chat: ModelSettings
    ) -> None:
        fill(calls(chat, range(3)), cache)
        assert not list((cache.path.parent / "batches").glob("*.tmp"))


def crashing(
    patch: pytest.MonkeyPatch, where: Any, name: str, when: str, *, passes: int
) -> Callable[[ModelSettings], BatchClient]:
    """Let the process end before or after a step of two batches; ``passes``: how often the step succeeds before."""
    left = [passes]
    patch.setattr(take, "CHUNK", 2)

    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            if left[0]:
                left[0] -= 1
                return real(*given, **named)
            if when == "before":
                raise Crash
            found = real(*given, **named)
            if when == "middle":
                return broken(found)
            raise Crash

        return step

    def broken(lines: Iterator[Any]) -> Iterator[Any]:
        yield next(iter(lines))
        raise Crash

    def clients(settings: ModelSettings) -> BatchClient:
        client = limited(most_requests=2)(settings)
        if where == "client":
            setattr(client, name, wrapped(getattr(client, name)))
        return client

    if where != "client":
        patch.setattr(where, name, wrapped(getattr(where, name)))
    return clients


def fill_in_process(settings: ModelSettings, folder: Path, answered: Connection) -> None:
    os.environ.update(OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY)
    with CallCache(folder / "cache") as cache:
        answered.send(fill(calls(settings, range(4)), cache).answered)


def start(provider: BatchProvider, folder: Path, api: str) -> tuple[BaseProcess, Connection]:
    """A process of its own, forked from one that has imported this module, and how many it says were answered."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=fill_in_process, args=(settings_of(provider, api), folder, sending))
    process.start()
    return process, receiving
