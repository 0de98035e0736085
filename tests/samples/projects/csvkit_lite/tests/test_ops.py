from __future__ import annotations

import pytest

from colpick.errors import ColpickError, NoSuchColumn
from colpick.ops import cut, grep, join, sort, stat
from colpick.table import Table
from colpick.types import Kind


@pytest.fixture
def table():
    return Table(
        ["id", "name", "age"],
        [["1", "Ada", "36"], ["2", "Bo", ""], ["3", "Cy", "9"], ["4", "ada", "36"]],
    )


@pytest.mark.parametrize(
    ("spec", "header"),
    [
        ("name", ["name"]),
        ("3,1", ["age", "id"]),
        ("2-3", ["name", "age"]),
        ("-2", ["id", "name"]),
        ("2-", ["name", "age"]),
        ("NAME", ["name"]),
    ],
)
def test_cut(table, spec, header):
    assert cut(table, spec).header == header


def test_cut_drop(table):
    assert cut(table, drop="name").header == ["id", "age"]


def test_cut_errors(table):
    with pytest.raises(NoSuchColumn, match="no column 'city'"):
        cut(table, "city")
    with pytest.raises(ColpickError, match="bad range"):
        cut(table, "2-9")
    with pytest.raises(ColpickError, match="not both"):
        cut(table, "1", "2")


def test_grep(table):
    assert [row[0] for row in grep(table, "^ada$", "name", ignore_case=True)] == ["1", "4"]
    assert [row[0] for row in grep(table, "36", invert=True)] == ["2", "3"]
    with pytest.raises(ColpickError, match="bad pattern"):
        grep(table, "(")


def test_sort(table):
    assert [row[0] for row in sort(table, "age")] == ["3", "1", "4", "2"]
    assert [row[0] for row in sort(table, "age", reverse=True)] == ["1", "4", "3", "2"]
    assert [row[0] for row in sort(table, "age", as_text=True)] == ["1", "4", "3", "2"]


def test_join(table):
    orders = Table(["id", "name", "sum"], [["1", "x", "5"], ["1", "y", "6"], ["9", "z", "7"]])
    assert join(table, orders, "id").header == ["id", "name", "age", "name_2", "sum"]
    assert [len(join(table, orders, "id", how)) for how in ("inner", "left", "outer")] == [2, 5, 6]


def test_stat(table):
    age = stat(table)[2]
    assert (age.kind, age.filled, age.empty, age.distinct) == (Kind.INTEGER, 3, 1, 2)
    assert (age.smallest, age.largest, age.mean) == ("9", "36", "27")
    assert age.most_common == "36 (2)"
