"""A stored call and an entry of the journal."""

from __future__ import annotations

import uuid

from flows.llm.cache.call_cache import JournalEntry, StoredCall
from flows.llm.clients.transport import TokenUse


def call(text: str = "4 of 5", cost: float | None = 0.002) -> StoredCall:
    return StoredCall(text, "gpt-5.2-2025-12-11", TokenUse(900, 120, 64, 8), cost, 1.25)


def entry(key: str = "k", *, cached: bool = False, cost: float | None = 0.002, status: str = "done") -> JournalEntry:
    return JournalEntry(
        call_id=uuid.uuid4().hex,
        run_id="r1",
        stage="score",
        item_id="i1",
        model="openai:gpt-5.2",
        key=key,
        input_tokens=900,
        output_tokens=120,
        cost_usd=cost,
        cached=cached,
        seconds=1.25,
        status=status,
        started_at="2026-11-20T10:00:00+00:00",
    )
