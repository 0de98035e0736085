from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from compaction import CompactedContext, Message, StrategyError, SummaryError, compact, make_method, parse_method
from compaction.methods import read_table, split_specs
from compaction.strategies.shared.parts import stands_for
from compaction.testing import ScriptedSummarizer, failing, history, talk
from tests.compaction.histories import histories

SESSION = talk("s u a2 a u a1 a1 a u")
"""0 s, 1 u, 2 call ×2, 3-4 results, 5 a, 6 u, 7 call, 8 result, 9 call, 10 result, 11 a, 12 u; 10 tokens each."""


def run(spec: str, messages: tuple[Message, ...] = SESSION, **given: Any) -> CompactedContext:
    return compact(history(messages, **given), parse_method(spec))


def left(spec: str, messages: tuple[Message, ...] = SESSION, **given: Any) -> list[Any]:
    return [m.seq if m.seq is not None else m.text for m in run(spec, messages, **given).messages]


def test_steps_work_on_what_the_step_before_left() -> None:
    assert left('pipeline(steps="af_py_sliding_window(keep_last_groups=3) -> head_tail(head=0,tail=1)")') == [12]


def test_without_a_budget_every_step_runs_and_with_one_it_stops_when_it_is_reached() -> None:
    steps = 'steps="af_py_sliding_window(keep_last_groups=4) -> empty"'
    assert left(f"pipeline({steps})") == [0]
    assert left(f"pipeline({steps},budget=70)") == [0, 7, 8, 9, 10, 11, 12]
    assert left(f"pipeline({steps},budget=70,early_stop=false)") == [0]
    assert left(f"pipeline({steps},target=tokens<71)") == [0, 7, 8, 9, 10, 11, 12]


def test_within_the_budget_nothing_is_done() -> None:
    assert left("pipeline(steps=empty,budget=130)") == list(range(13))
    assert left("pipeline(steps=empty,budget=129)") == [0]


def test_without_its_trigger_nothing_is_done() -> None:
    assert left('pipeline(steps=empty,trigger="turns>3")') == list(range(13))
    assert left('pipeline(steps=empty,trigger="turns>2")') == [0]


def test_a_step_waits_for_its_own_trigger() -> None:
    spec = (
        'pipeline(steps="af_py_selective_tool_call -> empty when all(tokens>85, turns>1) -> head_tail(head=1,tail=2)")'
    )
    assert left(spec) == [0, 11, 12]
    assert left(spec.replace("85", "75")) == [0]


def test_when_no_step_reaches_the_budget_the_oldest_groups_go_and_at_last_the_system_prompt() -> None:
    steps = "steps=none"
    assert left(f"pipeline({steps},budget=30)") == [0, 11, 12]
    assert left(f"pipeline({steps},budget=15)") == [12]
    assert left(f"pipeline({steps},budget=15,last_resort=groups)") == [0, 12]
    assert left(f"pipeline({steps},budget=15,last_resort=off)") == list(range(13))
    assert run(f"pipeline({steps},budget=15)").flags == ("last_resort",)


def test_a_floor_of_groups_is_out_of_reach_of_every_step_and_of_the_last_resort() -> None:
    assert left("pipeline(steps=empty,minimum_preserved_groups=2)") == [0, 11, 12]
    assert left("pipeline(steps=none,budget=20,minimum_preserved_groups=3)") == [9, 10, 11, 12]
    assert left("pipeline(steps=none,budget=55,minimum_preserved_groups=3)") == [0, 9, 10, 11, 12]
    assert left("pipeline(steps=empty,minimum_preserved_groups=99)") == list(range(13))
    assert left('pipeline(steps="empty when tokens<130",minimum_preserved_groups=3)') == list(range(13)), "all counts"


def test_a_floor_parts_no_group_whose_results_came_late() -> None:
    messages = list(talk("u c a t a u"))
    messages[3] = replace(messages[3], tool_call_id=messages[1].tool_calls[0].id)
    assert left("pipeline(steps=empty,minimum_preserved_groups=3)", tuple(messages)) == [1, 2, 3, 4, 5]


