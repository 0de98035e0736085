from __future__ import annotations

import pytest

from colpick.types import Kind, column_kind, kind_of, sort_key


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("", Kind.EMPTY),
        ("N/A", Kind.EMPTY),
        ("yes", Kind.BOOLEAN),
        ("12", Kind.INTEGER),
        ("-1_000", Kind.INTEGER),
        ("007", Kind.TEXT),
        ("1.5", Kind.DECIMAL),
        ("1e3", Kind.DECIMAL),
        ("2025-06-02", Kind.DATE),
        ("2025-06-02T10:00", Kind.DATETIME),
        ("twelve", Kind.TEXT),
    ],
)
def test_kind_of(value, kind):
    assert kind_of(value) is kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], Kind.EMPTY),
        (["1", "", "2"], Kind.INTEGER),
        (["1", "2.5"], Kind.DECIMAL),
        (["2025-06-02", "2025-06-02T10:00"], Kind.DATETIME),
        (["1", "yes"], Kind.TEXT),
    ],
)
def test_column_kind(values, kind):
    assert column_kind(values) is kind


def test_sort_key():
    values = ["10", "", "9"]
    assert sorted(values, key=lambda value: sort_key(value, Kind.INTEGER)) == ["9", "10", ""]
