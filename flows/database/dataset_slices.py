"""Splits datasets into parts, because DuckDB holds in memory what one statement writes."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.dataset as pads

SIZE = 200_000_000
"""Bytes of a slice; while it is written it takes two to three times as much. Each slice looks at all ids that it is
joined with, so that smaller ones take longer."""
ROW = 100
"""Bytes that a row is taken for at least: in the file what repeats itself takes hardly any."""


def dataset_slices(dataset: pads.Dataset, size: int = SIZE) -> Iterator[pads.Dataset]:
    """A dataset in parts of at most so many bytes, or of one row group; at least one part, which may be empty."""
    if not isinstance(dataset, pads.FileSystemDataset):
        yield dataset
        return
    waiting: list[pads.ParquetFileFragment] = []
    filled = 0
    for file in dataset.get_fragments():
        for piece in file.split_by_row_group():
            more = sum(max(group.total_byte_size, ROW * group.num_rows) for group in piece.row_groups)
            if waiting and filled + more > size:
                yield _slice_of(dataset, waiting)
                waiting, filled = [], 0
            waiting.append(piece)
            filled += more
    yield _slice_of(dataset, waiting)


def _slice_of(dataset: pads.FileSystemDataset, pieces: list[pads.ParquetFileFragment]) -> pads.Dataset:
    return pads.FileSystemDataset(pieces, dataset.schema, dataset.format, dataset.filesystem)
