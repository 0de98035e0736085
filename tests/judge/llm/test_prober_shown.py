"""What a model is shown of a history, how its quotes are found again, and probes on the sample sessions."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction import CompactionPoint, Message, Transcript, counted
from compaction.model import ModelRequest, ReplyError
from compaction.points import PointsSpec, find_points
from compaction.testing import CharacterCounter, ScriptedModel, talk
from compaction.tokens import counted_text
from flows.sources import discover, read_input
from judge import PROBE_TYPES, Evidence, NotAsked, Probe
from judge.embedded.facts import SessionFacts
from judge.llm.prober import ModelProber
from judge.llm.probes import check
from judge.llm.probes.reply import Quote, parse_drafts
from judge.llm.probes.show import ShownHistory, draw_number, end_of, file_calls, history_windows
from tests.judge.llm.probe_cases import COUNTER, CUT, POINT, SESSION, call, transcript, type_of

SAMPLES = sorted(
    path.name for path in (Path(__file__).parents[3] / "flows/samples").iterdir() if path.suffix in (".json", ".jsonl")
)


def shown_messages(shown: ShownHistory) -> list[int]:
    return [value["message"] for value in map(json.loads, shown.text.splitlines()) if "message" in value]


def test_a_window_has_following_messages_within_its_budget() -> None:
    history = talk("u " + "a2 u " * 40)
    for place in (0, 17, 100):
        for shown in history_windows(history, place, 800, COUNTER, 2):
            assert COUNTER.count(shown.text) <= 800
            assert len(shown.pieces) > 10


def test_windows_of_many_points_show_every_message_about_as_often() -> None:
    history = talk("u " + "u " * 39)
    seen: Counter[int] = Counter()
    for number in range(2000):
        point = CompactionPoint(f"session {number}", 1, 40, 1000)
        (shown,) = history_windows(history, draw_number(point, "recall"), 200, CharacterCounter(), 1)
        seen.update(shown.pieces.keys())
    mean = seen.total() / 40
    assert all(0.85 * mean < seen[seq] < 1.15 * mean for seq in range(40))


def test_a_second_window_begins_where_the_first_ends_and_repeats_nothing() -> None:
    history = talk("u " + "u " * 39)
    first, second = history_windows(history, 35, 300, CharacterCounter(), 2)
    assert 35 in first.pieces
    assert 0 in first.pieces
    assert not first.pieces.keys() & second.pieces.keys()


def test_a_session_that_fits_has_one_window() -> None:
    assert len(list(history_windows(SESSION.messages[:CUT], 3, 10_000, COUNTER, 2))) == 1


def test_messages_that_are_not_shown_are_marked_in_between() -> None:
    history = talk("u " + "u " * 39)
    (shown,) = history_windows(history, 35, 300, CharacterCounter(), 1)
    gaps = [json.loads(line)["left out"] for line in shown.text.splitlines() if "left out" in line]
    assert gaps == [f"{40 - len(shown.pieces)} messages"]


def test_a_long_output_keeps_its_ends_and_only_they_can_be_quoted() -> None:
    text = "head of the build log\n" + "\n".join(f"step {n} done" for n in range(2000)) + "\ntail of the build log"
    session = transcript(Message("user", "Go on."), Message("tool", text, tool_call_id="1"))
    (shown,) = history_windows(session.messages, 0, 4000, COUNTER, 1)
    assert check.find_quote(Quote(1, "head of the build log"), shown, session.messages)
    assert check.find_quote(Quote(1, "tail of the build log"), shown, session.messages)
    assert check.find_quote(Quote(1, "step 1000 done step 1001 done"), shown, session.messages) is None


def test_a_message_that_alone_has_no_room_is_passed_over() -> None:
    calls = tuple(call(str(n), "Write", file_path=f"p{n}.py", content="x = 1\n" * 50) for n in range(40))
    session = transcript(
        Message("user", "Write them all."), Message("assistant", "", tool_calls=calls), Message("user", "Go on.")
    )
    (shown,) = history_windows(session.messages, 1, 600, COUNTER, 2)
    assert list(shown.pieces) == [0, 2]
    end = end_of(SessionFacts(session), 3, 600, COUNTER)
    assert end is not None
    assert list(end.pieces) == [0, 2]


def test_the_end_has_the_last_messages_the_open_tasks_and_the_last_request() -> None:
    shown = end_of(SessionFacts(SESSION), CUT, 420, COUNTER)
    assert shown is not None
    tasks = [json.loads(line).get("task") for line in shown.text.splitlines()]
    assert tasks[:2] == ["write the restart test for retry.py", "document idle_cap in the handbook"]
    assert {1, 13, 14} <= set(shown_messages(shown))


def test_every_change_of_a_file_is_listed_even_where_there_is_little_room() -> None:
    steps: list[Message] = [Message("user", "Write them all.")]
    for n in range(30):
        body = f"def part_{n}():\n" + "    work()\n" * 200
        steps.append(
            Message("assistant", "", tool_calls=(call(str(n), "Write", file_path=f"src/p{n}.py", content=body),))
        )
        steps.append(Message("tool", "File created successfully", tool_call_id=str(n)))
    facts = SessionFacts(transcript(*steps))
    shown = file_calls(facts, 61, 4000, COUNTER)
    assert shown is not None
    listed = [path for line in shown.text.splitlines() for path in json.loads(line)["files"]]
    assert listed == [f"src/p{n}.py" for n in range(30)]
    assert COUNTER.count(shown.text) <= 4000


def test_of_too_many_changes_those_shown_are_spread_over_the_history() -> None:
    steps: list[Message] = [Message("user", "Write them all.")]
    for n in range(200):
        steps.append(
            Message("assistant", "", tool_calls=(call(str(n), "Write", file_path=f"src/p{n}.py", content="x=1"),))
        )
        steps.append(Message("tool", "File created successfully", tool_call_id=str(n)))
    shown = file_calls(SessionFacts(transcript(*steps)), 401, 1500, COUNTER)
    assert shown is not None
    seqs = shown_messages(shown)
    assert COUNTER.count(shown.text) <= 1500
    assert min(seqs) < 20
    assert max(seqs) > 360


TEXTS = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=["C"]) | st.just("\n"), min_size=1, max_size=400
)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.data())
def test_any_run_of_a_message_is_found_however_its_white_space_is_set(text: str, data: st.DataObject) -> None:
    message = Message("assistant", tool_calls=(call("1", "Write", path="a.py", content=text),), seq=0)
    (shown,) = history_windows([message], 0, 100_000, CharacterCounter(), 1)
    start = data.draw(st.integers(0, len(text) - 1))
    words = text[start : start + 200].split()
    found = check.find_quote(Quote(0, "\n  ".join(words)), shown, [message])
    if len("".join(words).strip("`\"'")) < check.MIN_QUOTE:
        assert found is None
    else:
        assert found is not None
        assert found.quote in message.tool_calls[0].arguments or found.quote in text


def test_a_quote_with_an_omission_counts_by_its_longest_part() -> None:
    (shown,) = history_windows(SESSION.messages[:CUT], 0, 10_000, COUNTER, 1)
    found = check.find_quote(
        Quote(6, "I keep one pool of twelve sockets, … after `idle_cap`."), shown, SESSION.messages
    )
    assert found == Evidence(6, "I keep one pool of twelve sockets,")


@pytest.mark.parametrize(
    ("text", "term", "expected"),
    [
        ("size = 12", "12", True),
        ("size = 123", "12", False),
        ("v1.2 is", "1.2", True),
        ("a_size", "size", False),
        ("at /srv/shop/src/pool.py:", "src/pool.py", True),
        ("in src/pool.py", "/srv/shop/src/pool.py", True),
        ("in lib/pool.py", "/srv/shop/src/pool.py", False),
        ("errno 104]", "104", True),
        ("123 12", "12", True),
    ],
)
def test_a_term_stands_as_a_whole_word(text: str, term: str, expected: bool) -> None:
    assert check.has_term(text, term) is expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        '{"probes": {}}',
        '{"probes": [1]}',
        '{"probes": [{"question": "q", "kind": "odd"}]}',
        '{"probes": [{"question": "q", "kind": "error", "answer": "a", "evidence": [{"message": "3", "quote": "x"}]}]}',
    ],
)
def test_a_reply_of_another_form_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(ReplyError, match=r"expected|not JSON"):
        parse_drafts("recall", text)


def test_json_within_a_fence_is_read() -> None:
    assert parse_drafts("recall", 'Here:\n```json\n{"probes": []}\n```') == []


@cache
def sample(name: str) -> Transcript:
    (found,) = discover([str(Path(__file__).parents[3] / "flows/samples" / name)])
    session = read_input(found).transcripts[0]
    return replace(session, messages=tuple(counted(m, COUNTER) for m in session.messages))


def longest_runs(request: ModelRequest) -> Iterator[tuple[int, str]]:
    """(message, run) for every message that a request shows: what a reader in a hurry would quote."""
    for line in request.messages[1].text.split("<session>\n")[1].split("\n</session>")[0].splitlines():
        value = json.loads(line)
        texts = [t for t in (value.get("says"), value.get("output"), value.get("failed"), value.get("task")) if t]
        texts += [a for c in value.get("calls", []) for a in c["arguments"].values() if isinstance(a, str)]
        runs = [run.strip() for text in texts for run in text.splitlines() if "characters left out" not in run]
        if "message" in value and runs:
            yield value["message"], max(runs, key=len)[:150]


def extract(request: ModelRequest) -> str:
    """Drafts that ask for what stands in the longest runs, well or badly; a reader without any sense."""
    kind = type_of(request)
    if kind == "guess":
        return "I do not know."
    runs = list(longest_runs(request))
    quotes = [{"message": seq, "quote": run} for seq, run in runs]
    if kind == "continuation":
        items = [{"part": "next", "text": q["quote"], **q} for q in quotes[-3:]]
        return json.dumps({"question": "What is left to do in this work?", "items": items})
    if kind == "constraint":
        rules = [{"text": q["quote"], **q} for q in quotes[:3]]
        return json.dumps({"question": "What has to be observed in this work?", "rules": rules})
    if kind == "artifact":
        entries = [json.loads(x) for x in request.messages[1].text.splitlines() if x.startswith('{"message"')]
        state = {e["message"]: next(iter(e["files"].items())) for e in entries}
        listed = [
            {"path": state[q["message"]][0], "state": state[q["message"]][1], "change": "", **q} for q in quotes[:8]
        ]
        files = [f for f in listed if f["state"] in ("created", "modified", "examined")]
        return json.dumps({"question": "Which files did this work touch, and how?", "files": files})
    probes: list[dict[str, Any]] = []
    for quote in quotes[:3]:
        own = (
            {"kind": "value", "answer": quote["quote"]}
            if kind == "recall"
            else {"decision": quote["quote"], "reason": quote["quote"], "alternatives": "none"}
        )
        probes.append({"evidence": [quote], "question": "What was said at this place of the work?", **own})
    return json.dumps({"probes": probes})


@pytest.mark.parametrize("name", SAMPLES)
def test_whatever_a_model_writes_on_a_sample_session_its_evidence_stands_before_the_cut(name: str) -> None:
    session = sample(name)
    found: Counter[str] = Counter()
    for point in find_points(session, PointsSpec("tokens", 32_000)):
        model = ScriptedModel(extract)
        probes = ModelProber(model, counter=COUNTER).probes(session, point)
        assert [p.probe_type for p in probes] == list(PROBE_TYPES)
        assert probes == ModelProber(ScriptedModel(extract), counter=COUNTER).probes(session, point)
        for probe in probes:
            if isinstance(probe, NotAsked):
                assert probe.reason in check.REASONS
                continue
            found[probe.probe_type] += 1
            assert probe.evidence
            assert probe.statements
            for evidence in probe.evidence:
                assert evidence.seq < point.cut_seq
                assert evidence.quote in counted_text(session.messages[evidence.seq])
    assert found["recall"]
    assert found["artifact"]


def test_a_sample_session_is_shown_whole_before_the_cut_over_its_windows() -> None:
    session = sample("auth_service.jsonl")
    point = find_points(session, PointsSpec("tokens", 32_000))[0]
    seen = {
        seq
        for shown in history_windows(
            session.messages[: point.cut_seq], draw_number(point, "recall"), 12_000, COUNTER, 99
        )
        for seq in shown.pieces
    }
    assert seen == {m.seq for m in session.messages[: point.cut_seq] if m.role != "system" and counted_text(m).strip()}


def test_probes_of_two_points_of_one_session_are_made_from_their_own_histories() -> None:
    earlier = CompactionPoint("s", 1, 6, 100)
    prober = ModelProber(ScriptedModel(extract), counter=COUNTER)
    for point in (POINT, earlier, POINT):
        for probe in prober.probes(SESSION, point):
            assert not isinstance(probe, Probe) or all(e.seq < point.cut_seq for e in probe.evidence)
