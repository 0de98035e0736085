"""Logs that are trees: each record names the one before it, and what was gone back from stays in the file."""

from __future__ import annotations

from collections.abc import Sequence

from flows.sources.reading.base import Record


def rewound_ids(records: Sequence[Record], own: str, parent: str) -> set[str]:
    """Ids of records that are not on the way from the last record back to the first.

    Where the way is broken (a lost line) everything before the break may belong to it and stays.

    Args:
        records: In the order of the log; those without an id are passed over.
        own: The key of a record's id.
        parent: The key of the id of the record before it.
    """
    places: dict[str, int] = {}
    for at, record in enumerate(records):
        if isinstance(record.get(own), str):
            places.setdefault(record[own], at)
    live: set[str] = set()
    here, last = next(reversed(places), None), -1
    while isinstance(here, str) and here in places and here not in live:
        live.add(here)
        last = places[here]
        here = records[last].get(parent)
    before = -1 if here is None else last
    return {id for id, at in places.items() if id not in live and at > before}
