from __future__ import annotations


class ColpickError(Exception):
    """Base of the errors shown as one line."""


class NoSuchColumn(ColpickError):
    def __init__(self, name: str, header: list[str]) -> None:
        known = ", ".join(repr(column) for column in header[:12])
        super().__init__(f"no column {name!r}; there are: {known}")
        self.name = name


class RowTooLong(ColpickError):
    def __init__(self, number: int, found: int, wanted: int) -> None:
        super().__init__(f"row {number} has {found} fields, the header has {wanted}")
        self.number = number


class BadEncoding(ColpickError):
    def __init__(self, encoding: str, reason: str) -> None:
        super().__init__(f"cannot read the input as {encoding}: {reason}")
        self.encoding = encoding
