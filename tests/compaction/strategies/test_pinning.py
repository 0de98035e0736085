"""Demands and open items on top of other methods, by hand: what is found, where it stands, how long it may be."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from compaction import CompactedContext, Message, ToolCall, compact, parse_method
from compaction.strategies.pinning import CONSTRAINTS, OPEN_ITEMS, find_demands
from compaction.testing import CharacterCounter, ScriptedSummarizer, history
from compaction.tokens import counted


def said(*turns: tuple[str, str] | Message, first: int = 0) -> tuple[Message, ...]:
    """Messages of (role, text), or as they are."""
    made = (turn if isinstance(turn, Message) else Message(turn[0], turn[1]) for turn in turns)
    return tuple(
        counted(Message(m.role, m.text, "", m.tool_calls, m.tool_call_id, seq=n), CharacterCounter())
        for n, m in enumerate(made, first)
    )


def run(spec: str, messages: Sequence[Message], session: Sequence[Message] = ()) -> CompactedContext:
    model = ScriptedSummarizer(lambda _: "You must not touch main.py.")
    return compact(history(tuple(messages), session=tuple(session), summarizer=model), parse_method(spec))


def pinned(found: CompactedContext, mark: str) -> list[str]:
    texts = [m.text for m in found.messages if m.text.startswith(mark)]
    assert len(texts) <= 1
    return texts[0].removeprefix(mark).strip().splitlines() if texts else []


TASK = "Fix the login. You must not touch main.py. Is that all?\n- Never commit to main.\n```\nonly = 1\n```\nThanks."
TALK = said(("system", "rules"), ("user", TASK), ("assistant", "I must look."), ("user", "Only use pytest, please."))


def test_demands_are_sentences_and_lines_but_no_questions_and_no_code() -> None:
    assert list(find_demands(TASK)) == ["You must not touch main.py.", "Never commit to main."]
    assert list(find_demands("Must it be red?\nonly\n" + "never " * 100)) == []


def test_demands_that_are_gone_stand_behind_the_system_prompt_word_for_word() -> None:
    found = run('constraint_pinning(over="recency(share=0.01)")', TALK)
    assert found.messages[0].seq == 0
    lines = pinned(found, CONSTRAINTS)
    assert lines[:2] == ["- You must not touch main.py.", "- Never commit to main."]
    assert found.messages[1].text.startswith(CONSTRAINTS)
    assert 1 in found.covered


def test_what_still_stands_is_not_pinned_again() -> None:
    assert run("constraint_pinning(over=none)", TALK).messages == TALK
    over_summary = run("constraint_pinning(over=freeform_summary)", TALK)
    assert pinned(over_summary, CONSTRAINTS) == ["- Never commit to main.", "- Only use pytest, please."]


def test_beyond_its_tokens_the_oldest_go_and_it_says_how_many() -> None:
    found = run("constraint_pinning(over=empty,pin_tokens=8)", TALK)
    assert pinned(found, CONSTRAINTS) == ["- and 2 earlier", "- Only use pytest, please."]


def test_in_a_chain_no_demand_is_forgotten_and_the_other_method_never_sees_the_list() -> None:
    first = run("constraint_pinning(over=empty)", TALK)
    more = said(("user", "Do not use mocks here."), ("assistant", "ok"), first=4)
    again = run("constraint_pinning(over=empty)", (*first.messages, *more), (*TALK, *more))
    assert pinned(again, CONSTRAINTS) == [
        "- You must not touch main.py.",
        "- Never commit to main.",
        "- Only use pytest, please.",
        "- Do not use mocks here.",
    ]
    same = run("constraint_pinning(over=empty)", again.messages, (*TALK, *more))
    assert same.messages == again.messages


def todo(*items: tuple[str, str]) -> Message:
    """A call that writes a list of (text, status)."""
    arguments = json.dumps({"todos": [{"content": text, "status": status} for text, status in items]})
    return Message("assistant", tool_calls=(ToolCall("1", "TodoWrite", arguments),))


@pytest.mark.parametrize(
    "listed",
    [
        todo(("look", "completed"), ("mend it", "in_progress"), ("test it", "pending")),
        Message("assistant", "Plan:\n- [x] look\n- [ ] mend it\n* [ ] test it"),
        Message(
            "assistant",
            tool_calls=(ToolCall("1", "run", json.dumps({"p": "- [x] look\n- [ ] mend it\n- [ ] test it"})),),
        ),
    ],
)
def test_open_items_of_the_last_list_are_pinned(listed: Message) -> None:
    old = todo(("old", "pending"))
    messages = said(("system", "rules"), ("user", "go"), old, ("tool", "ok"), listed, ("assistant", "so"))
    found = run("checklist(over=empty)", messages)
    assert pinned(found, OPEN_ITEMS) == ["- mend it", "- test it"]
    assert [m.seq for m in found.messages] == [0, None]
    assert found.covered == {4}
    assert run("checklist(over=none)", messages).messages == messages


def test_without_an_open_item_nothing_is_added() -> None:
    for listed in (todo(("look", "completed")), Message("assistant", "no list")):
        messages = said(("system", "rules"), ("user", "go"), listed, ("assistant", "so"))
        assert [m.seq for m in run("checklist(over=empty)", messages).messages] == [0]