def test_a_summary_that_fails_fails_the_pipeline_unless_it_is_to_go_on() -> None:
    steps = 'steps="freeform_summary -> af_py_sliding_window(keep_last_groups=1)"'
    with pytest.raises(SummaryError, match="not reachable"):
        left(f"pipeline({steps})", summarizer=ScriptedSummarizer(failing))
    found = run(f"pipeline({steps},skip_failed=true)", summarizer=ScriptedSummarizer(failing))
    assert ([m.seq for m in found.messages], found.flags) == ([0, 12], ("summary_failed",))


def test_calls_of_all_steps_are_counted_and_a_model_is_needed_if_a_step_needs_one() -> None:
    method = parse_method('pipeline(steps="af_py_tool_result -> freeform_summary")')
    assert method.needs == "model"
    found = compact(history(SESSION, summarizer=ScriptedSummarizer()), method)
    assert len(found.calls) == 1
    assert found.covered == set(range(1, 13))
    assert parse_method("pipeline(steps=none)").needs == "nothing"


def test_the_token_budget_of_the_agent_framework_is_such_a_pipeline() -> None:
    """The same steps and figures, once as the strategy and once composed."""
    steps = (
        "af_py_tool_result -> af_py_summarization(forced=false,max_summary_input_tokens=None)"
        " -> af_py_sliding_window(keep_last_groups=3)"
    )
    for budget in (20, 60, 100, 130):
        composed = left(f'pipeline(steps="{steps}",budget={budget})', summarizer=ScriptedSummarizer())
        params = f"token_budget={budget},keep_last_groups=3,max_summary_input_tokens=None"
        assert left(f"af_py_token_budget({params})", summarizer=ScriptedSummarizer()) == composed


def test_a_pipeline_is_named_by_a_text_that_gives_it_again() -> None:
    steps = "af_py_tool_result(max_chars=9) -> head_tail(head=1,tail=3) when any(tokens>5, turns>2)"
    text = f'pipeline(steps="{steps}",budget=9)'
    method = parse_method(f"our ladder = {text}")
    assert (method.name, method.spec) == ("our ladder", text)
    assert parse_method(text).params == method.params
    assert parse_method("pipeline(steps=\"pipeline(steps='none -> empty') -> none\")").spec.count("->") == 2


def test_a_list_of_methods_is_split_outside_of_quotes_and_parentheses() -> None:
    text = 'none, x = pipeline(steps="head_tail(head=1,tail=2) -> none", budget=9) ,tool_fifo(mode=faithful)'
    assert [parse_method(spec).name for spec in split_specs(text)] == ["none", "x", "tool_fifo(mode=faithful)"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("pipeline(steps=no_such)", "unknown strategy 'no_such'"),
        ('pipeline(steps="none -> ")', "expected steps, as in"),
        ("pipeline()", "expected steps, as in"),
        ('pipeline(steps="none when late")', "step 'none when late': trigger 'late': expected one of always"),
        ("pipeline(steps=none,trigger=soon)", "trigger: trigger 'soon'"),
        ("pipeline(steps=none,budget=0)", "at least 1"),
        ("pipeline(steps=none,budget=9,target=never)", "takes the place of a target"),
        ("pipeline(steps=none,last_resort=yes)", "last_resort must be one of off, groups, strict"),
        ("pipeline(steps=none,limit=3)", "a pipeline has no parameter 'limit'; it has: steps, trigger"),
        ('pipeline(steps="head_tail(tial=3)")', "has no parameter 'tial'"),
        ("pipeline(steps=none", "does not close|expected an id"),
        ("none = head_tail", "is the name of a strategy"),
        ("af_net_truncation(trigger=often)", "trigger: trigger 'often': expected one of"),
    ],
)
def test_a_wrong_composition_is_refused_before_it_runs(spec: str, said: str) -> None:
    with pytest.raises(StrategyError, match=said):
        parse_method(spec)


