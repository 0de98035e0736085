"""Hermes' lean compaction by hand: what is looked up later, and what stays for it."""

from __future__ import annotations

from dataclasses import replace

from compaction import Message, ToolCall, compact, parse_method
from compaction.strategies.hermes.pruning import DUPLICATE
from compaction.strategies.hermes.summary import RECOVER, index_anchors
from compaction.testing import CharacterCounter, ScriptedSummarizer, history, talk
from compaction.tokens import counted


def session(n_rounds: int, result: str = "out {n}\n" + "line\n" * 60) -> tuple[Message, ...]:
    said = [Message("system", "rules"), Message("user", "Mend the mill, see #1234.")]
    for n in range(n_rounds):
        call = ToolCall(f"c{n}", "Bash", f'{{"command":"make wheel{n}","why":"{"because " * 90}"}}')
        said += [
            Message("assistant", f"wheel {n}", tool_calls=(call,)),
            Message("tool", result.format(n=n), tool_call_id=f"c{n}", tool_name="Bash"),
        ]
        if n % 4 == 3:
            said.append(Message("user", f"Go on with {n}."))
    said.append(Message("assistant", "All done in src/mill.py."))
    return tuple(counted(replace(message, seq=n), CharacterCounter()) for n, message in enumerate(said))


def left_by(spec: str, messages: tuple[Message, ...], model: ScriptedSummarizer) -> tuple[Message, ...]:
    return compact(history(messages, summarizer=model, budget=8000), parse_method(spec)).messages


def test_names_are_listed_by_how_often_they_came_and_then_the_newest_first() -> None:
    texts = (
        "see #1234 and src/a.py, then #77 and src/b/c.ts; KeyError: 'oil' at https://mill.example/wheel.",
        "src/a.py again (#1234), commit 0123456789ab on fix/wheel-7, ask @miller.",
    )
    assert index_anchors([Message("user", text) for text in texts]).splitlines()[:-1] == [
        "PRs/issues: #1234(x2)",
        "commits: 0123456789ab",
        "branches: fix/wheel-7",
        "files: src/a.py(x2), src/b/c.ts",
        "errors: KeyError: 'oil' at https://mill.example/wheel",
        "handles: @miller",
        "urls: https://mill.example/wheel",
    ]
    assert index_anchors([Message("user", "nothing of the kind")]) == ""


def test_the_summary_ends_with_names_the_users_words_and_how_many_messages_the_search_reaches() -> None:
    messages = session(12)
    model = ScriptedSummarizer(lambda _: "## Goal\nmend")
    left = left_by("hermes_lean(tail_tokens=300)", messages, model)
    summary = next(m for m in left if m.seq is None)
    head = left[: left.index(summary)]
    assert [m.seq for m in head] == [0, 1, 2, 3]
    title = "## Historical Task Snapshot\nUser asked (from the compacted messages): Go on with 3.\n"
    assert title in summary.text
    for part in ("## Goal\nmend\n", "> Go on with 3.\n", RECOVER.format(n=len(summary.covers))):
        assert part in summary.text
    assert summary.covers == tuple(range(4, left[len(head) + 1].seq or 0))
    assert [m.seq for m in left[len(head) + 1 :]] == list(range(summary.covers[-1] + 1, len(messages)))
    assert len(model.requests) == 1
    assert "because " * 90 not in model.requests[0].prompt[-1].text


def test_old_results_are_lines_and_of_equal_ones_only_the_newest_stays() -> None:
    model = ScriptedSummarizer()
    left_by("hermes_lean(tail_tokens=100)", session(12, "same " * 100), model)
    shown = [m.text for m in model.requests[0].span if m.role == "tool"]
    assert shown[0] == DUPLICATE
    model = ScriptedSummarizer()
    left_by("hermes_lean(tail_tokens=100)", session(12), model)
    shown = [m.text for m in model.requests[0].span if m.role == "tool"]
    assert shown[0] == "[Bash] command=make wheel1 why=because because because because because  (306 chars)"


def test_older_results_of_the_tail_become_pointers_into_the_history() -> None:
    messages = session(12)
    left = left_by("hermes_lean(tail_tokens=1500,keep_tool_rounds=2,demote_chars=300)", messages, ScriptedSummarizer())
    results = [m.text for m in left if m.role == "tool"]
    pointers = [
        text for text in results if text.startswith("[Bash output demoted at compaction — 306 chars preserved in")
    ]
    assert pointers == results[-2 - len(pointers) : -2] != []
    assert results[-2:] == [m.text for m in messages if m.role == "tool"][-2:]


def test_an_earlier_summary_goes_into_the_next_and_protects_no_head() -> None:
    messages = session(12)
    once = left_by("hermes_lean(tail_tokens=300)", messages, ScriptedSummarizer(lambda _: "## Goal\nmend"))
    more = (replace(m, seq=(m.seq or 0) + len(messages)) for m in session(9)[1:])
    model = ScriptedSummarizer(lambda _: "## Goal\nmore")
    left = left_by("hermes_lean(tail_tokens=300)", (*once, *more), model)
    assert [m.seq for m in left[:2]] == [0, None]
    assert "## Goal\nmend" in model.requests[0].previous
    assert left[1].covers[0] == 1
    assert sum(m.seq is None for m in left) == 1


def test_where_there_is_too_little_nothing_is_done() -> None:
    messages = talk("s u a u a")
    assert left_by("hermes_lean", messages, ScriptedSummarizer()) == messages
