"""The peers' own classes against our re-implementations, on the same generated histories; each needs its peer.

docs/strategies.md ("Running the originals") says how to run these; the ordinary run skips them, and checks what the
peers did from ``golden`` instead.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from compaction import (
    CompactedContext,
    Message,
    NotApplicable,
    StrategyError,
    SummaryError,
    compact,
    make_method,
    parse_method,
)
from compaction.strategies import claude_code_style
from compaction.strategies.langchain import render_messages
from compaction.testing import ScriptedSummarizer, blank, failing, history
from tests.compaction.golden.rows import in_two
from tests.compaction.histories import build, random_words, varied

HISTORIES = 60
ENDLESS = 10**9

pytestmark = pytest.mark.filterwarnings("ignore")  # the peers' own


def needs(module: str, package: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(module, reason=f"not run: the peer's package {package} is not installed here")
    logging.getLogger("inspect_ai").setLevel(logging.CRITICAL)


@dataclass
class Outcome:
    """What a method does at each of two compactions, the second on what the first left."""

    left: list[Any]
    asked: list[list[str]]


Handler = Callable[[Any], str]


def outcome(
    spec: str,
    messages: tuple[Message, ...],
    *,
    text: Callable[[Message], Any] = lambda m: m.text,
    shown: Callable[[Any], str] = lambda request: request.prompt[-1].text,
    handler: Handler | None = None,
    budget: int = ENDLESS,
    cuts: Sequence[int] = (),
) -> Outcome:
    method = parse_method(spec)
    found = Outcome([], [])
    left: tuple[Message, ...] = ()
    start = 0
    for cut in in_two(messages) if not cuts else (len(messages),):
        summarizer = ScriptedSummarizer(handler)
        given = history(
            (*left, *messages[start:cut]), budget=budget, summarizer=summarizer, earlier_cuts=cuts, session=messages
        )
        given.previous = left
        start = cut
        try:
            done = compact(given, method)
        except (SummaryError, NotApplicable):
            found.left.append("failed")
            left = given.messages
        else:
            found.left.append(account(done, text))
            left = done.messages
        found.asked.append([shown(request) for request in summarizer.requests])
    return found


def account(done: CompactedContext, text: Callable[[Message], Any]) -> Any:
    rows = [
        (
            m.seq if m.seq is not None else "made",
            *(m.role, text(m), m.reasoning, m.tool_call_id, m.covers),
            [(call.id, call.name, call.parsed()) for call in m.tool_calls],
        )
        for m in done.messages
    ]
    return rows, sorted(done.kept), sorted(done.edited), sorted(done.covered), sorted(done.dropped)


def cases() -> list[tuple[Message, ...]]:
    return [build(random_words(seed)) for seed in range(HISTORIES)]


def with_failures(pairs: list[tuple[str, str]]) -> list[tuple[str, str, Handler | None]]:
    """Each pair with a summariser that answers; those that ask it also with one that fails and one that is blank."""
    return [
        (theirs, ours, handler)
        for theirs, ours in pairs
        for handler in ((None, failing, blank) if theirs.startswith("Summarization") else (None,))
    ]


AGENT_FRAMEWORK = [
    ("TruncationStrategy(max_n=8,compact_to=5)", "af_py_truncation(metric=messages,max_n=8,compact_to=5,forced=False)"),
    (
        "TruncationStrategy(max_n=4,compact_to=2,preserve_system=False,preserve_first_user_group=True)",
        "af_py_truncation(metric=messages,max_n=4,compact_to=2,preserve_system=False,preserve_first_user_group=True,"
        "forced=False)",
    ),
    ("SlidingWindowStrategy(keep_last_groups=3)", "af_py_sliding_window(keep_last_groups=3)"),
    (
        "SlidingWindowStrategy(keep_last_groups=1,preserve_system=False)",
        "af_py_sliding_window(keep_last_groups=1,preserve_system=False)",
    ),
    ("SelectiveToolCallCompactionStrategy", "af_py_selective_tool_call"),
    (
        "SelectiveToolCallCompactionStrategy(keep_last_tool_call_groups=0)",
        "af_py_selective_tool_call(keep_last_tool_call_groups=0)",
    ),
    ("ToolResultCompactionStrategy", "af_py_tool_result"),
    (
        "ToolResultCompactionStrategy(keep_last_tool_call_groups=0)",
        "af_py_tool_result(keep_last_tool_call_groups=0)",
    ),
    (
        "SummarizationStrategy(max_summary_input_tokens=None)",
        "af_py_summarization(max_summary_input_tokens=None,forced=False)",
    ),
    (
        "SummarizationStrategy(target_count=2,threshold=0,max_summary_input_tokens=None)",
        "af_py_summarization(target_count=2,threshold=0,max_summary_input_tokens=None,forced=False)",
    ),
]


@pytest.mark.parametrize(("theirs", "ours", "handler"), with_failures(AGENT_FRAMEWORK))
def test_agent_framework_itself_does_what_ours_does(theirs: str, ours: str, handler: Handler | None) -> None:
    needs("agent_framework", "agent-framework-core")
    for messages in map(varied, cases()):
        expected = outcome(ours, messages, handler=handler)
        assert outcome(f"peer:agent_framework.{theirs}", messages, handler=handler) == expected


def test_strategies_of_agent_framework_are_composed_of_others_and_count_with_a_named_tokenizer() -> None:
    needs("agent_framework", "agent-framework-core")
    steps = (
        "strategies=['peer:agent_framework.ToolResultCompactionStrategy','peer:agent_framework.SummarizationStrategy']"
    )
    method = parse_method(f"peer:agent_framework.TokenBudgetComposedStrategy(token_budget=300,tokenizer=exact,{steps})")
    assert method.needs_model
    assert parse_method(method.spec).params == method.params
    done = compact(history(build(random_words(7)), summarizer=ScriptedSummarizer()), method)
    summary = next(m for m in done.messages if m.text == "SUMMARY 1")
    assert set(summary.covers) > set(range(1, 5)), "also what the collapsed calls in it stood for"
    with pytest.raises(StrategyError, match="tokenizer must be one of characters, exact, not 'own'"):
        parse_method("peer:agent_framework.TruncationStrategy(max_n=4,compact_to=2,tokenizer=own)")


LANGCHAIN = [
    ("ClearToolUsesEdit", "clear_tool_uses"),
    ("ClearToolUsesEdit(keep=0,clear_tool_inputs=True)", "clear_tool_uses(keep=0,clear_tool_inputs=True)"),
    ("ClearToolUsesEdit(keep=1,exclude_tools=['tool_4'])", "clear_tool_uses(keep=1,exclude_tools=tool_4)"),
    ("ClearToolUsesEdit(keep=1,forced=False)", "clear_tool_uses(keep=1,forced=False)"),
    ("ContextEditingMiddleware(edits=['peer:langchain.ClearToolUsesEdit(keep=1)'])", "clear_tool_uses(keep=1)"),
    (
        "SummarizationMiddleware(keep=('messages',3),trim_tokens_to_summarize=None)",
        "langchain_summary(keep=3,mode=faithful)",
    ),
    (
        "SummarizationMiddleware(keep=['messages',20],trim_tokens_to_summarize=None)",
        "langchain_summary(keep=20,mode=faithful)",
    ),
]


@pytest.mark.parametrize(("theirs", "ours", "handler"), with_failures(LANGCHAIN))
def test_langchain_itself_does_what_ours_does(theirs: str, ours: str, handler: Handler | None) -> None:
    needs("langchain.agents.middleware", "langchain")
    for messages in cases():
        expected = outcome(ours, messages, handler=handler, shown=lambda request: render_messages(request.span))
        found = outcome(f"peer:langchain.{theirs}", messages, handler=handler, shown=lambda r: render_messages(r.span))
        assert found == expected
        prompts = outcome(f"peer:langchain.{theirs}", messages, handler=handler).asked
        assert all(
            body in prompt
            for bodies, round in zip(found.asked, prompts, strict=True)
            for body, prompt in zip(bodies, round, strict=True)
        )


def test_a_summary_of_langchain_that_the_model_was_never_asked_for_stands_for_nothing() -> None:
    needs("langchain.agents.middleware", "langchain")
    messages = build(["user", *["call1", "result"] * 3, "giant", *["call1", "result"] * 40])
    spec = "peer:langchain.SummarizationMiddleware(keep=('messages',4),trim_tokens_to_summarize=10)"
    summarizer = ScriptedSummarizer()
    done = compact(history(messages, summarizer=summarizer), parse_method(spec))
    assert [m.covers for m in done.messages if m.seq is None] == [()]
    assert (summarizer.requests, done.covered) == ([], frozenset())


INSPECT = [
    ("CompactionTrim", "inspect_trim"),
    ("CompactionTrim(preserve=0.5)", "inspect_trim(preserve=0.5)"),
    ("CompactionTrim(preserve=0)", "inspect_trim(preserve=0)"),
    ("CompactionEdit", "inspect_edit"),
    ("CompactionEdit(keep_tool_uses=0,keep_thinking_turns=0)", "inspect_edit(keep_tool_uses=0,keep_thinking_turns=0)"),
    (
        "CompactionEdit(keep_tool_uses=1,keep_thinking_turns=all,exclude_tools=['tool_4'])",
        "inspect_edit(keep_tool_uses=1,keep_thinking_turns=None,exclude_tools=tool_4)",
    ),
]


@pytest.mark.parametrize(("theirs", "ours"), INSPECT)
def test_inspect_itself_does_what_ours_does(theirs: str, ours: str) -> None:
    needs("inspect_ai.model", "inspect-ai")
    for messages in cases():
        assert outcome(f"peer:inspect_ai.{theirs}", messages) == outcome(ours, messages)


def written_by_the_model(message: Message) -> str:
    """A summary of inspect's without the sentences around it, which are ours in ours."""
    text = message.text.removeprefix(claude_code_style.OPENING).removesuffix(claude_code_style.CLOSING)
    is_theirs = message.seq is None and text.startswith("[CONTEXT COMPACTION SUMMARY]")
    return text.split("\n\n")[2] if is_theirs else text


