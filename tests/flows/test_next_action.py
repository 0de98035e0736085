"""A whole run that asks for the next action, against a provider on this machine that changes its mind."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flows.config.study import Study, make_study
from flows.llm.batch import prefill
from flows.llm.batch.prefill import Polling
from flows.llm.settings import ModelSettings
from flows.pipeline.engine import engine_for
from flows.pipeline.replay_plan import is_drawn
from flows.pipeline.stages import stages_of
from flows.reporting.html import write_report
from flows.store.store import Store
from flows.support.errors import UsageError
from tests.flows.conftest import Command, write_session
from tests.flows.llm.batch_server import BatchProvider
from tests.flows.llm.server import MockProvider
from tests.flows.test_model_runs import query

pytestmark = pytest.mark.slow

OPTIONS = ("--points", "messages:20", "--strategies", "none,empty,head_tail(head=1,tail=3)", "--quiet")
MODEL = ("--responder", "openai:m", "--next-action", "1")
FULL = 20
"""Messages from which on a context is taken for a whole history here."""


class Agent:
    """Runs pytest next where it sees a whole history, changes its mind in one session, and else looks around."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.broken = False

    def __call__(self, body: dict[str, Any]) -> str:
        said = body["messages"][-1]["content"]
        text = said if isinstance(said, str) else "".join(block["text"] for block in said)
        given = json.loads(text)
        if "tools" not in given:
            return "The context does not say."
        assert given["tools"] == {"Write": ["file_path", "content"], "Bash": ["command"]}
        assert list(given) == ["context", "tools"]
        self.asked[text] += 1
        if self.broken:
            return "I would rather not say."
        if len(given["context"]) < FULL:
            action = ("Bash", {"command": "cd src && ls"}) if given["context"] else ("Look", {})
        elif "harbour" in text and self.asked[text] == 2:
            action = ("Bash", {"command": "git status"})
        else:
            action = ("Bash", {"command": "pytest tests/test_a.py 2>&1 | tail -3"})
        return json.dumps({"tool": action[0], "arguments": json.dumps(action[1])})


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with MockProvider(handler=Agent()) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.openai_url)
        yield running


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    for number, (word, turns) in enumerate({"orchard": 30, "harbour": 30}.items()):
        write_session(tmp_path / "logs" / f"{word}.jsonl", f"session-{number}", turns, word)
    return tmp_path / "logs"


def asked_of(provider: MockProvider) -> int:
    assert isinstance(provider.handler, Agent)
    return provider.handler.asked.total()


