"""A header, rows, and the way columns are named on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .errors import ColpickError, NoSuchColumn
from .sniff import Dialect


@dataclass
class Table:
    header: list[str]
    rows: list[list[str]]
    dialect: Dialect = field(default_factory=Dialect)
    encoding: str = "utf-8"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self.rows)

    def column(self, index: int) -> list[str]:
        return [row[index] for row in self.rows]

    def like(self, header: list[str], rows: list[list[str]]) -> Table:
        """Another table of the same origin."""
        return Table(header, rows, self.dialect, self.encoding)

    def select(self, indexes: list[int]) -> Table:
        return self.like(
            [self.header[index] for index in indexes],
            [[row[index] for index in indexes] for row in self.rows],
        )

    def where(self, keep: Callable[[list[str]], bool]) -> Table:
        return self.like(self.header, [row for row in self.rows if keep(row)])

    def index(self, name: str) -> int:
        """The position of a column given by name or by number (from 1)."""
        if name in self.header:
            return self.header.index(name)
        if name.isdigit() and 1 <= int(name) <= len(self.header):
            return int(name) - 1
        lowered = [column.lower() for column in self.header]
        if lowered.count(name.lower()) == 1:
            return lowered.index(name.lower())
        raise NoSuchColumn(name, self.header)

    def _range(self, part: str) -> list[int] | None:
        left, dash, right = part.partition("-")
        if not dash or part in self.header:
            return None
        if (left and not left.isdigit()) or (right and not right.isdigit()):
            return None
        first = int(left) if left else 1
        last = int(right) if right else len(self.header)
        if first < 1 or last > len(self.header) or first > last:
            raise ColpickError(f"bad range of columns {part!r}; there are {len(self.header)}")
        return list(range(first - 1, last))

    def indexes(self, spec: str) -> list[int]:
        """The positions named by `name,3,5-7,-2`."""
        found: list[int] = []
        for part in spec.split(","):
            part = part.strip()
            if not part:
                continue
            span = self._range(part)
            found.extend(span if span is not None else [self.index(part)])
        if not found:
            raise ColpickError(f"no columns in {spec!r}")
        return found

    def without(self, spec: str) -> list[int]:
        dropped = set(self.indexes(spec))
        return [index for index in range(len(self.header)) if index not in dropped]
