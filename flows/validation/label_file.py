"""A rater's own file of grades: a table as ``calibrate`` reads it, without texts, to which rows are added one by one.

A row is on the disk before it counts. What a crash left of a row is cut off when the file is opened again.
"""

from __future__ import annotations

import csv
import fcntl
import io
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from flows.sessions.task_type_labels import MOST_BYTES
from flows.support.atomic_files import OWNERS_FILE, open_in_place
from flows.support.errors import UsageError

OF_ANSWERS = ("sample", "answer_id")
"""Columns before the grades of an answer; the second says of which, as in any such file."""
OF_STATEMENTS = ("kind", "statement_id")
"""The same of a statement."""


class LabelFile:
    """Takes the grades of one rater, each thing once; it is for its owner alone, and for one process at a time.

    Args:
        path: The file; made where there is none.
        criteria: Its columns of grades.
        columns: Its two columns before them.

    Raises:
        UsageError: the file cannot be had, or has other columns.
    """

    def __init__(self, path: Path, criteria: Sequence[str], columns: tuple[str, str] = OF_ANSWERS) -> None:
        self.path = path
        self.graded: set[str] = set()
        """Ids that have a row."""
        self._lock = threading.Lock()
        self._names = [*columns, *criteria]
        try:
            self._file = open_in_place(path)
            os.fchmod(self._file.fileno(), OWNERS_FILE)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            rows = self._read()
            if not rows:
                self._append(self._names)
        except BlockingIOError:
            raise UsageError(f"{path}: another `compaction-eval view` adds grades to it; stop that one first") from None
        except (OSError, ValueError, csv.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"{path}: cannot be used for grades: {reason}; name another one") from None
        if rows and rows[0] != self._names:
            raise UsageError(f"{path}, line 1: expected the columns {', '.join(self._names)}; name another file")
        self.graded.update(row[1] for row in rows[1:] if len(row) > 1)

    def add(self, id: str, first: str | None, scores: Mapping[str, float]) -> None:
        """Add the grades of an id by criterion, after the first column. Raises UsageError where the file refuses."""
        with self._lock:
            if id in self.graded:
                raise UsageError(f"{self.path} has grades of this one already; change them in the file")
            try:
                if not os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.path)):
                    raise UsageError(f"{self.path} is another file than at the start; start `view` again")
                grades = [f"{scores[name]:g}" if name in scores else "" for name in self._names[2:]]
                self._append([first or "", id, *grades])
            except OSError as error:
                raise UsageError(f"{self.path}: the grades could not be written: {error.strerror}") from None
            self.graded.add(id)

    def _read(self) -> list[list[str]]:
        size = os.fstat(self._file.fileno()).st_size
        if size > MOST_BYTES:
            raise ValueError(f"expected at most {MOST_BYTES:,} bytes, found {size:,}")
        self._file.seek(0)
        text = self._file.read()
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            os.ftruncate(self._file.fileno(), len(whole.encode()))
        return list(csv.reader(io.StringIO(whole, newline="")))

    def _append(self, cells: Sequence[str]) -> None:
        """Write a line, all or nothing, and wait until it is on the disk."""
        line, file = io.StringIO(), self._file.fileno()
        csv.writer(line, lineterminator="\n").writerow(cells)
        size, content = os.fstat(file).st_size, line.getvalue().encode()
        try:
            if os.write(file, content) < len(content):
                raise OSError(0, "the disk is full")
            os.fsync(file)
        except OSError:
            os.ftruncate(file, size)
            raise
