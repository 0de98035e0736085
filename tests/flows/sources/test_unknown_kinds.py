"""What a reader does not know: a general one refuses the file, an agent's own one says how many there were."""

from __future__ import annotations

import pytest

from tests.flows.sources import logs
from tests.flows.sources.logs.codex_rollout import codex


def droid_without_its_header():
    """The envelope of pi round the blocks of Anthropic."""
    return [
        *(
            {"type": "message", "id": str(number), "message": {"role": role, "content": [block]}}
            for number, (role, block) in enumerate(
                [
                    ("user", {"type": "text", "text": "Mend the mill"}),
                    ("assistant", {"type": "tool_use", "id": "t1", "name": "LS", "input": {}}),
                    ("user", {"type": "tool_result", "tool_use_id": "t1", "content": "a.c"}),
                ]
            )
        ),
    ]


def by_type():
    """Turns by their type, with items of the Responses API between them, and no mark of Grok's."""
    return [
        {"type": "system", "content": "Be brief."},
        {"type": "user", "content": [{"type": "text", "text": "Mend the mill"}]},
        {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "b3Bh"},
        {"type": "assistant", "content": "", "tool_calls": [{"id": "t1", "name": "ls", "input": {}}]},
        {"type": "tool_result", "for": "t1", "content": "a.c"},
    ]


def by_event():
    """Messages of a chat between events that say their kind under another name than ``type``."""
    said = [{"role": "user", "content": "Mend the mill"}, {"role": "assistant", "content": "Looking"}]
    return [*said, {"event": "tool", "tool": "ls", "result": "a.c"}, *said, {"kind": "usage", "tokens": 3}]


def parts_by_kind():
    """Turns of Gemini between results on lines of their own."""
    turns = [{"role": "user", "parts": [{"text": "Go"}]}, {"role": "model", "parts": [{"text": "Done"}]}]
    return [*turns, {"toolResult": "a.c", "tool": "ls"}]


def items_by_event():
    """Items of the Responses API between events of an agent."""
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]}
    return [said, {"method": "tool/ended", "params": {"id": 1}}, said, {"event": "tool", "output": "a.c"}]


@pytest.mark.parametrize(
    "lines",
    [droid_without_its_header, by_type, by_event, parts_by_kind, items_by_event],
    ids=lambda make: make.__name__,
)
def test_the_log_of_an_agent_without_a_reader_is_taken_by_none_for_its_shape(read, lines) -> None:
    result = read("out.jsonl", lines=lines())
    assert (result.format, result.transcripts) == (None, ())
    [aside] = result.set_aside
    assert aside.reason == "no known format: not one of those of `compaction-eval list formats`"


def test_a_result_under_another_name_than_type_is_met_too(read) -> None:
    said = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": "Done"}] * 5
    result = read("chat.jsonl", lines=[*said, {"event": "ran", "tool_output": "a.c"}, {"event": "idle"}])
    assert dict(result.account.aside) == {("tool", "line of an unknown kind"): 1, ("record", "bookkeeping"): 1}
    assert result.set_aside == ()


def test_a_few_lines_of_an_unknown_kind_are_no_reason_to_refuse_a_file_and_a_call_among_them_is_met(read) -> None:
    call = {"type": "tool_use", "tool_name": "ls", "parameters": {}}
    output = {"type": "tool_result", "output": "a.c"}
    said = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": "Done"}] * 5
    result = read("chat.jsonl", lines=[*said, call, output])
    assert result.format == "openai_chat"
    assert dict(result.account.aside) == {
        ("tool_call", "line of an unknown kind"): 1,
        ("tool", "line of an unknown kind"): 1,
    }
    assert (result.account.met["tool_call"], result.account.met["tool"]) == (1, 1)


@pytest.mark.parametrize(
    ("name", "unknown"),
    [
        ("claude_code", {"type": "glow", "sessionId": "s"}),
        ("codex_rollout", codex("glow", brightness=3)),
        ("pi", {"type": "glow", "brightness": 3}),
    ],
)
def test_an_agents_own_reader_reads_on_and_says_how_many_lines_it_did_not_know(read, name, unknown) -> None:
    lines = logs.MODULES[name].LINES
    before, after = read("a.jsonl", lines=lines), read("b.jsonl", lines=[*lines, *[unknown] * len(lines) * 2])
    assert after.format == name
    assert [len(t) for t in after.transcripts] == [len(t) for t in before.transcripts]
    assert after.account.aside["record", "line of an unknown kind"] == 2 * len(lines)
