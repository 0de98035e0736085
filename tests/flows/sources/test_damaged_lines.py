"""A whole object on a line whose beginning was cut or never written."""

from __future__ import annotations

import json

import pytest

from tests.flows.sources import logs

NAMES = ("claude_code", "codex_rollout", "copilot_cli")


def texts(result):
    return [message.text for transcript in result.transcripts for message in transcript.messages]


@pytest.mark.parametrize("name", NAMES)
def test_an_object_behind_a_cut_one_is_read_and_the_cut_one_set_aside(read, name) -> None:
    lines = logs.MODULES[name].LINES[:10]
    cut = json.dumps(lines[-1])[:-9].encode()
    written = [json.dumps(line).encode() for line in lines]
    whole = read("whole.jsonl", b"\n".join(written) + b"\n")
    damaged = read("damaged.jsonl", b"\n".join([*written[:-1], cut + written[-1]]) + b"\n")
    assert texts(damaged) == texts(whole)
    [aside] = damaged.set_aside
    assert (aside.line, aside.excerpt) == (len(lines), cut.decode()[:200])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_nested_in_a_cut_object_is_no_line_of_the_log(read, name) -> None:
    lines = logs.MODULES[name].LINES
    nested = json.dumps({"outer": {"type": "text", "text": "inner"}})[:-1]
    result = read("a.jsonl", "\n".join([*map(json.dumps, lines), nested]).encode())
    assert [aside.line for aside in result.set_aside] == [len(lines) + 1]
    assert "whole object" not in result.set_aside[0].reason


@pytest.mark.parametrize("name", NAMES)
def test_lines_behind_bytes_that_were_never_written_are_read(read, name) -> None:
    lines = [json.dumps(line).encode() for line in logs.MODULES[name].LINES]
    whole = read("whole.jsonl", b"\n".join(lines) + b"\n")
    damaged = read("damaged.jsonl", b"\n".join([*lines[:2], b"\0" * 4096 + lines[2], *lines[3:]]) + b"\n" + b"\0" * 99)
    assert texts(damaged) == texts(whole)
    assert [aside.line for aside in damaged.set_aside] == [3, len(lines) + 1]
    assert damaged.set_aside[0].reason == "4,096 NUL bytes before what is read of the line"
