"""Bytes to JSON, whatever state they are in."""

import gzip
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.sources import Input
from flows.sources.reading import unpacking
from flows.sources.reading.base import MOST_ASIDE
from flows.sources.reading.decode import begin_of, dumps, loads_line
from flows.sources.reading.opening import open_source
from flows.sources.reading.unpacking import zstd

CHAT = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": "Done"}]
LINES = b"".join(json.dumps(message).encode() + b"\n" for message in CHAT)


def texts(result):
    return [message.text for transcript in result.transcripts for message in transcript.messages]


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("name", ["s.jsonl.gz", "s.jsonl.zst", "s.jsonl"])
def test_compressed_files_are_known_by_their_bytes(pack, name, read):
    assert texts(read(name, pack(LINES[:45]) + pack(LINES[45:]))) == ["Go", "Done"]


@pytest.mark.parametrize("number", [0x50, 0x5F])
@pytest.mark.parametrize("size", [0, 4, 100_000])
def test_zstd_frames_to_be_skipped_are_skipped_wherever_they_stand(number, size, read):
    skipped = bytes((number,)) + b"\x2a\x4d\x18" + size.to_bytes(4, "little") + bytes(size)
    packed = skipped + zstd.compress(LINES[:45]) + skipped + skipped + zstd.compress(LINES[45:]) + skipped
    result = read("s.jsonl.zst", packed)
    assert (texts(result), result.set_aside) == (["Go", "Done"], ())


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_a_compressed_file_that_is_cut_gives_what_came_before(pack, read):
    messages = [
        {"role": "user", "content": "".join(chr(33 + (n * n * 7 + i * 31) % 90) for i in range(400))}
        for n in range(4000)
    ]
    packed = pack(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    result = read("s.jsonl", packed[: len(packed) * 3 // 4])
    assert any("stream is cut" in one.reason for one in result.set_aside)


@pytest.mark.parametrize("data", [b"", b"\n \n"])
def test_an_empty_file_says_so(data, read):
    result = read("s.jsonl", data)
    assert (result.format, result.transcripts, [s.reason for s in result.set_aside]) == (None, (), ["empty file"])


@pytest.mark.parametrize(
    "data", [b"hello\nworld\n", b'{"a": 1}', b"[1, 2]", b"null", b"\x89PNG\r\n\x1a\n\x00", b'{"a": [1,\n 2', b"[]"]
)
def test_what_is_no_log_is_of_no_known_format(data, read):
    result = read("s.json", data)
    assert (result.format, result.transcripts) == (None, ())
    assert "no known format" in result.set_aside[0].reason


def test_a_file_that_vanished_is_set_aside(tmp_path, read, write):
    path = write("s.jsonl", LINES)
    path.chmod(0)
    result = read(path)
    assert texts(result) in ([], ["Go", "Done"])  # root may read it all the same
    assert result.transcripts or "cannot be opened" in result.set_aside[0].reason


def test_bytes_that_are_no_utf8_become_replacement_characters(read):
    assert texts(read("s.jsonl", LINES.replace(b"Go", b"G\xff"))) == ["G\ufffd", "Done"]


def test_a_lone_surrogate_becomes_a_replacement_character_and_a_pair_stays(read):
    assert texts(read("s.jsonl", LINES.replace(b"Go", b"\\ud83d \\ud83d\\ude00"))) == ["\ufffd \U0001f600", "Done"]


def test_controls_line_ends_and_escapes_of_a_terminal_stay(read):
    text = "a\r\nb\x00\x1b[36;1mc\u2028d\x85e"
    assert texts(read("s.jsonl", lines=[{"role": "user", "content": text}, CHAT[1]])) == [text, "Done"]


def test_marks_of_byte_order_do_not_matter(read):
    assert texts(read("s.jsonl", b"\xef\xbb\xbf" + LINES)) == ["Go", "Done"]
    assert texts(read("s.jsonl", LINES.decode().encode("utf-16"))) == ["Go", "Done"]


def test_a_last_line_that_is_cut_is_set_aside_with_its_number(read):
    result = read("s.jsonl", LINES[:-6])
    assert texts(result) == ["Go"]
    assert [(s.line, s.reason[:21]) for s in result.set_aside] == [(2, "the last line is cut:")]


def test_what_follows_an_object_on_its_line_is_set_aside_even_on_the_first(read):
    result = read("s.jsonl", LINES.replace(b"\n", b" trash\n", 1))
    assert texts(result) == ["Go", "Done"]
    assert [(s.line, s.excerpt) for s in result.set_aside] == [(1, "trash")]


def test_numbers_that_strict_parsers_refuse_are_read():
    values, reason, _ = loads_line(b'{"a": NaN, "b": ' + b"9" * 5000 + b"}")
    assert reason is None
    assert math.isnan(values[0]["a"])
    assert values[0]["b"] == math.inf


def test_nesting_without_end_is_set_aside_and_not_a_crash(read):
    deep = b'{"role": "user", "content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    result = read("s.jsonl", LINES + deep)
    assert texts(result) == ["Go", "Done"]
    assert [s.line for s in result.set_aside] == [3]


def test_json_text_of_deep_and_huge_values_is_written():
    deep = {}
    for _ in range(300):
        deep = {"a": deep}
    assert json.loads(dumps(deep)) == deep
    assert json.loads(dumps({"n": 2**70})) == {"n": 2**70}


def test_an_image_in_a_data_url_becomes_a_mark(read):
    url = "data:image/png;base64," + "QUJD" * 500
    message = {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": f"see {url}"}],
    }
    assert texts(read("s.json", [message])) == ["[image image/png, 1500 bytes]\nsee [image image/png, 1500 bytes]"]


@pytest.mark.parametrize(
    "blank", [b"\n" * 5_000, b" \r\n" * 5_000, b" " * 3_000_000 + b"\n"], ids=["LF", "CR LF", "spaces"]
)
def test_however_many_blank_lines_there_are_the_others_keep_their_numbers(blank, read):
    first, second = LINES.splitlines(keepends=True)
    result = read("s.jsonl", blank + first + blank + second + blank)
    number = blank.count(b"\n")
    refs = [message.source_ref for message in result.transcripts[0].messages]
    assert refs == [f"s.jsonl:{number + 1}", f"s.jsonl:{2 * number + 2}"]
    assert result.set_aside == ()


def test_megabytes_of_blank_lines_are_an_empty_file(read):
    assert [one.reason for one in read("s.jsonl", b"\n" * 20_000_000).set_aside] == ["empty file"]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_line_that_is_too_long_is_named_once_and_the_others_go_in(place, read, monkeypatch):
    monkeypatch.setattr(unpacking, "LONGEST_VALUE", 3_000_000)
    lines = LINES.splitlines(keepends=True)
    lines.insert(place, b'{"role": "user", "content": "' + b"x" * 4_000_000 + b'"}\n')
    result = read("s.jsonl", b"".join(lines))
    assert texts(result) == ["Go", "Done"]
    assert [(one.line, one.reason) for one in result.set_aside] == [
        (place + 1, "a line of 4,000,032 bytes; at most 3,000,000 can be read")
    ]


def test_a_line_of_megabytes_is_read_whole(read):
    long = "x" * 2_500_000
    assert texts(read("s.jsonl", LINES.replace(b"Go", long.encode()))) == [long, "Done"]


@pytest.mark.parametrize("is_spread", [False, True])
def test_a_document_that_is_too_large_says_so(is_spread, read, monkeypatch):
    monkeypatch.setattr(unpacking, "LONGEST_VALUE", 3_000_000)
    content = json.dumps([{"role": "user", "content": "x" * 4_000_000}], indent=1 if is_spread else None)
    result = read("s.json", content.encode())
    assert result.transcripts == ()
    assert any("at most 3,000,000 can be read" in one.reason for one in result.set_aside)


def test_of_very_many_bad_lines_the_first_are_named_and_the_others_counted(read):
    result = read("s.jsonl", LINES + b"junk\n" * (MOST_ASIDE + 500))
    assert texts(result) == ["Go", "Done"]
    assert len(result.set_aside) == MOST_ASIDE + 1
    assert result.set_aside[-1].reason.startswith("500 more places that cannot be read")


def test_a_reason_that_names_a_long_value_is_cut_before_the_last_word(write):
    path = write("s.jsonl", LINES)
    source = open_source(Input(path, "file", 1, 1), lambda *_: False)
    source.quarantine(1, "role is " + "word " * 700 + "sk-secret" * 1_000, {"role": "x" * 100_000})
    source.close()
    (aside,) = source.set_aside
    assert aside.reason == "role is " + "word " * 699 + "word…"
    assert aside.excerpt == '{"role":"' + "x" * 3_991


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    most=st.integers(1, 30),
)
def test_the_beginning_of_a_value_has_the_beginning_of_its_text(value, most):
    assert dumps(begin_of(value, most))[:most] == dumps(value)[:most]


def test_a_long_line_that_is_no_json_is_not_decoded(read):
    result = read("s.jsonl", LINES + b"\x00" * 2_000_000 + b"\n")
    assert [(one.line, one.reason) for one in result.set_aside] == [
        (3, "not valid JSON: Expecting value at line 1 column 1")
    ]


def test_a_log_that_is_written_to_while_it_is_read_has_an_end(write):
    path = write("s.jsonl", LINES)
    source = open_source(Input(path, "file", 1, 1), lambda *_: False)
    seen = 0
    for _ in source.lines():
        with path.open("ab") as file:
            file.write(LINES * 20_000)
        seen += 1
        assert seen < 10
    source.close()
    assert seen == 2
