"""Rows of the tables about intake, part by part, so that no table is held whole."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from compaction.reading.file_paths import find_project
from flows.database.database_draft import DatabaseDraft
from flows.database.sql_model import schemas
from flows.sessions.session_parts import Part, SessionInfo, iter_parts
from flows.sessions.task_type_labels import Labels
from flows.store.damage import damage_error
from flows.store.store import Store
from flows.support.clock import utc_time

Row = dict[str, Any]

FOLDED = "copy of a session that is stored"
"""Reason under which the messages of folded sessions are set aside; the view ``accounting`` knows it."""

BATCH_ROWS = 5_000
"""Rows of a table that are in memory at a time; a session's row is about 1 KB."""

TABLES = ("sessions", "inputs", "messages_met", "set_aside", "masked_secrets", "folded_sessions")
"""Tables that are made from the descriptions of the parts."""


def fill_intake(draft: DatabaseDraft, store: Store, labels: Labels) -> None:
    """Load ``TABLES``; types that ``labels`` gives to sessions go before their own."""
    waiting: dict[str, list[Row]] = {name: [] for name in TABLES}
    for part in iter_parts(store):
        for name, row in _rows_of(part, labels):
            waiting[name].append(row)
        for name, rows in waiting.items():
            if len(rows) >= BATCH_ROWS:
                draft.insert(name, as_table(name, rows))
                rows.clear()
    for name, rows in waiting.items():
        draft.insert(name, as_table(name, rows))


def fill_quarantine(draft: DatabaseDraft, store: Store) -> None:
    """Load the table ``quarantine``."""
    waiting: list[Row] = []
    for row in each_quarantined(store):
        waiting.append({**row, "source_path": row["path"]})
        if len(waiting) >= BATCH_ROWS:
            draft.insert("quarantine", as_table("quarantine", waiting))
            waiting.clear()
    draft.insert("quarantine", as_table("quarantine", waiting))


def each_quarantined(store: Store) -> Iterator[Row]:
    """Yield everything that could not be read, with its ``input``."""
    for path, content in store.place.contents(store.quarantine, ".jsonl"):
        try:
            yield from map(json.loads, content.decode().splitlines())
        except ValueError:
            raise damage_error(
                store.place.display_name(path), "the file that it is about is read again when it has changed"
            ) from None


def as_table(name: str, rows: Iterable[Row]) -> pa.Table:
    """Rows as those of a table; recorded times are read, and what the table does not have is left out."""
    schema = schemas()[name]
    picked = [{column: row[column] for column in schema.names} for row in rows]
    for field in schema:
        if pa.types.is_timestamp(field.type):
            for row in picked:
                row[field.name] = utc_time(row[field.name])
    return pa.Table.from_pylist(picked, schema=schema)


_OF_SESSION = """session_id source_format input_path title task_type task_type_by resolved exit_status n_messages
    n_tokens started_at ended_at n_tool_calls n_open_calls n_stray_results parent_session_id forked_at n_inherited
    model tokenizer content_sha256 n_given given_by""".split()
_OF_USAGE = "input_tokens output_tokens cached_tokens cost_usd".split()


def _session_row(info: SessionInfo) -> Row:
    return {
        **{name: getattr(info, name) for name in _OF_SESSION},
        **{name: getattr(info.usage, name) for name in _OF_USAGE},
        **{f"n_{role}": info.roles.get(role, 0) for role in ("system", "user", "assistant", "tool")},
        "source_path": info.source_path or info.input_path,
        "project": find_project(info.cwd),
        "n_set_aside": sum(info.set_aside.values()),
        "n_recorded_compactions": len(info.compactions),
    }


def _with_task_type(row: Row, labels: Labels) -> Row:
    label = labels.find(row["session_id"], row["source_path"])
    return row if label is None else {**row, "task_type": label, "task_type_by": "label file"}


def _rows_of(part: Part, labels: Labels) -> Iterator[tuple[str, Row]]:
    """Yield each row that a part gives, with its table."""
    for info in part.sessions:
        yield "sessions", _with_task_type(_session_row(info), labels)
    copies: dict[str, list[SessionInfo]] = {}
    for info in part.folded:
        copies.setdefault(info.input_path, []).append(info)
        folded = {"recorded_id": info.recorded_id, "folded_into": info.folded_into, "n_apart": info.n_apart}
        yield "folded_sessions", {**_session_row(info), **folded}
    for record in part.inputs:
        path = record.fingerprint.path
        here = copies.get(path, [])
        yield (
            "inputs",
            {
                "input_path": path,
                "source_format": record.format,
                "n_bytes": record.fingerprint.size,
                "n_sessions": record.n_sessions,
                "n_folded": len(here),
                "n_messages": record.n_messages,
                "n_quarantined": record.n_refused if record.kept_because else record.n_set_aside,
            },
        )
        for kind, number in record.met.items():
            yield "messages_met", {"input_path": path, "kind": kind, "n_met": number}
        copied = sum((Counter(info.by_kind()) for info in here), Counter[str]())
        for kind, reason, number in (*record.aside, *((kind, FOLDED, number) for kind, number in copied.items())):
            if number:
                yield "set_aside", {"input_path": path, "kind": kind, "reason": reason, "n_set_aside": number}
        for kind, number in record.masked.items():
            yield "masked_secrets", {"input_path": path, "kind": kind, "n_masked": number}
