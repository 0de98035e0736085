"""Datasets of agents' runs: their columns, their kinds of messages, and Parquet read row by row."""

import gzip
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.sources import Input, discover, read_input
from flows.sources.registry import InputReading
from tests.flows.sources.logs.hf_trajectories import (
    LINES,
    OPENHANDS,
    SHAREGPT,
    SWE_AGENT,
    SWE_SMITH,
    TICKS,
    write_table,
)
from tests.flows.sources.properties import check


def read_row(row, path):
    path.write_text(json.dumps(row), encoding="utf-8")
    result = check(path)
    assert result.format == "hf_trajectories"
    return result


def shown(transcript):
    return [(m.role, m.text, [(call.name, json.loads(call.arguments)) for call in m.tool_calls]) for m in transcript]


@pytest.mark.parametrize("row", LINES, ids=["openhands", "swe_agent", "swe_smith", "sharegpt"])
def test_a_row_is_the_same_session_in_parquet_and_in_json(row, tmp_path):
    write_table(tmp_path / "rows.parquet", [row])
    packed = check(tmp_path / "rows.parquet")
    [from_parquet] = packed.transcripts
    [from_json] = read_row(row, tmp_path / "row.json").transcripts
    assert (packed.format, packed.set_aside) == ("hf_trajectories", ())
    assert from_parquet.session_id == from_json.session_id
    assert shown(from_parquet.messages) == shown(from_json.messages)


def test_title_and_model_say_task_outcome_and_model(tmp_path):
    [run] = read_row(SWE_AGENT, tmp_path / "row.json").transcripts
    assert (run.title, run.model) == ("ada__mill-2: not resolved, submitted", "swe-agent-llama-70b")
    [run] = read_row(SWE_SMITH, tmp_path / "row.json").transcripts
    assert (run.title, run.session_id) == ("ada__mill-3: resolved", "hf_trajectories-ada__mill-3.8qa84d2e")
    [run] = read_row(SHAREGPT, tmp_path / "row.json").transcripts
    assert (run.title, run.model) == ("Weigh the corn.", None)


@pytest.mark.parametrize(
    ("row", "resolved", "exit_status"),
    [(OPENHANDS, True, "submit"), (SWE_AGENT, False, "submitted"), (SWE_SMITH, True, None), (SHAREGPT, None, None)],
)
def test_columns_say_how_a_run_ended(row, resolved, exit_status, tmp_path):
    write_table(tmp_path / "rows.parquet", [row])
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (tmp_path / "rows.json").write_text(json.dumps([row]), encoding="utf-8")
    for name in ("rows.parquet", "rows.jsonl", "rows.json"):
        [run] = check(tmp_path / name).transcripts
        assert (run.resolved, run.exit_status) == (resolved, exit_status), name


def test_a_column_that_says_neither_is_no_outcome(tmp_path):
    for value in ("yes", 2, None, [True]):
        row = {**OPENHANDS, "resolved": value, "exit_status": 7}
        [run] = read_row(row, tmp_path / "row.json").transcripts
        assert (run.resolved, run.exit_status) == (None, None)


def test_the_last_block_of_swe_agents_response_is_the_call_that_the_next_prompt_answers(tmp_path):
    turns = [*SWE_AGENT["trajectory"]]
    turns[2] = {"role": "ai", "text": "First\n```\nno\n```\nthen\n```\nedit 1:2\nx\nend_of_edit\n```\nDone."}
    [run] = read_row({**SWE_AGENT, "trajectory": turns}, tmp_path / "row.json").transcripts
    assert shown(run.messages)[:4] == [
        ("system", "SETTING: a programmer.", []),
        ("user", "Oil the mill.", []),
        ("assistant", "First\n```\nno\n```\nthen\nDone.", [("edit", {"command": "edit 1:2\nx\nend_of_edit"})]),
        ("tool", "token-1\nbash-$", []),
    ]
    assert run.messages[3].tool_call_id == run.messages[2].tool_calls[0].id


def test_a_response_without_a_block_ran_nothing(tmp_path):
    turns = [*SWE_AGENT["trajectory"][:2], {"role": "ai", "text": "Hm."}, {"role": "user", "text": "Wrong format."}]
    [run] = read_row({**SWE_AGENT, "trajectory": turns}, tmp_path / "row.json").transcripts
    assert shown(run.messages)[2:] == [("assistant", "Hm.", []), ("user", "Wrong format.", [])]


