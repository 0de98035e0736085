"""Provider-side compaction by hand: what is sent, what an answer leaves, and what a failure does."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from compaction import (
    Message,
    NativeRequest,
    SummaryError,
    ToolCall,
    compact,
    default_methods,
    make_method,
    parse_method,
)
from compaction.strategies.provider_native import CLEARED
from compaction.strategies.shared.wire import anthropic_messages, openai_items
from compaction.testing import ScriptedProvider, history, talk

ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"}


def answering(response: dict[str, Any]) -> ScriptedProvider:
    return ScriptedProvider(lambda request: response)


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def test_openai_is_sent_items_and_the_system_prompt_as_instructions() -> None:
    provider = ScriptedProvider()
    compact(history(talk("s u a1"), provider=provider), make_method("openai_compact"))
    assert provider.requests == [
        NativeRequest(
            "openai",
            "/v1/responses/compact",
            {
                "input": [
                    {"role": "user", "content": "user 1"},
                    {"role": "assistant", "content": "assistant 2"},
                    {"type": "function_call", "call_id": "2-0", "name": "read", "arguments": '{"path": "file0.py"}'},
                    {"type": "function_call_output", "call_id": "2-0", "output": "result 3"},
                ],
                "instructions": "system 0",
            },
        )
    ]


def test_the_session_of_openai_agents_sends_no_system_prompt_and_asks_at_ten_items() -> None:
    provider, said = ScriptedProvider(), talk("s u a1 a1 u a")  # a text, a call and a result each, and a last text
    waiting = make_method("openai_compaction_session", {"forced": False})
    assert compact(history(said, provider=provider), waiting).messages == said
    assert not provider.requests
    assert compact(history(said, provider=provider), make_method("openai_compaction_session")).messages != said
    more = (*said, *talk("a1", first_seq=8))
    assert compact(history(more, provider=provider), waiting).messages != more
    assert [list(request.body) for request in provider.requests] == [["input"], ["input"]]


def test_openais_user_messages_are_the_sessions_own_and_the_encrypted_item_covers_the_rest() -> None:
    response = {
        "output": [user("user 1"), user("user 4"), ITEM],
        "usage": {"output_tokens": 412, "output_tokens_details": {"reasoning_tokens": 64}},
    }
    found = compact(history(talk("s u a1 u a"), provider=answering(response)), make_method("openai_compact"))
    assert found.kept == {0, 1, 4}
    assert found.covered == {2, 3, 5}
    last = found.messages[-1]
    assert (last.role, last.text, last.tokens) == ("assistant", "", 348)
    assert json.loads(last.opaque) == ITEM


def test_any_other_item_is_kept_as_it_came() -> None:
    odd = {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": "I said"}]}
    found = compact(
        history(talk("u a a"), provider=answering({"output": [user("user 0"), odd, ITEM]})),
        make_method("openai_compact"),
    )
    assert [m.text for m in found.messages] == ["user 0", "I said", ""]
    assert openai_items(found.messages)[1:] == [odd, ITEM]
    assert "opaque_tokens_unknown" in found.flags


def test_an_answer_without_a_compaction_item_fails_and_so_does_a_missing_key() -> None:
    with pytest.raises(SummaryError, match="no compaction item"):
        compact(history(talk("u a"), provider=answering({"output": []})), make_method("openai_compact"))
    with pytest.raises(SummaryError, match="needs a key for openai"):
        compact(history(talk("u a")), make_method("openai_compact"))


@pytest.mark.parametrize("id", ["openai_compact", "anthropic_compact"])
def test_where_nothing_was_said_since_no_compaction_is_asked_for(id: str) -> None:
    provider = ScriptedProvider()
    once = compact(history(talk("s u a1 a"), provider=provider), make_method(id)).messages
    assert compact(history(once, provider=provider), make_method(id)).messages == once
    assert len(provider.requests) == 1


@pytest.mark.parametrize("id", ["openai_compact", "anthropic_compact", "anthropic_compact(form=edit)"])
def test_where_there_is_nothing_to_send_nothing_is_sent(id: str) -> None:
    """Both interfaces refuse an empty list of messages."""
    provider, said = ScriptedProvider(), talk("s e r")
    assert compact(history(said, provider=provider), parse_method(id)).messages == said
    assert not provider.requests


def test_calls_without_results_and_results_without_calls_are_told_as_text() -> None:
    assert openai_items(talk("c t")) == [
        {"role": "assistant", "content": 'assistant 0\n\n[call without a result] read {"path": "file0.py"}'},
        {"role": "user", "content": "[result without a call] result 1"},
    ]


def test_a_result_stands_right_behind_its_call_and_ids_are_made_single() -> None:
    messages = talk("a1 u")
    late = (messages[0], replace(messages[2], seq=1), replace(messages[1], seq=2))
    again = (
        Message("assistant", tool_calls=(ToolCall("0-0", "read", "{}"),), seq=3),
        Message("tool", "x", tool_call_id="0-0", seq=4),
    )
    sent = anthropic_messages((*late, *again))
    assert [m["role"] for m in sent] == ["assistant", "user", "assistant", "user"]
    assert [block["type"] for block in sent[1]["content"]] == ["tool_result", "text"]
    assert [m["content"][-1]["id"] for m in sent if m["role"] == "assistant"] == ["0-0", "0-0_2"]
    assert sent[3]["content"] == [{"type": "tool_result", "tool_use_id": "0-0_2", "content": "x"}]


def test_anthropic_is_asked_outright_or_by_an_edit_with_a_trigger() -> None:
    provider = ScriptedProvider()
    compact(history(talk("s u a1"), provider=provider), parse_method("anthropic_compact(max_tokens=9)"))
    compact(history(talk("s u"), provider=provider), parse_method("anthropic_compact(form=edit,instructions=Briefly)"))
    outright, edit = provider.requests
    assert outright.betas == ("compact-2026-09-04",)
    assert outright.body["compaction"] == {"type": "summarize"}
    assert outright.body["system"] == "system 0"
    assert outright.body["max_tokens"] == 9
    assert outright.body["tools"] == [{"name": "read", "input_schema": {"type": "object"}}]
    assert edit.betas == ("compact-2026-01-12",)
    assert edit.body["context_management"]["edits"] == [
        {
            "type": "compact_20260112",
            "trigger": {"type": "input_tokens", "value": 150_000},
            "pause_after_compaction": True,
            "instructions": "Briefly",
        }
    ]
    assert "tools" not in edit.body


def test_anthropics_summary_is_readable_and_its_block_goes_back_unchanged() -> None:
    block = {
        "type": "compaction",
        "content": "It was 401.",
        "encrypted_content": "e",
        "signature": "s",
        "tool_changes": [],
    }
    found = compact(
        history(talk("s u a1 a"), provider=answering({"content": [block]})), make_method("anthropic_compact")
    )
    assert [(m.role, m.text, m.covers) for m in found.messages[1:]] == [("assistant", "It was 401.", (1, 2, 3, 4))]
    assert anthropic_messages(found.messages[1:]) == [{"role": "assistant", "content": [block]}]


@pytest.mark.parametrize("content", [None, " "])
def test_a_block_without_content_is_a_compaction_that_failed(content: str | None) -> None:
    provider = answering({"content": [{"type": "compaction", "content": content}]})
    with pytest.raises(SummaryError, match="no content"):
        compact(history(talk("u a"), provider=provider), make_method("anthropic_compact"))


def test_an_edit_that_did_not_fire_changes_nothing_and_an_outright_request_without_a_block_fails() -> None:
    provider = answering({"content": [{"type": "text", "text": "hello"}]})
    messages = talk("u a")
    assert (
        compact(history(messages, provider=provider), parse_method("anthropic_compact(form=edit)")).messages == messages
    )
    with pytest.raises(SummaryError, match="no compaction block"):
        compact(history(messages, provider=provider), make_method("anthropic_compact"))


def test_as_many_of_the_oldest_results_go_as_the_service_says_it_cleared() -> None:
    edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2, "cleared_input_tokens": 9}
    provider = answering({"context_management": {"applied_edits": [edit]}})
    found = compact(history(talk("u a2 a1 a1"), provider=provider, budget=77), parse_method("anthropic_clear(keep=1)"))
    assert found.edited == {2, 3}
    assert {m.text for m in found.messages if m.seq in (2, 3)} == {CLEARED}
    sent = provider.requests[0].body["context_management"]["edits"][0]
    assert sent == {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 77},
        "keep": {"type": "tool_uses", "value": 1},
        "clear_tool_inputs": False,
    }
    assert provider.requests[0].body["max_tokens"] == 1


def test_excluded_tools_are_left_alone_and_inputs_go_only_when_asked_for() -> None:
    provider = ScriptedProvider()
    alone = compact(
        history(talk("u a2"), provider=provider), parse_method("anthropic_clear(keep=0,exclude_tools=read)")
    )
    assert alone.edited == frozenset()
    both = compact(
        history(talk("u a2"), provider=provider), parse_method("anthropic_clear(keep=0,clear_tool_inputs=true)")
    )
    assert both.edited == {1, 2, 3}
    assert [call.arguments for call in both.messages[1].tool_calls] == ["{}", "{}"]


def test_clearing_starts_from_the_whole_session_each_time() -> None:
    provider = ScriptedProvider()
    session = talk("u a1 a1 a1")
    method = parse_method("anthropic_clear(keep=1)")
    left = compact(history(session[:5], provider=provider), method).messages
    again = compact(history((*left, *session[5:]), session=session, provider=provider), method).messages
    assert [m.text for m in again if m.role == "tool"] == [CLEARED, CLEARED, "result 6"]
    assert "result 2" in json.dumps(provider.requests[-1].body)


def test_methods_that_need_a_key_are_listed_and_not_among_those_that_run_by_default() -> None:
    needing = {
        "openai_compact",
        "openai_compaction_session",
        "anthropic_compact",
        "anthropic_clear",
        "retrieval_vector",
    }
    assert {make_method(id).needs for id in needing} == {"key"}
    assert not needing & {method.strategy.id for method in default_methods()}
