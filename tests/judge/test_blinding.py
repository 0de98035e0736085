"""What a judge sees of a compacted context does not say which method left it."""

from __future__ import annotations

import pytest

from compaction import Message, ToolCall, compact, load_registry, parse_method, strategy
from compaction.markers import Marker, removed
from compaction.registry import REGISTRY
from compaction.testing import ScriptedSummarizer, history, talk
from judge.blinding import Blinder, _blinder, blind_text, context_text, has_opaque, markers_of
from tests.judge.blinding_cases import cases, methods, of_the_method

STRATEGIES = load_registry()
BLINDER = _blinder()
SILENT = {
    "none",
    "empty",
    "head_tail",
    "recency",
    "primacy",
    "strands_sliding",
    "adk_compaction",
    "cache_aware",
    "recover",
    "pydantic_ai_history",
    "openhands_v0_recent",
    "openhands_v0_amortized",
    "openhands_v0_llm_attention",
    "semantic_kernel_summary",
    "semantic_kernel_truncation",
    "af_py_truncation",
    "af_py_sliding_window",
    "af_py_selective_tool_call",
    "af_net_truncation",
    "af_net_sliding",
    "af_py_summarization",
}
"""Write nothing of their own."""


@pytest.mark.parametrize("method", methods())
def test_nothing_is_left_that_only_the_method_can_have_written(method: str) -> None:
    found = {said for case in cases() if case.method == method for said in of_the_method(case, BLINDER)}
    assert found == set()


@pytest.mark.parametrize("id", sorted(STRATEGIES.keys() - SILENT))
def test_without_what_a_strategy_declares_it_would_be_known(id: str) -> None:
    own = set(STRATEGIES[id].markers)
    others = Blinder(marker for marker in markers_of(STRATEGIES.values()) if marker not in own)
    assert any(of_the_method(case, others) for case in cases() if case.method.startswith(id))


def test_every_method_left_something_to_look_at() -> None:
    changed = {case.method for case in cases() if case.context != case.history}
    assert {id for id in STRATEGIES if not any(name.startswith(id) for name in changed)} == {"none"}


def test_no_id_of_a_strategy_stands_in_what_is_shown() -> None:
    long = [id for id in STRATEGIES if "_" in id]
    seen = [(case.method, BLINDER.context(case.context)) for case in cases()]
    assert [(method, id) for method, context in seen for id in long if id in context] == []


TALK = talk("s u a2 u a1 a3 a u a1", tokens=None)


def left(spec: str, answer: str = "It was about file0.py.") -> str:
    asked = history(TALK, budget=60, summarizer=ScriptedSummarizer(lambda _: answer))
    return context_text(compact(asked, parse_method(spec)).messages)


@pytest.mark.parametrize(
    "alike",
    [
        ("mask_sweagent(n=2)", "clear_tool_uses(keep=2)", "inspect_edit(keep_tool_uses=2)"),
        ("freeform_summary", "anthropic_sdk_regen", "codex_local(user_tokens=0)"),
        ("head_tail(head=1,tail=3)", 'pipeline(steps="head_tail(head=1,tail=3)")'),
    ],
)
def test_methods_that_keep_the_same_are_shown_the_same(alike: tuple[str, ...]) -> None:
    assert len({left(spec) for spec in alike}) == 1


def test_a_collapsed_result_is_shown_as_one_that_stays() -> None:
    said = talk("u a1 a1 a", tokens=None)
    seen = [
        context_text(compact(history(said), parse_method(spec)).messages)
        for spec in (
            "af_py_tool_result(keep_last_tool_call_groups=0)",
            'af_net_tool_result(minimum_preserved_groups=0,trigger="tokens>1")',
        )
    ]
    assert seen[0] == seen[1] == "user: user 0\nresult: read: result 2\nresult: read: result 4\nassistant: assistant 5"
    assert set(seen[0].splitlines()) <= set(context_text(said).splitlines())


def test_headings_are_told_by_what_they_hold() -> None:
    anchored = "## Session intent\n- a\n## File modifications\n- b\n## Decisions\n- c\n## Next steps\n- d"
    theirs = (
        "<next_steps>\n- d\n</next_steps>\n**SESSION INTENT**\n* a\n4. Files and Code Sections:\n- b\nDecisions: - c"
    )
    assert left("freeform_summary", anchored) == left("freeform_summary", theirs)
    assert "summary:\nintent:\n- a\nfiles:\n- b\ndecisions:\n- c\nnext_steps:\n- d" in left("freeform_summary", theirs)


def test_what_a_summary_says_stays_word_for_word() -> None:
    text = (
        "Fixed `a**b` in x.py: f(**kw).\n```\n## Goal\n<div>\n* x\n```\n- 2*3*4 and <T>(x: T)\n## Unknown heading\nlast"
    )
    assert left("freeform_summary", text).endswith(f"summary:\n{text}")


