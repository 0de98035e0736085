"""What the summarising strategies ask for, and what they make of the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compaction import CompactedContext, Message, SummaryError, SummaryRequest, compact, make_method
from compaction.strategies.shared.requests import render, with_all_sections
from compaction.strategies.summaries import ANCHORED_MARK, ANCHORED_SECTIONS
from compaction.summarizers.extractive import EmbeddedSummarizer
from compaction.testing import CharacterCounter, ScriptedSummarizer, history, talk
from compaction.transcript import ToolCall

LONG = talk("s u a1 a a1 a a1 a a1 a")
"""14 messages of 10 tokens: 0 s, 1 u, then call, result, text four times."""
EMPTY_ANCHORED = "\n\n".join(f"## {s.title}\n- (none)" for s in ANCHORED_SECTIONS)


def numbered(request: SummaryRequest) -> str:
    """A summary that tells which messages it covers, its predecessor's included."""
    seqs = [m.seq for m in request.span]
    known = request.previous.split("- seen ")[1].split("\n")[0] + "; " if request.previous else ""
    return f"## Session intent\n- seen {known}{seqs[0]}..{seqs[-1]}"


def run(
    spec: str,
    messages: tuple[Message, ...],
    summarizer: ScriptedSummarizer,
    *,
    budget: int = 300,
    earlier_cuts: tuple[int, ...] = (),
    **params: Any,
) -> CompactedContext:
    given = history(messages, budget=budget, summarizer=summarizer, earlier_cuts=earlier_cuts)
    return compact(given, make_method(spec, params))


def seqs(request: SummaryRequest) -> list[int | None]:
    return [m.seq for m in request.span]


def test_the_anchored_summary_stands_between_system_prompt_and_the_newest_whole_groups() -> None:
    model = ScriptedSummarizer()
    found = run("factory_style_anchored", LONG, model)
    assert [m.seq for m in found.messages] == [0, None, 11, 12, 13]
    assert (found.messages[1].role, found.messages[1].covers) == ("user", tuple(range(1, 11)))
    assert (found.covered, found.dropped) == (set(range(1, 11)), set())
    assert seqs(model.requests[0]) == list(range(1, 11))


def test_the_kept_tail_is_within_its_tokens_and_never_begins_with_a_result() -> None:
    """Two messages would fit 25 tokens, a result and a text: the result's call does not, so only the text stays."""
    for room, kept in ((25, {13}), (30, {11, 12, 13}), (39, {11, 12, 13}), (9, set())):
        assert run("factory_style_anchored", LONG, ScriptedSummarizer(), tail_tokens=room).kept - {0} == kept


def test_a_history_that_fits_the_tail_is_left_alone() -> None:
    model = ScriptedSummarizer()
    assert run("factory_style_anchored", LONG, model, tail_tokens=130).messages == LONG
    assert model.requests == []


def test_over_a_whole_session_each_message_enters_exactly_one_merge() -> None:
    model = ScriptedSummarizer(numbered)
    found = run("factory_style_anchored", LONG, model, earlier_cuts=(5, 8), tail_tokens=10)
    assert [seqs(r) for r in model.requests] == [[1, 2, 3], [4, 5, 6], list(range(7, 13))]
    assert [r.previous.split("\n")[1] if r.previous else "" for r in model.requests] == [
        "",
        "- seen 1..3",
        "- seen 1..3; 4..6",
    ]
    assert "- seen 1..3; 4..6; 7..12" in found.messages[1].text
    assert [m.seq for m in found.messages] == [0, None, 13]
    assert found.messages[1].covers == tuple(range(1, 13))


def test_in_a_chain_only_what_is_new_is_merged_and_the_requests_are_those_of_the_whole_session() -> None:
    whole, chained = ScriptedSummarizer(numbered), ScriptedSummarizer(numbered)
    at_end = run("factory_style_anchored", LONG, whole, earlier_cuts=(5, 8), tail_tokens=10)
    left: tuple[Message, ...] = ()
    start = 0
    for cut in (5, 8, 14):
        left = run("factory_style_anchored", left + LONG[start:cut], chained, tail_tokens=10).messages
        start = cut
    assert chained.requests == whole.requests
    assert left == at_end.messages


