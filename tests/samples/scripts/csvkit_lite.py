"""One issue about rows that come apart and fields that come back different; bash only."""

from __future__ import annotations

from tests.samples.record import Session

META = dict(
    format="mini_swe_agent",
    project="csvkit_lite",
    title="Rows split at characters that are no line ends; carriage returns lost on output",
    started="2026-01-19T14:05:00Z",
    workdir="/srv/csvkit_lite",
    author="agent <agent@example.org>",
    system_prompt="""You work on a software repository through a shell. In every turn you may write down what you think, and you give exactly one bash command, which is run in the root of the repository; you are shown its output and its exit status. Directory changes and variables do not last from one command to the next. There is nobody to ask: decide, and say why. When the work is done, show your patch and hand it in with the command you were given.""",
)

ISSUE = r"""
Please resolve the following issue in the repository in your current directory (/srv/csvkit_lite, the package `colpick`). Do not change the tests that exist; add new ones. Do not add dependencies. The public functions and options have to keep their names and meaning. When you are done, hand in with `git add -A && git diff --cached && echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`.

<issue>
**Rows come apart at "invisible" characters, and what colpick writes is not what it reads back**

Version 1.4.1. We pipe exports of an old accounting program and of a web shop through `colpick cut` and `colpick join`, and three things go wrong.

1. Some rows come out as two rows. It happens with rows of the accounting program whose text contains an ellipsis, and with product texts of the shop that were pasted from a word processor. A minimal file:

       printf 'id,text,sum\n1,wait\x85 please,10\n2,ok,20\n' > a.csv
       colpick cut -c id,text,sum a.csv

   gives four lines, the second of which is `1,wait` followed by something, and the sum of row 1 is in the wrong column. I'd be glad if the row stayed whole. (I know that 0x85 is an ellipsis in cp1252 only, and that I have to say `-e cp1252` to get a proper one. That is fine.)

2. Files with a byte order mark are read well, unless `-e utf-8` is given, which our wrapper script always does. Then `-c id` says that there is no column 'id', "there are: '\ufeffid', 'b'" (what is that in front of it?), and if the first column name is quoted and has a comma in it, everything is shifted by one column.

3. A field with a carriage return in it (addresses of the web shop: `Main St. 1\rFlat 2`) is written without quotes, so the next `colpick` in the pipe sees two rows. The README promises that reading what colpick wrote gives the same rows.

We lost order rows in a `join` because of this and noticed only when the totals did not agree.
</issue>
"""

REPRO = '''
"""Reproduces the three points of the issue. To be removed."""
import subprocess
import sys


def colpick(args, data):
    done = subprocess.run([sys.executable, "-m", "colpick.cli", *args], input=data, capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode().strip()


print("1a NEL       ", colpick(["cut", "-c", "id,text,sum"], b"id,text,sum\\n1,wait\\x85 please,10\\n2,ok,20\\n"))
print("1b cp1252    ", colpick(["cut", "-c", "text", "-e", "cp1252"], b"id,text,sum\\n1,wait\\x85 please,10\\n2,ok,20\\n"))
print("1c U+2028    ", colpick(["cut", "-c", "id,sum"], "id,text,sum\\n1,soft\\u2028cotton,10\\n2,ok,20\\n".encode()))
for code in (0x0B, 0x0C, 0x1C, 0x1D, 0x1E, 0x2029):
    out = colpick(["cut", "-c", "id,sum"], f"id,text,sum\\n1,x{chr(code)}y,10\\n".encode())
    print(f"1d U+{code:04X}    ", out)
bom = b"\\xef\\xbb\\xbf"
print("2a bom       ", colpick(["cut", "-c", "id"], bom + b"id,b\\n1,2\\n"))
print("2b bom -e    ", colpick(["cut", "-c", "id", "-e", "utf-8"], bom + b"id,b\\n1,2\\n"))
print("2c bom quoted", colpick(["cut", "-c", "2", "-e", "utf-8"], bom + b'"id, intern",b\\n1,2\\n'))
first = colpick(["cut", "-c", "1,2"], b'id,address\\n1,"Main St. 1\\rFlat 2"\\n')
print("3a written   ", first)
print("3b read again", colpick(["cut", "-c", "1,2"], first[1]))
'''