def test_blocks_are_calls_only_where_what_follows_is_a_result(tmp_path):
    [run] = read_row(SWE_SMITH, tmp_path / "row.json").transcripts
    assert [(m.role, m.text, len(m.tool_calls)) for m in run.messages][2:] == [
        ("assistant", "I look.", 1),
        ("tool", "./mill", 0),
        ("assistant", "I would write\n```\nred\n```", 0),
    ]
    bash = {"role": "assistant", "content": "```bash\nls\n```"}
    turns = [TICKS[1], bash, {"role": "user", "content": "<returncode>1</returncode>\n<output>\nx</output>"}]
    [run] = read_row({"instance_id": "i", "messages": turns}, tmp_path / "row.json").transcripts
    assert shown(run.messages)[1] == ("assistant", "", [("bash", {"command": "ls"})])
    assert (run.messages[2].role, run.messages[2].is_error) == ("tool", True)


def test_calls_of_sharegpt_are_answered_in_their_order(tmp_path):
    calls = json.dumps([{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}])
    turns = [("human", "Go."), ("function_call", calls), ("observation", "of a"), ("observation", "of b")]
    row = {"conversations": [{"from": role, "value": text} for role, text in turns]}
    [run] = read_row(row, tmp_path / "row.json").transcripts
    assert [m.tool_name for m in run.messages] == [None, None, "a", "b"]


def test_calls_of_sharegpt_that_are_no_json_stay_text(tmp_path):
    row = {"conversations": [{"from": "human", "value": "Go."}, {"from": "function_call", "value": "weigh(corn)"}]}
    [run] = read_row(row, tmp_path / "row.json").transcripts
    assert shown(run.messages)[1] == ("assistant", "weigh(corn)", [])


def test_two_runs_of_a_task_that_begin_alike_are_two_sessions(tmp_path):
    other = {**SWE_AGENT, "trajectory": [*SWE_AGENT["trajectory"], {"role": "user", "text": "more"}]}
    write_table(tmp_path / "rows.parquet", [SWE_AGENT, other])
    assert len({run.session_id for run in check(tmp_path / "rows.parquet").transcripts}) == 2


