from __future__ import annotations

from colpick.look import look, shorten, visible, width
from colpick.table import Table


def test_width():
    assert [width(text) for text in ("abc", "e\u0301", "漢字", "a\u200bb")] == [3, 1, 4, 2]


def test_visible():
    assert visible("a\nb\tc\x07") == "a␤b␉c�"


def test_shorten():
    assert shorten("abcdef", 4) == "abc…"


def test_look():
    table = Table(["name", "age"], [["Ada", "36"], ["Bo", "9"], ["Cy", ""]])
    assert look(table, max_rows=2) == (
        "name | age\n-----+----\nAda  |  36\nBo   |   9\n(1 more rows)\n"
    )
