from __future__ import annotations


def test_cut(colpick, people):
    assert colpick("cut", "-c", "name,4", people) == (
        0,
        b"name,age\nAda,36\nBo,\nCy,41\nDi,29\n",
        b"",
    )


def test_grep(colpick, people):
    assert colpick("grep", "-c", "city", "^B", people)[1].count(b"\n") == 4


def test_sort(colpick, people):
    out = colpick("sort", "-c", "age", "-r", people)[1].decode().split()
    assert [line.split(",")[0] for line in out[1:]] == ["3", "1", "4", "2"]


def test_convert(colpick, people):
    assert colpick("convert", "-D", "tab", people)[1].startswith(b"id\tname\tcity\tage\n")


def test_output_file(colpick, people, tmp_path):
    target = tmp_path / "out.csv"
    assert colpick("cut", "-c", "1", "-o", target, people)[0] == 0
    assert target.read_text().split() == ["id", "1", "2", "3", "4"]


def test_stat(colpick, people):
    out = colpick("stat", people)[1].decode()
    assert "integer" in out and "Bern (2)" in out


def test_errors(colpick, people):
    code, out, err = colpick("cut", "-c", "zip", people)
    assert (code, out) == (2, b"")
    assert err.startswith(b"colpick: no column 'zip'")
    assert colpick("cut", "-c", "1", "no-such-file.csv")[0] == 2
