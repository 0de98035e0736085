"""Reading one batch of inputs into one part."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace

from compaction import counted
from flows.ids import content_id
from flows.plan import absolute, fingerprint
from flows.sources import Input, Reading, SetAside
from flows.sources.account import Account
from flows.sources.base import EXCERPT
from flows.store import Store, write_atomically
from flows.study import Study
from flows.transcripts import Fingerprint, InputRecord, PartWriter
from flows.work.process import Tally, engine, open_store, redactor


def ingest_batch(root: str, study: Study, inputs: Sequence[Input], generation: int) -> Tally:
    """Read the inputs, count every message's tokens once, write one part and the quarantine of each input."""
    store = open_store(root)
    prints = [fingerprint(input, study) for input in inputs]
    writer = PartWriter(store, prints, generation, engine(study).counter.name)
    tally = Tally()
    counts: Counter[str] = Counter()
    for input, print_of in zip(inputs, prints, strict=True):
        record = _read(store, study, input, print_of, writer)
        writer.add_input(record)
        tally.add("done" if record.n_sessions else "failed")
        counts.update(sessions=record.n_sessions, messages=record.n_messages)
    writer.finish()
    tally.counts = dict(counts)
    return tally


def _read(store: Store, study: Study, input: Input, print_of: Fingerprint, writer: PartWriter) -> InputRecord:
    """One input into the part, session by session; whatever happens costs this input alone, and is said."""
    counter = engine(study).counter
    sizes: list[int] = []
    masked: Counter[str] = Counter()
    reading: Reading | None = None
    aside: list[SetAside] = []
    try:
        reading = Reading(input)
        for transcript in reading:
            seen = transcript
            if study.redact:
                seen, found = redactor().redact_transcript(transcript)
                masked.update(found)
            messages = tuple(
                counted(message if message.seq == i else replace(message, seq=i), counter)
                for i, message in enumerate(seen.messages)
            )
            writer.add_session(replace(seen, messages=messages), print_of.path)
            sizes.append(len(messages))
    except Exception as error:  # a reader's mistake costs the one file, and says so
        aside.append(SetAside(str(input.path), None, f"the reader failed: {type(error).__name__}: {error}", ""))
    aside = [*(reading.set_aside if reading else ()), *aside]
    if study.redact:
        hide = redactor()
        aside = [replace(a, excerpt=hide.redact_excerpt(a.excerpt), reason=hide.redact(a.reason)) for a in aside]
    else:
        aside = [replace(a, excerpt=a.excerpt[:EXCERPT]) for a in aside]
    quarantine(store, input, aside)
    account = reading.account if reading else Account()
    return InputRecord(
        print_of,
        reading.format if reading else None,
        len(sizes),
        sum(sizes),
        len(aside),
        {str(kind): number for kind, number in account.met.items()},
        tuple((kind, reason, number) for (kind, reason), number in sorted(account.aside.items())),
        dict(masked),
    )


def quarantine(store: Store, input: Input, aside: Sequence[SetAside]) -> None:
    """Write down what could not be read of an input; reading it again replaces that, or removes it."""
    path = store.quarantine / f"{content_id(absolute(input))}.jsonl"
    if not aside:
        path.unlink(missing_ok=True)
        return
    lines = [json.dumps({**asdict(item), "input": absolute(input)}, ensure_ascii=True) for item in aside]
    write_atomically(path, ("\n".join(lines) + "\n").encode())
