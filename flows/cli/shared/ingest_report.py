"""The output of ``ingest`` on each file."""

from __future__ import annotations

from typing import Any

import typer

from flows.cli.shared import options as o
from flows.pipeline.load.intake_tables import each_quarantined
from flows.pipeline.run_summary import label_note, masked_note, records_of
from flows.pipeline.scope import Scope
from flows.sessions.session_parts import InputRecord, SessionInfo
from flows.sources.reading.account import RECORD
from flows.support.errors import DONE, INCOMPLETE
from flows.support.plurals import quantity


def print_files(scope: Scope, as_json: bool) -> None:
    """Print the outcome of each file, and exit."""
    store, study, parts = scope.store, scope.study, scope.parts
    records = records_of(parts, scope.inputs)
    reasons: dict[str, list[dict[str, Any]]] = {}
    for row in each_quarantined(store):
        reasons.setdefault(row["input"], []).append(row)
    copies: dict[str, list[SessionInfo]] = {}
    for info in (info for part in parts for info in part.folded):
        copies.setdefault(info.input_path, []).append(info)
    given: dict[str, list[SessionInfo]] = {}
    for info in (info for part in parts for info in part.sessions if info.n_given):
        given.setdefault(info.input_path, []).append(info)
    n_aside = sum(len(reasons.get(record.fingerprint.path, ())) for record in records)
    if as_json:
        files = [
            _file_row(record, copies.get(path := record.fingerprint.path, []), reasons.get(path, []))
            for record in records
        ]
        o.echo_json({"store": store.name, "files": files})
    else:
        for record in records:
            path = record.fingerprint.path
            o.echo(_file_lines(record, copies.get(path, []), given.get(path, []), reasons.get(path, [])))
        total = _format_counts(sum(r.n_sessions for r in records), sum(r.n_messages for r in records))
        aside = (
            f", {quantity(n_aside, 'place')} set aside: see {store.place.display_name(store.quarantine)}"
            if n_aside
            else ""
        )
        o.echo(f"{quantity(len(records), 'input')}, {total}{aside}")
        o.echo(masked_note(records) or ("no secret found" if study.redact else "secrets were not looked for"))
        if unknown := label_note(study, parts):
            o.echo(unknown)
        o.echo("every message is accounted for in: compaction-eval accounting")
        o.echo_store(store)
    raise typer.Exit(INCOMPLETE if n_aside else DONE)


def _file_row(record: InputRecord, copies: list[SessionInfo], reasons: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "path": record.fingerprint.path,
        "format": record.format,
        "sessions": record.n_sessions,
        "messages": record.n_messages,
        "met": record.met,
        "not_stored": [{"kind": kind, "reason": why, "count": number} for kind, why, number in record.aside],
        "copies": [[info.recorded_id, info.folded_into] for info in copies],
        "masked_secrets": record.masked,
        "set_aside": reasons,
    }


def _file_lines(
    record: InputRecord, copies: list[SessionInfo], given: list[SessionInfo], reasons: list[dict[str, Any]]
) -> str:
    format = record.format or "no known format"
    lines = [f"{record.fingerprint.path}: {format}, {_format_counts(record.n_sessions, record.n_messages)}"]
    for info in copies:
        apart = f" ({info.n_apart:,} of its answers are not in that one)" if info.n_apart else ""
        lines.append(f"    session {info.recorded_id} is a copy of {info.folded_into}, which stays{apart}")
    for info in given:
        number = quantity(info.n_given, "message")
        lines.append(
            f"    session {info.session_id} begins with {number} of another one, and has points behind them only"
        )
    kinds = {kind: "" if kind == RECORD else f"{kind.replace('_', ' ')}: " for kind, _, _ in record.aside}
    left = ", ".join(f"{number:,} {kinds[kind]}{why}" for kind, why, number in record.aside)
    if left:
        lines.append(f"    not stored: {left}")
    if record.masked:
        lines.append("    masked: " + ", ".join(f"{number:,} {kind}" for kind, number in sorted(record.masked.items())))
    for row in reasons:
        line = f"line {row['line']}: " if row["line"] else ""
        lines.append(f"    set aside: {line}{row['reason']}")
    return "\n".join(lines)


def _format_counts(sessions: int, messages: int) -> str:
    return f"{quantity(sessions, 'session')}, {quantity(messages, 'message')}"
