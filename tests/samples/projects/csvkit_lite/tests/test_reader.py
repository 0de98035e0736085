from __future__ import annotations

import pytest

from colpick.errors import BadEncoding, RowTooLong
from colpick.reader import ReadOptions, read_table


def rows(raw, **options):
    table = read_table(raw, ReadOptions(**options))
    return [table.header, *table.rows]


def test_plain():
    assert rows(b"a,b\n1,2\n") == [["a", "b"], ["1", "2"]]


def test_empty():
    table = read_table(b"")
    assert (table.header, table.rows) == ([], [])


def test_no_newline_at_the_end():
    assert rows(b"a,b\n1,2") == [["a", "b"], ["1", "2"]]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_row_ends(end):
    assert rows(b"a,b" + end + b"1,2" + end) == [["a", "b"], ["1", "2"]]


@pytest.mark.parametrize("inner", ["\n", "\r\n", "\r"])
def test_row_ends_within_quotes(inner):
    assert rows(f'a,b\n"1{inner}2",3\n'.encode()) == [["a", "b"], [f"1{inner}2", "3"]]


def test_doubled_quotes():
    assert rows(b'a\n"x ""y"" z"\n') == [["a"], ['x "y" z']]


def test_quote_in_the_middle_is_ordinary():
    assert rows(b'a,b\n5" pipe,1\n') == [["a", "b"], ['5" pipe', "1"]]


def test_empty_lines_are_left_out():
    assert rows(b"a,b\n\n1,2\n\n") == [["a", "b"], ["1", "2"]]


def test_short_rows_are_filled():
    assert rows(b"a,b,c\n1\n") == [["a", "b", "c"], ["1", "", ""]]


def test_long_rows():
    assert rows(b"a,b\n1,2,3\n") == [["a", "b"], ["1", "2"]]
    with pytest.raises(RowTooLong, match="row 2 has 3 fields"):
        rows(b"a,b\n1,2,3\n", strict=True)


def test_no_header():
    assert rows(b"1,2\n3,4\n", header=False) == [["column1", "column2"], ["1", "2"], ["3", "4"]]


def test_skip():
    assert rows(b"report of today\n\na,b\n1,2\n", skip=2) == [["a", "b"], ["1", "2"]]


def test_bom():
    assert rows(b"\xef\xbb\xbfid,b\n1,2\n")[0] == ["id", "b"]


def test_utf16():
    assert rows("a,b\nä,ö\n".encode("utf-16"))[1] == ["ä", "ö"]


def test_latin1():
    table = read_table("a,b\nä,ö\n".encode("latin-1"))
    assert table.encoding == "latin-1"
    assert table.rows == [["ä", "ö"]]


def test_bad_encoding():
    with pytest.raises(BadEncoding):
        rows(b"\xff\xfe\xfd", encoding="utf-8")
    with pytest.raises(BadEncoding):
        rows(b"a", encoding="klingon")