@pytest.mark.parametrize("handler", [None, failing])
def test_inspects_summary_itself_does_what_ours_does(handler: Handler | None) -> None:
    """Ours alone asks for nothing, and the original for a summary of the input, where there is no conversation."""
    needs("inspect_ai.model", "inspect-ai")
    compared = 0

    def shown(request: Any) -> str:
        rows = [(m.seq, m.role, written_by_the_model(m), m.reasoning, m.tool_calls) for m in request.span]
        return json.dumps(rows, default=repr)

    for messages in cases():
        ours = outcome("claude_code_style_regen", messages, handler=handler, text=written_by_the_model, shown=shown)
        if not all(ours.asked):
            continue
        compared += 1
        theirs = outcome(
            "peer:inspect_ai.CompactionSummary", messages, handler=handler, text=written_by_the_model, shown=shown
        )
        assert theirs == ours
    assert compared >= 20


OPENHANDS = [
    ("LLMSummarizingCondenser", "openhands_sdk"),
    ("default_condenser", "openhands_sdk(max_size=80,keep_first=4)"),
    ("LLMSummarizingCondenser(max_size=10)", "openhands_sdk(max_size=10)"),
    ("LLMSummarizingCondenser(max_size=10,forced=False)", "openhands_sdk(max_size=10,forced=False)"),
    ("LLMSummarizingCondenser(max_size=10,thinking_blocks=False)", "openhands_sdk(max_size=10,thinking_blocks=False)"),
    (
        "PipelineCondenser(condensers=['peer:openhands.NoOpCondenser','peer:openhands.LLMSummarizingCondenser'])",
        "openhands_sdk",
    ),
]


