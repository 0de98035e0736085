"""A folder of sources: what stands in it, and what reading it gives."""

from __future__ import annotations

import json

from flows.config.study import Study
from flows.pipeline.load.tables import rebuild_database
from flows.pipeline.plan import unread_inputs
from flows.pipeline.tasks.ingest import ingest_batch
from flows.sessions.deduplicate import deduplicate
from flows.sessions.session_parts import InputRecord, read_parts
from flows.sources import ReadResult, discover, read_input
from flows.store.store import Store


def chat(word: str, answers: int = 3) -> bytes:
    messages = [{"role": "user", "content": f"Repair the {word}."}]
    for number in range(answers):
        text = f"For the {word} I look at wheel number {number}, since it turns too slowly and squeaks."
        messages.append({"role": "assistant", "content": text})
    return json.dumps(messages).encode()


def read_all(*sources: object) -> dict[str, ReadResult]:
    return {one.path.name: read_input(one) for one in discover([str(source) for source in sources])}


def reason(result: ReadResult) -> str:
    assert result.transcripts == ()
    (aside,) = result.set_aside
    return aside.reason


def ingest(store: Store, study: Study, generation: int = 1) -> list[InputRecord]:
    """What the command does, in this process: read what is new, settle, make the database."""
    todo = unread_inputs(read_parts(store), discover(study.sources), study)
    if todo:
        ingest_batch(str(store.root), study, todo, generation)
    deduplicate(store)
    rebuild_database(store, study)
    return [record for part in read_parts(store) for record in part.inputs]