def test_a_compaction_that_changes_the_action_does_so_beyond_the_models_own_changes_of_mind(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    line = ("run", sessions, "--store", store, *OPTIONS, *MODEL)
    first = working_command(*line)
    assert first.exit_code == 0, first.output
    assert query(store, "SELECT * FROM checks WHERE violations > 0") == []
    [(n_points,)] = query(store, "SELECT count(*) FROM points")
    n_asked = 4 * n_points + 1  # two whole histories and three contexts, of which the empty ones are all alike
    assert asked_of(provider) == n_asked
    found = query(
        store,
        "SELECT method, n_points, changed, noise, effect, n_clusters, ci_low < effect FROM next_action ORDER BY method",
    )
    assert found == [
        ("empty", n_points, 1.0, 0.5, 0.5, 2, True),
        ("head_tail(head=1,tail=3)", n_points, 1.0, 0.5, 0.5, 2, True),
        ("none", n_points, 0.25, 0.5, -0.25, 2, True),  # in harbour it is as one of the two answers
    ]
    assert query(
        store, "SELECT DISTINCT tool, kind, target, program, with_full, reason FROM next_actions WHERE tool = 'Look'"
    ) == [("Look", "use", "", "", "different", "no tool of the session has this name")]
    ran = query(
        store, "SELECT DISTINCT kind, target, program FROM next_actions WHERE program = 'pytest' AND repetition = 1"
    )
    assert ran == [("run", "tests/test_a.py", "pytest")]
    assert query(store, "SELECT count(*) FROM next_actions WHERE with_session IS NULL") == [(0,)]
    assert query(store, "SELECT sum(n_calls) FROM costs WHERE stage = 'next_action'") == [(5 * n_points,)]
    write_report(Store.open(str(store)), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    [table] = re.findall(r'<table id="t-next-action".*?</table>', page, re.DOTALL)
    assert re.findall(r">([+-]\d\.\d\d)<", table) == ["-0.25", "+0.50", "+0.50"], "effects, the least first"

    again = working_command(*line, "--json")
    assert json.loads(again.stdout)["nothing_to_do"] is True
    more = (*line[:7], "none,empty,head_tail(head=1,tail=3),head_tail(head=0,tail=2)", "--quiet", *MODEL)
    assert working_command(*more).exit_code == 0
    assert asked_of(provider) == n_asked + n_points  # what the whole history led to is known
    assert query(store, "SELECT count(*), min(effect) FROM next_action") == [(4, -0.25)]


def test_a_plan_prices_it_and_asks_nothing(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    options = (sessions, "--store", tmp_path / "store", *OPTIONS, *MODEL)
    planned = working_command("plan", *options, "--json")
    assert planned.exit_code == 0, planned.output
    found = json.loads(planned.stdout)
    [line] = [line for line in found["calls"] if line["stage"] == "next_action"]
    assert (line["calls"], line["to_pay"], found["items"]["next_action"]) == (5 * 4, 4 * 4 + 1, 4)
    assert line["input_tokens"] > 0
    assert provider.requests == []


def test_replies_that_cannot_be_read_are_failures_and_asked_again(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    assert isinstance(provider.handler, Agent)
    provider.handler.broken = True
    line = ("run", sessions, "--store", tmp_path / "store", *OPTIONS, *MODEL)
    first = working_command(*line)
    assert first.exit_code == 3, first.output
    assert "4 next actions failed" in first.stderr  # the first of each point; the contexts are not paid for
    assert query(tmp_path / "store", "SELECT count(*) FROM next_action") == [(0,)]
    provider.handler.broken = False
    again = working_command(*line)
    assert again.exit_code == 0, again.output
    assert query(tmp_path / "store", "SELECT count(*) FROM next_action") == [(3,)]


def test_in_batches_all_that_is_asked_at_a_point_goes_together(
    sessions: Path, tmp_path: Path, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-any")
    monkeypatch.setattr(prefill, "POLLING", Polling(first=0.01, longest=0.02, lost_after=0.05))
    with BatchProvider(handler=Agent(), polls=1) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        done = working_command("run", sessions, "--store", tmp_path / "store", *OPTIONS, *MODEL, "--batch")
    assert done.exit_code == 0, done.output
    batches = [one for one in provider.requests if (one.method, one.path) == ("POST", "/v1/batches")]
    assert len(batches) == 2  # of the answers, and of the next actions
    assert query(tmp_path / "store", "SELECT count(*), min(n_points) FROM next_action") == [(3, 4)]


def test_the_embedded_responder_is_refused_in_one_sentence(sessions: Path, tmp_path: Path, command: Command) -> None:
    refused = command("run", sessions, "--store", tmp_path / "store", "--next-action", "0.5")
    assert refused.exit_code == 2
    assert "--next-action: the embedded responder takes no actions; name a model with --responder" in refused.stderr
    with pytest.raises(UsageError, match="--next-action"):
        make_study({"next_action": 1.5, "responder": "openai:m"})


def test_the_stage_is_there_only_where_it_is_asked_for_and_a_larger_share_adds_points() -> None:
    settings = {"openai:m": {"base_url": "http://localhost:1/v1"}}
    for share, is_there in ((0.0, False), (0.5, True)):
        study = Study(responder="openai:m", models=settings, next_action=share)
        assert isinstance(study.settings("openai:m"), ModelSettings)
        assert ("next_action" in [one.key for one in stages_of(study, engine_for(study))]) is is_there
    few, many = ({n for n in map(str, range(500)) if is_drawn(n, share, "next_action")} for share in (0.1, 0.4))
    assert few < many
