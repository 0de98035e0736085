"""A slow log query tool: profiling, an attempt that does not help, another way, and a parsing bug."""

META = dict(
    format="openhands_v1_events",
    project="logquery",
    title="logquery is slow on large files and cuts quoted messages",
    started="2026-02-11T15:40:00Z",
    workdir="/srv/logquery",
    author="Ines Brandt <ines@example.org>",
    first_commit="logquery 1.3.0",
    system_prompt="You are an agent that solves programming tasks in a shared workspace. You have a terminal, a file "
    "editor and a task tracker. Explore before you change anything, measure before you optimise, verify each change by "
    "running it, and keep the task tracker up to date when the work has several steps.",
)

TIMES = '''"""Times of log lines, fast for the one form that nearly all lines have."""

from __future__ import annotations

import datetime as dt

PATTERNS = (
    "%Y-%m-%dT%H:%M:%S.%f%z",
    "%Y-%m-%dT%H:%M:%S%z",
    "%Y-%m-%dT%H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M",
)


class BadTime(ValueError):
    """The text is not a time."""


def parse_time(text: str) -> dt.datetime:
    """ISO time with optional fraction and zone; without a zone it is UTC.

    `fromisoformat` is about twenty times faster than `strptime`. Before Python 3.11 it knows neither `Z` nor a fraction of
    other than 3 or 6 digits, so `Z` is replaced and everything it refuses goes the slow way.
    """
    try:
        parsed = dt.datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        parsed = _slow(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=dt.timezone.utc)


def _slow(text: str) -> dt.datetime:
    for pattern in PATTERNS:
        try:
            return dt.datetime.strptime(text, pattern)
        except ValueError:
            continue
    raise BadTime(f"not a time: {text!r}")
'''

SUMMARY = '''USER CONTEXT: logquery (Python >= 3.9, no dependencies). Two complaints: (1) a query over a day's log of some 400,000 lines takes
"for ever"; (2) messages with an escaped quote (msg="said \\"no\\" twice") are cut at the inner quote. Rules of the person: output stays ordered by time,
records with the same time in the order of the file; no new dependencies; Python 3.9; the command line does not change; `engine.load` keeps its signature because the
nightly job imports it. Jonas owns docs/query.md: do not edit it.

DONE SO FAR:
- Suite at the start: 43 passed. bench/make_log.py N FILE writes a log with a fixed seed; bench/run_once.py FILE QUERY times load and select.
- Measured load: time grows with the square of the number of lines. cProfile of 8,000 lines: list.sort called once per record in engine.load (with 32 million key calls), then
  datetime.strptime via parse_time.
- Tried a compiled module-level pattern and lru_cache(parse_time): no gain (re caches its patterns already, times hardly repeat). Reverted with git checkout.
- engine.load now sorts once at the end (sort is stable, so same-time records keep the order of the file). Committed on branch faster-load.

STATE: branch faster-load, suite green.
NEXT: (a) parse_time is now the largest part: strptime with up to five patterns per line; plan: new module logquery/timeparse.py with fromisoformat first and strptime as fallback; (b) escaped quotes in
parse_fields, test first; (c) rename tables.py to output.py as the person asked; (d) replace bench/run_once.py by bench/compare.py.
OPEN: streaming for --limit without sorting was discussed, the person has not decided.'''


