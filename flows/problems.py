"""What can go wrong in a way that a user can mend, and the exit code of each.

::

    Problem              1  broken: says what was found and what to do
    ├── UsageProblem     2  a source, an option or a study that cannot be used
    └── StoreProblem     1  the store is locked, newer than this version, or not a store
"""

from __future__ import annotations

from compaction.closest import closest as closest  # noqa: PLC0414 (for those who raise these)

DONE = 0
BROKEN = 1
BAD_USAGE = 2
INCOMPLETE = 3
STOPPED = 4
"""At the budget."""
WORSE = 5
"""Done, and a method got worse than the threshold that was asked for."""


class Problem(Exception):  # noqa: N818 (what the user has, not only what the program raises)
    """One clear sentence for the user; nothing was lost."""

    exit_code = BROKEN


class UsageProblem(Problem):
    """Bad usage, or a bad study: says which option, or which line."""

    exit_code = BAD_USAGE


class StoreProblem(Problem):
    """A store that cannot be used now, or not by this version."""


def install_extra(extra: str) -> str:
    """How to install the packages of an extra: from a checkout, because no package index has compaction-eval."""
    return f"pip install -c constraints.txt '.[{extra}]' in a checkout of compaction-eval"
