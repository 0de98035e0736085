"""Labels of sessions' types, by precedence: an operator's label file, then the log, then the rule.

A file is read with polars, whatever it was made with: a spreadsheet (CSV), a script or a model (JSON lines), a query
(Parquet).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from compaction import Transcript
from flows.sessions.task_type_rule import TASK_TYPES, TaskType, TaskTyper, classify
from flows.support.errors import UsageError
from judge.given_files import read_given

if TYPE_CHECKING:
    import polars as pl

MOST_BYTES = 500_000_000
"""Of a label file: millions of rows."""

TypeSource = Literal["label file", "log", "rule", "model"]


@dataclass(frozen=True)
class Labels:
    """Types that an operator gave to sessions in a file."""

    path: str = ""
    by_session: Mapping[str, TaskType] = field(default_factory=dict)
    by_source: Mapping[str, TaskType] = field(default_factory=dict)
    """Absolute path of a log → type of every session in it."""

    def find(self, session_id: str, source_path: str) -> TaskType | None:
        """The label of a session; one for the session itself comes before one for its log."""
        return self.by_session.get(session_id) or self.by_source.get(os.path.abspath(source_path))

    def n_unknown(self, sessions: Iterable[tuple[str, str]]) -> int:
        """Count the labels that belong to none of these sessions, each given as ``(session_id, source_path)``."""
        known = list(sessions)
        ids, paths = {id for id, _ in known}, {os.path.abspath(path) for _, path in known}
        return len(self.by_session.keys() - ids) + len(self.by_source.keys() - paths)


def task_type_of(
    transcript: Transcript, labels: Labels | None = None, typer: TaskTyper = classify
) -> tuple[TaskType, TypeSource]:
    """A session's type and who said it: the label file, else the log, else the rule (or what is given instead).

    A label in the log that is none of ``TASK_TYPES`` is passed over.
    """
    label = labels.find(transcript.session_id, transcript.source_path) if labels else None
    if label:
        return label, "label file"
    logged = as_type(transcript.task_type)
    if logged:
        return logged, "log"
    return typer(transcript)[0], "rule" if typer is classify else "model"


def as_type(text: str | None) -> TaskType | None:
    """Parse one of the eight types, whatever its case and outer spaces; None for any other text."""
    plain = (text or "").strip().lower()
    return next((type for type in TASK_TYPES if type == plain), None)


def read_labels(path: str | Path) -> Labels:
    """Read a label file: CSV, JSON lines or Parquet with ``task_type`` and ``session_id`` or ``source_path``.

    A row with a ``session_id`` is about that session, else about every session of the log at ``source_path``. An empty
    ``task_type`` is no label. Other columns are left alone.

    Raises:
        UsageError: The file cannot be read, lacks a column, names an unknown type or contradicts itself.
    """
    path = Path(path)
    table, lines = _label_table(path)
    by: dict[str, dict[str, TaskType]] = {"session_id": {}, "source_path": {}}
    seen: dict[tuple[str, str], str] = {}
    empty = [None] * len(lines)
    for id, source, given, line in zip(
        table.get("session_id", empty), table.get("source_path", empty), table["task_type"], lines, strict=True
    ):
        where = f"{path}, {line}"
        if not (given or "").strip():
            continue
        type = as_type(given)
        if type is None:
            raise UsageError(f"{where}: unknown task type {given!r}, expected one of {', '.join(TASK_TYPES)}")
        column, key = ("session_id", id.strip()) if (id or "").strip() else ("source_path", (source or "").strip())
        if not key:
            raise UsageError(f"{where}: a label without a session_id or a source_path")
        name = os.path.abspath(key) if column == "source_path" else key
        if by[column].setdefault(name, type) != type:
            was, before = by[column][name], seen[column, name]
            raise UsageError(f"{where}: {key} is labelled {type}, but {was} on {before}; keep one of the two")
        seen.setdefault((column, name), line)
    return Labels(str(path), by["session_id"], by["source_path"])


def _label_table(path: Path) -> tuple[dict[str, list[Any]], list[str]]:
    """The columns as text, and where each row stands."""
    import polars as pl  # noqa: PLC0415 (a third of a second that runs without labels need not wait)

    suffix = path.suffix.lower()
    try:
        data = read_given(path, MOST_BYTES)
        if suffix == ".parquet":
            frame = pl.read_parquet(data)
        elif suffix in (".jsonl", ".ndjson"):
            frame = pl.read_ndjson(data, infer_schema_length=None) if data.strip() else pl.DataFrame()
        elif suffix == ".csv":
            data.decode()
            frame = pl.read_csv(data, infer_schema=False) if data.strip() else pl.DataFrame()
        else:
            raise UsageError(f"{path}: task types are read from .csv, .jsonl, .ndjson or .parquet files")
        wanted = [name for name in ("session_id", "source_path", "task_type") if name in frame.columns]
        columns = frame.select(pl.col(wanted).cast(pl.String)).to_dict(as_series=False) if wanted else {}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        place = _bad_line(data) if suffix in (".jsonl", ".ndjson") else ""
        reason = str(error).partition("\n")[0]
        raise UsageError(f"{path}{place}: not a table that can be read as {suffix[1:]}: {reason}") from None
    if "task_type" not in wanted or len(wanted) < 2:
        found = ", ".join(frame.columns) or "none"
        raise UsageError(f"{path}: expected the columns task_type and session_id (or source_path), found {found}")
    return columns, list(_places(suffix, data, frame))


def _bad_line(data: bytes) -> str:
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            if line.strip() and not isinstance(orjson.loads(line), dict):
                return f", line {number}"
        except orjson.JSONDecodeError:
            return f", line {number}"
    return ""


def _places(suffix: str, data: bytes, frame: pl.DataFrame) -> Iterator[str]:
    if suffix == ".parquet":
        yield from (f"row {number}" for number in range(1, frame.height + 1))
    elif suffix != ".csv":
        yield from (f"line {number}" for number, line in enumerate(data.split(b"\n"), 1) if line.strip())
    else:
        line = 2  # below the header; a quoted field may hold line ends
        for row in frame.iter_rows():
            yield f"line {line}"
            line += 1 + sum(value.count("\n") for value in row if value)
