"""Errors that a user can fix, and their exit codes.

::

    EvalError            1  broken: says what was found and what to do
    ├── UsageError       2  a source, an option or a study that cannot be used
    └── StoreError       1  the store is locked, newer than this version, or not a store
"""

from __future__ import annotations

DONE = 0
BROKEN = 1
BAD_USAGE = 2
INCOMPLETE = 3
STOPPED = 4
"""The run stopped at its budget."""
WORSE = 5
"""The run is done, and a method got worse by more than the given threshold."""


class EvalError(Exception):
    """One clear sentence for the user; nothing was lost."""

    exit_code = BROKEN


class UsageError(EvalError):
    """Bad usage, or a bad study: says which option, or which line."""

    exit_code = BAD_USAGE


class StoreError(EvalError):
    """A store that cannot be used now, or not by this version."""


def install_extra(extra: str) -> str:
    """The command that installs the packages of an extra: from a checkout, as no package index has compaction-eval."""
    return f"pip install -c constraints.txt '.[{extra}]' in a checkout of compaction-eval"
