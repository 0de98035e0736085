"""Reading one batch of inputs into one part."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from compaction import Transcript, counted
from flows.ids import content_id
from flows.plan import fingerprint
from flows.sources import Input, SetAside, read_input
from flows.store import Store, write_atomically
from flows.study import Study
from flows.transcripts import InputRecord, PartWriter
from flows.work.process import Tally, engine, open_store


def ingest_batch(root: str, study: Study, inputs: Sequence[Input], generation: int) -> Tally:
    """Read the inputs, count every message's tokens once, write one part and the quarantine of each input."""
    store, counter = open_store(root), engine(study).counter
    writer = PartWriter(store, [fingerprint(input) for input in inputs], generation, counter.name)
    tally = Tally()
    n_messages = n_sessions = 0
    for input in inputs:
        format, transcripts, aside = _read(input)
        written = []
        for transcript in transcripts:
            if not transcript.messages:
                aside.append(SetAside(str(input.path), None, f"session {transcript.session_id} has no message", ""))
                continue
            messages = tuple(
                counted(message if message.seq == i else replace(message, seq=i), counter)
                for i, message in enumerate(transcript.messages)
            )
            written.append(replace(transcript, messages=messages))
            writer.add_session(written[-1], fingerprint(input).path)
        size = sum(len(transcript) for transcript in written)
        quarantine(store, input, aside)
        writer.add_input(InputRecord(fingerprint(input), format, len(written), size, len(aside)))
        tally.add("done" if written else "failed")
        n_sessions, n_messages = n_sessions + len(written), n_messages + size
    writer.finish()
    tally.counts = {"sessions": n_sessions, "messages": n_messages}
    return tally


def _read(input: Input) -> tuple[str | None, tuple[Transcript, ...], list[SetAside]]:
    try:
        result = read_input(input)
    except Exception as error:  # a reader's mistake costs the one file, and says so
        reason = f"the reader failed: {type(error).__name__}: {error}"
        return None, (), [SetAside(str(input.path), None, reason, "")]
    aside = list(result.set_aside)
    if result.format is None and not aside:
        aside.append(SetAside(str(input.path), None, "no known format", ""))
    return result.format, result.transcripts, aside


def quarantine(store: Store, input: Input, aside: Sequence[SetAside]) -> None:
    """Write down what could not be read of an input; reading it again replaces that, or removes it."""
    path = store.quarantine / f"{content_id(fingerprint(input).path)}.jsonl"
    if not aside:
        path.unlink(missing_ok=True)
        return
    lines = [json.dumps({**asdict(item), "input": fingerprint(input).path}, ensure_ascii=True) for item in aside]
    write_atomically(path, ("\n".join(lines) + "\n").encode())
