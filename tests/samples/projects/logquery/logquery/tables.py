"""Text tables."""

from __future__ import annotations

from typing import Sequence, Tuple


def counts(rows: Sequence[Tuple[str, int]]) -> str:
    """Two columns: how often, what."""
    if not rows:
        return "(none)"
    width = max(len(str(count)) for _, count in rows)
    return "\n".join(f"{count:>{width}}  {value}" for value, count in rows)
