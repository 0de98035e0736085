"""Labels by people: ``STORE/labels``, one file an import, and ``STORE/label_samples``, the answers drawn for labelling.

A later import by the same rater replaces all of that rater's labels of the same answers. Files are never changed.
``flows.pipeline.load.tables`` makes the tables ``human_scores`` and ``label_samples`` from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from flows.store import parquet_schemas
from flows.store.shards import COMPRESSION
from flows.store.store import Store
from flows.support.atomic_files import temporary_path
from flows.support.ids import content_id

Key = tuple[str, str]
"""Answer and rater."""


@dataclass(frozen=True, slots=True)
class AnswerLabels:
    """The labels of one rater for one answer."""

    answer_id: str
    rater: str
    scores: Mapping[str, float]
    """Criterion → 0–5; at least one."""
    sample_id: str | None = None
    """Sample in which the answer was drawn; None for an answer that a person picked."""
    notes: str = ""


@dataclass(frozen=True, slots=True)
class LabelImport:
    """Number of labelled answers that an import added, replaced and left unchanged."""

    new: int
    replaced: int
    unchanged: int


def stored_labels(store: Store) -> pa.Table:
    """The current labels, as rows of ``parquet_schemas.LABELS``."""
    return _table(_current_labels(store))


def add_labels(store: Store, labels: Sequence[AnswerLabels], at: datetime) -> LabelImport:
    """Write an import. Labels that are stored already are not written again.

    Args:
        store: Locked for writing.
        labels: Each answer at most once for a rater.
        at: Time of the import, UTC without an offset.
    """
    known = {key: (found, rows) for key, rows in _current_labels(store).items() for found in [_label_content(rows)]}
    changed: dict[Key, list[dict[str, Any]]] = {}
    n_new = 0
    for label in labels:
        key = label.answer_id, label.rater
        rows = [
            {
                "answer_id": label.answer_id,
                "rater": label.rater,
                "criterion": criterion,
                "score": score,
                "sample_id": label.sample_id,
                "notes": label.notes,
                "labelled_at": at,
            }
            for criterion, score in sorted(label.scores.items())
        ]
        if key not in known or known[key][0] != _label_content(rows):
            changed[key] = rows
            n_new += key not in known
    if changed:
        _write(store, _table(changed))
    return LabelImport(n_new, len(changed) - n_new, len(labels) - len(changed))


def _label_content(rows: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((row["criterion"], row["score"], row["sample_id"], row["notes"]) for row in rows)


def _current_labels(store: Store) -> dict[Key, list[dict[str, Any]]]:
    found: dict[Key, list[dict[str, Any]]] = {}
    for path in store.place.local_paths(store.place.paths(store.labels)):
        of_file: dict[Key, list[dict[str, Any]]] = {}
        for row in pq.read_table(path, schema=parquet_schemas.LABELS).to_pylist():
            of_file.setdefault((row["answer_id"], row["rater"]), []).append(row)
        found.update(of_file)
    return found


def _table(labels: Mapping[Key, Sequence[Mapping[str, Any]]]) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for rows in labels.values() for row in rows], schema=parquet_schemas.LABELS)


def _write(store: Store, table: pa.Table) -> None:
    store.labels.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(path.name[:6]) for path in store.place.paths(store.labels)), default=0)
    name = content_id([*map(str, table.to_pylist())])
    path = store.labels / f"{number:06d}-{name}.parquet"  # by number: the last import wins
    tmp = temporary_path(path)
    pq.write_table(table, tmp, compression=COMPRESSION)
    store.place.publish(tmp, path)
