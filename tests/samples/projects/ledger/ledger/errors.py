"""What can go wrong with a journal, said in terms of the journal."""

from __future__ import annotations


class LedgerError(Exception):
    """Base of all errors that the command line shows without a traceback."""


class ParseError(LedgerError):
    """A line of the journal could not be understood."""

    def __init__(self, message: str, path: str, line: int) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line


class BalanceError(LedgerError):
    """The postings of a transaction do not add up to zero."""
