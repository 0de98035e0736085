"""A worker of a cluster: checks whether it is fit for the run, then does one task after the other.

Nothing is shared with the run's own process but the store. What a worker is told travels as bytes.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compaction.code_version import code_sha256
from flows.config.study import Study
from flows.pipeline.done_marks import study_hash
from flows.pipeline.engine import engine_for
from flows.pipeline.plan import reader_of
from flows.pipeline.tasks.ingest import ingest_batch
from flows.pipeline.tasks.task_context import Tally
from flows.redaction import KEY_VARIABLE
from flows.sources import Input
from flows.store.store import Store
from flows.store.write_permits import FOLDER, hold_permit, process_name, run_of
from flows.support.atomic_files import umask_for
from flows.support.errors import EvalError
from flows.support.versions import versions

AGAIN = "begun_again"
"""Count of tasks that a worker had begun before, and never ended."""

_one_at_a_time = threading.Lock()
"""A process works on one task: what it computes with is Python, and what it keeps in memory is meant for one."""


class SourceUnseenError(EvalError):
    """A worker does not see a source."""


@dataclass(frozen=True)
class Terms:
    """The study, store and run that a worker must share."""

    study: Study
    root: str
    """The store, as the run sees it."""
    token: str
    """The run's, in the store."""
    versions: tuple[tuple[str, str], ...]
    made_by: str
    """Hash of all that the results of the run depend on, and of the code."""


def terms_of(study: Study, root: str, token: str) -> Terms:
    """The terms of a run, as this process would have them."""
    return Terms(study, root, token, tuple(_versions().items()), _made_by(study))


def _versions() -> dict[str, str]:
    found = versions()
    return {**found, "python": found["python"].rpartition(".")[0]}


def _made_by(study: Study) -> str:
    engine = engine_for(study)
    code = [code_sha256("compaction", "judge", "flows"), *(method.strategy.code_sha256 for method in study.methods())]
    parts = (study_hash(study, engine), reader_of(study), code, engine.counter.name)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


_looked: dict[str, str] = {}


def misfit(terms: Terms) -> str:
    """Return the reason why this process must not work for a run, or a blank; checked once a run."""
    if terms.token not in _looked:
        _looked[terms.token] = _misfit(terms)
    return _looked[terms.token]


def _misfit(terms: Terms) -> str:
    if why := _explain_unreached(terms):
        return why
    mine = _versions()
    other = [
        f"{name} {mine.get(name)} instead of {wanted}" for name, wanted in terms.versions if mine.get(name) != wanted
    ]
    if other:
        return f"has {', '.join(other)}: install the same versions everywhere, as its results would be others"
    try:
        made_by = _made_by(terms.study)
    except (ValueError, OSError, EvalError) as error:
        return f"cannot work on the study: {error}"
    if made_by != terms.made_by:
        return (
            "has other code of compaction-eval or of a method's package than this run, or another "
            f"{KEY_VARIABLE}: have the same everywhere, as its results would be others"
        )
    return ""


def _explain_unreached(terms: Terms) -> str:
    """Return the reason why this process cannot work on the run's store, or a blank."""
    try:
        store = Store.at(terms.root)
        if not store.is_there:
            return f"does not see the store at {store.name}: put it where the run and all workers reach it by this name"
    except EvalError as problem:
        return f"cannot open the store: {problem}"
    if run_of(store.root, store.place) != terms.token:
        return f"sees another folder or bucket at {store.name} than the run does: put it where all of them reach it"
    probe = store.root / FOLDER / f"probe-{secrets.token_hex(6)}"
    try:
        store.place.write(probe, b"written")
        store.place.read(probe)
        store.place.remove(probe)
    except (OSError, EvalError) as error:
        return f"cannot write to the store at {store.name}: {getattr(error, 'strerror', None) or error}"
    return ""


def packed(terms: Terms, task: str, function: Callable[..., Tally], args: tuple[Any, ...]) -> bytes:
    """A task, to be sent. As bytes, since Prefect and Dask walk through what they are given item by item."""
    return pickle.dumps((terms, task, function, args), protocol=pickle.HIGHEST_PROTOCOL)


def carry_out(work: bytes) -> Tally:
    """Do a task that was ``packed``.

    Raises:
        Problem: This process is not fit for the run.
    """
    terms, task, function, args = pickle.loads(work)  # noqa: S301 (our own)
    with _one_at_a_time:
        if why := misfit(terms):
            raise EvalError(f"the worker {process_name()} {why}")
        store = Store.at(terms.root)
        os.umask(umask_for(store.root))  # for good: tasks of other clients may be at work beside this one
        with hold_permit(store.root, terms.token, task, store.place) as is_repetition:
            tally: Tally = function(*args)
            if is_repetition:
                tally.counts[AGAIN] = 1
            return tally


def ingest_seen(root: str, study: Study, inputs: Sequence[Input], generation: int) -> Tally:
    """Read a batch of inputs, unless one of them is not there: it may be for the run, and is then no bad source.

    Raises:
        SourceUnseenError: This process does not see one of them.
    """
    for input in inputs:
        if not input.path.exists():
            raise SourceUnseenError(
                f"the worker {process_name()} does not see the source {input.label}: put the sources where all workers "
                "reach them and name them by absolute paths, or take them up without a cluster (ingest --runner "
                "local) and run again"
            )
    return ingest_batch(root, study, inputs, generation)