def test_a_summary_in_xml_is_shown_as_one_in_markdown() -> None:
    theirs = (
        "<state_snapshot>\n  <overall_goal>\n    Win.\n  </overall_goal>\n  <task_state>\n"
        '    <step status="DONE">start</step>\n    <!-- and then -->\n    end\n  </task_state>\n</state_snapshot>'
    )
    assert left("freeform_summary", theirs) == left(
        "freeform_summary", "## Goal\nWin.\n\n## Next Steps\n(done) start\nand then\nend"
    )


def test_an_empty_section_is_not_shown() -> None:
    assert left("freeform_summary", "## Goal\n- (none)\n## Next Steps\nNone.\n## Decisions\n- a").endswith(
        "summary:\ndecisions:\n- a"
    )


def test_what_is_gone_shows_as_one_line_whatever_stood_there() -> None:
    call = Message("assistant", tool_calls=(ToolCall("1", "run", "{}"),), seq=1)
    user, last = Message("user", "do it", seq=0), Message("assistant", "done", seq=4)
    masked = Message("tool", "<MASKED>", tool_call_id="1", seq=2)
    masked_too = Message("tool", "[cleared]", tool_call_id="2", seq=3)
    expected = "user: do it\ncall run\n[removed]\nassistant: done"
    assert context_text((user, call, masked, masked_too, last)) == expected
    assert context_text((user, call, masked, last)) == expected
    assert context_text((user, call, last)) == expected
    assert context_text((user, call, Message("user", "Skipped 2 messages."), last)) == expected


def test_messages_stand_in_the_order_of_the_session() -> None:
    first, second = Message("user", "a", seq=2), Message("user", "b", seq=3)
    summary = Message("assistant", "what was", covers=(0, 1))
    assert (
        context_text((first, second, summary))
        == context_text((summary, first, second))
        == "summary:\nwhat was\nuser: a\nuser: b"
    )


def test_a_list_of_files_joins_the_summary_next_to_it() -> None:
    index = Message(
        "user",
        "[Files of this session, from its tool calls. Not all of these calls are still in the "
        "context.]\n\n- a.py (read): 3 lines shown\n- b.py (moved): now c.py",
        covers=(0,),
    )
    summary = Message("user", "## Goal\n- win\n## Files\n- d.py (modified)", covers=(0, 1))
    assert context_text((index, summary)) == (
        "summary:\nintent:\n- win\nfiles:\n- a.py (examined)\n- b.py (deleted)\n- c.py (created)\n- d.py (modified)"
    )


def test_positions_ids_and_roles_of_made_messages_are_not_shown() -> None:
    call = ToolCall("call-77", "run", '{"x": 1}')
    context = (
        Message("user", "made", covers=(41, 42)),
        Message("assistant", "say", "think", (call,), seq=43, source_ref="log:9", timestamp="2026-01-01"),
        Message("tool", "gave", tool_call_id="call-77", tool_name="run", is_error=True, seq=44),
    )
    said = 'summary:\nmade\nthinking: think\nassistant: say\ncall run {"x": 1}\nresult: (error) run: gave'
    assert context_text(context) == context_text((*context,)) == f"[removed]\n{said}"
    for role in ("system", "assistant", "user"):
        assert said in context_text((Message(role, "made", covers=(41, 42)), *context[1:]))  # type: ignore[arg-type]


def test_an_item_that_only_its_provider_can_read_is_named_as_such() -> None:
    item = Message("assistant", opaque='{"encrypted_content": "gAAAA"}', covers=(0,))
    assert context_text((item,)) == "summary:\n[not readable]"
    assert has_opaque((item,))
    assert not has_opaque((Message("assistant", "a summary", opaque="{}", covers=(0,)),))


def test_text_of_the_session_that_equals_a_marker_is_changed_as_well() -> None:
    assert context_text((Message("user", "grep '<MASKED>' log.txt", seq=0),)) == "user: grep '[removed]' log.txt"


def test_an_answer_that_quotes_a_marker_is_blinded_too() -> None:
    assert blind_text("The output is (Tool result removed) now.") == "The output is [removed] now."


def test_the_same_context_is_shown_from_memory() -> None:
    context = TALK[:4]
    assert context_text(context) is context_text(context)
    assert context_text(list(context)) == context_text(context)


def test_a_strategy_that_is_registered_later_is_blinded_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    context = (Message("tool", "~~gone~~", seq=0),)
    assert "~~gone~~" in context_text(context)
    monkeypatch.setitem(REGISTRY, "theirs", None)  # type: ignore[arg-type]  # so that it is taken out again
    del REGISTRY["theirs"]

    @strategy("theirs", markers=removed("~~gone~~"))
    def theirs(history):  # type: ignore[no-untyped-def]
        """Nothing."""
        return ()

    assert context_text(context) == "[removed]"


def test_the_form_is_independent_of_the_order_in_which_markers_are_declared() -> None:
    markers = markers_of(STRATEGIES.values())
    there, back = Blinder(markers), Blinder(markers[::-1])
    assert [case.method for case in cases() if there.context(case.context) != back.context(case.context)] == []


def test_a_longer_marker_is_looked_for_before_a_shorter_one_in_it() -> None:
    assert (
        Blinder([Marker("[x]", "short"), Marker("[x] and more", "long")]).cleaned("[x] and more", made=False) == "long"
    )
