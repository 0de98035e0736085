"""Runs whose judge is a panel, against a provider on this machine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.config.study import make_study
from flows.support.errors import UsageError
from tests.flows.conftest import Command, write_session
from tests.flows.llm.server import HttpError, MockProvider
from tests.flows.test_model_runs import asked_of_a_judge, query

SCORES = {"m": 5, "a": 2, "b": 3}


class Models:
    """Three models that judge alike everywhere, of which one also writes summaries; one can be down."""

    down = ""

    def __call__(self, body: dict[str, Any]) -> str:
        ids = asked_of_a_judge(body)
        if not ids:
            return f"Looked into src/{hash(json.dumps(body)) % 10_000}.py; nothing else is known."
        if body["model"] == self.down:
            raise HttpError(400, "not today")
        results = [{"criterionId": id, "score": SCORES[body["model"]], "reasoning": "as seen"} for id in ids]
        return json.dumps({"criterionResults": results, "aggregateScore": 3.0, "dimensionScores": {}})


class Served:
    """The provider of these models."""

    def __init__(self, provider: MockProvider, models: Models) -> None:
        self.provider, self.models = provider, models

    def judged(self) -> Counter[str]:
        """Verdicts asked so far, by model."""
        return Counter(one.body["model"] for one in self.provider.requests if asked_of_a_judge(one.body))


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    models = Models()
    with MockProvider(handler=models) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        yield Served(provider, models)


@pytest.mark.slow
def test_members_are_paid_once_and_no_model_judges_its_own_summaries(
    tmp_path: Path, working_command: Command, served: Served
) -> None:
    store = tmp_path / "store"
    logs = write_session(tmp_path / "logs" / "orchard.jsonl", "session-0", 25)
    methods = ("--points", "messages:30", "--strategies", "none,freeform_summary", "--summarizer", "openai:m")
    options = (logs, "--store", store, *methods, "--judges", "openai:m,openai:a,openai:b", "--panel-rule", "mean")

    planned = working_command("plan", *options, "--json")
    assert planned.exit_code == 0, planned.output
    lines = {line["model"]: line for line in json.loads(planned.stdout)["calls"] if line["stage"] == "score"}
    assert set(lines) == {"openai:m", "openai:a", "openai:b"}
    assert not served.judged()

    served.models.down = "b"
    broken = working_command("run", *options, "--quiet")
    assert broken.exit_code != 0, broken.output
    reasons = query(store, "SELECT DISTINCT unscored_reason FROM scores JOIN judges USING (judge_id) "
                           "WHERE judge LIKE 'mean of%'")  # fmt: skip
    assert all("of 3 members gave no verdict (openai:b" in reason for (reason,) in reasons)
    served.models.down = ""
    before = served.judged()
    whole = working_command("run", *options, "--quiet")
    assert whole.exit_code == 0, whole.output
    after = served.judged() - before
    assert set(after) == {"b"}  # the verdicts of the others are in the store

    found = query(
        store,
        "SELECT method, judge, count(*) AS n, round(avg(score), 6), any_value(reasoning) FROM scores "
        "JOIN judges USING (judge_id) JOIN stg_answers USING (answer_id) JOIN stg_methods USING (method_id) "
        "GROUP BY method, judge",
    )
    by = {(method, judge.split(" (")[0]): (n, score, text) for method, judge, n, score, text in found}
    n_none, n_summary = by["none", "openai:a"][0], by["freeform_summary", "openai:a"][0]
    assert ("freeform_summary", "openai:m") not in by
    assert by["none", "openai:m"][0] == n_none
    assert by["none", "mean of openai:m"][:2] == (n_none, 3.333333)
    assert by["freeform_summary", "mean of openai:m"][:2] == (n_summary, 2.5)
    assert "left out, as its model wrote the summary" in by["freeform_summary", "mean of openai:m"][2]
    assert lines["openai:m"]["calls"] < lines["openai:a"]["calls"] == lines["openai:b"]["calls"]
    pairs = query(
        store,
        "SELECT DISTINCT left(member_a, 8), left(member_b, 8), abs(mean_difference), exact FROM panel_agreement "
        "WHERE level = 'overall'",
    )
    assert sorted(row[2:] for row in pairs) == [(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]
    assert query(store, "SELECT item, n > 0 FROM judge_remarks WHERE item LIKE 'leaves%'") == [
        ("leaves members out", True)
    ]
    [(panel,)] = query(store, "SELECT judge_id FROM judges WHERE judge LIKE 'mean of%'")
    board = working_command("leaderboard", "--store", store, "--judge", panel)
    assert "one member is left out, because its model wrote" in " ".join(board.output.split())

    before = served.judged()
    added = working_command("backfill", "--store", store, "--judges", "openai:m,openai:a", "--own-summaries", "--quiet")
    assert added.exit_code == 0, added.output
    asked = served.judged() - before
    [(n_answers,)] = query(
        store, "SELECT count(*) FROM stg_answers JOIN stg_methods USING (method_id) WHERE method LIKE 'freeform%'"
    )
    assert asked == Counter(m=n_answers)  # what is missing of the new panel, and nothing else
    alone = working_command("backfill", "--store", store, "--judge", "openai:m", "--quiet", "--json")
    assert json.loads(alone.stdout)["nothing_to_do"] is True
    assert query(store, "SELECT n FROM judge_remarks WHERE item = 'judges summaries of its own model'") != []
    [(single,)] = query(store, "SELECT judge_id FROM judges WHERE judge LIKE 'openai:m%'")
    page = working_command("report", tmp_path / "page.html", "--store", store, "--judge", single, "--quiet")
    assert page.exit_code == 0, page.output
    assert "also wrote the summaries behind" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"judges": "openai:a"}, "--judges: a panel has 2 judges or more, found openai:a alone"),
        ({"judges": "openai:a, openai:a"}, "--judges: openai:a is named twice"),
        ({"judges": "openai:a,gpt"}, "--judges: expected embedded, openai:MODEL"),
        ({"judges": "openai:a,openai:b", "judge": "openai:c"}, "one judge or a panel; take --judge away"),
        (
            {"judges": "openai:a,openai:m", "summarizer": "openai:m", "strategies": "freeform_summary"},
            "judges: m writes the summaries, so it does not judge them, and a panel needs 2 members that do: name 1 "
            "more, or set own_summaries = true",
        ),
    ],
)
def test_a_panel_that_cannot_judge_is_refused_before_anything_is_paid(flags: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        make_study(flags)
    assert said in str(refused.value)


def test_a_flag_goes_before_the_panel_of_a_file_and_the_panel_before_its_judge(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text('judges = ["openai:a", "openai:b"]\npanel_rule = "majority"\n')
    assert make_study({}, str(path)).judge_specs == ("openai:a", "openai:b")
    assert make_study({"judge": "openai:c"}, str(path)).judge_specs == ("openai:c",)
    path.write_text('judge = "openai:c"\n')
    assert make_study({"judges": "openai:a,embedded"}, str(path)).judge_specs == ("openai:a", "embedded")
