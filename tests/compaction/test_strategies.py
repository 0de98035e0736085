"""The promises of every strategy, over the whole registry: a new strategy is tested by being registered."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compaction import (
    CompactedContext,
    Message,
    Method,
    SummaryError,
    SummaryRequest,
    Transcript,
    compact,
    load_registry,
    make_method,
)
from compaction.groups import without_other_half
from compaction.points import legal_cuts
from compaction.strategies.shared.parts import stands_for
from compaction.testing import ScriptedProvider, ScriptedSummarizer, blank, failing, history, talk
from tests.compaction.histories import build, compacted, histories, random_words, timed

REGISTRY = load_registry()
BUDGET = 24
MODES = {
    "mask_openhands_v0": ("faithful", "valid"),
    "tool_fifo": ("faithful", "valid"),
    "codex_local": ("faithful", "valid"),
    "langchain_summary": ("faithful", "valid"),
    "langmem_running": ("faithful", "valid"),
    "opencode_summary": ("faithful", "fixed"),
    "pi_anchored_files": ("faithful", "fixed"),
    "openhands_sdk": ("faithful", "full_content"),
    "complexity_trap_summary": ("faithful", "fixed"),
    "complexity_trap_hybrid": ("faithful", "fixed"),
    "roo_condense": ("faithful", "valid"),
    "lcm": ("faithful", "valid"),
}

METHODS = {
    f"{id} {mode}".strip(): make_method(id, {**found.bites, **({"mode": mode} if mode else {})})
    for id, found in REGISTRY.items()
    for mode in MODES.get(id, ("",))
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
every_model_method = pytest.mark.parametrize(
    "method", [m for m in METHODS.values() if m.strategy.needs_model], ids=lambda m: m.strategy.id
)
sometimes = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

BREAKS_PAIRS = {
    "af_py_truncation",
    "af_py_sliding_window",
    "af_py_selective_tool_call",
    "af_py_tool_result",
    "af_py_context_window",
    "af_py_summarization",
    "af_py_token_budget",
    "af_net_truncation",
    "af_net_tool_result",
    "af_net_summarization",
    "af_net_pipeline",
    "af_net_sliding",
    "recorded",
    "gemini_snapshot",
    "inspect_trim",
    "claude_code_style_regen",
    "letta_sliding",
    "strands_sliding",
    "strands_summarizing",
    "autogen_head_tail",
    "semantic_kernel_truncation",
    "semantic_kernel_summary",
    "deepagents",
    "adk_compaction",
    "aider_chat_summary",
    "pydantic_ai_history",
    "pydantic_ai_summary",
    "kimi_compact",
    "file_index",
    "constraint_pinning",
    "checklist",
    "cache_aware",
    "recover",
}
"""Follow originals that do part a result from its call where ids are used twice or results come late."""
REWRITES = {
    "anthropic_sdk_regen",
    "freeform_summary",
    "codex_local",
    "langchain_summary",
    "claude_code_style_regen",
    "semantic_kernel_summary",
    "deepagents",
    "aider_chat_summary",
    "pydantic_ai_summary",
    "kimi_compact",
}
"""Write their whole summary anew each time."""
TAKES_MORE = {
    ("langmem_running", "faithful"),
    ("langmem_running", "valid"),
    ("inspect_trim", "valid"),
    ("hermes_lean", "valid"),
    ("lcm", "faithful"),
    ("lcm", "valid"),
    ("letta_sliding", "valid"),
    ("strands_summarizing", "valid"),
    ("gemini_snapshot", "valid"),
    ("opencode_summary", "faithful"),
    ("openhands_sdk", "faithful"),
    ("openhands_sdk", "full_content"),
}
"""Follow originals that compact a share of what is there, whoever asks: in the end all but the summary."""
SYSTEM_FIRST = {"inspect_trim", "claude_code_style_regen"}
"""Put system messages before all others, whenever they came."""
FORGETS = {
    ("pi_anchored_files", "faithful"),
    ("complexity_trap_summary", "faithful"),
    ("complexity_trap_hybrid", "faithful"),
    ("openhands_v0_llm_attention", "valid"),
}
"""Follow originals that lose what an earlier summary covered."""

COMPOSED = {"af_net_pipeline", "af_py_token_budget", "complexity_trap_hybrid", "deepagents"}
"""Have steps without a model, which may be all that it takes, and which may drop a summary."""


def run(
    method: Method,
    messages: tuple[Message, ...],
    handler: Callable[[SummaryRequest], str] | None = None,
    session: tuple[Message, ...] | None = None,
    *,
    summarizer: ScriptedSummarizer | None = None,
    provider: ScriptedProvider | None = None,
) -> CompactedContext:
    """``session``: all that was said, where the messages are what is left of it."""
    said = messages if session is None else session
    return compact(
        history(
            messages,
            budget=BUDGET,
            summarizer=summarizer or ScriptedSummarizer(handler),
            session=said,
            recorded=compacted(said),
            provider=provider or ScriptedProvider(),
        ),
        method,
    )


def gist(request: SummaryRequest) -> str:
    """A summary that grows with what it covers, in every section that was asked for."""
    return "\n".join(f"## {s.title}\n- {len(request.span)} messages" for s in request.sections) or "prose"


@every_method
@sometimes
@given(messages=histories())
def test_every_compaction_keeps_what_all_promise(method: Method, messages: tuple[Message, ...]) -> None:
    """One compaction a history, which all of them look at, and a second for the last."""
    summarizer, provider = ScriptedSummarizer(), ScriptedProvider()
    found = run(method, messages, summarizer=summarizer, provider=provider)
    every_message_is_kept_edited_covered_or_dropped_and_only_one_of_them(found, messages)
    messages_stay_in_order_each_once_and_a_kept_one_is_the_same_object(found, messages, method)
    a_new_message_names_what_it_stands_for_and_knows_only_this_history(found, messages)
    a_call_and_its_result_never_lose_each_other_unless_the_context_says_so(found, messages, method)
    a_context_that_grew_says_so_and_dropping_alone_never_grows(found, messages)
    assert method.needs_model or not summarizer.requests, "a strategy without a model calls one"
    assert method.needs == "key" or not provider.requests
    assert len(found.calls) == len(summarizer.requests) + len(provider.requests)
    copies = tuple(replace(m) for m in messages)
    assert run(method, copies).messages == found.messages, "the same history gives another context"


def every_message_is_kept_edited_covered_or_dropped_and_only_one_of_them(
    found: CompactedContext, messages: tuple[Message, ...]
) -> None:
    parts = (found.kept, found.edited, found.covered, found.dropped)
    assert sum(map(len, parts)) == len(frozenset().union(*parts))
    assert frozenset().union(*parts) == frozenset(stands_for(messages))


def messages_stay_in_order_each_once_and_a_kept_one_is_the_same_object(
    found: CompactedContext, messages: tuple[Message, ...], method: Method
) -> None:
    left = [m.seq for m in found.messages if m.seq is not None]
    if method.strategy.id in SYSTEM_FIRST:
        others = [m.seq for m in found.messages if m.seq is not None and m.role != "system"]
        assert others == sorted(others)
        left.sort()
    assert left == sorted(set(left))
    originals = {m.seq: m for m in messages}
    for message in found.messages:
        if message.seq in found.kept:
            assert message is originals[message.seq]
        elif message.seq is not None:
            assert replace(message, tokens=0) != replace(originals[message.seq], tokens=0)
    assert all(m.tokens is not None for m in found.messages)


def a_new_message_names_what_it_stands_for_and_knows_only_this_history(
    found: CompactedContext, messages: tuple[Message, ...]
) -> None:
    known = set(stands_for(messages))
    for message in found.messages:
        assert known.issuperset(message.covers)
        if message.seq is None and not any(message is m for m in messages):
            assert message.covers or message.text == "<MASKED>" or message.text.startswith("Skipped ")


def a_call_and_its_result_never_lose_each_other_unless_the_context_says_so(
    found: CompactedContext, messages: tuple[Message, ...], method: Method
) -> None:
    broken = without_other_half(found.messages) - without_other_half(messages)
    assert ("invalid_context" in found.flags) == bool(broken)
    if method.strategy.id not in BREAKS_PAIRS and method.mode == "valid":
        assert not broken


def a_context_that_grew_says_so_and_dropping_alone_never_grows(
    found: CompactedContext, messages: tuple[Message, ...]
) -> None:
    before = sum(m.tokens or 0 for m in messages)
    assert found.tokens == sum(m.tokens or 0 for m in found.messages)
    assert ("grew" in found.flags) == (found.tokens > before)
    if not found.edited and all(any(m is o for o in messages) for m in found.messages):
        assert "grew" not in found.flags


@every_method
@sometimes
@given(messages=histories())
def test_compacting_again_without_new_messages_changes_nothing_more(
    method: Method, messages: tuple[Message, ...]
) -> None:
    """One pass is enough; a strategy that writes its whole summary anew may write it again, for the same messages."""
    once = run(method, messages, gist)
    twice = run(method, once.messages, gist, messages)
    if (method.strategy.id, method.mode) in TAKES_MORE:
        for _ in range(len(messages)):
            once, twice = twice, run(method, twice.messages, gist, messages)
    if method.strategy.id in REWRITES or (method.strategy.id, method.mode) in TAKES_MORE:
        assert [(m.role, stands_for([m])) for m in twice.messages] == [(m.role, stands_for([m])) for m in once.messages]
    else:
        assert twice.messages == once.messages


@every_model_method
@pytest.mark.parametrize("handler", [failing, blank])
@sometimes
@given(messages=histories())
def test_a_summary_that_fails_or_is_blank_changes_nothing(
    method: Method, handler: Callable[[SummaryRequest], str], messages: tuple[Message, ...]
) -> None:
    summarizer = ScriptedSummarizer(handler)
    given_history = history(messages, budget=BUDGET, summarizer=summarizer)
    try:
        found = compact(given_history, method)
    except SummaryError:  # Gemini's check may mend a blank draft, Letta asks once more for a summary of everything
        asks_again = method.strategy.id == "gemini_snapshot" and handler is blank
        if method.strategy.id == "letta_sliding":
            assert len(summarizer.requests) in (1, 2)
        elif method.strategy.id == "openhands_sdk":  # a hard context reset has five attempts
            assert len(summarizer.requests) in (5, 6)
        else:
            assert len(summarizer.requests) == 1 + asks_again
    else:
        if "blank_summary" in found.flags:
            assert (method.mode, handler) == ("faithful", blank)
            return
        if "summary_failed" in found.flags:  # a composition goes on with its next step
            assert method.mode == "faithful"
            return
        assert summarizer.requests == []
        assert found.messages == messages or method.strategy.id in COMPOSED
    assert given_history.messages == messages


@every_model_method
def test_a_strategy_without_its_summariser_says_what_is_missing(method: Method) -> None:
    messages = talk("u u a1 a1 u a1 a1 u u u u u", tokens=100)
    with pytest.raises(SummaryError, match="needs a summariser"):
        compact(history(messages, budget=BUDGET), method)


@every_method
@sometimes
@given(messages=histories(), step=st.integers(2, 9))
def test_in_a_chain_what_was_covered_once_stays_covered_and_what_was_dropped_never_comes_back(
    method: Method, messages: tuple[Message, ...], step: int
) -> None:
    legal = legal_cuts(messages)
    cuts = [i for i in range(step, len(messages), step) if legal[i]]
    left: tuple[Message, ...] = ()
    start = 0
    covered: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()
    for cut in cuts:
        found = run(method, left + messages[start:cut], gist, messages[:cut])
        keeps = method.strategy.id not in COMPOSED and (method.strategy.id, method.mode) not in FORGETS
        if method.strategy.needs_model and keeps:
            assert covered <= found.covered
        assert not gone & (found.kept | found.edited | found.covered)
        covered, gone, left, start = found.covered, gone | found.dropped, found.messages, cut


N_HISTORIES = 100
UNCHANGED = {"none"}
"""Changes nothing, on purpose: the ceiling."""


@pytest.mark.parametrize("name", METHODS)
def test_a_strategy_changes_at_least_a_fifth_of_short_histories(name: str) -> None:
    """With its ``bites``: one that keeps all that it is given would hold every promise here."""
    method = METHODS[name]
    generated = [timed(build(random_words(seed))) for seed in range(N_HISTORIES)]
    n_changed = sum(run(method, messages).messages != messages for messages in generated)
    if method.strategy.id in UNCHANGED:
        assert n_changed == 0
        return
    assert n_changed >= N_HISTORIES / 5, (
        f"{name} changes {n_changed} of {N_HISTORIES} short histories: "
        f'@strategy("{method.strategy.id}", bites={{…}}) declares parameters with which it does more'
    )


@every_method
def test_an_empty_history_stays_empty(method: Method) -> None:
    assert run(method, ()).messages == ()


@every_method
def test_every_strategy_is_documented_in_one_sentence_and_every_parameter_is_named(method: Method) -> None:
    summary = method.strategy.summary
    assert summary.endswith(".")
    assert len(summary) <= 120
    undocumented = {
        "preserve_system",
        "preserve_first_user_group",
        "metric",
        "mode",
        "keep_last_tool_call_groups",
        "result_chars",
        "summary_tokens",
        "max_chars",
        "n",
    }
    for name in set(method.params) - undocumented:
        assert f"``{name}``" in method.strategy.doc, name


def test_the_floor_is_below_and_the_ceiling_above_every_other_method() -> None:
    """On a session like the sample's, by what stays of it word for word."""
    transcript = Transcript(
        "s",
        tuple(
            Message(
                "user" if i % 9 == 1 else "system" if i == 0 else "assistant",
                f"m {i}",
                seq=i,
                tokens=10,
                timestamp=f"2026-01-01T00:{i:02}:00Z",
            )
            for i in range(60)
        ),
    )
    kept = {name: len(run(method, transcript.messages).kept) for name, method in METHODS.items()}
    assert min(kept.values()) == kept["empty"] == 1
    assert max(kept.values()) == kept["none"] == 60


DOCS = Path(__file__).parents[2] / "docs"
ROWS = [
    line.split("`")[1]
    for line in (DOCS / "strategies.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| `")
]


@pytest.mark.parametrize("id", REGISTRY)
def test_a_strategy_is_in_every_place(id: str) -> None:
    methods = (DOCS / "methods.md").read_text(encoding="utf-8")
    pinned = json.loads((DOCS.parent / "tests" / "golden" / "behaviour.json").read_text(encoding="utf-8"))
    places = {"a row in the table of docs/strategies.md": id in ROWS}
    places["its section in docs/methods.md: python -m tests.pin"] = f"\n## {id}\n" in methods
    places["its digests in tests/golden/behaviour.json: python -m tests.pin"] = id in pinned
    missing = [place for place, there in places.items() if not there]
    assert missing == [], f"the strategy {id} lacks: {'; '.join(missing)}"


def test_the_page_on_strategies_lists_none_that_is_not_there() -> None:
    assert sorted(ROWS) == sorted(REGISTRY)
