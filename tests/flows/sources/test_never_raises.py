"""Whatever happens to a log, reading it does not raise, and nothing is lost without a reason."""

import copy
import itertools
import json
import os
import random
import re
import sqlite3
from contextlib import closing, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.sources.formats.openhands.openhands_v1_events import NAME as OPENHANDS
from tests.flows.sources import logs
from tests.flows.sources.properties import check

pytestmark = pytest.mark.timeout(120)  # a reader that does not end fails

LINE_FORMATS = sorted(logs.logs_with("LINES"))
DOCUMENT_FORMATS = sorted(logs.logs_with("DOCUMENT"))
TEXT_FORMATS = sorted(logs.logs_with("TEXT"))
LINES_AND_DOCUMENTS = [*((name, "LINES") for name in LINE_FORMATS), *((name, "DOCUMENT") for name in DOCUMENT_FORMATS)]
WORD = re.compile(r"token-\d+")
LONG = 10_000_000
TIMES = int(os.environ.get("COMPACTION_EVAL_FUZZ", "1"))
"""Set it to 100 after a reader has changed: as many times as many examples."""
few = settings(max_examples=20 * TIMES, deadline=None)
more = settings(max_examples=50 * TIMES, deadline=None)

# What JSON allows or what programs write all the same, and Python's own encoder does not.
RAW = {
    "nul": rb'"a\u0000b"',
    "half a pair": rb'"\ud83d \udc00 \ud83d\ude00"',
    "half a pair as a name": rb'{"\ud83d": "\udc00", "type": "text", "text": "\ud83d"}',
    "control": b'"a\x01\x1b[0m\x7f"',
    "no utf-8": b'"\xff\xfe\xed\xa0\xbd"',
    "deep list": b"[" * 10_000 + b"]" * 10_000,
    "deep object": b'{"content":' * 10_000 + b"1" + b"}" * 10_000,
    "rather deep": b'[{"text":' * 400 + b'"x"' + b"}]" * 400,
    "never closed": b'[{"a":' * 10_000,
    "infinite": b"1e400",
    "not a number": b"NaN",
    "minus infinite": b"-Infinity",
    "65 bits": b"18446744073709551616",
    "32 bits": b"4294967296",
    "minus": b"-9223372036854775808",
    "5000 digits": b"9" * 5_000,
    "400 digits": b"1" + b"0" * 400,
    "minus 400 digits": b"-1" + b"0" * 400,
    "small": b"1e-400",
    "names twice": b'{"role": "user", "content": "a", "role": [], "content": null, "type": 1, "type": "text"}',
    "no name": b'{"": {"": ""}}',
}
odd_values = st.sampled_from(
    [None, True, 3, -1.5, "", "x", [], {}, [None], {"type": 1}, [[1]], {"role": []}, *(f"@@{name}@@" for name in RAW)]
).map(copy.deepcopy)

