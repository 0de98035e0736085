"""Guessing what the values of a column are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from enum import Enum

EMPTY = {"", "na", "n/a", "null", "none", "-"}
TRUE = {"true", "yes", "y", "t"}
FALSE = {"false", "no", "n", "f"}
INTEGER = re.compile(r"[+-]?\d{1,3}(_?\d{3})*|[+-]?\d+")
DECIMAL = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?")


class Kind(str, Enum):
    EMPTY = "empty"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DATE = "date"
    DATETIME = "datetime"
    TEXT = "text"


ORDER = [Kind.BOOLEAN, Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.DATETIME, Kind.TEXT]


def is_empty(value: str) -> bool:
    return value.strip().lower() in EMPTY


def kind_of(value: str) -> Kind:
    text = value.strip()
    if is_empty(text):
        return Kind.EMPTY
    if text.lower() in TRUE | FALSE:
        return Kind.BOOLEAN
    if INTEGER.fullmatch(text):
        # 007 is a code and no number
        digits = text.lstrip("+-")
        return Kind.TEXT if len(digits) > 1 and digits.startswith("0") else Kind.INTEGER
    if DECIMAL.fullmatch(text):
        return Kind.DECIMAL
    for parse, kind in ((date.fromisoformat, Kind.DATE), (datetime.fromisoformat, Kind.DATETIME)):
        try:
            parse(text)
        except ValueError:
            continue
        return kind
    return Kind.TEXT


def _together(one: Kind, other: Kind) -> Kind:
    if one is other or other is Kind.EMPTY:
        return one
    if one is Kind.EMPTY:
        return other
    if {one, other} == {Kind.INTEGER, Kind.DECIMAL}:
        return Kind.DECIMAL
    if {one, other} == {Kind.DATE, Kind.DATETIME}:
        return Kind.DATETIME
    return Kind.TEXT


def column_kind(values: Iterable[str]) -> Kind:
    kind = Kind.EMPTY
    for value in values:
        kind = _together(kind, kind_of(value))
        if kind is Kind.TEXT:
            break
    return kind


def sort_key(value: str, kind: Kind) -> tuple[int, object]:
    """Empty values come last, whatever the kind."""
    if is_empty(value):
        return (1, 0)
    text = value.strip()
    if kind is Kind.INTEGER:
        return (0, int(text.replace("_", "")))
    if kind is Kind.DECIMAL:
        return (0, float(text.replace("_", "")))
    if kind is Kind.BOOLEAN:
        return (0, text.lower() in TRUE)
    if kind in (Kind.DATE, Kind.DATETIME):
        return (0, datetime.fromisoformat(text).replace(tzinfo=None))
    return (0, text.casefold())
