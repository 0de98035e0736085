"""Which facts of a session are asked for: choices, errors of calls that failed, versions that were found, open work."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from compaction import CompactionPoint, Message, TiktokenCounter, ToolCall, Transcript, counted
from judge import NotAsked, Probe
from judge.embedded import EmbeddedProber
from judge.embedded.decisions import decisions, is_choice
from judge.embedded.facts import FactCandidate, SessionFacts
from judge.embedded.open_work import open_work
from judge.embedded.recall_facts import recall_facts

COUNTER = TiktokenCounter()


def transcript(*steps: Message, id: str = "s") -> Transcript:
    return Transcript(id, tuple(counted(replace(step, seq=i), COUNTER) for i, step in enumerate(steps)))


def ran(command: str, output: str, number: int = 1, *, is_error: bool = False) -> tuple[Message, Message]:
    """A shell call and its result."""
    call = ToolCall(f"c{number}", "Bash", json.dumps({"command": command}))
    return Message("assistant", "", tool_calls=(call,)), Message(
        "tool", output, tool_call_id=call.id, is_error=is_error
    )


def recalled(*steps: Message, kind: str) -> list[FactCandidate]:
    return [c for c in recall_facts(SessionFacts(transcript(*steps))) if c.kind == kind]


@pytest.mark.parametrize(
    "sentence",
    [
        "I'll store the amounts as integers instead of floats, so the totals add up.",
        "Let's go with SQLite rather than a server because one file is easier to move.",
        "We decided to keep the old endpoint since two clients still call it.",
        "I’m leaving `retry.go` alone to avoid a conflict with the open pull request.",
        "Use the builder from `forms.ts`, not the factory.",
    ],
)
def test_a_choice_names_what_it_was_made_against_or_why(sentence: str) -> None:
    assert is_choice(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The parser reads the header instead of the body, which is the bug.",
        "I need to decide whether to use a queue or a table instead of files.",
        "Maybe we should use a queue instead of a table here.",
        "If you prefer, I can use a queue instead of the table.",
        "Let me check the queue first because the table is slow.",
        "Should I use a queue instead of the table that we have?",
        "It stops there, so the delimiter is left over and not matched.",
        "I'll read the queue's module now because the table is slow.",
    ],
)
def test_findings_deliberation_offers_and_narration_are_no_choices(sentence: str) -> None:
    assert not is_choice(sentence)


def test_a_choice_is_asked_for_by_a_name_that_no_other_choice_has() -> None:
    first = "I'll keep LruCache for images instead of the plain dictionary."
    second = "I'll keep LruCache for users, and drop `fetch_all` instead of fixing it."
    found = decisions(SessionFacts(transcript(Message("assistant", f"{first} {second}"))))
    assert [(c.cue, c.quote) for c in found] == [("fetch_all", second)]


FAILURE = "ValueError: could not parse the ledger line"


def test_an_error_counts_where_its_call_failed() -> None:
    assert [c.quote for c in recalled(*ran("python load.py", FAILURE, is_error=True), kind="error")] == [FAILURE]
    assert [c.quote for c in recalled(*ran("python load.py", f"{FAILURE}\nExit code 1"), kind="error")] == [FAILURE]
    assert [c.quote for c in recalled(*ran("python load.py", f"begun\n{FAILURE}"), kind="error")] == [FAILURE]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("gh issue view 12", f"title: it stops\n{FAILURE}\nreported by two people\nlabels: bug\nassignee: nobody\n"),
        ("cat ledger.log", f"{FAILURE}"),
        ("python load.py", f"{FAILURE} was handled\n12 lines\n3 skipped\n1 repaired\ndone\nExit code 0"),
    ],
)
def test_an_error_that_was_only_printed_is_not_asked_for(command: str, output: str) -> None:
    assert recalled(*ran(command, output), kind="error") == []


def test_a_command_that_its_first_line_does_not_tell_is_not_pointed_at() -> None:
    assert recalled(*ran('python -c "\nimport ledger\n"', FAILURE, is_error=True), kind="error") == []
    assert recalled(*ran("python - <<'EOF'\nimport ledger\nEOF", FAILURE, is_error=True), kind="error") == []


def test_a_version_is_one_that_was_installed_or_reported() -> None:
    installed = ran("pip install requests", "Successfully installed requests-2.32.3 urllib3-2.2.1")
    assert ("requests", "2.32.3") in [(c.cue, c.quote) for c in recalled(*installed, kind="version")]
    manifest = ran("cat requirements.txt", "requests>=2.31.0\nurllib3==2.2.1")
    assert recalled(*manifest, kind="version") == []


def test_the_first_test_run_of_a_command_is_asked_for_its_counts() -> None:
    steps = (*ran("pytest -q", "== 2 failed, 40 passed in 3.1s =="), *ran("pytest -q", "== 42 passed in 3s ==", 2))
    [found] = recalled(*steps, kind="value")
    assert found.facts[0].text == "40 passed, 2 failed"


REQUEST = Message("user", "Please port the exporter to the new queue and write docs/export.md.")
PLAN = ToolCall("t", "TodoWrite", json.dumps({"todos": [{"content": "port the exporter", "status": "pending"}]}))


def open_at(*steps: Message, cut: int | None = None) -> list[str]:
    facts = SessionFacts(transcript(*steps))
    return [fact.text for fact, _ in open_work(facts, len(steps) if cut is None else cut)]


def test_a_request_is_open_until_the_agent_has_ended_its_turn_on_it() -> None:
    working = (REQUEST, *ran("ls", "src"))
    assert REQUEST.text in open_at(*working)
    ended = (*working, Message("assistant", "It is ported."), Message("user", "thanks"))
    assert open_at(*ended, cut=4) == []


def test_agreement_opens_what_was_asked_for_again() -> None:
    steps = (REQUEST, Message("assistant", "I would use one worker for it."), Message("user", "yes, go ahead"))
    assert REQUEST.text in open_at(*steps)


def test_a_file_that_the_request_names_is_open_until_it_is_written() -> None:
    call = ToolCall("w", "Write", json.dumps({"file_path": "docs/export.md", "content": "# Export"}))
    written = (Message("assistant", "", tool_calls=(call,)), Message("tool", "File created", tool_call_id="w"))
    assert "write docs/export.md" in open_at(REQUEST, *ran("ls", "src"))
    assert "write docs/export.md" not in open_at(REQUEST, *written)


def test_a_step_is_open_until_it_is_begun_and_at_most_ten_messages_old() -> None:
    said = Message("assistant", "Next I'll migrate the stored cursors to the new queue.")
    assert said.text in open_at(REQUEST, said)
    assert said.text not in open_at(REQUEST, said, *ran("make migrate", "ok"), *ran("ls", "x", 2))
    assert said.text not in open_at(REQUEST, said, Message("user", "Wait, drop the cursors altogether."))
    narrated = Message("assistant", "Let me check the cursors in the table.")
    assert narrated.text not in open_at(REQUEST, narrated)


def asked(session: Transcript, *cuts: int) -> list[dict[str, Probe | NotAsked]]:
    prober = EmbeddedProber()
    points = [CompactionPoint(session.session_id, i + 1, cut, 100, cuts[:i]) for i, cut in enumerate(cuts)]
    return [{probe.probe_type: probe for probe in prober.probes(session, point)} for point in points]


def test_no_question_comes_twice_in_a_session() -> None:
    steps = [REQUEST, Message("assistant", "", tool_calls=(PLAN,)), Message("tool", "ok", tool_call_id="t")]
    for n in range(6):
        steps += ran(f"python step_{n}.py", f"RuntimeError: shard {n} of the exporter is gone", n, is_error=True)
    session = transcript(*steps, Message("assistant", "."), Message("user", "hm"))
    at = asked(session, 5, 9, 13)
    recall = [probes["recall"] for probes in at]
    assert all(isinstance(probe, Probe) for probe in recall)
    assert len({probe.question for probe in recall if isinstance(probe, Probe)}) == 3
    assert isinstance(at[0]["continuation"], Probe)
    assert isinstance(at[1]["continuation"], NotAsked)
    assert "changed" in at[1]["continuation"].reason


def test_what_the_system_prompt_gives_away_is_not_asked() -> None:
    failed = (Message("user", "hm"), *ran("python load.py --all", FAILURE, is_error=True), Message("assistant", "."))
    given = Message("system", f"Known: `python load.py --all` ends with {FAILURE}")
    [without] = asked(transcript(*failed), 3)
    [told] = asked(transcript(given, *failed), 4)
    assert isinstance(without["recall"], Probe)
    assert told["recall"] == NotAsked("recall", "the system prompt gives the answer away")


def test_files_that_were_only_looked_at_make_no_artifact_question() -> None:
    read = ToolCall("r", "Read", json.dumps({"file_path": "src/a.py"}))
    steps = (REQUEST, Message("assistant", "", tool_calls=(read,)), Message("tool", "1\tx", tool_call_id="r"))
    [probes] = asked(transcript(*steps, Message("assistant", ".")), 3)
    assert isinstance(probes["artifact"], NotAsked)


def test_a_support_session_is_asked_what_the_customer_waits_for() -> None:
    call = ToolCall("b", "get_booking", json.dumps({"id": "QX7"}))
    steps = (
        Message("system", "You are an agent of an airline."),
        Message("user", "I'd like to move my flight QX7 to the second of May."),
        Message("assistant", "", tool_calls=(call,)),
        Message("tool", '{"id": "QX7", "day": "2026-04-30"}', tool_call_id="b"),
        Message("assistant", "There is a seat."),
    )
    [probes] = asked(transcript(*steps), 4)
    probe = probes["continuation"]
    assert isinstance(probe, Probe)
    assert "customer" in probe.question
    assert "test" not in probe.question.lower()
    assert probe.ground_truth == "Open: I'd like to move my flight QX7 to the second of May."
