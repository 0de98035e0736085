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


@pytest.mark.parametrize("lines", [droid_without_its_header, by_type])
def test_the_log_of_an_agent_without_a_reader_is_taken_by_none_for_its_shape(read, lines) -> None:
    result = read("out.jsonl", lines=lines())
    assert (result.format, result.transcripts) == (None, ())
    [aside] = result.set_aside
    assert aside.reason == "no known format: not one of those of `compaction-eval list formats`"


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