FUZZ = '''
"""Random tables, written and read again. To be removed."""
import random
import sys

from colpick.reader import ReadOptions, read_table
from colpick.sniff import Dialect
from colpick.table import Table
from colpick.writer import WriteOptions, write_table

ALPHABET = list("ab ,;\\t'\\"\\n\\r") + ["\\x0b", "\\x0c", "\\x1c", "\\x1e", "\\x85", "\\u2028", "\\u2029", "ä", "€"]
rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
wrong = 0
for trial in range(20000):
    dialect = Dialect(rng.choice(",;\\t"), rng.choice("\\"'"))
    width = rng.randint(1, 3)

    def text():
        return "".join(rng.choice(ALPHABET) for _ in range(rng.randint(0, 4)))

    header = [f"c{n}" for n in range(width)]
    rows = [[text() for _ in range(width)] for _ in range(rng.randint(1, 3))]
    raw = write_table(Table(header, rows), WriteOptions(dialect=dialect))
    try:
        again = read_table(raw, ReadOptions(delimiter=dialect.delimiter, quote=dialect.quote))
        same = (again.header, again.rows) == (header, rows)
    except Exception as error:
        same, again = False, error
    if not same:
        wrong += 1
        if wrong <= 4:
            print("wrote", rows, "as", raw)
            print("read ", getattr(again, "rows", again))
print(wrong, "of 20000 differ")
'''

READER_TESTS = '''

# Characters that str.splitlines takes for line ends and that are none in delimited text.
NO_ROW_ENDS = ["\\x0b", "\\x0c", "\\x1c", "\\x1d", "\\x1e", "\\x85", "\\u2028", "\\u2029"]


@pytest.mark.parametrize("character", NO_ROW_ENDS)
@pytest.mark.parametrize("quote", ["", '"'])
def test_other_line_separators_do_not_end_rows(character, quote):
    field = f"x{character}y"
    raw = f"a,b\\n{quote}{field}{quote},2\\n".encode()
    assert rows(raw) == [["a", "b"], [field, "2"]]


def test_ellipsis_of_cp1252_read_as_latin1():
    raw = b"id,text,sum\\n1,wait\\x85 please,10\\n2,ok,20\\n"
    assert rows(raw)[1:] == [["1", "wait\\x85 please", "10"], ["2", "ok", "20"]]
    assert rows(raw, encoding="cp1252")[1] == ["1", "wait\\u2026 please", "10"]


@pytest.mark.parametrize("character", NO_ROW_ENDS)
def test_skip_counts_rows_ends_only(character):
    raw = f"report{character}of today\\na,b\\n1,2\\n".encode()
    assert rows(raw, skip=1) == [["a", "b"], ["1", "2"]]


@pytest.mark.parametrize("end", ["\\n", "\\r\\n", "\\r"])
def test_skip_knows_all_row_ends(end):
    assert rows(end.join(["x", "y", "a,b", "1,2"]).encode(), skip=2) == [["a", "b"], ["1", "2"]]


@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-8-sig", "UTF8"])
@pytest.mark.parametrize(("first", "name"), [("id", "id"), ('"id, intern"', "id, intern")])
def test_bom_with_a_named_encoding(encoding, first, name):
    raw = f"\\ufeff{first},b\\n1,2\\n".encode()
    assert rows(raw, encoding=encoding) == [[name, "b"], ["1", "2"]]


def test_bom_of_utf16_with_named_byte_order():
    raw = "\\ufeffid,b\\n1,2\\n".encode("utf-16-le")
    assert rows(raw, encoding="utf-16-le")[0] == ["id", "b"]


def test_only_one_bom_at_the_beginning_is_taken_off():
    assert rows("id,b\\n\\ufeff1,2\\n".encode())[1] == ["\\ufeff1", "2"]
'''