def test_a_chat_without_a_column_of_a_dataset_is_left_to_the_reader_of_chats(tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": OPENHANDS["trajectory"], "id": "x"}), encoding="utf-8")
    assert check(path).format == "openai_chat"


@pytest.mark.parametrize("value", ["[{", 3, {}])
def test_a_row_without_a_list_of_messages_is_set_aside_and_the_rest_is_read(value, tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [OPENHANDS, {"trajectory": value}, SWE_SMITH]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    result = check(path)
    assert len(result.transcripts) == 2
    [aside] = result.set_aside
    assert (aside.line, "expected a list under `trajectory`" in aside.reason) == (2, True)


# Parquet


def test_in_a_folder_a_parquet_file_of_something_else_is_no_input(tmp_path):
    pq.write_table(pa.table({"x": [1], "messages": ["some text"]}), tmp_path / "other.parquet")
    write_table(tmp_path / "rows.parquet")
    assert [input.path.name for input in discover([str(tmp_path)])] == ["rows.parquet"]
    result = read_input(Input(tmp_path / "other.parquet", "file", 0, 0))
    assert (result.format, result.set_aside[0].excerpt) == (None, "columns: x, messages")


def test_a_packed_parquet_file_is_read(tmp_path):
    write_table(tmp_path / "rows.parquet")
    path = tmp_path / "rows.parquet.gz"
    path.write_bytes(gzip.compress((tmp_path / "rows.parquet").read_bytes()))
    assert len(check(path).transcripts) == 1


def test_of_a_damaged_row_group_it_is_said_and_the_others_are_read(tmp_path):
    path = tmp_path / "rows.parquet"
    rows = [{**OPENHANDS, "trajectory_id": f"t{number}"} for number in range(6)]
    write_table(path, rows, of_group=2)
    group = pq.ParquetFile(path).metadata.row_group(1)
    column = next(group.column(at) for at in range(group.num_columns) if "content" in group.column(at).path_in_schema)
    data = bytearray(path.read_bytes())
    start = min(filter(None, [column.dictionary_page_offset, column.data_page_offset]))
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(bytes(data))
    result = check(path)
    assert [run.session_id[-2:] for run in result.transcripts] == ["t0", "t1", "t4", "t5"]
    [aside] = result.set_aside
    assert aside.line == 3
    assert aside.reason.startswith("rows from here to the end of row group 2 cannot be read: ")


def test_a_parquet_file_that_is_cut_off_is_answered_with_one_sentence(tmp_path):
    path = tmp_path / "rows.parquet"
    write_table(path)
    path.write_bytes(path.read_bytes()[:-20])
    result = check(path)
    assert (result.format, result.transcripts) == (None, ())
    [aside] = result.set_aside
    assert aside.reason.startswith("a damaged Parquet file: ")


def test_a_row_group_is_never_in_memory_as_a_whole(tmp_path):
    path = tmp_path / "rows.parquet"
    text = random.Random(1).randbytes(50_000).hex()
    say = [{"role": "user", "text": text[at : at + 2_000]} for at in range(0, len(text), 2_000)]
    rows = [
        {"instance_id": f"mill-{number}", "trajectory": [*say, SWE_AGENT["trajectory"][2]]} for number in range(300)
    ]
    for row in rows:
        row["trajectory"] = [{**turn, "text": row["instance_id"] + turn["text"]} for turn in row["trajectory"]]
    write_table(path, rows, of_group=300)
    before = pa.total_allocated_bytes()
    taken = [pa.total_allocated_bytes() - before for _ in InputReading(Input(path, "file", 0, 0))]
    assert len(taken) == 300
    assert max(taken) < 8 << 20


@pytest.mark.timeout(120)
def test_bytes_of_a_parquet_file_may_be_flipped_anywhere(tmp_path):
    path = tmp_path / "rows.parquet"
    write_table(path, [SWE_AGENT, SWE_AGENT])
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        data = bytearray(whole)
        data[at] ^= 1 << at % 8
        path.write_bytes(bytes(data))
        check(path)


def hermes(*turns):
    names = ("system", "human", "gpt", "tool")
    return {"conversations": [{"from": names[index], "value": value} for index, value in turns]}


CALLS = """I look.
<tool_call>
{"name": "ls", "arguments": {"path": "."}}
</tool_call>
<tool_call>
{'name': 'pwd', 'arguments': {}}
</tool_call>"""


@pytest.mark.parametrize(
    ("given", "results"),
    [
        (["<tool_response>\na.c\n</tool_response>\n<tool_response>/</tool_response>"], ["a.c", "/"]),
        (["<tool_response>\na.c\n</tool_response>", "<tool_response>/</tool_response>"], ["a.c", "/"]),
        (["<tool_response>1</tool_response><tool_response>2</tool_response><tool_response>3"], ["1", "2\n3"]),
        (["<tool_response>a.c</tool_response>"], ["a.c"]),
    ],
)
def test_calls_of_hermes_are_calls_and_its_responses_their_results(given, results, tmp_path):
    row = hermes((0, "<tools>[]</tools>"), (1, "Go"), (2, CALLS), *((3, one) for one in given), (2, "Done"), (1, "Ok"))
    [transcript] = read_row(row, tmp_path / "row.json").transcripts
    answer = transcript.messages[2]
    assert [(call.name, call.arguments) for call in answer.tool_calls] == [("ls", '{"path":"."}'), ("pwd", "{}")]
    assert answer.text == "I look."
    tools = [message for message in transcript.messages if message.role == "tool"]
    assert [message.text for message in tools] == results
    assert [message.tool_call_id for message in tools] == [call.id for call in answer.tool_calls][: len(results)]
    assert [(message.role, message.text) for message in transcript.messages[-2:]] == [
        ("assistant", "Done"),
        ("user", "Ok"),
    ]


def test_what_is_no_call_of_hermes_stays_in_the_text(tmp_path):
    texts = ["<tool_call>nothing</tool_call>", '<tool_call>{"name": 7}', "<tool_call>[1]</tool_call> and <tool_call>"]
    response = (3, "<tool_response>a</tool_response>")
    row = hermes((1, "Go"), (2, CALLS), response, response, *((2, text) for text in texts))
    [transcript] = read_row(row, tmp_path / "row.json").transcripts
    assert [message.text for message in transcript.messages[-3:]] == texts
    assert not any(message.tool_calls for message in transcript.messages[-3:])


def test_tags_of_hermes_stay_where_no_response_shows_that_they_are_calls(tmp_path):
    [transcript] = read_row(hermes((1, "Go"), (2, CALLS)), tmp_path / "row.json").transcripts
    assert transcript.messages[1].text == CALLS
