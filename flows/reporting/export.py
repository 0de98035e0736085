"""Tables, views and answers of queries as files: streamed, and put in place by a rename."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from compaction.closest import did_you_mean
from flows.database.arrow_batches import Batches
from flows.support.atomic_files import keep_mode
from flows.support.choices import FileFormat
from flows.support.errors import UsageError

ENDINGS: Mapping[str, FileFormat] = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".md": "markdown"}
"""Ending of a file → its format."""

ROW_GROUP = 250_000
"""Rows of a Parquet row group: readers skip whole groups, and one has to fit into memory."""

FORMULA = r"^[=+\-@\t\r]"
"""How a cell begins that a spreadsheet takes for a formula (OWASP, CSV injection, 2024)."""

_ZSTD_LEVEL = 3


@dataclass(frozen=True)
class ExportedFile:
    """A file that was written."""

    relation: str
    path: Path
    rows: int
    n_bytes: int


def file_ending(format: FileFormat) -> str:
    """The ending of files of a format, with its dot."""
    return next(end for end, named in ENDINGS.items() if named == format)


def write_rows(
    relation: str, rows: Batches, target: Path, format: FileFormat, spreadsheet_safe: bool = False
) -> ExportedFile:
    """Write the rows of a query to a file, a batch at a time.

    The file appears under its name when it is complete, in place of one that was there.

    Args:
        relation: What the rows are, for the report.
        rows: The rows; they are gone through once.
        target: The file.
        format: Parquet keeps all types. CSV and Markdown have lists and structs as JSON text, times in ISO 8601. JSON
            is one array with a row on each line; what is not finite is null.
        spreadsheet_safe: Put an apostrophe before texts that a spreadsheet would take for a formula; CSV only.

    Raises:
        UsageError: the query fails on the way, or the file cannot be written.
    """
    write_rows = _WRITERS[format]
    if spreadsheet_safe:
        rows = Batches(rows.schema, _guard_formulas(rows))
    try:
        with _draft(target) as (draft, file):
            count = write_rows(rows, file)
            file.flush()
            os.fsync(file.fileno())
            n_bytes = draft.stat().st_size
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from None
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise UsageError(f"{relation} cannot be written as {format}: {error}") from None
    return ExportedFile(relation, target, count, n_bytes)


@contextmanager
def _draft(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    try:
        with draft.open("xb") as file:
            yield draft, file
        keep_mode(draft, target)
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def _parquet(rows: Batches, file: BinaryIO) -> int:
    count = 0
    waiting: list[pa.RecordBatch] = []
    with pyarrow.parquet.ParquetWriter(file, rows.schema, compression="zstd", compression_level=_ZSTD_LEVEL) as writer:

        def empty() -> None:
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting), row_group_size=ROW_GROUP)
                waiting.clear()

        for batch in rows:
            count += batch.num_rows
            waiting.append(batch)
            if sum(held.num_rows for held in waiting) >= ROW_GROUP:
                empty()
        empty()
    return count


def _csv(rows: Batches, file: BinaryIO) -> int:
    count = 0
    schema = pa.schema([pa.field(field.name, _cell_type(field.type)) for field in rows.schema])
    with pyarrow.csv.CSVWriter(file, schema) as writer:
        for batch in rows:
            count += batch.num_rows
            cells = [_cells(column) for column in batch.columns]
            writer.write_batch(pa.RecordBatch.from_arrays(cells, schema=schema))
    return count


def _json(rows: Batches, file: BinaryIO) -> int:
    count = 0
    for batch in rows:
        if not batch.num_rows:
            continue
        file.write(b",\n" if count else b"[\n")
        # Polars writes a row a line twenty times as fast as Python objects would; a line end is never within a row.
        lines = io.BytesIO()
        pl.DataFrame(pa.Table.from_batches([_with_json_types(batch)])).write_ndjson(lines)
        file.write(lines.getvalue().rstrip(b"\n").replace(b"\n", b",\n"))
        count += batch.num_rows
    file.write(b"\n]\n" if count else b"[]\n")
    return count


def _with_json_types(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert the columns without a JSON type to text."""
    plain = [
        column
        if _is_number(column.type) or pa.types.is_boolean(column.type) or _is_plain_nest(column.type)
        else _cells(column)
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(plain, names=batch.schema.names)


def _is_plain_nest(found: pa.DataType) -> bool:
    return bool(pa.types.is_list(found) or pa.types.is_struct(found))


def _markdown(rows: Batches, file: BinaryIO) -> int:
    count = 0

    def line(cells: list[str]) -> None:
        file.write(f"| {' | '.join(cells)} |\n".encode())

    line([_escape_markdown(name) for name in rows.schema.names])
    line(["---:" if _is_number(field.type) else "---" for field in rows.schema])
    for batch in rows:
        count += batch.num_rows
        columns = [_cells(column).to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            line([_escape_markdown("" if cell is None else _shorten(cell)) for cell in row])
    return count


_WRITERS: Mapping[FileFormat, Callable[[Batches, BinaryIO], int]] = {
    "parquet": _parquet,
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
}


def _is_number(found: pa.DataType) -> bool:
    return bool(pa.types.is_integer(found) or pa.types.is_floating(found))


def _cell_type(found: pa.DataType) -> pa.DataType:
    """The type that a column has in a file of text."""
    return found if _is_number(found) or pa.types.is_boolean(found) else pa.string()


def _cells(column: pa.Array) -> pa.Array:
    found = column.type
    if found == _cell_type(found):
        return column
    if pa.types.is_timestamp(found):
        text = pc.strftime(column, format="%Y-%m-%dT%H:%M:%S")  # with the fraction of its unit
        return pc.binary_join_element_wise(text, "Z", "")
    if pa.types.is_nested(found):
        values = column.to_pylist(maps_as_pydicts="lossy") if pa.types.is_map(found) else column.to_pylist()
        return pa.array([None if value is None else _as_json(value) for value in values], pa.string())
    try:
        return column.cast(pa.string())
    except pa.ArrowNotImplementedError:
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())


def _as_json(value: Any) -> str:
    return orjson.dumps(value, default=str, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS).decode()


def _shorten(cell: object) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _escape_markdown(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("\r", " ").replace("\n", " ")


def _guard_formulas(rows: Batches) -> Iterator[pa.RecordBatch]:
    """The rows, with an apostrophe before each text that a spreadsheet would run as a formula."""
    for batch in rows:
        columns = []
        for column in batch.columns:
            if pa.types.is_string(column.type):
                hit = pc.match_substring_regex(column, FORMULA)
                column = pc.if_else(hit, pc.binary_join_element_wise("'", column, ""), column)  # noqa: PLW2901
            columns.append(column)
        yield pa.RecordBatch.from_arrays(columns, schema=rows.schema)


def target_path(output: Path, name: str, format: FileFormat, alone: bool) -> Path:
    """The file for a relation: ``output`` itself when it has the ending of a format, or else one in that folder.

    Raises:
        UsageError: several relations cannot go into one file.
    """
    named = output.suffix.lower() in ENDINGS and not output.is_dir()
    if named and not alone:
        raise UsageError(f"several relations need a folder, and {output} is the name of a file")
    return output if named else output / f"{name}{file_ending(format)}"


def choose_format(output: Path, wanted: FileFormat | None) -> FileFormat:
    """The format that is asked for, or that the ending of the file says; Parquet when neither does.

    Raises:
        UsageError: the two differ, or the ending is of another format.
    """
    if output.suffix and output.suffix.lower() not in ENDINGS and not output.is_dir():
        raise UsageError(
            f"--output {output}: {output.suffix} is the ending of no format that is written; expected "
            f"{', '.join(ENDINGS)}, or a folder (one with a dot in its name has to be there)"
            f"{did_you_mean(output.suffix, ENDINGS)}"
        )
    said = ENDINGS.get(output.suffix.lower()) if not output.is_dir() else None
    if wanted and said and wanted != said:
        raise UsageError(f"--format {wanted} and the ending of {output.name} differ; leave one of them out")
    return wanted or said or "parquet"


def refuse_to_overwrite(targets: list[Path]) -> None:
    """Make sure that no file is there yet.

    Raises:
        UsageError: one is.
    """
    there = [target for target in targets if target.exists()]
    if there:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise UsageError(f"{there[0]}{more} exists; --force replaces it")