def test_a_study_files_table_is_a_pipeline_or_a_strategy_with_parameters() -> None:
    table = {"name": "ours", "trigger": "tokens>16", "steps": ["af_py_tool_result", "head_tail(tail=20) when turns>1"]}
    method = parse_method(read_table(table))
    assert method.name == "ours"
    assert method.params == make_method("pipeline", {k: v for k, v in table.items() if k != "name"}).params
    plain = parse_method(read_table({"name": "short", "strategy": "head_tail", "params": {"tail": 20}}))
    assert (plain.name, plain.spec) == ("short", "head_tail(tail=20)")
    late = parse_method(read_table({"name": "late", "strategy": "head_tail(tail=20)", "trigger": "turns>9"}))
    assert late.spec == "pipeline(steps=head_tail(tail=20),trigger=turns>9)".replace(
        "head_tail(tail=20)", '"head_tail(tail=20)"'
    )


def test_parameters_of_a_strategy_may_stand_beside_it_in_a_study_files_table() -> None:
    beside = parse_method(read_table({"name": "short", "strategy": "head_tail", "tail": 3, "params": {"head": 1}}))
    assert (beside.name, beside.spec) == ("short", "head_tail(head=1,tail=3)")
    late = parse_method(read_table({"name": "late", "strategy": "head_tail", "tail": 3, "trigger": "turns>9"}))
    assert late.spec == 'pipeline(steps="head_tail(tail=3)",trigger=turns>9)'
    own = parse_method(read_table({"name": "own", "strategy": "af_net_truncation", "trigger": "turns>9"}))
    assert own.spec == "af_net_truncation(trigger=turns>9)"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            {"name": "x", "strategy": "head_tail", "tial": 3},
            r"'head_tail' has no parameter 'tial'.*did you mean tail\?",
        ),
        ({"name": "x", "strategy": "head_tail", "tail": 3, "params": {"tail": 4}}, "tail stands both beside"),
        ({"steps": ["none"]}, "needs a name"),
        ({"name": "x"}, "needs either strategy or steps"),
        ({"name": "x", "strategy": "none", "steps": ["none"]}, "needs either strategy or steps"),
        ({"name": "x", "steps": ["none"], "params": {"a": 1}}, "stand beside its steps"),
        ({"name": "x", "strategy": "head_tail", "params": 3}, "params a table"),
        ({"name": "x", "strategy": "head_tail", "params": {"tial": 3}}, "no parameter 'tial'"),
        ({"name": "x", "steps": ["none"], "budgit": 3}, "no parameter 'budgit'"),
        ({"name": "none", "strategy": "empty"}, "is the name of a strategy"),
        ({"name": "a,b", "strategy": "empty"}, "a name has letters, digits, spaces"),
    ],
)
def test_a_wrong_table_is_refused(table: dict[str, Any], said: str) -> None:
    with pytest.raises(StrategyError, match=said):
        read_table(table)


COMPOSITIONS = (
    'pipeline(steps="af_py_tool_result -> head_tail(head=1,tail=3) when tokens>20",budget=24)',
    'pipeline(steps="mask_sweagent(n=1) -> af_py_sliding_window(keep_last_groups=4)",minimum_preserved_groups=2)',
    'pipeline(steps="freeform_summary -> af_net_sliding(keep_last_turns=1)",trigger="messages>3")',
    "pipeline(steps=none,budget=16,minimum_preserved_groups=1)",
)


@pytest.mark.parametrize("spec", COMPOSITIONS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(messages=histories())
def test_what_holds_for_every_strategy_holds_for_compositions(spec: str, messages: tuple[Message, ...]) -> None:
    """Each message has one fate, kept ones are the same objects in order, made ones say what they stand for."""
    found = run(spec, messages, summarizer=ScriptedSummarizer())
    parts = (found.kept, found.edited, found.covered, found.dropped)
    assert sum(map(len, parts)) == len(frozenset().union(*parts))
    assert frozenset().union(*parts) == frozenset(stands_for(messages))
    said = [m.seq for m in found.messages if m.seq is not None]
    assert said == sorted(set(said))
    originals = {m.seq: m for m in messages}
    assert all(m is originals[m.seq] for m in found.messages if m.seq in found.kept)
    assert all(m.seq is not None or m.covers for m in found.messages)
    again = run(spec, tuple(replace(m) for m in messages), summarizer=ScriptedSummarizer())
    assert again.messages == found.messages
