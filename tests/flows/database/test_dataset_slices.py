"""A dataset in slices: nothing is lost, nothing comes twice, and none is larger than it may be."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from flows.database.dataset_slices import ROW, dataset_slices

ROWS = 95


@pytest.fixture
def dataset(tmp_path: Path) -> pads.Dataset:
    """Two files of row groups of ten rows."""
    for name, numbers in {"a": range(45), "b": range(45, ROWS)}.items():
        pq.write_table(pa.table({"n": list(numbers)}), tmp_path / f"{name}.parquet", row_group_size=10)
    schema = pa.schema([("n", pa.int64()), ("added_later", pa.string())])
    return pads.dataset([str(tmp_path / f"{name}.parquet") for name in "ab"], schema=schema, format="parquet")


@pytest.mark.parametrize(("rows", "expected"), [(30, [30, 25, 30, 10]), (1_000, [95]), (1, [10] * 4 + [5] + [10] * 5)])
def test_slices_go_across_files_and_end_with_a_row_group(dataset: pads.Dataset, rows: int, expected: list[int]) -> None:
    tables = [part.to_table() for part in dataset_slices(dataset, rows * ROW)]
    assert [len(table) for table in tables] == expected
    whole = pa.concat_tables(tables)
    assert whole.schema == dataset.schema
    assert whole["n"].to_pylist() == list(range(ROWS))


def test_a_dataset_without_files_is_one_slice() -> None:
    empty = pads.dataset(pa.table({"n": pa.array([], pa.int64())}))
    assert [part.count_rows() for part in dataset_slices(empty)] == [0]