def test_an_earlier_cut_whose_span_fits_the_tail_makes_no_merge() -> None:
    model = ScriptedSummarizer(numbered)
    run("factory_style_anchored", LONG, model, earlier_cuts=(2, 8), tail_tokens=10)
    assert [seqs(r) for r in model.requests] == [[1, 2, 3, 4, 5, 6], list(range(7, 13))]


def test_later_system_messages_and_foreign_summaries_are_part_of_what_is_summarised() -> None:
    foreign = Message("user", "what another tool wrote", covers=(1, 2), tokens=10)
    messages = (*talk("s"), foreign, *talk("a s a", first_seq=3))
    model = ScriptedSummarizer()
    found = run("factory_style_anchored", messages, model, tail_tokens=0)
    assert seqs(model.requests[0]) == [None, 3, 4, 5]
    assert [m.seq for m in found.messages] == [0, None]
    assert found.messages[1].covers == (1, 2, 3, 4, 5)


def test_every_section_is_there_even_when_the_model_forgot_it() -> None:
    model = ScriptedSummarizer(lambda request: "## decisions\n- keep it\n## Next steps\n")
    found = run("factory_style_anchored", LONG, model)
    text = found.messages[1].text
    assert text == f"{ANCHORED_MARK}\n\n" + EMPTY_ANCHORED.replace("## Decisions\n- (none)", "## Decisions\n- keep it")


def test_a_summary_without_any_heading_is_kept_whole_above_the_empty_sections() -> None:
    assert with_all_sections("just prose", ANCHORED_SECTIONS) == f"just prose\n\n{EMPTY_ANCHORED}"


def test_a_failure_in_a_later_merge_leaves_no_half_made_summary() -> None:
    def second_fails(request: SummaryRequest) -> str:
        if request.previous:
            raise SummaryError("overloaded")
        return "first"

    with pytest.raises(SummaryError, match="overloaded"):
        run("factory_style_anchored", LONG, ScriptedSummarizer(second_fails), earlier_cuts=(5,), tail_tokens=10)


def test_the_regenerated_summary_replaces_everything_but_the_system_prompt() -> None:
    model = ScriptedSummarizer()
    found = run("anthropic_sdk_regen", LONG, model)
    assert [(m.role, m.text) for m in found.messages[1:]] == [("user", "<summary>\nSUMMARY 1\n</summary>")]
    assert found.messages[1].covers == tuple(range(1, 14))
    assert [s.title for s in model.requests[0].sections] == [
        "Task Overview",
        "Current State",
        "Important Discoveries",
        "Next Steps",
        "Context to Preserve",
    ]
    again = run("anthropic_sdk_regen", found.messages + talk("u a", first_seq=14), model)
    assert seqs(model.requests[1]) == [None, 14, 15]
    assert model.requests[1].previous == ""
    assert again.messages[1].covers == tuple(range(1, 16))


def test_the_summary_that_was_published_has_an_analysis_before_the_five_sections() -> None:
    model = ScriptedSummarizer()
    run("anthropic_sdk_regen", LONG, model, analysis=True, summary_tokens=2500)
    [request] = model.requests
    assert [s.title for s in request.sections][:2] == ["Analysis", "Task Overview"]
    assert len(request.sections) == 6
    assert request.max_tokens == 2500
    assert "## Analysis\n" in request.prompt[0].text


def test_tags_that_the_model_wrote_are_kept_as_they_are() -> None:
    written = "Here it is. <summary>short</summary>"
    assert run("anthropic_sdk_regen", LONG, ScriptedSummarizer(lambda r: written)).messages[1].text == written


def test_tags_around_nothing_are_a_blank_summary() -> None:
    with pytest.raises(SummaryError, match="nothing in its tags"):
        run("anthropic_sdk_regen", LONG, ScriptedSummarizer(lambda r: "<summary>\n</summary>"))


