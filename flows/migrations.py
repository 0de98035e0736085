"""How a store of an older format becomes one of a newer: steps from one format to the next.

A step changes the files below the store's folder, and is finished before ``store.json`` names the new format. It may
be killed at any instant and is then run again from its beginning, so it has to bear that: write beside, rename, remove
what is old last, and find the same end when some or all of that is done already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Step:
    """The way from one format to another."""

    source: int
    target: int
    does: str
    """What it does, for the user: "names the shards by bucket"."""
    run: Callable[[Path], None]
    """Does it; takes the store's folder. The store is locked meanwhile."""


def _nothing_to_rewrite(root: Path) -> None:
    """Files of format 2 are read as they are, and take their new names when they are next merged or split."""


STEPS: tuple[Step, ...] = (
    Step(2, 3, "files name their bucket from now on, which earlier versions cannot read", _nothing_to_rewrite),
)
"""Every step that there is. From format 1 there is none: its sessions have to be read again."""


def way(found: int, wanted: int, steps: Sequence[Step] | None = None) -> list[Step] | None:
    """The steps from one format to another, in order; none when they are the same, None when there is no way."""
    known = {step.source: step for step in (STEPS if steps is None else steps)}
    path: list[Step] = []
    while found < wanted and found in known:
        path.append(known[found])
        found = known[found].target
    return path if found == wanted else None
