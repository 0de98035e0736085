"""Reads the compacted contexts of a session from the store."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow.compute as pc

from compaction import Message, Transcript
from flows.store.row_codec import contexts_of
from flows.store.store import Store
from flows.support.ids import bucket_bits


def read_contexts(
    store: Store, transcript: Transcript, session: str, compactions: Collection[str]
) -> dict[str, tuple[Message, ...]]:
    """The contexts that these compactions of a session left, by id; without those that failed."""
    table = (
        store.within(bucket_bits(session))
        .compactions.dataset()
        .to_table(
            columns=["compaction_id", "context"],
            filter=pc.field("compaction_id").isin(list(compactions)) & (pc.field("status") == "done"),
        )
    )
    rebuilt = contexts_of(table["context"], [transcript] * len(table)) if len(table) else ()
    return dict(zip(table["compaction_id"].to_pylist(), rebuilt, strict=True))