def test_a_call_that_still_waits_is_covered_but_not_shown() -> None:
    model = ScriptedSummarizer()
    found = run("anthropic_sdk_regen", talk("u a1 c"), model)
    assert found.covered == {0, 1, 2, 3}
    assert [bool(m.tool_calls) for m in model.requests[0].span] == [False, True, False, False]


def test_freeform_asks_for_no_sections_and_can_keep_the_first_request() -> None:
    model = ScriptedSummarizer()
    found = run("freeform_summary", LONG, model)
    assert model.requests[0].sections == ()
    assert [m.text for m in found.messages[1:]] == ["[Summary of the conversation so far]\n\nSUMMARY 1"]
    kept = run("freeform_summary", LONG, model, keep_first_user=True)
    assert [m.seq for m in kept.messages] == [0, 1, None]
    assert 1 not in seqs(model.requests[1])


@pytest.mark.parametrize("id", ["factory_style_anchored", "anthropic_sdk_regen", "freeform_summary"])
def test_a_prompt_holds_what_the_request_says_in_parts(id: str) -> None:
    model = ScriptedSummarizer(numbered)
    run(id, LONG, model, earlier_cuts=(5,), tail_tokens=0) if id.startswith("factory") else run(id, LONG, model)
    for request in model.requests:
        system, user = request.prompt
        assert (system.role, user.role) == ("system", "user")
        assert "$" not in system.text
        assert "1500 tokens" in system.text
        assert all(f"## {s.title}\n{s.ask}" in system.text for s in request.sections)
        assert render(request.span) in user.text
        assert request.previous in user.text
        assert request.max_tokens == 1500


def test_long_results_are_shown_cut_in_the_middle_only_when_asked() -> None:
    messages = (*LONG[:3], replace(LONG[3], text="a" * 60 + "b" * 60, tokens=30), *LONG[4:])
    model = ScriptedSummarizer()
    run("anthropic_sdk_regen", messages, model)
    assert model.requests[0].span[2] is messages[3]
    run("anthropic_sdk_regen", messages, model, result_chars=30)
    assert model.requests[1].span[2].text == "a" * 20 + "\n[… 90 characters cut …]\n" + "b" * 10
    assert model.requests[1].span[2].text in model.requests[1].prompt[1].text


def test_messages_are_rendered_with_thinking_calls_and_errors() -> None:
    messages = (
        Message("assistant", "Look.", "hmm", (ToolCall("1", "bash", '{"command": "ls"}'),), seq=0),
        Message("tool", "no such file", tool_call_id="1", tool_name="bash", is_error=True, seq=1),
        Message("user", "earlier", covers=(5,)),
    )
    assert render(messages) == (
        '[1] assistant\n(thinking) hmm\nLook.\n(calls) bash {"command": "ls"}\n\n'
        "[2] tool result of bash (error)\nno such file\n\n"
        "[3] user (summary of earlier messages)\nearlier"
    )


def test_the_embedded_summariser_fills_every_strategys_request_within_its_limit() -> None:
    said = "I will keep the retry in config/redis.ts because the pool drops idle sockets after 30 s."
    messages = tuple(
        replace(m, text=said if m.role == "assistant" else "Fix the 401 on /api/auth/login in auth.controller.ts.")
        for m in LONG
    )
    for id in ("factory_style_anchored", "anthropic_sdk_regen", "freeform_summary"):
        given = history(messages, budget=300)
        given.summarizer = EmbeddedSummarizer(CharacterCounter())
        found = compact(given, make_method(id, {"summary_tokens": 200}))
        assert "config/redis.ts" in found.messages[1].text
        assert CharacterCounter().count(found.messages[1].text) <= 240


def test_the_embedded_summariser_says_so_when_a_span_holds_nothing_that_it_looks_for() -> None:
    """A blank text would count as a failure of the method."""
    span = (Message("assistant", "Hm.", seq=0, tokens=1),)
    assert EmbeddedSummarizer(CharacterCounter()).summarize(SummaryRequest(span, span, ())).text.strip()
