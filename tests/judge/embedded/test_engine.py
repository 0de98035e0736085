"""Prober, responder and summariser on one small session whose facts are known."""

import json
from dataclasses import replace

import pytest

from compaction import CompactionPoint, Message, Section, SummaryRequest, TiktokenCounter, ToolCall, Transcript, counted
from compaction.summarizers.extractive import EMPTY, EmbeddedSummarizer, parse_summary
from judge import NotAsked, Probe
from judge.embedded import EmbeddedProber, EmbeddedResponder
from judge.embedded.claims import ABSTENTION

COUNTER = TiktokenCounter()
ERROR = "ModuleNotFoundError: No module named 'hiredis'"
DECISION = "I'll keep `RedisPool` at twelve sockets instead of four because the broker closes idle ones."


def call(id: str, name: str, **arguments: str) -> ToolCall:
    return ToolCall(id, name, json.dumps(arguments))


def session() -> Transcript:
    steps = [
        Message("user", "Please make the session store survive a broker restart."),
        Message("assistant", "The suite first.", tool_calls=(call("1", "Bash", command="pytest -q tests/store"),)),
        Message("tool", f"Traceback (most recent call last):\n{ERROR}\nExit code 1", tool_call_id="1", is_error=True),
        Message("assistant", "", tool_calls=(call("2", "Read", file_path="src/pool.py"),)),
        Message("tool", "1\tsize = 4", tool_call_id="2"),
        Message(
            "assistant",
            DECISION,
            tool_calls=(call("3", "Edit", file_path="src/pool.py", old_string="size = 4", new_string="size = 12"),),
        ),
        Message("tool", "The file src/pool.py has been updated.", tool_call_id="3"),
        Message("assistant", "", tool_calls=(call("4", "Write", file_path="src/retry.py", content="def again(): 1"),)),
        Message("tool", "File created successfully at: src/retry.py", tool_call_id="4"),
        Message(
            "assistant",
            "",
            tool_calls=(
                ToolCall(
                    "5",
                    "TodoWrite",
                    json.dumps(
                        {
                            "todos": [
                                {"content": "raise the pool size", "status": "completed"},
                                {"content": "write the restart test", "status": "pending"},
                            ]
                        }
                    ),
                ),
            ),
        ),
        Message("tool", "ok", tool_call_id="5"),
        Message("assistant", "Next I'll write the restart test."),
        Message("user", "go on"),
    ]
    return Transcript("s", tuple(counted(replace(m, seq=i), COUNTER) for i, m in enumerate(steps)))


SESSION = session()
POINT = CompactionPoint("s", 1, 12, 1000)
HISTORY = SESSION.messages[:12]
PROBES = {p.probe_type: p for p in EmbeddedProber().probes(SESSION, POINT) if isinstance(p, Probe)}
RESPONDER = EmbeddedResponder()


def test_every_truth_is_quoted_from_a_message_before_the_cut() -> None:
    for probe in PROBES.values():
        assert probe.evidence
        for evidence in probe.evidence:
            message = SESSION.messages[evidence.seq]
            assert evidence.seq < POINT.cut_seq
            assert evidence.quote in message.text or any(evidence.quote in c.arguments for c in message.tool_calls)


def test_the_files_are_those_of_the_tool_calls() -> None:
    assert [(f.kind, f.value) for f in PROBES["artifact"].facts] == [
        ("file_created", "src/retry.py"),
        ("file_modified", "src/pool.py"),
    ]


def test_only_unfinished_tasks_are_open() -> None:
    open_tasks = [f.value for f in PROBES["continuation"].facts if f.kind == "open_task"]
    assert open_tasks == ["write the restart test"]


def test_a_decision_is_asked_for_by_some_of_its_words_and_its_reason_is_the_rest() -> None:
    probe = PROBES["decision"]
    assert probe.ground_truth == DECISION
    assert {fact.kind for fact in probe.facts} == {"decision", "reason"}
    assert not any(term in probe.question.lower() for fact in probe.facts for term in fact.terms)


def test_the_same_point_is_asked_the_same_again() -> None:
    again = {p.probe_type: p for p in EmbeddedProber().probes(SESSION, POINT) if isinstance(p, Probe)}
    assert again == PROBES


def test_a_history_that_proves_nothing_is_not_asked_about() -> None:
    mute = Transcript("m", tuple(counted(Message("user", "hm", seq=i), COUNTER) for i in range(3)))
    assert all(
        isinstance(p, NotAsked) and p.reason for p in EmbeddedProber().probes(mute, CompactionPoint("m", 1, 2, 2))
    )


@pytest.mark.parametrize("probe_type", ["recall", "artifact", "continuation", "decision"])
def test_the_full_history_holds_every_answer_and_an_empty_one_none(probe_type: str) -> None:
    probe = PROBES[probe_type]
    full = RESPONDER.answer(HISTORY, probe.question, probe.max_tokens).text
    assert all(fact.terms[0] in full.lower() for fact in probe.facts if fact.kind != "request")
    assert COUNTER.count(full) <= probe.max_tokens
    assert RESPONDER.answer((), probe.question, probe.max_tokens).text == ABSTENTION


ASK = "Which error message did the command `pytest -q tests/store` give the first time that it failed?"


def test_an_error_is_found_by_its_command_and_lost_when_the_output_is_masked() -> None:
    masked = tuple(m.with_text("(masked)") if m.role == "tool" else m for m in HISTORY)
    assert RESPONDER.answer(HISTORY, ASK, 100).text == ERROR
    assert RESPONDER.answer(masked, ASK, 100).text == ABSTENTION


@pytest.mark.parametrize("command", ["pytest -q tests/store", "printf 'a\u2028b\x0c' | wc -l"])
def test_an_error_is_found_beside_its_command_in_a_summary(command: str) -> None:
    """Also when the command holds what str.splitlines takes for the end of a line."""
    summary = Message("user", f"## Errors\n- `{command}`: {ERROR}", covers=(1, 2))
    assert RESPONDER.answer((summary,), ASK.replace("pytest -q tests/store", command), 100).text == ERROR


SECTIONS = (
    Section("Files", ("files",), "?"),
    Section("Decisions", ("decisions", "errors"), "?"),
    Section("Next", ("next_steps",), "?"),
)


def summary_of(span: tuple[Message, ...], previous: str = "", max_tokens: int = 400) -> str:
    request = SummaryRequest((), span, SECTIONS, previous, max_tokens)
    return EmbeddedSummarizer(COUNTER).summarize(request).text


def test_each_section_is_filled_with_what_belongs_there() -> None:
    items = parse_summary(summary_of(HISTORY), SECTIONS)
    assert [item.split(":")[0] for item in items["Files"]] == ["src/retry.py (created)", "src/pool.py (modified)"]
    assert items["Decisions"] == [DECISION, f"`pytest -q tests/store`: {ERROR}"]
    assert "write the restart test" in items["Next"]


def test_merging_keeps_what_the_previous_summary_says_and_what_was_created_stays_created() -> None:
    first, second = HISTORY[:9], HISTORY[9:]
    items = parse_summary(summary_of(second, summary_of(first)), SECTIONS)
    assert {item.split(":")[0] for item in items["Files"]} == {"src/retry.py (created)", "src/pool.py (modified)"}
    assert DECISION in items["Decisions"]


def test_a_summary_keeps_to_its_limit_and_leaves_no_section_out() -> None:
    text = summary_of(HISTORY, max_tokens=60)
    assert COUNTER.count(text) <= 60
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Files", "## Decisions", "## Next"]
    assert EMPTY in text
