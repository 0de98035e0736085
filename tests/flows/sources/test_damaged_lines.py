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
@pytest.mark.parametrize("before", ["", "nothing", "NUL bytes"])
def test_all_objects_behind_a_cut_one_are_read_whatever_their_kinds_and_wherever_it_is_cut(read, name, before) -> None:
    written = [json.dumps(line).encode() for line in logs.MODULES[name].LINES[:10]]
    whole = texts(read("whole.jsonl", b"\n".join(written) + b"\n"))
    for length in (1, len(written[0]) // 3, len(written[0]) // 2, len(written[0]) - 1):
        gap = {"": b"", "nothing": written[-1][:40] + b"\n", "NUL bytes": b"\0" * 512}[before]
        damaged = read("damaged.jsonl", gap + written[0][:length] + b"".join(written) + b"\n")
        assert texts(damaged) == whole, length
        assert damaged.set_aside[-1].excerpt.endswith(written[0][:length].decode())


def test_a_cut_notice_with_a_prompt_behind_it_is_no_notice_to_pass_over(read, claude) -> None:
    """Claude Code's reader passes over notices without decoding them."""
    prompt, answer = claude.user("u1", None, "Go"), claude.says("a1", "u1", "m1", {"type": "text", "text": "Done."})
    for kind in ("file-history-snapshot", "progress", "queue-operation"):
        cut = json.dumps({"type": kind, "uuid": "u", "data": {"type": "hook_progress"}}, separators=(",", ":"))[:-6]
        result = read("a.jsonl", f"{cut}{json.dumps(prompt)}\n{json.dumps(answer)}\n".encode())
        assert texts(result) == ["Go", "Done."]


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
