"""Parquet files, read row by row: one page of each column and a few rows are in memory, however long the file is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

MAGIC = b"PAR1"
_ROWS = 8
"""Rows that are decoded together: one may have megabytes."""
_BUFFER = 1 << 20
"""Bytes of a column that are read at once; without a limit a whole row group would be."""
Say = Callable[[int | None, str], None]


class Table:
    """A Parquet file. What of it cannot be read is said with the number of its row, and the rest is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def first(self, say: Say) -> list[dict[str, Any]]:
        """The first row that can be read, in a list; where there is none it is said why."""
        problems: list[tuple[int | None, str]] = []
        for _, row in self.rows(None, lambda number, reason: problems.append((number, reason))):
            return [row]
        for number, reason in problems:
            say(number, reason)
        return []

    def rows(self, columns: Sequence[str] | None, say: Say) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every row with its number, from 1 on. Fields that are null are left out.

        Args:
            columns: Those to read, None for all; one that the file does not have is no mistake.
            say: Is told of rows that cannot be read: the number of the first, and why.
        """
        opened = self._open(say)
        number = 1
        for group in range(opened.num_row_groups if opened is not None else 0):
            yield from self._group(opened, group, number, columns, say)
            number += opened.metadata.row_group(group).num_rows

    def _open(self, say: Say) -> Any:
        import pyarrow as pa  # noqa: PLC0415 (slow to import, and few logs are Parquet)
        import pyarrow.parquet as pq  # noqa: PLC0415

        try:
            return pq.ParquetFile(self._file, buffer_size=_BUFFER, pre_buffer=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            _raise_if_of_machine(error)
            say(None, f"a damaged Parquet file: {_reason(error)}")
            return None

    def _group(
        self, opened: Any, group: int, number: int, columns: Sequence[str] | None, say: Say
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        import pyarrow as pa  # noqa: PLC0415 (as above)

        try:
            named = None if columns is None else [name for name in opened.schema_arrow.names if name in columns]
            for batch in opened.iter_batches(_ROWS, row_groups=[group], columns=named, use_threads=False):
                for row in batch.to_pylist():
                    yield number, _without_nulls(row)
                    number += 1
        except (pa.ArrowException, OSError, ValueError, TypeError, LookupError) as error:
            _raise_if_of_machine(error)
            say(number, f"rows from here to the end of row group {group + 1} cannot be read: {_reason(error)}")


def _raise_if_of_machine(error: Exception) -> None:
    """Raises an error of the disk again: trying again may help. Arrow's own have no number."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0][:200] or type(error).__name__


def _without_nulls(value: Any) -> Any:
    """The value as JSON would have it: a column gives every object all fields that any of them has."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
