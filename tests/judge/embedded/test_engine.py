"""Prober, responder and summariser on one small session whose facts are known."""

import json
from dataclasses import replace

import pytest

from compaction import CompactionPoint, Message, Section, SummaryRequest, TiktokenCounter, ToolCall, Transcript, counted
from compaction.measures.needs import SessionNeeds
from compaction.summarizers.extractive import EMPTY, EmbeddedSummarizer, parse_summary
from judge import NotAsked, Probe
from judge.embedded import EmbeddedProber
from judge.measures.kept_files import KeptFiles
from judge.measures.states import ContextReader

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


def test_every_truth_is_quoted_from_a_message_before_the_cut() -> None:
    for probe in PROBES.values():
        assert probe.evidence
        for evidence in probe.evidence:
            message = SESSION.messages[evidence.seq]
            assert evidence.seq < POINT.cut_seq
            assert evidence.quote in message.text or any(evidence.quote in c.arguments for c in message.tool_calls)


def test_the_files_are_those_of_the_tool_calls() -> None:
    assert [(s.kind, s.text) for s in PROBES["artifact"].statements] == [
        ("file_modified", "src/pool.py"),
        ("file_created", "src/retry.py"),
    ]


def test_only_unfinished_tasks_are_open() -> None:
    open_tasks = [s.text for s in PROBES["continuation"].statements if s.kind == "open_task"]
    assert open_tasks == ["write the restart test"]


def test_the_same_point_is_asked_the_same_again() -> None:
    again = {p.probe_type: p for p in EmbeddedProber().probes(SESSION, POINT) if isinstance(p, Probe)}
    assert again == PROBES


def test_a_history_that_proves_nothing_is_not_asked_about() -> None:
    mute = Transcript("m", tuple(counted(Message("user", "hm", seq=i), COUNTER) for i in range(3)))
    assert all(
        isinstance(p, NotAsked) and p.reason for p in EmbeddedProber().probes(mute, CompactionPoint("m", 1, 2, 2))
    )


@pytest.mark.parametrize("probe_type", ["recall", "artifact", "continuation"])
def test_the_full_history_holds_every_statement_and_an_empty_context_none(probe_type: str) -> None:
    statements, contexts = PROBES[probe_type].statements, (HISTORY, ())
    kept = KeptFiles(SessionNeeds(SESSION))
    files = [kept.told(context, POINT.cut_seq) for context in contexts]
    cut = POINT.cut_seq
    full, empty = ContextReader(SESSION.messages, contexts).states(statements, cut, contexts, files, kept.true(cut))
    assert {one.state for one in full} == {"readable"}
    assert {one.state for one in empty} == {"lost"}


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
