"""Codex's local compaction: cases of its own tests as vectors, and rules read off its source, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from compaction import CompactedContext, Message, SummaryError, SummaryRequest, compact, make_method
from compaction.model import ContextOverflowError
from compaction.strategies.codex import SUMMARY_PREFIX, cut_middle, is_injected
from compaction.testing import ScriptedSummarizer, blank, history, talk

AGENTS = "# AGENTS.md instructions for project\n\n<INSTRUCTIONS>\ndo things\n</INSTRUCTIONS>"
ENVIRONMENT = "<ENVIRONMENT_CONTEXT>cwd=/tmp</ENVIRONMENT_CONTEXT>"
EMOJI = "😀" * 10 + "\nsecond line with text\n"


def said(*messages: tuple[str, str]) -> tuple[Message, ...]:
    return tuple(Message(role, text, seq=i) for i, (role, text) in enumerate(messages))  # type: ignore[arg-type]


def run(messages: Sequence[Message], model: ScriptedSummarizer | None = None, **params: Any) -> CompactedContext:
    return compact(history(messages, summarizer=model or ScriptedSummarizer()), make_method("codex_local", params))


def texts(found: CompactedContext) -> list[str]:
    return [m.text for m in found.messages]


@pytest.mark.parametrize(
    ("text", "tokens", "left"),
    [
        ("short output", 100, "short output"),
        ("example output", 10, "example output"),
        ("abcdef", 0, "…2 tokens truncated…"),
        ("example output", 1, "ex…3 tokens truncated…ut"),
        (
            "this is an example of a long output that should be truncated",
            5,
            "this is an…10 tokens truncated… truncated",
        ),
        (EMOJI, 8, "😀😀😀😀…8 tokens truncated… line with text\n"),
        ("😀😀😀😀😀", 4, "😀😀…1 tokens truncated…😀😀"),
        ("😀😀😀😀😀", 3, "😀…2 tokens truncated…😀"),
        ("😀😀😀😀😀", 1, "…4 tokens truncated…"),
        ("", 0, ""),
    ],
)
def test_the_middle_is_cut_on_character_boundaries_and_the_marker_counts_four_bytes_a_token(
    text: str, tokens: int, left: str
) -> None:
    assert cut_middle(text, tokens) == left


def test_after_the_user_messages_stands_the_prefix_a_newline_and_the_summary() -> None:
    found = run(said(("user", "first user message"), ("assistant", "ignored")))
    assert [m.role for m in found.messages] == ["user", "user"]
    assert texts(found) == ["first user message", f"{SUMMARY_PREFIX}\nSUMMARY 1"]
    assert (found.kept, found.covered, found.dropped) == ({0}, {1}, set())


def test_the_newest_user_messages_stay_and_the_one_that_does_not_fit_is_cut() -> None:
    """Budget 10: `last` has 1 token, 24 n have 6, so 3 are left for 40 m, which have 10; nothing before it stays."""
    messages = said(
        ("user", "oldest"),
        ("user", "m" * 40),
        ("assistant", "ok"),
        ("user", "n" * 24),
        ("user", "last"),
    )
    found = run(messages, user_tokens=10)
    assert texts(found)[:-1] == ["mmmmmm…7 tokens truncated…mmmmmm", "n" * 24, "last"]
    assert (found.edited, found.kept, found.covered) == ({1}, {3, 4}, {0, 2})


def test_of_two_messages_of_two_tokens_three_leave_one_for_the_older() -> None:
    found = run(said(("user", "abcdefgh"), ("user", "ijklmnop")), user_tokens=3)
    assert texts(found)[:-1] == ["ab…1 tokens truncated…gh", "ijklmnop"]


def test_messages_that_fill_the_budget_exactly_stay_whole_and_an_empty_budget_keeps_none() -> None:
    messages = said(("user", "aaaa"), ("user", "bbbb"), ("user", "cccc"))
    assert texts(run(messages, user_tokens=2))[:-1] == ["bbbb", "cccc"]
    assert texts(run(messages, user_tokens=0)) == [f"{SUMMARY_PREFIX}\nSUMMARY 1"]


def test_two_hundred_words_in_sixteen_tokens_keep_thirty_two_bytes_of_either_end() -> None:
    found = run(said(("user", "word " * 200)), user_tokens=16)
    assert texts(found)[0] == "word " * 6 + "wo…234 tokens truncated…" + "d " + "word " * 6


@pytest.mark.parametrize(
    "text",
    [
        AGENTS,
        ENVIRONMENT,
        AGENTS + "\n" + ENVIRONMENT,
        f"  {ENVIRONMENT}\n",
        "<turn_aborted>\n  <turn_id>turn-1</turn_id>\n</turn_aborted>",
        "<SUBAGENT_NOTIFICATION>{}</subagent_notification>",
        "<skill>\nx\n</skill>",
        "<user_shell_command>\nls\n</user_shell_command>",
        "<additional_context>\n<title>Context from my editor</title>\n</additional_context>",
        "Warning: The maximum number of unified exec processes you can keep open is 60 and you currently have 61",
        "Warning: apply_patch was requested via exec_command. Use the apply_patch tool instead of exec_command.",
        "Warning: Your account was flagged for potentially high-risk cyber activity and this request was routed",
    ],
)
def test_what_codex_injects_as_a_user_message_is_not_kept_as_one(text: str) -> None:
    assert is_injected(text)
    found = run(said(("assistant", "hello"), ("user", text), ("user", "real user message")))
    assert texts(found)[:-1] == ["real user message"]


@pytest.mark.parametrize(
    "text",
    ["hello", "<div> is not closed", "Warning: this is mine", "<environment_context> what is that?", AGENTS[:40]],
)
def test_what_only_looks_like_it_is_a_user_message(text: str) -> None:
    assert not is_injected(text)


def test_the_initial_context_stays_in_front_up_to_the_first_real_request() -> None:
    messages = said(
        ("system", "base"),
        ("system", "<permissions instructions>"),
        ("user", AGENTS),
        ("system", "hook"),
        ("user", "do it"),
        ("assistant", "done"),
        ("system", "<collaboration_mode>"),
        ("user", ENVIRONMENT),
    )
    found = run(messages)
    assert found.kept == {0, 1, 2, 3, 4}
    assert [m.seq for m in found.messages] == [0, 1, 2, 3, 4, None]
    assert found.covered == {5, 6, 7}


def test_the_summariser_is_shown_everything_but_the_system_prompt() -> None:
    model = ScriptedSummarizer()
    run(said(("system", "base"), ("user", AGENTS), ("user", "do it"), ("assistant", "done")), model)
    assert [m.seq for m in model.requests[0].span] == [1, 2, 3]
    assert model.requests[0].previous == ""


def test_an_earlier_summary_is_told_by_its_prefix_and_is_replaced_by_the_next() -> None:
    model = ScriptedSummarizer()
    first = run(said(("user", "one"), ("assistant", "a")), model).messages
    more = tuple(replace(m, seq=2 + i) for i, m in enumerate(said(("user", "two"), ("assistant", "b"))))
    second = run((*first, *more), model)
    assert texts(second) == ["one", "two", f"{SUMMARY_PREFIX}\nSUMMARY 2"]
    assert f"{SUMMARY_PREFIX}\nSUMMARY 1" in model.requests[1].prompt[1].text
    assert second.covered == {1, 3}


def test_a_text_without_the_newline_after_the_prefix_is_no_summary() -> None:
    assert texts(run(said(("assistant", "a"), ("user", SUMMARY_PREFIX))))[0] == SUMMARY_PREFIX


def test_when_the_request_is_too_long_the_oldest_goes_with_its_results_and_it_is_asked_again() -> None:
    def narrow(request: SummaryRequest) -> str:
        if len(request.span) > 3:
            raise ContextOverflowError("too long")
        return "brief"

    messages = talk("s u a2 a u a", tokens=99)
    model = ScriptedSummarizer(narrow)
    found = run(messages, model)
    assert [[m.seq for m in r.span] for r in model.requests] == [
        [1, 2, 3, 4, 5, 6, 7],
        [2, 3, 4, 5, 6, 7],
        [5, 6, 7],
    ]
    assert (found.kept, found.covered, found.dropped) == ({0, 1, 6}, {5, 7}, {2, 3, 4})
    assert found.flags == ("summary_input_trimmed",)


def test_when_nothing_is_left_to_leave_out_the_history_stays() -> None:
    def never(request: SummaryRequest) -> str:
        raise ContextOverflowError("too long")

    model = ScriptedSummarizer(never)
    with pytest.raises(SummaryError, match="too long"):
        run(talk("u a"), model)
    assert len(model.requests) == 3


def test_a_blank_summary_is_refused_and_taken_by_the_faithful_mode() -> None:
    with pytest.raises(SummaryError, match="blank"):
        run(talk("u a"), ScriptedSummarizer(blank))
    found = run(talk("u a"), ScriptedSummarizer(blank), mode="faithful")
    assert found.messages[-1].text == f"{SUMMARY_PREFIX}\n"
    assert "blank_summary" in found.flags
