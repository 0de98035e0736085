"""Reading one batch of inputs into one part."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from flows.config.study import Study
from flows.pipeline.engine import engine_for
from flows.pipeline.plan import fingerprint, input_name, reader_of
from flows.pipeline.tasks.task_context import Tally, redactor, timed_task
from flows.sessions.part_writer import PartWriter, WriteError
from flows.sessions.preparation import prepared
from flows.sessions.session_parts import Fingerprint, InputRecord
from flows.sources import Input, InputReading, SetAside
from flows.sources.reading.account import Account
from flows.sources.reading.inputs import EXCERPT
from flows.store.store import Store
from flows.support.errors import StoreError
from flows.support.ids import content_id


@timed_task
def ingest_batch(root: str, study: Study, inputs: Sequence[Input], generation: int) -> Tally:
    """Read the inputs, count every message's tokens once, write one part and the quarantine of each input.

    Raises:
        StoreError: The store cannot be written; then nothing of the batch is visible.
    """
    store = Store.at(root)
    prints = [fingerprint(input, study) for input in inputs]
    tally = Tally()
    counts: Counter[str] = Counter()
    known = set(store.place.paths(store.quarantine, ".jsonl"))
    with _writing(store), PartWriter(store, prints, generation, engine_for(study).counter.name) as writer:
        for input, print_of in zip(inputs, prints, strict=True):
            record = _read(store, study, input, print_of, writer, known)
            writer.add_input(record)
            tally.add("done" if record.n_sessions else "failed")
            counts.update(sessions=record.n_sessions, messages=record.n_messages)
        writer.finish()
    tally.counts = dict(counts)
    return tally


@contextmanager
def _writing(store: Store) -> Iterator[None]:
    """Names the store when a disk is full or fails; errors in an input do not get here."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreError(
            f"store {store.name}: cannot be written: {why}; what was finished is kept, so mend that and run again"
        ) from None


def _read(
    store: Store, study: Study, input: Input, print_of: Fingerprint, writer: PartWriter, known: Collection[Path]
) -> InputRecord:
    """One input into the part, session by session; whatever happens costs this input alone, and is said."""
    sizes: list[int] = []
    masked: Counter[str] = Counter()
    counter, hide = engine_for(study).counter, redactor() if study.redact else None
    reading: InputReading | None = None
    aside: list[SetAside] = []
    try:
        reading = InputReading(input)
        sessions = iter(reading)
        while (transcript := next(sessions, None)) is not None:
            writer.add_session(prepared(transcript, counter, hide, masked), print_of.path)
            sizes.append(len(transcript))
    except WriteError:
        raise
    except Exception as error:  # a reader's mistake costs the one file, and says so
        aside.append(SetAside(input.label, None, f"the reader failed: {type(error).__name__}: {error}", ""))
    aside = [*(reading.set_aside if reading else ()), *aside]
    if hide is not None:
        aside = [replace(a, excerpt=hide.redact_excerpt(a.excerpt), reason=hide.redact(a.reason)) for a in aside]
    else:
        aside = [replace(a, excerpt=a.excerpt[:EXCERPT]) for a in aside]
    quarantine(store, input, aside, known)
    account = reading.account if reading else Account()
    format = reading.format if reading else None
    return InputRecord(
        replace(print_of, reader="" if reading and reading.may_pass else reader_of(study, format)),
        format,
        len(sizes),
        sum(sizes),
        len(aside),
        {str(kind): number for kind, number in account.met.items()},
        tuple((kind, reason, number) for (kind, reason), number in sorted(account.aside.items())),
        dict(masked),
    )


def quarantine(store: Store, input: Input, aside: Sequence[SetAside], known: Collection[Path]) -> None:
    """Write down what could not be read of an input; reading it again replaces that, or removes it.

    ``known`` are the files that are there.
    """
    path = store.quarantine / f"{content_id(input_name(input))}.jsonl"
    if not aside:
        if path in known:
            store.place.remove(path)
        return
    lines = [json.dumps({**asdict(item), "input": input_name(input)}, ensure_ascii=True) for item in aside]
    store.place.write(path, ("\n".join(lines) + "\n").encode())