@pytest.mark.parametrize(("theirs", "ours"), OPENHANDS)
@pytest.mark.parametrize("handler", [None, failing, blank])
@pytest.mark.parametrize("is_chain", [True, False], ids=["chain", "prefix"])
def test_openhands_itself_does_what_ours_does(theirs: str, ours: str, handler: Handler | None, is_chain: bool) -> None:
    """But for the crash of the SDK when it is asked to condense a view without events."""
    needs("openhands.sdk.context.condenser", "openhands-sdk")
    compared = 0

    def shown(request: Any) -> str:
        text = request.prompt[1].text
        return str(text[: text.rindex("</EVENT>")])

    for messages in map(varied, cases()[:30]):
        cuts = () if is_chain else (in_two(messages)[0],)
        for budget in (ENDLESS, sum(m.tokens or 0 for m in messages) // 3):
            expected = outcome(ours, messages, handler=handler, shown=shown, budget=budget, cuts=cuts)
            try:
                found = outcome(
                    f"peer:openhands.{theirs}", messages, handler=handler, shown=shown, budget=budget, cuts=cuts
                )
            except ValueError as error:
                assert "condense 0 events" in str(error) or "empty" in str(error)  # noqa: PT017
                continue
            compared += 1
            assert found == expected, (budget, messages)
    assert compared >= 40


def test_what_the_embedded_summariser_is_told_of_a_condensers_prompt_is_what_ours_tells_it() -> None:
    needs("openhands.sdk.context.condenser", "openhands-sdk")

    def spans(spec: str, messages: tuple[Message, ...]) -> list[Any]:
        summarizer = ScriptedSummarizer()
        compact(history(messages, budget=ENDLESS, summarizer=summarizer), parse_method(spec))
        return [[(m.role, m.text) for m in request.span] for request in summarizer.requests]

    compared = 0
    for messages in map(varied, cases()[:30]):
        try:
            found = spans("peer:openhands.LLMSummarizingCondenser(max_size=10)", messages)
        except ValueError:
            continue
        assert found == spans("openhands_sdk(max_size=10)", messages)
        compared += bool(found)
    assert compared >= 10


def test_what_a_peer_refuses_is_refused_when_the_method_is_named() -> None:
    needs("agent_framework", "agent-framework-core")
    with pytest.raises(StrategyError, match=r"keep_last_groups must be (greater|more) than 0"):
        make_method("peer:agent_framework.SlidingWindowStrategy", {"keep_last_groups": 0})
    with pytest.raises(StrategyError, match="has no parameter 'keep'; it has: keep_last_groups, preserve_system"):
        make_method("peer:agent_framework.SlidingWindowStrategy", {"keep": 3})
    with pytest.raises(StrategyError, match=r"missing 1 required .* 'keep_last_groups'"):
        make_method("peer:agent_framework.SlidingWindowStrategy")
    with pytest.raises(StrategyError, match="client is the run's summariser; leave it out"):
        make_method("peer:agent_framework.SummarizationStrategy", {"client": "gpt"})
    with pytest.raises(StrategyError, match=r"agent-framework-core [\d.]+ has no 'Slide' in agent_framework"):
        make_method("peer:agent_framework.Slide")


def test_a_class_of_ones_own_that_derives_from_the_peers_runs_as_one(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("langchain.agents.middleware", "langchain")
    (tmp_path / "our_middleware.py").write_text(
        "from langchain.agents.middleware import AgentMiddleware\n"
        "from langchain_core.messages import RemoveMessage\n"
        "class LastOnes(AgentMiddleware):\n"
        "    def __init__(self, keep=2):\n"
        "        super().__init__()\n"
        "        self.keep = keep\n"
        "    async def abefore_model(self, state, runtime):\n"
        "        return {'messages': [RemoveMessage(id=m.id) for m in state['messages'][:-self.keep]]}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    messages = build(["user", "text", "user", "text"])
    done = compact(history(messages), parse_method("peer:our_middleware:LastOnes(keep=3)"))
    assert sorted(done.kept) == [1, 2, 3]