WRITER_TESTS = '''

@pytest.mark.parametrize("field", ["x\\ry", "\\r", "x\\r"])
def test_carriage_returns_are_quoted(field):
    assert written([[field, "2"]]) == f'a,b\\n"{field}",2\\n'


@pytest.mark.parametrize("field", ["x\\x0by", "x\\x85y", "x\\u2028y"])
def test_quotes_only_where_they_have_to_be(field):
    assert written([[field, "2"]]) == f"a,b\\n{field},2\\n"


def test_carriage_return_in_the_header():
    assert write_table(Table(["a\\rb"], [["1"]])) == b'"a\\rb"\\n1\\n'


def test_bom_character_in_the_first_field_is_kept():
    table = Table(["\\ufeffa", "b"], [["1", "2"]])
    raw = write_table(table)
    assert read_table(raw).header == ["\\ufeffa", "b"]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_is_read_again(seed):
    rng = random.Random(seed)
    alphabet = "ab ,;'\\"\\n\\r\\x0b\\x0c\\x1c\\x85\\u2028\\ufeffä"
    for _ in range(300):
        dialect = Dialect(rng.choice(",;"), rng.choice("\\"'"))
        width = rng.randint(1, 3)
        made = [
            ["".join(rng.choices(alphabet, k=rng.randint(0, 4))) for _ in range(width)]
            for _ in range(rng.randint(1, 4))
        ]
        table = Table(made[0], made[1:])
        raw = write_table(table, WriteOptions(dialect=dialect))
        again = read_table(raw, ReadOptions(delimiter=dialect.delimiter, quote=dialect.quote))
        assert [again.header, *again.rows] == made, raw
'''

CLI_TESTS = '''

def test_pipe_keeps_rows(colpick, tmp_path):
    orders = tmp_path / "orders.csv"
    orders.write_bytes(b'id,address,sum\\n1,"Main St. 1\\rFlat 2",10\\n2,wait\\x85 please,20\\n')
    middle = tmp_path / "middle.csv"
    assert colpick("cut", "-c", "id,address,sum", "-o", middle, orders)[0] == 0
    names = tmp_path / "names.csv"
    names.write_bytes(b"\\xef\\xbb\\xbfid,name\\n1,Ada\\n2,Bo\\n")
    code, out, _ = colpick("join", "-c", "id", "-e", "utf-8", names, middle)
    assert code == 0
    assert out.decode() == 'id,name,address,sum\\n1,Ada,"Main St. 1\\rFlat 2",10\\n2,Bo,wait\\x85 please,20\\n'
'''


