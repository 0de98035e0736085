from __future__ import annotations

import pytest

from colpick.errors import BadEncoding
from colpick.reader import ReadOptions, read_table
from colpick.sniff import Dialect
from colpick.table import Table
from colpick.writer import WriteOptions, write_table


def written(rows, **options):
    return write_table(Table(["a", "b"], rows), WriteOptions(**options)).decode()


def test_plain():
    assert written([["1", "2"]]) == "a,b\n1,2\n"


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("x", "x"),
        ("", ""),
        ("x,y", '"x,y"'),
        ('x"y', '"x""y"'),
        ("x\ny", '"x\ny"'),
        ("x\r\ny", '"x\r\ny"'),
        (" x ", " x "),
        ("ä", "ä"),
    ],
)
def test_fields(field, text):
    assert written([[field, "2"]]) == f"a,b\n{text},2\n"


def test_other_dialect():
    assert written([["1,5", "it's"]], dialect=Dialect(";", "'")) == "a;b\n1,5;'it''s'\n"


def test_quote_all():
    assert written([["1", ""]], quote_all=True) == '"a","b"\n"1",""\n'


def test_single_empty_field():
    assert write_table(Table(["a"], [[""], ["1"]])) == b'a\n""\n1\n'


def test_without_header():
    assert written([["1", "2"]], header=False) == "1,2\n"


def test_bom():
    assert written([["1", "2"]], bom=True).startswith("\ufeffa,b")


def test_encoding():
    table = Table(["a"], [["ä"]])
    assert write_table(table, WriteOptions(encoding="latin-1")) == b"a\n\xe4\n"
    with pytest.raises(BadEncoding):
        write_table(Table(["a"], [["€"]]), WriteOptions(encoding="latin-1"))


def test_round_trip():
    table = Table(["a", "b"], [["x,y", 'q"q'], ["two\nlines", ""], [" s ", "ü"]])
    again = read_table(write_table(table), ReadOptions(delimiter=","))
    assert (again.header, again.rows) == (table.header, table.rows)
