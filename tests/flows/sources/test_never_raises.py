"""Whatever happens to a log, reading it does not raise, and nothing is lost without a reason."""

import copy
import json
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.sources import Input, read_input
from flows.sources.account import KINDS
from flows.sources.openhands_v1_events import NAME as OPENHANDS
from tests.flows.sources import logs

LINE_FORMATS = sorted(logs.having("LINES"))
DOCUMENT_FORMATS = sorted(logs.having("DOCUMENT"))
TEXT_FORMATS = sorted(logs.having("TEXT"))
WORD = re.compile(r"token-\d+")
few = settings(max_examples=60, deadline=None)
odd_values = st.sampled_from([None, True, 3, -1.5, "", "x", [], {}, [None], {"type": 1}, [[1]], {"role": []}]).map(
    copy.deepcopy
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


def check(path, kind="file"):
    """Reads; holds what must hold of every result."""
    result = read_input(Input(path, kind, 0, 0))
    for transcript in result.transcripts:
        assert transcript.messages
        assert [m.seq for m in transcript.messages] == list(range(len(transcript)))
        for message in transcript.messages:
            (message.text + message.reasoning + (message.tool_name or "")).encode()
            assert all(isinstance(json.loads(call.arguments), dict) for call in message.tool_calls)
        for event in transcript.compactions:
            assert 0 <= event.at_seq <= len(transcript)
    assert all(len(aside.excerpt) <= 200 and aside.reason for aside in result.set_aside)
    stored = Counter(
        kind for t in result.transcripts for m in t.messages for kind in [m.role, *["tool_call"] * len(m.tool_calls)]
    )
    left = Counter({kind: sum(n for (k, _), n in result.account.aside.items() if k == kind) for kind in KINDS})
    assert stored + left == +result.account.met
    return result


def lost_without_reason(result, data):
    """Lines whose word is in no message, beyond those that are set aside or counted."""
    messages = [m for transcript in result.transcripts for m in transcript.messages]
    said = " ".join(" ".join([m.text, m.reasoning, *(call.arguments for call in m.tool_calls)]) for m in messages)
    held = set(WORD.findall(said))
    lines = [line for line in data.decode().split("\n") if line.strip()]
    lost = [line for line in lines if not held & set(WORD.findall(line))]
    counted = sum(result.account.aside.values())
    return max(0, len(lost) - len(result.set_aside) - counted)


@pytest.mark.parametrize("name", LINE_FORMATS)
def test_the_sample_is_recognised_and_loses_no_line(name, place, line_samples):
    data = b"".join(json.dumps(record).encode() + b"\n" for record in line_samples[name])
    path = place / f"{name}.jsonl"
    path.write_bytes(data)
    result = check(path)
    assert (result.format, result.set_aside) == (name, ())
    assert lost_without_reason(result, data) == 0


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


def change(value, steps, new):
    """Replaces the value that a list of numbers leads to."""
    if not steps or not isinstance(value, (dict, list)) or not value:
        return new
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[steps[0] % len(keys)]
    value[key] = change(value[key], steps[1:], new)
    return value


paths = st.lists(st.integers(0, 30), min_size=2, max_size=6)


@pytest.mark.parametrize("name", LINE_FORMATS)
@settings(max_examples=150, deadline=None)
@given(changes=st.lists(st.tuples(paths, odd_values), min_size=1, max_size=4))
def test_a_value_of_any_other_kind_may_stand_anywhere_in_a_line(name, place, line_samples, changes):
    records = copy.deepcopy(line_samples[name])
    for steps, new in changes:
        records = change(records, steps, new)
    path = place / f"{name}-odd.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    check(path)


@pytest.mark.parametrize("name", DOCUMENT_FORMATS)
@settings(max_examples=150, deadline=None)
@given(changes=st.lists(st.tuples(paths, odd_values), min_size=1, max_size=4))
def test_a_value_of_any_other_kind_may_stand_anywhere_in_a_document(name, place, document_samples, changes):
    document = copy.deepcopy(document_samples[name])
    for steps, new in changes:
        document = change(document, steps, new)
    path = place / f"{name}-odd.json"
    path.write_text(json.dumps(document))
    check(path)


@pytest.mark.parametrize("name", TEXT_FORMATS)
@few
@given(data=st.data())
def test_a_text_may_be_cut_anywhere_and_hold_anything(name, place, data):
    text = logs.having("TEXT")[name]
    at = data.draw(st.integers(0, len(text)), label="at")
    odd = data.draw(st.sampled_from(["", "\0", "\u2028", "\r\n\r\n", "---\n", "```\n", "<<<<<<< SEARCH\n", "\ufeff"]))
    path = place / f"{name}.md"
    path.write_text(text[:at] + odd + text[at + data.draw(st.integers(0, 40)) :], encoding="utf-8", newline="")
    result = check(path)
    assert result.transcripts or result.set_aside


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


@few
@given(content=st.binary(max_size=300))
def test_any_bytes_at_all_may_be_read(place, content):
    path = place / "bytes.jsonl"
    path.write_bytes(content)
    result = check(path)
    assert result.set_aside or result.transcripts
