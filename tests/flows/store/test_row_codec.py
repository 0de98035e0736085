from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from compaction import Message, ToolCall, Transcript
from flows.store import parquet_schemas
from flows.store.row_codec import (
    ContextColumn,
    contexts_of,
    message_columns,
    messages_of,
    probe_json,
    probe_of,
)
from flows.support.ids import content_id, content_sha256, point_ids
from judge import Evidence, Probe, Statement

CALL = ToolCall("c1", "Write", '{"file_path": "a.py"}')
MESSAGES = (
    Message("system", "rules", seq=0, tokens=1, source_ref="f:1"),
    Message("user", "go", seq=1, tokens=1, timestamp="2026-03-01T10:00:00Z"),
    Message("assistant", "", "thinking", (CALL, replace(CALL, id="c2")), seq=2, tokens=9),
    Message("tool", "done", tool_call_id="c1", tool_name="Write", seq=3, tokens=1),
    Message("tool", "no such file", tool_call_id="c2", tool_name="Write", is_error=True, seq=4, tokens=3),
)
TRANSCRIPT = Transcript("s", MESSAGES)


def test_messages_come_back_from_the_store_as_they_went_in() -> None:
    table = pa.table(message_columns("s", MESSAGES), schema=parquet_schemas.MESSAGES)
    assert messages_of(table) == MESSAGES


def test_a_rebuilt_context_is_equal_and_its_kept_messages_are_the_transcripts_own() -> None:
    masked = replace(MESSAGES[3], text="[gone]", tokens=2)
    summary = Message("user", "what happened", tokens=3, covers=(1, 2))
    opaque = Message("assistant", tokens=9, covers=(3,), opaque='{"type":"compaction","encrypted_content":"gA"}')
    contexts = [(MESSAGES[0], summary, masked, MESSAGES[4], opaque), (), MESSAGES]
    column = ContextColumn()
    for context in contexts:
        column.add(context, TRANSCRIPT)
    table = pa.table({"context": column.array()})
    assert table.schema.field("context").type == parquet_schemas.COMPACTIONS.field("context").type
    rebuilt = list(contexts_of(table["context"], [TRANSCRIPT] * 3))
    assert rebuilt == contexts
    assert rebuilt[0][0] is MESSAGES[0]
    assert all(now is then for now, then in zip(rebuilt[2], MESSAGES, strict=True))


def test_a_changed_message_of_several_contexts_is_one_object_in_each_session() -> None:
    masked = replace(MESSAGES[3], text="[gone]", tokens=2)
    told = replace(MESSAGES[3], text="[gone]", tokens=2, covers=(2,))
    other = Transcript("other", MESSAGES)
    column = ContextColumn()
    for context, transcript in (((masked,), TRANSCRIPT), ((masked, told), TRANSCRIPT), ((masked,), other)):
        column.add(context, transcript)
    table = pa.table({"context": column.array()})
    (one,), (same, not_same), (of_another,) = contexts_of(table["context"], [TRANSCRIPT, TRANSCRIPT, other])
    assert one == same == of_another == masked
    assert one is same
    assert not_same == told
    assert of_another is not one


def test_a_kept_message_costs_its_position_only() -> None:
    column = ContextColumn()
    column.add(MESSAGES, TRANSCRIPT)
    kept = column.array().to_pylist()[0]
    assert [item["seq"] for item in kept] == [0, 1, 2, 3, 4]
    assert all(value is None for item in kept for name, value in item.items() if name != "seq")


def test_a_probe_comes_back_as_it_went_in() -> None:
    statement = Statement("file_modified", "a.py", (2, 3), ("a.py was",), details=("run",), foils=("b.py",), until=9)
    probe = Probe("artifact", "Which files?", "a.py", (statement,), (Evidence(2, "a.py"),), 200)
    evidence, statements = probe_json(probe)
    row = {
        "probe_type": probe.probe_type,
        "question": probe.question,
        "ground_truth": probe.ground_truth,
        "evidence": evidence,
        "statements": statements,
        "max_tokens": probe.max_tokens,
    }
    assert probe_of(row) == probe


def talk(number: int) -> tuple[Message, ...]:
    return tuple(Message("user", f"message {i}") for i in range(number))


def test_a_session_that_grew_beyond_a_points_look_ahead_keeps_the_points_id() -> None:
    assert point_ids("s", talk(30), [10]) == point_ids("s", talk(50), [10])
    assert point_ids("s", talk(30), [10, 20])[0] == point_ids("s", talk(30), [10])[0]


def test_a_points_id_changes_with_the_session_with_the_cut_and_with_what_probes_may_see() -> None:
    ids = [
        *point_ids("s", talk(40), [10, 20]),
        *point_ids("t", talk(40), [10]),
        *point_ids("s", talk(29), [10]),
        *point_ids("s", (Message("user", "other"), *talk(40)[1:]), [10]),
    ]
    assert len(set(ids)) == 5


def test_ids_depend_on_content_and_not_on_the_order_of_keys() -> None:
    assert content_id({"a": 1, "b": 2}) == content_id({"b": 2, "a": 1})
    assert content_id("ab", "c") != content_id("a", "bc")
    assert content_sha256((Message("user", "ab"), Message("user", "c"))) != content_sha256(
        (Message("user", "a"), Message("user", "bc"))
    )
