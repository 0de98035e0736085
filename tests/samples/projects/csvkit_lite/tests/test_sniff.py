from __future__ import annotations

import pytest

from colpick.sniff import Dialect, detect_delimiter, detect_dialect, detect_encoding, named_character


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b"", "utf-8"),
        (b"a,b", "utf-8"),
        ("ä,ö".encode(), "utf-8"),
        ("ä,ö".encode("latin-1"), "latin-1"),
        (b"\xef\xbb\xbfa,b", "utf-8-sig"),
        ("a,b".encode("utf-16"), "utf-16"),
        ("a,b".encode("utf-32"), "utf-32"),
    ],
)
def test_encoding(raw, name):
    assert detect_encoding(raw) == name


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("", ","),
        ("a", ","),
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n3,1;4\n", ";"),
        ("a\tb, c\td\n1\t2\t3\n", "\t"),
        ('a|b\n"1,2,3"|4\n', "|"),
    ],
)
def test_delimiter(text, delimiter):
    assert detect_delimiter(text) == delimiter


def test_dialect_given():
    assert detect_dialect("a,b", delimiter=";", quote="'") == Dialect(";", "'")


@pytest.mark.parametrize("pair", [("", '"'), (",,", '"'), (",", ""), (",", ",")])
def test_bad_dialect(pair):
    with pytest.raises(ValueError):
        Dialect(*pair)


def test_names():
    assert [named_character(text) for text in ("tab", "PIPE", r"\t", ":")] == ["\t", "|", "\t", ":"]
