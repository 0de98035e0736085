"""Results of queries as Arrow batches: one at a time, with types that other tools read the same way."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from flows.database.sql_model import first_sentence
from flows.support.errors import UsageError

BATCH_ROWS = 50_000
"""Rows that are in memory at a time; of answers with their texts about 100 MB."""


@dataclass(frozen=True)
class Batches:
    """The rows of a query, to be gone through once.

    Times carry UTC. Whole numbers that DuckDB sums up in 128 bits come out in 64, other decimals as double, so that
    no reader makes ``Decimal`` objects of them.
    """

    schema: pa.Schema
    _rows: Iterator[pa.RecordBatch]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Go through the batches."""
        return self._rows

    def table(self) -> pa.Table:
        """All rows at once."""
        return pa.Table.from_batches(list(self._rows), self.schema)


def query_batches(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, Any] | None = None
) -> Batches:
    """Run one query; the connection can run no other until its rows have been gone through.

    Args:
        connection: A connection to a store's database.
        query: One SELECT, or what DuckDB takes for one (``FROM …``, ``DESCRIBE``, ``SUMMARIZE``, ``PIVOT``).
        parameters: Values of ``$name`` in the query.

    Raises:
        UsageError: the query cannot be run, or is none.
    """
    try:
        relation = connection.sql(query, params=dict(parameters)) if parameters else connection.sql(query)
        if relation is None:
            raise UsageError("the query gives no rows: write one SELECT")
        reader = relation.to_arrow_reader(BATCH_ROWS)
    except duckdb.Error as error:
        raise UsageError(f"the query cannot be run: {first_sentence(error)}") from None
    names = _unique_names(reader.schema.names)
    schema = pa.schema(
        [pa.field(name, _plain_type(field.type)) for name, field in zip(names, reader.schema, strict=True)]
    )
    return Batches(schema, _read(reader, schema))


def _read(reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise UsageError(f"the query stopped: {first_sentence(error)}") from None
        try:
            columns = [
                column if column.type == field.type else column.cast(field.type)
                for column, field in zip(batch.columns, schema, strict=True)
            ]
        except pa.ArrowInvalid as error:
            raise UsageError(f"a number does not fit into 64 bits ({error}); cast it in the query") from None
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _unique_names(names: Sequence[str]) -> list[str]:
    """Column names made unique: a repeated name gets a number. Data frames and files need this."""
    taken: list[str] = []
    for name in names:
        tries = itertools.chain([name], (f"{name}_{n}" for n in itertools.count(2)))
        taken.append(next(one for one in tries if one not in taken))
    return taken


def _plain_type(found: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(found) and found.tz is None:
        return pa.timestamp(found.unit, "UTC")
    if pa.types.is_decimal(found):
        return pa.int64() if found.scale == 0 else pa.float64()
    if pa.types.is_list(found):
        return pa.list_(_plain_type(found.value_type))
    if pa.types.is_struct(found):
        return pa.struct([pa.field(field.name, _plain_type(field.type)) for field in found])
    return found
