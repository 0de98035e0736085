"""Formats of numbers, times and foreign texts on the page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from flows.reporting.html.visible import show_invisible
from flows.reporting.text_tables import MISSING, rounded, two_decimals

SHORT = 160
"""Characters of a question or title in a list."""


def format_one_decimal(value: float | None) -> str:
    """One digit after the point."""
    return MISSING if value is None else f"{rounded(value):,.1f}"


def format_signed(value: float | None) -> str:
    """Two digits with a sign; no -0.00."""
    return MISSING if value is None else f"{round(rounded(value), 2) + 0.0:+.2f}"


def format_share(value: float | None) -> str:
    """A share of 1 in per cent."""
    return MISSING if value is None else f"{rounded(100 * value):.1f} %"


def format_count(value: float | None) -> str:
    """A whole number with separators of thousands."""
    return MISSING if value is None else f"{round(value):,}"


def format_usd(value: float | None) -> str:
    """US dollars; small sums with the digits that they need."""
    if value is None:
        return MISSING
    return f"{value:,.2f}" if value >= 1 or value == 0 else f"{value:.3g}"


def format_time(value: datetime | None) -> str:
    """A time of the store, which is in UTC."""
    return MISSING if value is None else f"{value:%Y-%m-%d %H:%M} UTC"


def format_raw(value: Any) -> str:
    """The value that a table sorts by and copies: a number without the last digits, which vary in parallel sums."""
    return f"{rounded(value):.12g}" if isinstance(value, float) else str(value)


def format_short(text: str) -> str:
    """The beginning of a text on one line, visible."""
    line = " ".join(text.split())
    if len(line) > SHORT:
        whole_words = line[: SHORT - 1].rpartition(" ")[0]
        line = f"{whole_words if len(whole_words) > SHORT // 2 else line[: SHORT - 1]}…"
    return show_invisible(line)


def part_name(method: str) -> tuple[str, str]:
    """What a method is called, and its parameters in brackets with all that sets it apart."""
    at = min((at for at in map(method.find, "([") if at > 0), default=len(method))
    return show_invisible(method[:at]), show_invisible(method[at:])


def quote_link(text: str) -> str:
    """A part of a link within the page."""
    return quote(text.encode("utf-8", "replace"), safe="")


FORMATS: dict[str, Callable[..., str | tuple[str, str]]] = {
    "score": two_decimals,
    "one": format_one_decimal,
    "signed": format_signed,
    "share": format_share,
    "int0": format_count,
    "usd": format_usd,
    "when": format_time,
    "raw": format_raw,
    "short": format_short,
    "parted": part_name,
    "quoted": quote_link,
    "visible": lambda text: show_invisible(str(text)),
}
"""Filters of the template."""
