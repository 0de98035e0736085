"""Whole runs whose calls go into batches, stage by stage, against a provider on this machine."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.llm.batch import prefill
from flows.llm.batch.prefill import Polling
from tests.flows.conftest import Command, start, write_session
from tests.flows.llm.batch_server import BatchProvider
from tests.flows.test_model_runs import asked_of_a_judge, handler, query

pytestmark = pytest.mark.slow

METHODS = "none,freeform_summary,factory_style_anchored"


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchProvider]:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-any")
    monkeypatch.setattr(prefill, "POLLING", Polling(first=0.01, longest=0.02, lost_after=0.05))
    with BatchProvider(handler=said, polls=1) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.openai_url)
        yield running


def said(body: dict[str, Any]) -> Any:
    """What a prober, a summariser, a responder and a judge say."""
    form = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    if not form or asked_of_a_judge(body):
        return handler(body)
    drafts: dict[str, Any] = {name: "" if name == "question" else [] for name in form}
    if '"kind"' in json.dumps(form):
        shown = body["messages"][-1]["content"]
        number, failed = re.findall(r'"message":(\d+),"from":"tool","tool":"Bash","failed":"([^"]+)"', shown)[0]
        evidence = [{"message": int(number), "quote": failed}]
        drafts["probes"] = [{"evidence": evidence, "kind": "error", "question": "What failed first?", "answer": failed}]
    return json.dumps(drafts)


@pytest.fixture
def line(tmp_path: Path) -> tuple[object, ...]:
    """A run whose answers and verdicts are a model's, without an option for batches."""
    write_session(tmp_path / "logs" / "orchard.jsonl", "session-0", 30)
    priced = "input_usd = 1.0\noutput_usd = 5.0\n"
    study = f'[models."openai:m"]\n{priced}[models."openai:judge"]\n{priced}'
    (tmp_path / "study.toml").write_text(study)
    options = ("--study", tmp_path / "study.toml", "--points", "messages:20", "--strategies", METHODS, "--quiet")
    models = ("--responder", "openai:m", "--judge", "openai:judge")
    return ("run", tmp_path / "logs", "--store", tmp_path / "store", *options, *models)


def live(provider: BatchProvider) -> Counter[bytes]:
    """Bodies of the calls that were made outside of batches."""
    return Counter(request.raw for request in provider.requests if request.path == "/v1/chat/completions")


def assert_whole(store: Path) -> None:
    """Every answer is scored, nothing is left, and no check fails."""
    (found,) = query(
        store,
        "SELECT (SELECT count(*) FROM answers WHERE status = 'done'), (SELECT count(DISTINCT answer_id) FROM scores "
        "WHERE score IS NOT NULL), (SELECT count(*) FROM checks WHERE violations > 0)",
    )
    assert found[0] == found[1] > 0
    assert not found[2]