def script(s: Session) -> None:
    s.user(ISSUE)
    s.say("I begin with the layout of the repository and its state.")
    s.bash("git log --oneline && git status --short && ls -R . | grep -v pyc && wc -l colpick/*.py tests/*.py && python -V && pip list 2>/dev/null")
    s.say("Small enough to read the parts that matter in full. First what is promised: README, format notes, changes.")
    s.bash("cat README.md docs/format.md CHANGES.md pyproject.toml")
    s.say("`docs/format.md` is precise: rows end with LF, CRLF or CR, \"no other character ends a row\". That settles what is right for point 1. Now the reader.")
    s.read("colpick/reader.py")
    s.say("`text.splitlines(keepends=True)` is suspicious: for `str` it splits at VT, FF, FS, GS, RS, NEL, U+2028 and U+2029 as well. It is there twice, once for `skip`. Next, where the encoding comes from.")
    s.read("colpick/sniff.py")
    s.say("So 0x85 without a BOM is not valid UTF-8, becomes Latin-1, there 0x85 is U+0085 (NEL), and `splitlines` cuts there. The writer:")
    s.read("colpick/writer.py")
    s.say("`needs_quotes` knows `\\n` and not `\\r`: point 3. The command line, to see how options arrive at the reader.")
    s.read("colpick/cli.py")
    s.say("And the table, the operations and `look`, which all deal with what the reader returns; I want to know whether one of them splits text as well.")
    s.bash("cat -n colpick/table.py colpick/ops.py")
    s.bash("grep -nE 'splitlines|split\\(|strip\\(|ufeff|\\\\r|encoding' -r colpick")
    s.say("`look` and `types` are left; whatever they do with control characters is worth knowing.")
    s.bash("cat -n colpick/look.py colpick/types.py colpick/errors.py")
    s.say("`look` handles control characters for display and is not concerned. Now the tests as they are.")
    s.bash("python -m pytest -v 2>&1 | tail -110")
    s.say("All 95 pass. Which of them touch row ends, byte order marks, quotes?")
    s.bash("cat -n tests/test_reader.py tests/test_writer.py")
    s.say("""Observations:
- `test_row_ends` wants a lone `\\r` to end rows, so whatever replaces `splitlines` must know LF, CRLF and CR.
- `test_row_ends_within_quotes` wants them kept as they are within quotes.
- `test_round_trip` has no `\\r` in it.

A script that reproduces all three points from the outside, through the command line:""")
    s.write("repro.py", REPRO)
    s.say("Run it on the untouched code.")
    s.bash("python repro.py")
    s.say("""All three are confirmed. Details that the issue does not have:

- 1d: it is not only the two characters of the issue; VT, FF, FS, GS, RS and U+2029 do the same.
- 2c: `\\ufeff"id, intern"`: as the quote is not the first character of the field any more, the comma in it splits.

What does the standard library say about how `csv.reader` treats what an iterator gives it? I check by trying and not from memory.""")
    s.bash(r'''python - <<'PY'
import csv, io
cases = {"splitlines": lambda t: t.splitlines(keepends=True), "StringIO(text)": lambda t: io.StringIO(t), "StringIO(newline='')": lambda t: io.StringIO(t, newline=""), "[text]": lambda t: [t]}
for text in ("a,b\n1,2\n", "a,b\r1,2\r", "a,b\r\n1,2\r\n", 'a,"x\ry"\n1,2\n', "a,x\x85y\n", "a,x\u2028y\n"):
    print(repr(text))
    for name, make in cases.items():
        try:
            print(f"   {name:22}", list(csv.reader(make(text))))
        except csv.Error as error:
            print(f"   {name:22} csv.Error: {error}")
PY''')
    s.say("""`io.StringIO(text, newline="")` is right in all six cases: it splits at LF, CR and CRLF, leaves them as they are, and at nothing else. Plain `io.StringIO(text)` fails for lone CR.

Alternatives I weighed:
- `re.split(r"(?<=\\n)|...")`: possible, but a lookbehind for CR that is not followed by LF is easy to get wrong, and it builds the whole list.
- A parser of our own: the code had `csv.reader` on a file before 1.3.0; no reason to leave the standard library.

So `StringIO`. Before editing, a fuzzer over write-then-read, to have a number for before and after.""")
    s.write("fuzz.py", FUZZ)
    s.say("The number before any change:")
    s.bash("PYTHONPATH=. python fuzz.py")
    s.say("Two thirds, with an alphabet that is made to hurt. Now the tests, before the fix. Reader first.")
    s.bash("cat >> tests/test_reader.py <<'EOF'\n" + READER_TESTS.rstrip("\n") + "\nEOF\npython -m pytest tests/test_reader.py -q 2>&1")
    s.say("The failing ones are the ones that should fail: every separator without quotes, `skip`, and the BOM with a named encoding. Within quotes the separators already survived, because `csv.reader` joins the pieces. Now `split_rows`.")
    s.edit("colpick/reader.py", "text.splitlines(keepends=True)", "io.StringIO(text)")
    s.say("It is there twice, as I had noted myself. Only the one in `split_rows` for now, with more around it.")
    s.edit("colpick/reader.py", "    lines = text.splitlines(keepends=True)\n    reader = csv.reader(\n        lines, delimiter", "    lines = io.StringIO(text)\n    reader = csv.reader(\n        lines, delimiter")
    s.edit("colpick/reader.py", "import csv\nimport sys\n", "import csv\nimport io\nimport sys\n")
    s.bash("python -m pytest tests/test_reader.py -v 2>&1")
    s.say("My own mistake: I wrote `io.StringIO(text)` without `newline=\"\"`, the very variant that I had seen fail a minute ago. `test_row_ends[\\r]` caught it, with the message that csv gives for this.")
    s.edit("colpick/reader.py", "    lines = io.StringIO(text)\n", "    # not str.splitlines: that splits at U+0085, U+2028, form feeds and others, too\n    lines = io.StringIO(text, newline=\"\")\n")
    s.bash("python -m pytest tests/test_reader.py -q 2>&1")
    s.say("""Left: `skip` and the BOM. For `skip`, the same way of cutting must be used in both places, so it gets a function of its own, `lines_of`. It returns an iterable of lines with their ends.""")
    s.edit("colpick/reader.py", '''def split_rows(text: str, dialect: Dialect) -> Iterator[list[str]]:
    """The rows of `text`; empty lines are left out."""
    # not str.splitlines: that splits at U+0085, U+2028, form feeds and others, too
    lines = io.StringIO(text, newline="")
    reader = csv.reader(
        lines, delimiter=dialect.delimiter, quotechar=dialect.quote, doublequote=True
    )
''', '''def lines_of(text: str) -> Iterator[str]:
    """The lines of `text` with their ends, which are LF, CRLF and CR.

    Not `str.splitlines`: that splits at U+0085, U+2028, form feeds and others,
    none of which ends a row.
    """
    return iter(io.StringIO(text, newline=""))


def split_rows(text: str, dialect: Dialect) -> Iterator[list[str]]:
    """The rows of `text`; empty lines are left out."""
    reader = csv.reader(
        lines_of(text), delimiter=dialect.delimiter, quotechar=dialect.quote, doublequote=True
    )
''')
    s.edit("colpick/reader.py", '        text = "".join(text.splitlines(keepends=True)[options.skip :])\n', '        text = "".join(islice(lines_of(text), options.skip, None))\n')
    s.edit("colpick/reader.py", "from dataclasses import dataclass\nfrom pathlib import Path\n", "from dataclasses import dataclass\nfrom itertools import islice\nfrom pathlib import Path\n")
    s.bash("python -m pytest tests/test_reader.py -q 2>&1")
    s.say("""Only the BOM cases are left. Where to take it off? Options:

1. In `detect_encoding`/`cli.py`: turn `utf-8` into `utf-8-sig`. Would need the same for `utf-16-le`, `utf8`, `UTF_8` and all spellings; `codecs.lookup(name).name` helps, yet it stays a list.
2. In `decode`, after decoding: if the text begins with U+FEFF, take off that one character. One place, all encodings. U+FEFF at the beginning of a text has no other use (as a zero width no-break space it has been deprecated for that since Unicode 3.2).

The second. `detect_encoding` stays as it is. It has to be before the dialect is detected, or the quote at the beginning is not seen; `decode` is.""")
    s.edit("colpick/reader.py", '''    try:
        return raw.decode(name), name
    except (UnicodeDecodeError, LookupError) as error:
        raise BadEncoding(name, str(error)) from error
''', '''    try:
        text = raw.decode(name)
    except (UnicodeDecodeError, LookupError) as error:
        raise BadEncoding(name, str(error)) from error
    # with -e utf-8 the decoder leaves the byte order mark where it was
    return text.removeprefix("\\ufeff"), name
''')
    s.bash("python -m pytest tests/test_reader.py -v 2>&1 | tail -75")
    s.say("`removeprefix` needs Python 3.9, the package says 3.10: fine. The reader is done. The fuzz failures that are left should be those of the writer:")
    s.bash("PYTHONPATH=. python fuzz.py; PYTHONPATH=. python fuzz.py 2 | tail -1")
    s.say("A third of the failures is left, and each one shown has a `\\r` without quotes. The tests for the writer, again before the fix.")
    s.bash("cat >> tests/test_writer.py <<'EOF'\n" + WRITER_TESTS.rstrip("\n") + "\nEOF\nsed -i 's/^import pytest$/import random\\n\\nimport pytest/' tests/test_writer.py\nhead -12 tests/test_writer.py; python -m pytest tests/test_writer.py -q 2>&1")
    s.edit("colpick/writer.py", '    return dialect.delimiter in field or dialect.quote in field or "\\n" in field\n', '    return any(sign in field for sign in (dialect.delimiter, dialect.quote, "\\n", "\\r"))\n')
    s.bash("python -m pytest tests/test_writer.py -q 2>&1 | tail -60; PYTHONPATH=. python fuzz.py | tail -3")
    s.say("""The fuzzer says 0 of 20000 by now; my test for a U+FEFF *in the data* and the random tests that contain it still fail. It is a consequence of my own change in `decode`, in part: a first field that begins with U+FEFF is written as the first character of the output, and reading takes it for a byte order mark. (Before, detection as `utf-8-sig` did the same when no encoding was named, so it is not new, but the README promises the round trip.)

Options: forbid it, ignore it, or quote a field that begins with U+FEFF: then the quote is the first character and the mark stays within the field. Quoting costs one comparison, and the file remains valid for every other reader. I restrict it to fields that *begin* with it, as elsewhere it is harmless.""")
    s.edit("colpick/writer.py", '    return any(sign in field for sign in (dialect.delimiter, dialect.quote, "\\n", "\\r"))\n', '''    if any(sign in field for sign in (dialect.delimiter, dialect.quote, "\\n", "\\r")):
        return True
    # at the very beginning of a file it would be taken for a byte order mark
    return field.startswith("\\ufeff")
''')
    s.bash("python -m pytest tests/test_writer.py -v 2>&1 | tail -60")
    s.say("Green. The whole suite and the reproduction:")
    s.bash("python -m pytest -v 2>&1 | tail -120; python repro.py")
    s.say("""All points of the issue are as they should be:
- 1a keeps the row whole; 1b gives a real ellipsis with `-e cp1252`.
- 2b and 2c find the column.
- 3b reads back what 3a wrote.

An end-to-end test that does what the reporter does (cut, then join with a wrapper that always gives `-e utf-8`). Then I widen the fuzzer: headers random as well, U+FEFF in the alphabet, lone surrogates left out.""")
    s.bash("cat >> tests/test_cli.py <<'EOF'\n" + CLI_TESTS.rstrip("\n") + "\nEOF\npython -m pytest tests/test_cli.py -v 2>&1 | tail -40")
    s.say("The fixture's `write_bytes` of 0x85 was read as Latin-1 in the first step and written as UTF-8 (c2 85), so the second step reads it as UTF-8: right. Now the wider fuzz run.")
    s.bash(r'''sed -i 's/"ä", "€"\]/"ä", "€", "\\ufeff", "\\x00"]/; s/header = \[f"c{n}" for n in range(width)\]/header = [text() for _ in range(width)]/' fuzz.py && grep -n 'ALPHABET =\|header = ' fuzz.py && for seed in 1 2 3; do PYTHONPATH=. python fuzz.py $seed; done''')
    s.say("""0 with U+FEFF and NUL too. What about writing in other encodings and with `--bom`? Also `-Q`, an output quote that differs from the input's. A quick matrix:""")
    s.bash(r'''python - <<'PY'
from itertools import product
from colpick.reader import ReadOptions, read_table
from colpick.sniff import Dialect
from colpick.table import Table
from colpick.writer import WriteOptions, write_table
rows = [["\ufeffid", "b'c"], ["x\ry", 'q"q'], ["", "wait\x85"], ["l\u2028s", " "]]
bad = 0
for encoding, bom, quote, delimiter, all_ in product(("utf-8", "utf-16", "utf-16-le", "utf-32"), (False, True), "\"'", ",;|\t", (False, True)):
    if encoding in ("utf-16", "utf-32") and bom:
        continue  # the codec writes one itself
    options = WriteOptions(Dialect(delimiter, quote), encoding, all_, True, bom)
    raw = write_table(Table(rows[0], rows[1:]), options)
    named = encoding if encoding == "utf-16-le" and not bom else None
    again = read_table(raw, ReadOptions(named, delimiter, quote))
    if [again.header, *again.rows] != rows:
        bad += 1
        print(encoding, "bom" if bom else "", repr(quote), repr(delimiter), again.header)
print(bad, "bad")
PY''')
    s.say("""All good. And what of `--bom` together with `-E utf-16` (the combination I skipped)? `utf-16` writes a mark itself, so there are two; reading takes off one in the codec and one in `decode` now: fine by accident, better than before, and not part of the issue. I check that one claim quickly, along with large input: is the new splitting slower?""")
    s.bash(r'''python - <<'PY'
import time
from colpick.reader import ReadOptions, read_table
from colpick.table import Table
from colpick.writer import WriteOptions, write_table
raw = write_table(Table(["id"], [["1"]]), WriteOptions(encoding="utf-16", bom=True))
print(raw, read_table(raw).header)
big = b"id,text,sum\n" + b"".join(b'%d,"some text, quoted",%d\n' % (n, n * 3) for n in range(300_000))
begun = time.perf_counter(); table = read_table(big); print(len(table), f"rows in {time.perf_counter() - begun:.2f} s")
begun = time.perf_counter(); data = write_table(table); print(len(data), f"bytes in {time.perf_counter() - begun:.2f} s", data == big)
PY
git stash -q -- colpick
python - <<'PY'
import time
from colpick.reader import read_table
from colpick.writer import write_table
big = b"id,text,sum\n" + b"".join(b'%d,"some text, quoted",%d\n' % (n, n * 3) for n in range(300_000))
begun = time.perf_counter(); table = read_table(big); print("before:", len(table), f"rows in {time.perf_counter() - begun:.2f} s")
begun = time.perf_counter(); data = write_table(table); print("before:", len(data), f"bytes in {time.perf_counter() - begun:.2f} s")
PY
git stash pop -q && git status --short''')
    s.say("Reading is about as fast as before; writing pays a little for the generator expression in `needs_quotes`, which runs once per field. It can be had without a generator, plain `or` as it was; let me measure before I decide.")
    s.bash(r'''python - <<'PY'
import timeit
setup = "d, q, field = ',', '\"', 'some text quoted'"
print("any()  ", min(timeit.repeat("any(s in field for s in (d, q, '\\n', '\\r')) or field.startswith('\\ufeff')", setup, number=300_000, repeat=3)))
print("or     ", min(timeit.repeat("d in field or q in field or '\\n' in field or '\\r' in field or field.startswith('\\ufeff')", setup, number=300_000, repeat=3)))
PY''')
    s.say("Several times the cost for nothing but looks, on the hottest line of the writer. Plain `or`, as the original had it.")
    s.edit("colpick/writer.py", '''    if any(sign in field for sign in (dialect.delimiter, dialect.quote, "\\n", "\\r")):
        return True
    # at the very beginning of a file it would be taken for a byte order mark
    return field.startswith("\\ufeff")
''', '''    return (
        dialect.delimiter in field
        or dialect.quote in field
        or "\\n" in field
        or "\\r" in field
        # at the very beginning of a file it would be taken for a byte order mark
        or field.startswith("\\ufeff")
    )
''')
    s.bash("python -m pytest -q 2>&1 | tail -4; for seed in 4 5; do PYTHONPATH=. python fuzz.py $seed; done")
    s.say("Another place where text is cut: `detect_delimiter` uses `text.split(\"\\n\")` for its sample. For a file with lone CR the whole text is one line. Does that do harm?")
    s.bash(r'''python - <<'PY'
from colpick.sniff import detect_delimiter
print(repr(detect_delimiter("a;b\r1,5;2\r3,5;4\r6,5;7\r")), repr(detect_delimiter("a;b\n1,5;2\n3,5;4\n6,5;7\n")))
print(repr(detect_delimiter("a;b\r1;2\r")))
PY
cat -n tests/test_sniff.py | sed -n 1,45p''')
    s.say("""It is weaker for old Mac files: with decimal commas it takes the wrong candidate only if that is more frequent in the whole text (here 4 semicolons against 3 commas, so it is right). That is a weakness of the guess, `-d` exists, and the issue says nothing about it. I leave `sniff.py` alone: three points were reported, and changing the guess may change what other people's files are read as.

For the same reason I do not change the fallback from Latin-1 to cp1252. It would give the reporter his ellipsis for free, but `README.md` promises Latin-1, "which every sequence of bytes is"; cp1252 has five undefined bytes and would raise `BadEncoding` on input that is read today. The reporter says that `-e cp1252` is fine.

Who else calls what I changed?""")
    s.bash("grep -rnE 'split_rows|decode\\(|needs_quotes|format_field|lines_of|read_table|write_table' colpick | grep -v '^colpick/\\(reader\\|writer\\).py:.*def '; cat -n tests/test_look.py tests/test_cli.py tests/conftest.py")
    s.say("Nobody outside of the two modules and the command line. `look` shows U+0085 and U+2028 as a replacement sign (categories Cc, Zl, Zp), which it could never do before, since such fields never arrived whole. A last look at it with real data:")
    s.bash(r"""printf 'id,text,sum\n1,wait\x85 please,10\n2,"Main St. 1\rFlat 2",20\n' > a.csv
python -m colpick.cli look a.csv; python -m colpick.cli look -e cp1252 a.csv; python -m colpick.cli stat a.csv; rm a.csv""")
    s.say("Good. The documents: `docs/format.md` described the right behaviour of rows already; the byte order mark and the quoting of U+FEFF are new. `CHANGES.md` gets an entry without a date.")
    s.bash(r'''python3 - <<'PY'
from pathlib import Path
p = Path("docs/format.md"); s = p.read_text()
old = "- A quote character within a quoted field is doubled.\n"
new = "  That includes U+0085, U+2028 and form feeds.\n- A byte order mark at the beginning is taken off, also if `-e` names the encoding.\n"
assert s.count(old) == 1
s = s.replace(old, new + old)
old = "  delimiter, the quote character or anything that ends a row when read, or\n  because a row of one empty field would be an empty line.\n"
assert s.count(old) == 1
s = s.replace(old, "  delimiter, the quote character or anything that ends a row when read, because\n  it begins with U+FEFF, which could be taken for a byte order mark, or because a\n  row of one empty field would be an empty line.\n")
p.write_text(s)
p = Path("CHANGES.md"); s = p.read_text()
s = s.replace("# Changes\n", "# Changes\n\n## Not released\n\n- Rows are split at LF, CRLF and CR only, no longer at U+0085, U+2028, U+2029,\n  form feeds and other separators. The same goes for `--skip`.\n- A byte order mark is taken off if `-e` names the encoding as well.\n- Fields with a carriage return are quoted, and fields that begin with U+FEFF.\n", 1)
p.write_text(s)
PY
git diff docs CHANGES.md''')
    s.say("Now clean up: the two scripts of mine go. Are there other traces?")
    s.bash("rm repro.py fuzz.py && git status --short && git stash list")
    s.say("The whole suite once more in full, then the diff of the package.")
    s.bash("python -m pytest -v 2>&1 | tail -160")
    s.bash("git diff colpick")
    s.say("Do my tests fail without my fix? The old modules back for a moment, as a check that they test something.")
    s.bash("git stash -q -- colpick && python -m pytest -q 2>&1 | tail -130; git stash pop -q && git status --short && python -m pytest -q 2>&1 | tail -3")
    s.say("They do: without the change the new tests fail, with it everything passes, and none of the existing tests was changed. One more check of that last claim: in the test files there must be additions only (the import of `random` is one).")
    s.bash("git diff --numstat tests && python -m compileall -q colpick && python -m colpick.cli --version")
    s.say("Only additions. Handing in: fix in `colpick/reader.py` and `colpick/writer.py`, tests, documents. Left open on purpose: the delimiter guess for files with lone CR, and the Latin-1 fallback.")
    s.submit()