def script(s):
    s.user(
        "logquery is getting unusable: on a day's log of the gateway (about 400,000 lines) I gave up after ten minutes, while 5,000 lines take a second. "
        "Please find out where the time goes and make it faster. Also a bug: a message like msg=\"said \\\"no\\\" twice\" is cut at the inner quote when I look at the field.\n\n"
        "Conditions: Python 3.9 and no dependencies; output stays ordered by time, and lines with the same time stay in the order of the file; the command line stays; "
        "engine.load is imported by our nightly job, keep its signature. docs/query.md belongs to Jonas, don't edit it."
    )
    s.say("I'll look at the project and its state first.")
    s.bash("git log --oneline && git ls-files && wc -l logquery/*.py && python -V && pip list")
    s.parallel(lambda: [s.read("README.md"), s.read("docs/query.md"), s.read("pyproject.toml")])
    s.parallel(lambda: [s.read("logquery/engine.py"), s.read("logquery/lineparser.py"), s.read("logquery/record.py")])
    s.parallel(lambda: [s.read("logquery/query.py"), s.read("logquery/cli.py"), s.read("logquery/tables.py")])
    s.parallel(lambda: [s.read("bench/make_log.py"), s.read("bench/run_once.py")])
    s.bash("python -m pytest -v")
    s.parallel(lambda: [s.read("tests/test_lineparser.py"), s.read("tests/test_query.py"), s.read("tests/test_engine.py")])
    s.todo([
        ("Measure how load time grows with the number of lines", "in_progress"),
        ("Profile", "pending"),
        ("Make it faster without changing the order", "pending"),
        ("Escaped quotes in field values (test first)", "pending"),
        ("Verify: suite, same output before and after", "pending"),
    ])
    s.say("43 pass. Before I form an opinion I measure: the same query on 2,000, 4,000, 8,000 and 16,000 lines.")
    s.bash("mkdir -p bench/data && for n in 2000 4000 8000 16000; do python bench/make_log.py $n bench/data/$n.log; PYTHONPATH=. python bench/run_once.py bench/data/$n.log 'level=error and msg~timeout and service=pay*'; done")
    s.bash("head -n 75 bench/data/2000.log")
    s.say("More than twice the time for twice the lines: something is quadratic, and it is in load, not in select. Now the profile.")
    s.bash("PYTHONPATH=. python -m cProfile -s tottime bench/run_once.py bench/data/8000.log 'level=error and msg~timeout' | head -n 100")
    s.think("sort per record inside the loop. Also strptime. A typical first instinct: regexes compiled in parse_fields. I'd try quick things... but profile says sort lambda. For honest record: try cheap things first? The agent may consider parse side first because 'sort of sorted list is cheap'.")
    s.say(
        "Two suspects: the `lambda` of `records.sort` (called for every record each time, inside the loop) and `strptime`. Sorting an almost sorted list is linear, so I first assumed that "
        "it is cheap, and that parsing is what costs: `re.compile` in `parse_fields` for each line and `strptime`. These two are quickly tried: a module-level pattern, and a cache on `parse_time`."
    )
    s.parallel(lambda: [
    s.edit("logquery/lineparser.py", '''    for key, value in re.compile(r'(\\w[\\w.]*)=("[^"]*"|\\S+)').findall(text):''', '''    for key, value in PAIR.findall(text):'''),
    s.edit("logquery/lineparser.py", '''LEVELS = ("DEBUG",''', '''PAIR = re.compile(r'(\\w[\\w.]*)=("[^"]*"|\\S+)')
LEVELS = ("DEBUG",'''),
    s.edit("logquery/lineparser.py", "def parse_time(text: str)", "@functools.lru_cache(maxsize=65536)\ndef parse_time(text: str)"),
    s.edit("logquery/lineparser.py", "import datetime as dt\nimport re", "import datetime as dt\nimport functools\nimport re"),
    ])
    s.bash("for n in 2000 4000 8000 16000; do PYTHONPATH=. python bench/run_once.py bench/data/$n.log 'level=error and msg~timeout and service=pay*'; done; PYTHONPATH=. python -c \"from logquery import engine, lineparser; engine.load(['bench/data/16000.log']); print(lineparser.parse_time.cache_info())\"")
    s.bash("PYTHONPATH=. python -m cProfile -s cumtime bench/run_once.py bench/data/8000.log 'level=error and msg~timeout' | head -n 100")
    s.say(
        "That does not help. `re` keeps compiled patterns in a cache of its own, and the times hardly ever repeat (see the cache's hits and misses), so the cache only costs memory. The growth is the same as before. "
        "I take both back, no code stays that has no effect."
    )
    s.bash("git checkout logquery/lineparser.py && git status --short && python -m pytest -v")
    s.say("The profile was right and my assumption wrong: the list is sorted once **per record**, and each sort calls the key for all records so far. For 8,000 lines that is 32 million calls. Alternatives:")
    s.think("insort: bisect with key only in 3.10+; O(n) insert but C memmove. sort once: simplest. heapq.merge per file: requires each file sorted; they're not (jitter).")
    s.say(
        "1. `bisect.insort` per record: still moves memory for each insert, and `key=` exists only from Python 3.10 on, you need 3.9.\n"
        "2. `heapq.merge` over the files: needs each file to be ordered, and ours are not (the example has lines 1.5 s late).\n"
        "3. Sort once at the end: n log n, stable, so lines with the same time stay in the order of the file.\n\nI take 3. A test for the order of same-time lines does not exist yet; it comes first."
    )
    s.edit("tests/test_engine.py", '''def test_select_period(log):''', '''def test_same_time_keeps_the_order_of_the_file(tmp_path):
    path = tmp_path / "same.log"
    path.write_text("".join(f"2026-02-01T10:00:0{i % 2}Z INFO gateway n={i}\\n" for i in range(8)))
    assert [r.get("n") for r in engine.load([str(path)])] == ["0", "2", "4", "6", "1", "3", "5", "7"]


def test_select_period(log):''')
    s.bash("python -m pytest -v tests/test_engine.py")
    s.bash("PYTHONPATH=. python -m logquery 'level=error or status>=500' bench/data/16000.log > $TMPDIR/before.txt; wc -l $TMPDIR/before.txt; sha256sum < $TMPDIR/before.txt")
    s.bash("PYTHONPATH=. python -m logquery 'status>=500 and took>600' bench/data/4000.log --limit 70; PYTHONPATH=. python -m logquery 'level=error' bench/data/4000.log --count-by service; PYTHONPATH=. python -m logquery 'level=error and took>700' bench/data/8000.log --count-by user | head -n 40")
    s.parallel(lambda: [
    s.edit("logquery/engine.py", '''            for record in parse_lines(handle, errors):
                records.append(record)
                records.sort(key=lambda r: r.time)
    return records''', '''            records.extend(parse_lines(handle, errors))
    # Once, at the end: the sort is stable, so lines with the same time keep the order of the files.
    records.sort(key=attrgetter("time"))
    return records'''),
    s.edit("logquery/engine.py", "import datetime as dt\nfrom typing", "import datetime as dt\nfrom operator import attrgetter\nfrom typing"),
    ])
    s.bash("for n in 2000 4000 8000 16000; do PYTHONPATH=. python bench/run_once.py bench/data/$n.log 'level=error and msg~timeout and service=pay*'; done; PYTHONPATH=. python -m logquery 'level=error or status>=500' bench/data/16000.log | sha256sum")
    s.say("Linear now, and the output is the same byte for byte. The suite, then a commit on a branch.")
    s.bash("python -m pytest -v && git checkout -q -b faster-load && git commit -q -am 'Sort the records once' && git log --oneline")
    s.bash("python bench/make_log.py 100000 bench/data/100k.log && PYTHONPATH=. python bench/run_once.py bench/data/100k.log 'level=error and msg~timeout' && ls -s --block-size=K bench/data")
    s.user(
        "That is already a different world, thanks. Can it get below one second for the 100,000 lines? And while you are at it: tables.py should be called output.py, we will put more "
        "than tables in there. The bench script could compare two versions instead of timing one.\n\nI wondered about --limit: could we stop reading early? I have to think about the order though, leave it for now."
    )
    s.todo([
        ("Sort once instead of per record", "completed"),
        ("Make parse_time faster", "in_progress"),
        ("Escaped quotes in field values (test first)", "pending"),
        ("Rename tables.py to output.py", "pending"),
        ("bench/compare.py in place of bench/run_once.py", "pending"),
        ("--limit: stop early? (the person decides)", "pending"),
    ])
    s.condense(SUMMARY, keep_last=8)
    s.say("I look at the two files again as they are now, then at the largest part of what is left with a profile of the 100,000 lines.")
    s.parallel(lambda: [s.read("logquery/lineparser.py"), s.read("logquery/engine.py"), s.bash("git log --oneline && git status -sb && git diff main --stat")])
    s.bash("PYTHONPATH=. python -m cProfile -s tottime bench/run_once.py bench/data/100k.log 'level=error and msg~timeout' | head -n 90")
    s.bash("PYTHONPATH=. python -m cProfile -o $TMPDIR/load.prof bench/run_once.py bench/data/16000.log 'level=error' && python -c \"import os, pstats; s = pstats.Stats(os.environ['TMPDIR'] + '/load.prof'); s.sort_stats('cumtime').print_callers('strptime|findall|parse_'); s.print_callees('_strptime.py:3|parse_line')\"")
    s.say("As expected `strptime` leads by far. I compare the candidates alone before I change the code.")
    s.bash("""python - <<'EOF'
import datetime as dt, timeit
text = "2026-02-01T10:20:30.250Z"
ways = {
    "strptime": lambda: dt.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z"),
    "fromisoformat + replace Z": lambda: dt.datetime.fromisoformat(text[:-1] + "+00:00"),
    "slices": lambda: dt.datetime(int(text[:4]), int(text[5:7]), int(text[8:10]), int(text[11:13]), int(text[14:16]), int(text[17:19]), int(text[20:23]) * 1000, tzinfo=dt.timezone.utc),
}
assert len({way() for way in ways.values()}) == 1
slow = None
for name, way in ways.items():
    seconds = min(timeit.repeat(way, number=20000, repeat=5))
    slow = slow or seconds
    print(f"{name:28} {slow / seconds:5.1f} times as fast as strptime")
EOF""")
    s.say(
        "`fromisoformat` wins clearly. Careful with two things: before 3.11 it does not take `Z` (hence the replacement) and only fractions of 3 or 6 digits; and on 3.11 it takes **more** than we "
        "do, for instance a date alone, which must stay an error (`test_bad_times` has `2026-02-01`). Let me write it as a module of its own."
    )
    s.write("logquery/timeparse.py", TIMES)
    s.parallel(lambda: [
    s.edit("logquery/lineparser.py", '''def parse_time(text: str) -> dt.datetime:
    """ISO time with optional fraction and zone; without a zone it is UTC."""
    for pattern in (
        "%Y-%m-%dT%H:%M:%S.%f%z",
        "%Y-%m-%dT%H:%M:%S%z",
        "%Y-%m-%dT%H:%M:%S.%f",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%dT%H:%M",
    ):
        try:
            parsed = dt.datetime.strptime(text, pattern)
        except ValueError:
            continue
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=dt.timezone.utc)
    raise BadLine(f"not a time: {text!r}")


''', ""),
    s.edit("logquery/lineparser.py", "import datetime as dt\nimport re\nfrom typing import Dict, Iterable, Iterator, Optional\n\nfrom logquery.record import Record", "import re\nfrom typing import Dict, Iterable, Iterator, Optional\n\nfrom logquery.record import Record\nfrom logquery.timeparse import parse_time"),
    ])
    s.bash("python -m pytest -v")
    s.say(
        "Four failures, two reasons. The date alone is accepted now, as I feared. And a time that is wrong raises `BadTime`, while the callers and the tests expect `BadLine`: `parse_lines` would not catch it and one "
        "bad line would end the whole run. I make `BadLine` the one error, defined in timeparse and imported where it was, and demand the `T` at its place."
    )
    s.parallel(lambda: [
    s.edit("logquery/timeparse.py", '''class BadTime(ValueError):
    """The text is not a time."""''', '''class BadLine(ValueError):
    """The line is not in the format."""'''),
    s.edit("logquery/timeparse.py", '''    raise BadTime(''', '''    raise BadLine('''),
    s.edit("logquery/timeparse.py", '''    try:
        parsed = dt.datetime.fromisoformat(''', '''    try:
        if text[10:11] != "T" or len(text) < 16:
            raise BadLine(f"not a time: {text!r}")
        parsed = dt.datetime.fromisoformat('''),
    s.edit("logquery/lineparser.py", '''class BadLine(ValueError):
    """The line is not in the format."""


''', ""),
    s.edit("logquery/lineparser.py", "from logquery.timeparse import parse_time", "from logquery.timeparse import BadLine, parse_time"),
    ])
    s.bash("python -m pytest -v")
    s.think("BadLine is a ValueError so the raise inside try gets caught, then slow path → BadLine. fine but ugly. Move out of try.")
    s.say("Green. But the `raise` inside the `try` is caught by its own `except ValueError` and works only by luck of the slow way failing too. I move it out.")
    s.edit("logquery/timeparse.py", '''    try:
        if text[10:11] != "T" or len(text) < 16:
            raise BadLine(f"not a time: {text!r}")
        parsed =''', '''    if text[10:11] != "T" or len(text) < 16:
        raise BadLine(f"not a time: {text!r}")
    try:
        parsed =''')
    s.read("logquery/timeparse.py")
    s.bash("python -m pytest -q && PYTHONPATH=. python bench/run_once.py bench/data/100k.log 'level=error and msg~timeout' && PYTHONPATH=. python -m logquery 'level=error or status>=500' bench/data/16000.log | sha256sum && cat $TMPDIR/before.txt | sha256sum")
    s.bash("git add -A && git commit -q -m 'Times with fromisoformat first' && git show --stat HEAD && PYTHONPATH=. python -m cProfile -s tottime bench/run_once.py bench/data/100k.log 'level=error and msg~timeout and service=pay*' | head -n 80")
    s.say("Same checksum. What is left is the regular expression for the fields and building the records, which is the actual work. Now the bug with the quotes. Tests first.")
    s.bash("""cat >> tests/test_lineparser.py <<'EOF'


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (r'msg="said \\"no\\" twice" status=1', {"msg": 'said "no" twice', "status": "1"}),
        (r'msg="C:\\\\logs\\\\a.txt"', {"msg": r"C:\\logs\\a.txt"}),
        ('msg=""', {"msg": ""}),
        ('msg="a=b c=d" x=1', {"msg": "a=b c=d", "x": "1"}),
        ('msg="no end status=3', {"msg": "no end", "status": "3"}),
        ("user='x' rest=\\"", {"user": "'x'", "rest": ""}),
    ],
)
def test_quotes(text, fields):
    assert parse_fields(text) == fields
EOF
python -m pytest -vv tests/test_lineparser.py""")
    s.say(
        "Three fail: the escaped quote, the backslash, and a value whose quote never ends. For the last one I wrote down what I would like (`no end`), but the present result is `no`, since such a value ends at the blank. "
        "A broken line is no reason to invent a rule; I take that case back and fix the other two."
    )
    s.edit("tests/test_lineparser.py", '''        ('msg="no end status=3', {"msg": "no end", "status": "3"}),''', '''        ('msg="no end status=3', {"msg": "no", "end": None, "status": "3"}),''')
    s.bash("python - <<'EOF'\nfrom logquery.lineparser import parse_fields\nprint(parse_fields('msg=\"no end status=3'))\nEOF")
    s.parallel(lambda: [
    s.edit("tests/test_lineparser.py", '''{"msg": "no", "end": None, "status": "3"}),''', '''{"msg": "no", "status": "3"}),'''),
    s.edit("logquery/lineparser.py", '''    for key, value in re.compile(r'(\\w[\\w.]*)=("[^"]*"|\\S+)').findall(text):
        fields[key] = value.strip('"')
    return fields''', '''    for key, quoted, bare in PAIR.findall(text):
        fields[key] = ESCAPE.sub(r"\\1", quoted) if quoted else bare.strip('"')
    return fields'''),
    s.edit("logquery/lineparser.py", '''LEVELS = (''', '''PAIR = re.compile(r'(\\w[\\w.]*)=(?:"((?:[^"\\\\]|\\\\.)*)"|(\\S+))')
ESCAPE = re.compile(r"\\\\(.)")
LEVELS = ('''),
    ])
    s.bash("python -m pytest -vv tests/test_lineparser.py")
    s.bash("python -m pytest -v; PYTHONPATH=. python bench/run_once.py bench/data/100k.log 'level=error and msg~timeout'; PYTHONPATH=. python -m logquery 'level=error or status>=500' bench/data/16000.log | sha256sum")
    s.say("The pattern with escapes costs little, `ESCAPE.sub` on every quoted value more than needed: most have no backslash. A plain `in` test first.")
    s.edit("logquery/lineparser.py", '''ESCAPE.sub(r"\\1", quoted) if quoted else bare.strip('"')''', '''(ESCAPE.sub(r"\\1", quoted) if "\\\\" in quoted else quoted) if quoted else bare.strip('"')''')
    s.bash("python -m pytest -v && for i in 1 2 3; do PYTHONPATH=. python bench/run_once.py bench/data/100k.log 'level=error and msg~timeout'; done")
    s.bash("git commit -q -am 'Escaped quotes in field values' && git show HEAD")
    s.todo([
        ("Sort once instead of per record", "completed"),
        ("Make parse_time faster", "completed"),
        ("Escaped quotes in field values (test first)", "completed"),
        ("Rename tables.py to output.py", "in_progress"),
        ("bench/compare.py in place of bench/run_once.py", "pending"),
        ("--limit: stop early? (the person decides)", "pending"),
    ])
    s.grep("tables|run_once", ".")
    s.bash("git mv logquery/tables.py logquery/output.py && sed -i 's/from logquery import __version__, engine, tables/from logquery import __version__, engine, output/; s/tables\\.counts/output.counts/' logquery/cli.py && git diff HEAD -M && python -m pytest -v")
    s.write("bench/compare.py", '''"""Compares the working tree with another commit: python bench/compare.py COMMIT FILE QUERY

Runs the query with both versions, says how long loading and selecting took, and whether the output is the same.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ONCE = """
import hashlib, sys, time
from logquery import engine
from logquery.query import parse_query
path, query = sys.argv[1:3]
begun = time.perf_counter()
records = engine.load([path])
loaded = time.perf_counter()
found = list(engine.select(records, parse_query(query)))
done = time.perf_counter()
digest = hashlib.sha256("\\\\n".join(r.raw for r in found).encode()).hexdigest()[:12]
print(f"{len(records)} records, {len(found)} found, load {loaded - begun:.2f} s, select {done - loaded:.2f} s, output {digest}")
"""


def run(tree: Path, path: str, query: str) -> str:
    done = subprocess.run([sys.executable, "-c", ONCE, path, query], cwd=tree, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> None:
    commit, path, query = sys.argv[1], str(Path(sys.argv[2]).resolve()), sys.argv[3]
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit], capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        print(f"{commit:>12}: {run(Path(folder), path, query)}")
    print(f"{'working tree':>12}: {run(Path.cwd(), path, query)}")


if __name__ == "__main__":
    main()
''')
    s.bash("git rm -q bench/run_once.py && for q in 'level=error' 'msg~\"timeout|refused\" and service=pay*' 'status>=500 and not service=mailer'; do echo \"$q\"; python bench/compare.py main bench/data/8000.log \"$q\"; done; python bench/compare.py faster-load bench/data/100k.log 'level=error'")
    s.say("Same output in all three queries, with the old version and the new one. Does the README or anything else still mention the removed script?")
    s.grep("run_once|tables\\.py|timeparse|compare\\.py", ".")
    s.bash("python -m pytest -v && git add -A && git commit -q -m 'output.py, bench/compare.py' && git status --short && git log --stat --oneline main..HEAD && git diff --stat main -- docs")
    s.say("A last read of the whole difference to main before I report.")
    s.bash("git diff main -M -- logquery tests")
    s.bash("PYTHONPATH=. python -m logquery 'msg~\"timeout\" and level=error' bench/data/16000.log --limit 45 && PYTHONPATH=. python -m logquery '' bench/data/16000.log --count-by path | head -n 30")
    s.user("Very good. One last thing: what does the select part cost with a longer query, can that become the next problem? Only look, don't change anything any more.")
    s.bash("""cat > $TMPDIR/profile_select.py <<'EOF'
import cProfile, pstats
from logquery import engine
from logquery.query import parse_query
records = engine.load(["bench/data/100k.log"])
node = parse_query('(service=pay* or service=gate*) and not path=*/items/1* and (took>800 or msg~"timeout|refused") and status!=200')
profile = cProfile.Profile()
found = profile.runcall(lambda: sum(1 for _ in engine.select(records, node)))
print(found, "found")
pstats.Stats(profile).sort_stats("tottime").print_stats(18)
EOF
PYTHONPATH=. python $TMPDIR/profile_select.py""")
    s.read("logquery/query.py", 96, 30)
    s.bash("python -c \"import inspect, fnmatch; print(inspect.getsource(fnmatch.translate))\"")
    s.bash("git status --short; git log --oneline -1")
    s.todo([
        ("Sort once instead of per record", "completed"),
        ("Make parse_time faster", "completed"),
        ("Escaped quotes in field values (test first)", "completed"),
        ("Rename tables.py to output.py", "completed"),
        ("bench/compare.py in place of bench/run_once.py", "completed"),
        ("--limit: stop early? (the person decides)", "pending"),
        ("select: translate wildcards once per query instead of per record (found, not done)", "pending"),
    ])
    s.say(
        "Nothing changed, only looked. Yes, it can become the next one: `matches` calls `fnmatch.translate` for every `=` comparison of every record, and most of the time of select is in there (see the profile). The pattern depends on the query only, so it "
        "could be built once when the query is parsed; `=` without a `*` needs no pattern at all.\n\n"
        "**Done on `faster-load`** (four commits, not merged): one stable sort instead of one per record; times with `fromisoformat` in the new `logquery/timeparse.py`; escaped quotes; `tables.py` is `output.py`; `bench/compare.py` replaces `bench/run_once.py`. "
        "The cached patterns and `lru_cache` had no effect and are not in. `engine.load`, the command line and docs/query.md are unchanged.\n\n"
        "**Open**: wildcards in select; whether `--limit` may stop early, which needs a decision about the order; a run on Python 3.9, I had 3.11 only."
    )