# What happens to a value where it stands.
SWAPS = {
    "in a list": lambda value: [value],
    "as text": lambda value: value if isinstance(value, str) else json.dumps(value),
    "as another kind": lambda value: (
        list(value.values())
        if isinstance(value, dict)
        else {str(i): item for i, item in enumerate(value)}
        if isinstance(value, list)
        else {"text": value}
    ),
    "twice": lambda value: value + value if isinstance(value, (list, str)) else value,
    "many times": lambda value: value * 40 if isinstance(value, list) and len(value) < 20 else value,
    "backwards": lambda value: (
        dict(reversed(value.items()))
        if isinstance(value, dict)
        else value[::-1]
        if isinstance(value, (list, str))
        else value
    ),
    "half": lambda value: value[: len(value) // 2] if isinstance(value, (list, str)) else value,
    "with nul": lambda value: f"{value[:3]}\0{value[3:]}" if isinstance(value, str) else value,
    "with half a pair": lambda value: f"{value[:3]}\ud83d{value[3:]}" if isinstance(value, str) else value,
    "with an empty item": lambda value: [*value, None, {}, ""] if isinstance(value, list) else value,
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder, also the working one: a file that a reader wrote would be found there."""
    folder = tmp_path_factory.mktemp("logs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def lost_without_reason(result, data):
    """Lines whose word is in no message, beyond those that are set aside or counted."""
    messages = [m for transcript in result.transcripts for m in transcript.messages]
    said = " ".join(" ".join([m.text, m.reasoning, *(call.arguments for call in m.tool_calls)]) for m in messages)
    held = set(WORD.findall(said))
    lines = [line for line in data.decode().split("\n") if line.strip()]
    lost = [line for line in lines if not held & set(WORD.findall(line))]
    counted = sum(result.account.aside.values())
    return max(0, len(lost) - len(result.set_aside) - counted)


def encoded(value):
    """JSON with the marks of ``RAW`` resolved."""
    data = json.dumps(value).encode()
    for name, raw in RAW.items() if b'"@@' in data else ():
        data = data.replace(b'"@@' + name.encode() + b'@@"', raw)
    return data


def write_log(place, name, kind, value):
    """Writes records as lines, or one value as a document."""
    path = place / f"{name}.{'jsonl' if kind == 'LINES' else 'json'}"
    path.write_bytes(b"".join(encoded(line) + b"\n" for line in value) if kind == "LINES" else encoded(value))
    return path


def change(value, steps, new):
    """Replaces the value that a list of numbers leads to; ``new`` may be made of the old one."""
    if not steps or not isinstance(value, (dict, list)) or not value:
        return new(value) if callable(new) else new
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[steps[0] % len(keys)]
    value[key] = change(value[key], steps[1:], new)
    return value


def strings_in(value, path=()):
    """The way to every string in a value."""
    if isinstance(value, str):
        return [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in items for found in strings_in(item, (*path, key))]


TIME_KEYS = re.compile(r"(?i)time|stamp|^ts$|date|created|started|began|begin|start|end|completed|sentat|_at$")
NO_TIMES = {
    **{
        name: f"@@{name}@@" for name in ("400 digits", "minus 400 digits", "infinite", "minus infinite", "not a number")
    },
    "65 bits": "@@65 bits@@",
    "year 0": "0000-01-01T00:00:00Z",
    "year 0 in UTC": "0001-01-01T00:00:00+05:00",
    "year 10000": "10000-01-01T00:00:00Z",
    "year 10000 in UTC": "9999-12-31T23:00:00-05:00",
    "20 digits": "9" * 20,
}


def with_times(value, new):
    """A value with every time in it replaced, and how many there are."""
    count = 0

    def replaced(inner, key=""):
        nonlocal count
        if isinstance(inner, dict):
            return {name: replaced(item, name) for name, item in inner.items()}
        if isinstance(inner, list):
            return [replaced(item) for item in inner]
        if TIME_KEYS.search(key) and (type(inner) in (int, float) or (isinstance(inner, str) and inner[:2] == "20")):
            count += 1
            return new
        return inner

    return replaced(value), count


paths = st.lists(st.integers(0, 30), min_size=2, max_size=6)


@pytest.mark.parametrize("name", LINE_FORMATS)
def test_the_sample_is_recognised_and_loses_no_line(name, place, line_samples):
    path = write_log(place, name, "LINES", line_samples[name])
    result = check(path)
    assert (result.format, result.set_aside) == (name, ())
    assert lost_without_reason(result, path.read_bytes()) == 0


@pytest.mark.parametrize("name", LINE_FORMATS)
@few
@given(data=st.data())
def test_lines_may_be_cut_repeated_and_swapped(name, place, line_samples, data):
    lines = [json.dumps(record).encode() for record in line_samples[name]]
    at = st.integers(0, len(lines) - 1)
    for first, second in data.draw(st.lists(st.tuples(at, at), max_size=4), label="swaps"):
        lines[first], lines[second] = lines[second], lines[first]
    for index in data.draw(st.lists(at, max_size=3), label="repeats"):
        lines.append(lines[index])
    content = b"\n".join(lines) + b"\n"
    content = content[: data.draw(st.integers(0, len(content)), label="cut")]
    path = place / f"{name}-lines.jsonl"
    path.write_bytes(content)
    result = check(path)
    if result.format is None:
        assert result.set_aside
    elif result.transcripts:
        assert lost_without_reason(result, content) == 0
    else:
        assert result.set_aside


@pytest.mark.parametrize("name", DOCUMENT_FORMATS)
@few
@given(data=st.data())
def test_a_document_that_is_cut_anywhere_is_set_aside_with_a_reason(name, place, document_samples, data):
    indent = data.draw(st.sampled_from([None, 1]))
    content = json.dumps(document_samples[name], indent=indent).encode()
    content = content[: data.draw(st.integers(0, len(content) - 1), label="cut")]
    path = place / f"{name}-cut.json"
    path.write_bytes(content)
    result = check(path)
    assert result.set_aside


@pytest.mark.parametrize(("name", "kind"), LINES_AND_DOCUMENTS)
@more
@given(changes=st.lists(st.tuples(paths, odd_values), min_size=1, max_size=4))
def test_a_value_of_any_other_kind_may_stand_anywhere(name, kind, place, changes):
    value = copy.deepcopy(logs.logs_with(kind)[name])
    for steps, new in changes:
        value = change(value, steps, new)
    check(write_log(place, f"{name}-odd", kind, value))


@pytest.mark.parametrize(("name", "kind"), LINES_AND_DOCUMENTS)
@few
@given(changes=st.lists(st.tuples(paths, st.sampled_from(sorted(SWAPS))), min_size=1, max_size=3))
def test_values_and_records_may_be_swapped_repeated_reordered_and_cut_anywhere(name, kind, place, changes):
    value = copy.deepcopy(logs.logs_with(kind)[name])
    for steps, swap in changes:
        value = change(value, steps, SWAPS[swap])
    check(write_log(place, f"{name}-swapped", kind, value))


def odd_cell(data, value):
    """What may stand in a column: another kind of value, or JSON in which something else stands anywhere."""
    if not isinstance(value, (str, bytes)) or value[:1] not in ("{", "[", b"{", b"["):
        return data.draw(st.sampled_from([value, value, value, None, -1, 1e300, "x", b"\xff\x00"]))
    new = st.one_of(odd_values, st.sampled_from(sorted(SWAPS)).map(SWAPS.get))
    held = json.loads(value)
    for way, other in data.draw(st.lists(st.tuples(paths, new), max_size=2)):
        held = change(held, way, other)
    return encoded(held)


@pytest.mark.parametrize("name", sorted(logs.logs_with("DATABASE")))
@few
@given(data=st.data())
def test_any_value_may_stand_in_a_column_of_a_database(name, place, data):
    path = place / f"{name}-odd.db"
    for old in place.glob(f"{path.name}*"):
        old.unlink()
    logs.logs_with("DATABASE")[name](path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("pragma ignore_check_constraints = on")
        connection.execute("pragma synchronous = off")
        cells = [
            (table, column, row[0], value)
            for (table,) in connection.execute("select name from sqlite_master where type = 'table'").fetchall()
            for row in connection.execute(f"select rowid, * from {table}").fetchall()
            for (_, column, *_), value in zip(connection.execute(f"pragma table_info({table})"), row[1:], strict=True)
        ]
        for table, column, row, value in data.draw(st.lists(st.sampled_from(cells), min_size=1, max_size=6)):
            with suppress(sqlite3.IntegrityError):  # a key, or a column that has to have a value
                connection.execute(f"update {table} set {column} = ? where rowid = ?", (odd_cell(data, value), row))
    check(path)


@pytest.mark.parametrize("no_time", NO_TIMES)
@pytest.mark.parametrize(("name", "kind"), LINES_AND_DOCUMENTS)
def test_a_time_that_no_clock_holds_costs_no_message(name, kind, no_time, place):
    sample = logs.logs_with(kind)[name]
    value, count = with_times(sample, NO_TIMES[no_time])
    if not count:
        pytest.skip("the sample has no times")
    before, after = (check(write_log(place, f"{name}-times", kind, one)) for one in (sample, value))
    assert (after.format, after.set_aside) == (before.format, before.set_aside)
    assert after.account.met == before.account.met
    for was, found in zip(before.transcripts, after.transcripts, strict=True):
        assert len(found) == len(was)
        had = [time for one in was.messages for time in [one.timestamp] if time]
        assert [time for one in found.messages for time in [one.timestamp] if time] == []
        assert (found.started_at, found.ended_at) == (None, None)
        assert found.set_aside.get("time that no clock holds", 0) >= len(had)


@pytest.mark.parametrize("text", ["x" * LONG, "<a> [`#{\n" * (LONG // 10)], ids=["one letter", "signs and lines"])
@pytest.mark.parametrize(("name", "kind"), LINES_AND_DOCUMENTS)
def test_a_string_of_ten_million_characters_may_stand_anywhere(name, kind, text, place):
    value = copy.deepcopy(logs.logs_with(kind)[name])
    *way, last = random.Random(f"{name}{kind}{text[0]}").choice(strings_in(value))
    holder = value
    for key in way:
        holder = holder[key]
    holder[last] = text
    path = write_log(place, f"{name}-long", kind, value)
    check(path)
    path.unlink()


@pytest.mark.parametrize("name", LINE_FORMATS)
def test_ten_thousand_small_records_are_read(name, place, line_samples):
    records = line_samples[name]
    small = [{k: v for k, v in record.items() if isinstance(v, (str, int, float))} for record in records]
    lines = [*records, *itertools.islice(itertools.cycle(small), 10_000)]
    check(write_log(place, f"{name}-many", "LINES", lines))


@pytest.mark.parametrize("name", DOCUMENT_FORMATS)
def test_the_longest_list_of_a_document_may_be_a_thousand_times_as_long(name, place, document_samples):
    def longest(value):
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        found = [value] if isinstance(value, list) else []
        return max([*found, *filter(None, map(longest, inner))], key=len, default=None)

    document = copy.deepcopy(document_samples[name])
    chosen = longest(document)
    chosen *= 1000
    check(write_log(place, f"{name}-list", "DOCUMENT", document))


@pytest.mark.parametrize("name", TEXT_FORMATS)
@few
@given(data=st.data())
def test_a_text_may_be_cut_anywhere_and_hold_anything(name, place, data):
    text = logs.logs_with("TEXT")[name]
    at = data.draw(st.integers(0, len(text)), label="at")
    odd = data.draw(st.sampled_from(["", "\0", "\u2028", "\r\n\r\n", "---\n", "```\n", "<<<<<<< SEARCH\n", "\ufeff"]))
    path = place / f"{name}.md"
    path.write_text(text[:at] + odd + text[at + data.draw(st.integers(0, 40)) :], encoding="utf-8", newline="")
    check(path)


@pytest.mark.parametrize("name", TEXT_FORMATS)
@few
@given(data=st.data())
def test_lines_of_a_text_may_be_repeated_and_reordered_and_its_bytes_be_no_utf8(name, place, data):
    lines = logs.logs_with("TEXT")[name].encode().split(b"\n")
    at = st.integers(0, len(lines) - 1)
    for first, second in data.draw(st.lists(st.tuples(at, at), max_size=6), label="swaps"):
        lines[first], lines[second] = lines[second], lines[first]
    for index in data.draw(st.lists(at, max_size=6), label="repeats"):
        lines.insert(index, lines[-index])
    lines[data.draw(at)] += data.draw(st.sampled_from([b"", b"\xff\xfe", b"\xed\xa0\xbd", b"\0", b"\x85", b"\x0c"]))
    path = place / f"{name}-lines.md"
    path.write_bytes(b"\n".join(lines))
    check(path)


@pytest.mark.parametrize("text", ["x", "<a> [`#{\n", "> ", "#### x\n", "```\n"])
@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_a_text_may_hold_ten_million_characters_of_anything_anywhere(name, text, place):
    sample = logs.logs_with("TEXT")[name]
    at = random.Random(text).randrange(len(sample))
    path = place / f"{name}-long.md"
    path.write_text(sample[:at] + text * (LONG // 10 // len(text)) + sample[at:], encoding="utf-8", newline="")
    check(path)
    path.write_text(sample[:at] + "x" * LONG + sample[at:], encoding="utf-8", newline="")
    check(path)
    path.unlink()


@few
@given(which=st.integers(0, 6), cut=st.integers(0, 300))
def test_an_event_file_may_be_cut_anywhere(place, line_samples, which, cut):
    folder = place / "conversation"
    folder.mkdir(exist_ok=True)
    for number, event in enumerate(line_samples[OPENHANDS]):
        text = json.dumps(event)
        (folder / f"event-{number:05}-x.json").write_text(text[:cut] if number == which else text)
    is_whole = cut >= len(json.dumps(line_samples[OPENHANDS][which]))
    result = check(folder, "folder")
    assert result.format == OPENHANDS
    assert len(result.set_aside) == (0 if is_whole else 1)


@more
@given(content=st.binary(max_size=300))
def test_any_bytes_at_all_may_be_read(place, content):
    path = place / "bytes.jsonl"
    path.write_bytes(content)
    check(path)