def test_a_run_in_batches_makes_every_call_of_every_stage_there_at_half_the_price(
    provider: BatchProvider, line: tuple[object, ...], tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    models = ("--summarizer", "openai:m", "--prober", "openai:m")
    planned = json.loads(working_command("plan", *line[1:], *models, "--json").stdout)
    assert all(line["batch_usd"] == pytest.approx(line["cost_usd"] / 2) for line in planned["calls"])
    assert any(note.startswith("with --batch about $") for note in planned["notes"])
    done = working_command(*line, *models, "--batch", "--budget-usd", "50")
    assert done.exit_code == 0, done.output
    assert not live(provider)
    assert set(provider.paid.values()) == {1}
    assert_whole(store)
    paid = query(
        store,
        "SELECT stage, count(*), sum(cost_usd), sum(input_tokens * 1e-6 + output_tokens * 5e-6) FROM calls "
        "WHERE NOT cached GROUP BY stage",
    )
    assert {stage for stage, *_ in paid} == {"compact", "probe", "answer", "score"}
    assert sum(number for _, number, *_ in paid) == provider.paid.total()
    assert all(cost == pytest.approx(full / 2) for *_, cost, full in paid)
    ((counts,),) = query(store, "SELECT counts FROM runs")
    stages = json.loads(counts) if isinstance(counts, str) else counts
    assert all(not stage.get("left") and not stage["failed"] for stage in stages.values())
    assert stages["answer"]["done"] == query(store, "SELECT count(*) FROM answers")[0][0]


def test_a_run_that_does_not_wait_goes_on_by_the_same_command_and_calls_live_once_for_what_cannot_be_used(
    provider: BatchProvider, line: tuple[object, ...], tmp_path: Path, working_command: Command
) -> None:
    provider.polls = 0
    spoiled: list[str] = []

    def spoil_one(key: str, body: dict[str, Any]) -> Any:
        if asked_of_a_judge(body) and not spoiled:
            spoiled.append(key)
        return "truncated" if key in spoiled else "good"

    provider.fate = spoil_one
    for number in range(3):
        done = working_command(*line, "--batch", "--no-wait")
        assert done.exit_code == (4 if number < 2 else 0), done.output
        assert ("calls are under way in batches" in done.stderr) == (number < 2)
    assert list(live(provider).values()) == [1]
    assert set(provider.paid.values()) == {1}
    assert_whole(tmp_path / "store")


def test_a_live_run_takes_what_is_under_way_in_batches_and_pays_for_the_rest_only(
    provider: BatchProvider, line: tuple[object, ...], tmp_path: Path, working_command: Command
) -> None:
    assert working_command(*line, "--batch", "--no-wait").exit_code == 4
    answers = set(provider.bodies)
    planned = json.loads(working_command("plan", *line[1:], "--json").stdout)
    (at_work,) = [calls for calls in planned["calls"] if calls["stage"] == "answer"]
    assert (at_work["to_pay"], at_work["under_way"], at_work["cost_usd"]) == (0, len(answers), 0.0)
    assert f"{len(answers)} calls are under way in batches" in " ".join(planned["notes"])
    done = working_command(*line)
    assert done.exit_code == 0, done.output
    assert set(provider.bodies) == answers
    assert set(live(provider).values()) == {1}
    assert all(asked_of_a_judge(json.loads(body)) for body in live(provider))
    assert_whole(tmp_path / "store")


def test_a_panel_is_judged_in_batches_and_each_member_is_paid_once(
    provider: BatchProvider, line: tuple[object, ...], tmp_path: Path, working_command: Command
) -> None:
    panel = (*line[:-2], "--judges", "openai:judge,openai:m,openai:other", "--batch")
    spoiled: list[str] = []

    def spoil_one(key: str, body: dict[str, Any]) -> Any:
        if asked_of_a_judge(body) and body["model"] == "other" and not spoiled:
            spoiled.append(key)
        return "truncated" if key in spoiled else "good"

    provider.fate = spoil_one
    done = working_command(*panel)
    assert done.exit_code == 0, done.output
    assert_whole(tmp_path / "store")
    assert set(provider.paid.values()) == {1}
    assert list(live(provider).values()) == [1]  # the spoiled verdict
    verdicts = query(
        tmp_path / "store",
        "SELECT judge, count(DISTINCT answer_id) FROM scores JOIN judges USING (judge_id) WHERE score IS NOT NULL "
        "GROUP BY judge",
    )
    assert len(verdicts) == 4
    assert len({number for _, number in verdicts}) == 1
    asked = Counter(body["model"] for body in provider.bodies.values() if asked_of_a_judge(body))
    assert asked == Counter(dict.fromkeys(("judge", "m", "other"), asked["m"]))
    assert 0 < asked["m"] <= verdicts[0][1]  # some methods leave the same
    before = len(provider.requests)
    assert working_command(*panel, "--json").exit_code == 0
    assert len(provider.requests) == before


def test_a_run_that_is_killed_between_a_batch_and_its_results_leaves_them_to_the_next(
    provider: BatchProvider, line: tuple[object, ...], tmp_path: Path, working_command: Command
) -> None:
    running: list[subprocess.Popen[str]] = []

    def kill(_: Any) -> None:
        for one in running:
            one.kill()
            one.wait()
        raise ConnectionResetError

    provider.on["created"] = kill  # the batch is there, and nobody has been told of it
    running.append(start(*line, "--batch", "--ephemeral"))
    said = running[0].communicate(timeout=120)
    assert running[0].returncode == -signal.SIGKILL, said
    n_answers = len(provider.bodies)
    assert n_answers
    provider.on.clear()
    done = working_command(*line, "--batch")
    assert done.exit_code == 0, done.output
    assert len(provider.sizes) == 2  # the answers', by the run that was killed, and the verdicts'
    assert set(provider.paid.values()) == {1}
    assert not live(provider)
    assert_whole(tmp_path / "store")
    assert query(tmp_path / "store", "SELECT count(*) FROM calls WHERE stage = 'answer' AND NOT cached") == [
        (n_answers,)
    ]


def test_a_run_that_asks_no_model_has_nothing_for_a_batch(tmp_path: Path, working_command: Command) -> None:
    wrong = working_command("run", "--store", tmp_path / "store", "--batch")
    assert (wrong.exit_code, "--batch: no part of this study asks a model" in wrong.stderr) == (2, True)


def test_a_judge_by_file_is_asked_without_a_key_and_its_replies_are_taken_by_the_next_run(
    tmp_path: Path, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    write_session(tmp_path / "logs" / "orchard.jsonl", "session-0", 30)
    store = tmp_path / "store"
    line = ("--store", store, "--points", "messages:20", "--strategies", "none,empty", "--judge", "file:ada", "--quiet")
    planned = json.loads(working_command("plan", tmp_path / "logs", *line, "--json").stdout)
    asked = working_command("run", tmp_path / "logs", *line, "--budget-usd", "1")
    assert asked.exit_code == 4, asked.output
    assert "questions are open in" in asked.stderr
    path = store / "cache" / "questions" / "questions-score.jsonl"
    questions = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(calls["stage"], calls["to_pay"], calls["cost_usd"]) for calls in planned["calls"]] == [
        ("score", len(questions), 0.0)
    ]
    replies = [{"id": one["id"], "reply": json.loads(handler(one))} for one in questions]
    replies[0]["reply"] = "I cannot say."
    (path.parent / "replies.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    left = working_command("run", tmp_path / "logs", *[word for word in line if word != "--quiet"])
    assert left.exit_code == 4, left.output
    assert "replies.jsonl:1: the reply to" in left.stderr
    assert "stopped: 1 questions are open" in left.stderr
    assert len(path.read_text().splitlines()) == 1
    with (path.parent / "replies.jsonl").open("a") as file:
        file.write(json.dumps({"id": questions[0]["id"], "reply": handler(questions[0])}))
    done = working_command("run", tmp_path / "logs", *line)
    assert done.exit_code == 0, done.output
    assert_whole(store)
    assert not path.exists()
    assert query(store, "SELECT sum(cost_usd), count(*) FROM calls WHERE NOT cached AND stage = 'score'") == [
        (0.0, len(questions))
    ]
    assert query(store, "SELECT judge FROM judges") == [("file:ada",)]
