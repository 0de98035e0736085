"""How the page writes numbers, times and texts of others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from flows.printing import MISSING, settled
from flows.report.visible import visible

SHORT = 160
"""Characters of a question or title in a list."""


def score(value: float | None) -> str:
    """Two digits after the point."""
    return MISSING if value is None else f"{settled(value):.2f}"


def one(value: float | None) -> str:
    """One digit after the point."""
    return MISSING if value is None else f"{settled(value):,.1f}"


def signed(value: float | None) -> str:
    """Two digits with a sign; no -0.00."""
    return MISSING if value is None else f"{round(settled(value), 2) + 0.0:+.2f}"


def share(value: float | None) -> str:
    """A share of 1 in per cent."""
    return MISSING if value is None else f"{settled(100 * value):.1f} %"


def int0(value: float | None) -> str:
    """A whole number, thousands apart."""
    return MISSING if value is None else f"{round(value):,}"


def usd(value: float | None) -> str:
    """US dollars; small sums with the digits that they need."""
    if value is None:
        return MISSING
    return f"{value:,.2f}" if value >= 1 or value == 0 else f"{value:.3g}"


def when(value: datetime | None) -> str:
    """A time of the store, which is in UTC."""
    return MISSING if value is None else f"{value:%Y-%m-%d %H:%M} UTC"


def raw(value: Any) -> str:
    """What a table sorts by and copies: a number in full but for the last digits of a parallel sum."""
    return f"{settled(value):.12g}" if isinstance(value, float) else str(value)


def short(text: str) -> str:
    """The beginning of a text on one line, visible."""
    line = " ".join(text.split())
    return visible(line if len(line) <= SHORT else f"{line[: SHORT - 1]}…")


def quoted(text: str) -> str:
    """A part of a link within the page."""
    return quote(text.encode("utf-8", "replace"), safe="")


FORMATS: dict[str, Callable[..., str]] = {
    "score": score, "one": one, "signed": signed, "share": share, "int0": int0, "usd": usd, "when": when, "raw": raw,
    "short": short, "quoted": quoted, "visible": lambda text: visible(str(text)),
}  # fmt: skip
"""Filters of the template."""
