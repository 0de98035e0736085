"""Names close to one that is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``(did you mean X or Y?)``, the end of a sentence about an unknown name; empty when nothing is near."""
    by_lower = {one.lower(): one for one in known}
    wanted = name.lower()[:100]
    near = get_close_matches(wanted, by_lower, 3, 0.75) or get_close_matches(wanted, by_lower, 1)
    return f" (did you mean {' or '.join(by_lower[one] for one in near)}?)" if near else ""


def closest_or_all(name: str, known: Iterable[str]) -> str:
    """Suggest close names, like ``did_you_mean``, or all known names if none is close."""
    names = sorted(known)
    return did_you_mean(name, names) or f"; known: {', '.join(names) or 'none'}"
