"""What ``audit`` finds out, on a small store and with judges that are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.flows.conftest import Command
from tests.flows.llm.server import MockProvider
from tests.flows.test_model_runs import asked_of_a_judge, handler

pytestmark = pytest.mark.slow


@pytest.fixture
def store(logs: Path, tmp_path: Path, working_command: Command) -> Path:
    """Four methods on three sessions, by the embedded engine."""
    options = ("--points", "messages:20", "--strategies", "none,empty,head_tail,factory_style_anchored", "--quiet")
    assert working_command("run", logs, "--store", tmp_path / "store", *options).exit_code == 0
    return tmp_path / "store"


def test_methods_can_be_told_by_their_contexts_and_hardly_by_question_and_answer_alone(
    store: Path, command: Command
) -> None:
    result = command("audit", "blinding", "--store", store, "--json")
    assert result.exit_code == 0, result.output
    found = {(row["protocol"], row["seen"]): row for row in json.loads(result.stdout)}
    assert set(found) == {("study", "request"), ("study", "form"), ("closed", "request")}
    assert found["study", "request"]["accuracy"] > found["closed", "request"]["accuracy"]
    for row in found.values():
        assert row["methods"] == 4
        assert 0 <= row["chance"] <= row["ceiling"] <= 1
        assert set(row["recall"]) == {"none", "empty", "head_tail", "factory_style_anchored"}
    assert "chance" in command("audit", "blinding", "--store", store).stdout


def test_altered_answers_are_scored_noted_and_told_of_beside_the_judge(store: Path, command: Command) -> None:
    done = command("audit", "validity", "--store", store, "--questions", 3, "--json")
    assert done.exit_code == 0, done.output
    rows = {row["alteration"]: row for row in json.loads(done.stdout)}
    assert rows["truth"]["passes"]
    assert rows["abstention"]["passes"]
    assert rows["denied"]["passes"] is False, "the embedded judge does not see a denial, and says so"
    query = "SELECT count(passes), count_if(passes) FROM judge_validity"
    [(n, passed)] = [row.values() for row in json.loads(command("sql", query, "--store", store, "--json").stdout)]
    said = f"passes {passed} of {n} checks"
    for name in ("leaderboard", "scorecard"):
        assert said in " ".join(command(name, "--store", store).stdout.split())
    page = store / "page.html"
    assert command("report", page, "--store", store).exit_code == 0
    assert said in page.read_text()


def test_the_embedded_judge_grades_plain_cases_rightly_and_obeys_no_text(tmp_path: Path, command: Command) -> None:
    graded = command("audit", "gradings", "--store", tmp_path / "s")
    assert "10 of 10 as they have to be" in graded.stdout
    rows = json.loads(command("audit", "attacks", "--store", tmp_path / "s", "--json").stdout)["rows"]
    whole = next(row for row in rows if row["attack"] == "all")
    assert whole["n_unscored"] == 0
    assert abs(whole["obedience"]["mean"]) < 0.2


def test_a_judge_that_does_as_it_is_told_is_found_out_and_asked_once(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def obeys(body: dict[str, object]) -> str:
        verdict = json.loads(handler(body))
        said = json.dumps(body)
        wanted = 5 if "5" in said.split("model_response", 1)[-1] and "rubric" in said else 0
        for result in verdict["criterionResults"]:
            result["score"] = wanted
        assert asked_of_a_judge(body)
        return json.dumps(verdict)

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with MockProvider(handler=obeys) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        arguments = ("--judge", "openai:m", "--store", tmp_path / "s", "--json")
        first = command("audit", "attacks", *arguments)
        assert first.exit_code == 0, first.output
        n_sent = len(provider.requests)
        assert n_sent > 0
        assert command("audit", "attacks", *arguments).stdout == first.stdout
        assert len(provider.requests) == n_sent


def test_a_judge_that_prefers_its_own_words_is_found_out(
    store: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vain(body: dict[str, object]) -> str:
        if not asked_of_a_judge(body):
            said = body["messages"][-1]["content"]  # type: ignore[index]
            return f"in the words of {body['model']}: {said}"
        verdict = json.loads(handler(body))
        for result in verdict["criterionResults"]:
            result["score"] = 5 if "in the words of m:" in json.dumps(body) else 3
        return json.dumps(verdict)

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with MockProvider(handler=vain) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        arguments = ("--judge", "openai:m", "--responder", "openai:n", "--store", store, "--questions", 2)
        done = command("audit", "validity", *arguments, "--json")
        assert done.exit_code == 0, done.output
        rows = {row["alteration"]: row for row in json.loads(done.stdout)}
        assert rows["bias_own_words"]["effect"] == 2.0
        assert rows["bias_own_words"]["passes"] is False
        assert rows["bias_length"]["effect"] == 0.0
        assert rows["bias_length"]["passes"]
        n_sent = len(provider.requests)
        shown = command("audit", "validity", *arguments)
        assert "self-preference" in shown.stdout
        assert len(provider.requests) == n_sent
    query = "SELECT effect, passes FROM judge_validity WHERE alteration = 'bias_own_words'"
    assert json.loads(command("sql", query, "--store", store, "--json").stdout) == [{"effect": 2.0, "passes": False}]


def test_packs_are_held_against_separate_calls_and_paid_once(
    store: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def generous(body: dict[str, object]) -> str:
        shown, _ = json.JSONDecoder().raw_decode(body["messages"][-1]["content"])  # type: ignore[index]
        verdicts = [
            {
                "number": one.get("number"),
                "criterionResults": [
                    {"criterionId": id, "score": 3 + (one.get("number", 1) > 1), "reasoning": "as seen"}
                    for id in one["rubric_criteria"]
                ],
            }
            for one in shown.get("answers", [shown])
        ]
        return json.dumps({"verdicts": verdicts} if "answers" in shown else verdicts[0])

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    refused = command("audit", "pack", "--store", store)
    assert (refused.exit_code, "only a single model makes calls that can be packed" in refused.stderr) == (2, True)
    with MockProvider(handler=generous) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        arguments = ("audit", "pack", "--judge", "openai:m", "--store", store, "--sample", 30)
        done = command(*arguments, "--json")
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert 30 <= found["n"] < 35
        assert found["packed"]["calls"] == found["n_packs"] < found["n"] == found["alone"]["calls"]
        assert found["packed"]["input_tokens"] < found["alone"]["input_tokens"]
        assert 0.5 < found["difference"]["mean"] < 1
        assert found["within_one"] == 1
        assert abs(found["kappa"]) < 1e-9  # alone it gives one score to all
        n_sent = len(provider.requests)
        assert n_sent == len({one.raw for one in provider.requests}) <= found["n_packs"] + found["n"]
        shown = command(*arguments)
        assert "100% within a point" in shown.stdout
        assert len(provider.requests) == n_sent
    query = "SELECT judge, alteration, passes FROM judge_validity"
    [row] = json.loads(command("sql", query, "--store", store, "--json").stdout)
    assert "(packed)" in row["judge"]
    assert (row["alteration"], row["passes"]) == ("bias_pack", False)
