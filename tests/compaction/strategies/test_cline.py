"""Cline's compaction where the recordings do not reach: other agents' reads, check lists, and a request too long."""

from __future__ import annotations

import json
from collections.abc import Sequence

from compaction import Message, SummaryRequest, ToolCall, compact, parse_method
from compaction.model import ContextOverflowError
from compaction.strategies.cline import READ_AGAIN
from compaction.testing import CharacterCounter, ScriptedSummarizer, history, talk
from compaction.tokens import counted


def session(*steps: tuple[str, dict[str, object], str]) -> tuple[Message, ...]:
    """A request, an answer, and a call with its result for each (tool, arguments, result)."""
    said = [Message("user", "task"), Message("assistant", "well")]
    for n, (tool, arguments, result) in enumerate(steps):
        call = ToolCall(f"c{n}", tool, json.dumps(arguments))
        said += [
            Message("user", "on"),
            Message("assistant", tool_calls=(call,)),
            Message("tool", result, "", (), call.id),
        ]
    said.append(Message("assistant", "done"))
    return tuple(
        counted(Message(m.role, m.text, "", m.tool_calls, m.tool_call_id, seq=n), CharacterCounter())
        for n, m in enumerate(said)
    )


def left_by(spec: str, messages: Sequence[Message]) -> tuple[Message, ...]:
    model = ScriptedSummarizer()
    return compact(history(tuple(messages), summarizer=model), parse_method(spec)).messages


FILE = "x = 1\n" * 200


def test_a_read_that_another_agent_repeats_is_cleared_and_where_that_saves_enough_nothing_else_is_done() -> None:
    messages = session(("Read", {"file_path": "/a.py"}, FILE), ("Read", {"file_path": "/a.py"}, FILE + "y"))
    left = left_by("cline_auto_compact", messages)
    assert [m.seq for m in left] == [*range(9)]
    assert [m.text for m in left if m.role == "tool"] == [READ_AGAIN, FILE + "y"]


def test_parts_of_files_and_commands_of_a_shell_are_no_reads() -> None:
    messages = session(
        ("Read", {"file_path": "/a.py", "offset": 3}, FILE),
        ("Bash", {"command": "cat /a.py"}, FILE),
        ("Read", {"file_path": "/a.py"}, FILE),
    )
    left = left_by("cline_auto_compact(condense=false)", messages)
    assert READ_AGAIN not in [m.text for m in left]


def test_the_latest_check_list_follows_the_summary_and_none_is_made_up() -> None:
    listed = session(
        ("TodoWrite", {"todos": [{"content": "old", "status": "pending"}]}, "ok"),
        ("execute_command", {"command": "ls", "task_progress": "- [x] look\n- [ ] mend\n- [ ] test"}, "a.py"),
    )
    text = left_by("cline_auto_compact", listed)[-1].text
    assert text.endswith(
        "# task_progress List\n**Current Progress: 1/3 items completed (33%)**\n- [x] look\n- [ ] mend\n- [ ] test"
    )
    assert "task_progress" not in left_by("cline_auto_compact(focus_chain=false)", listed)[-1].text
    assert left_by("cline_auto_compact", listed[:5])[-1].text.endswith("(0%)**\n- [ ] old")
    plain = session(("Bash", {"command": "ls"}, "a.py"), ("Bash", {"command": "ls"}, "a.py"))
    assert "task_progress" not in left_by("cline_auto_compact", plain)[-1].text


def test_where_the_request_is_too_long_a_quarter_of_the_turns_is_summed_up() -> None:
    def refuse_once(request: SummaryRequest) -> str:
        if len(request.span) > 8:
            raise ContextOverflowError("too long")
        return "short"

    messages = talk("u a u a u a u a u a")
    model = ScriptedSummarizer(refuse_once)
    found = compact(history(messages, summarizer=model), parse_method("cline_auto_compact"))
    assert [len(request.span) for request in model.requests] == [10, 4]
    assert [m.text for m in found.messages[:1]] == ["[Continue assisting the user!]"]
    assert found.dropped == {2, 3, 4, 5, 6, 7}
    assert found.covered == {8, 9}


def test_three_quarters_go_where_the_history_has_more_than_twice_the_budget() -> None:
    messages = talk("u a u a u a u a u a")
    for budget, gone in ((50, {2, 3, 4, 5}), (49, {2, 3, 4, 5, 6, 7})):
        found = compact(history(messages, budget=budget), parse_method("cline_auto_compact(condense=false)"))
        assert found.dropped == gone
