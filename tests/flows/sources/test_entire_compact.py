"""Entire's transcript format: results inline in their calls."""

from tests.flows.sources.logs.entire_compact import CONTINUED, line, use


def one(result):
    assert result.format == "entire_compact"
    return result.transcripts[0]


def test_lines_of_one_response_are_one_message_with_its_results_behind_it(read, line_samples):
    messages = one(read("transcript.jsonl", lines=line_samples["entire_compact"])).messages
    assert [m.role for m in messages] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert [call.id for call in messages[1].tool_calls] == ["t1", "t2"]
    assert [(m.text, m.is_error) for m in messages[2:4]] == [("wheel.py", False), ("token-2", True)]
    assert messages[5].text == "[image image/png, 2 bytes]\ntoken-6"


def test_the_last_usage_of_a_response_counts(read, line_samples):
    usage = one(read("transcript.jsonl", lines=line_samples["entire_compact"])).usage
    assert (usage.input_tokens, usage.output_tokens) == (9, 7)


def test_the_text_that_goes_on_from_a_compaction_is_its_summary(read, line_samples):
    transcript = one(read("transcript.jsonl", lines=line_samples["entire_compact"]))
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.summary) == (4, (0, 1, 2, 3), f"{CONTINUED} token-4")


def test_a_call_without_a_result_and_one_without_an_id_stay(read):
    call = use("", "ls", "wheel.py")
    del call["id"]
    messages = one(read("t.jsonl", lines=[line("assistant", [use("t1", "make"), call])])).messages
    assert [c.id for c in messages[0].tool_calls] == ["t1", messages[1].tool_call_id]


def test_empty_lines_are_counted_with_the_role_that_they_have(read):
    result = read("t.jsonl", lines=[line("user", [{"text": "Go"}]), line("user", None), line("assistant", [])])
    assert len(one(result)) == 1
    assert (result.account.aside["user", "empty message"], result.account.aside["assistant", "empty message"]) == (1, 1)


def test_another_version_and_another_type_are_set_aside(read):
    lines = [line("user", "Go"), line("user", "New") | {"v": 2}, line("tool", "x")]
    result = read("t.jsonl", lines=lines)
    assert [m.text for m in one(result).messages] == ["Go"]
    assert [aside.line for aside in result.set_aside] == [2, 3]


def test_a_session_that_grew_keeps_its_name(read):
    lines = [line("user", "Go"), line("assistant", "Went", id="r-1"), line("user", "On")]
    names = {one(read(f"{n}.jsonl", lines=lines[:n])).session_id for n in (2, 3)}
    other = one(read("o.jsonl", lines=[line("user", "Go"), line("assistant", "Went", id="r-2")])).session_id
    assert len(names) == 1
    assert other not in names
