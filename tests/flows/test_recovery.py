"""Whole runs with a way back to dropped messages: of the embedded engine, and against a provider that fetches."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flows.config.study import make_study
from flows.llm.batch import prefill
from flows.llm.batch.prefill import Polling
from flows.reporting.html import write_report
from flows.store.store import Store
from tests.flows.conftest import Command, write_session
from tests.flows.llm.batch_server import BatchProvider
from tests.flows.llm.server import MockProvider
from tests.flows.test_model_runs import handler as judge_of
from tests.flows.test_model_runs import query

OPTIONS = ("--points", "messages:20", "--strategies", "none,head_tail(head=1,tail=3)", "--quiet")
MODEL = ("--responder", "openai:m", "--judge", "openai:judge")
TWIN = 'recover(over="head_tail(head=1,tail=3)")'


class Agent:
    """Fetches before it answers where it may; then says whether it was brought anything."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.judged: list[str] = []
        self.request = '{"search": "pytest test src Write Bash"}'

    def __call__(self, body: dict[str, Any]) -> str:
        said = body["messages"][-1]["content"]
        text = said if isinstance(said, str) else "".join(block["text"] for block in said)
        if "rubric_criteria" in json.dumps(body):
            self.judged.append(text)
            return judge_of(body)
        given = json.loads(text)
        self.asked[text] += 1
        if "fetches_left" not in given:
            assert list(given) == ["context", "question"]
            return "The context does not say."
        if given["fetches_left"] == 2 or "more" in self.request:
            return self.request
        return f"Found {len(given['fetched'][0]['messages'])} messages."


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with MockProvider(handler=Agent()) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.openai_url)
        yield running


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    for number, word in enumerate(("orchard", "harbour")):
        write_session(tmp_path / "logs" / f"{word}.jsonl", f"session-{number}", 30, word)
    return tmp_path / "logs"


def test_every_method_that_drops_something_is_run_a_second_time_and_none_without_the_option() -> None:
    plain = [method.name for method in make_study({"strategies": ("none,empty", TWIN)}).methods()]
    assert plain == ["none", "empty", TWIN]
    study = make_study({"strategies": ("none,empty,head_tail(head=1,tail=3)", TWIN), "recover": 3})
    assert [method.name for method in study.methods()][-2:] == [
        "recover(over=empty,fetches=3)",
        'recover(over="head_tail(head=1,tail=3)",fetches=3)',
    ]


@pytest.mark.slow
def test_a_model_fetches_answers_from_it_and_is_paid_once(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    agent, store = provider.handler, tmp_path / "store"
    assert isinstance(agent, Agent)
    line = ("run", sessions, "--store", store, *OPTIONS, *MODEL)
    assert working_command(*line).exit_code == 0
    before = agent.asked.copy()
    planned = json.loads(working_command("plan", *line[1:], "--recover", "2", "--json").stdout)
    done = working_command(*line, "--recover", "2")
    assert done.exit_code == 0, done.output
    assert max(agent.asked.values()) == 1, "what was asked without the option is not asked again"
    rounds = [json.loads(text) for text in agent.asked - before]
    assert Counter(one["fetches_left"] for one in rounds).keys() == {2, 1}
    [answers] = [one for one in planned["calls"] if one["stage"] == "answer"]
    assert answers["to_pay"] == len(rounds) // 2 * 3, "a plan foresees every fetch that is allowed"
    [(n, n_fetched, responders)] = query(
        store,
        "SELECT count(*), count(*) FILTER (fetched_tokens > 0), count(DISTINCT responder) FROM answers "
        "JOIN compactions USING (compaction_id) JOIN methods USING (method_id) WHERE strategy = 'recover'",
    )
    assert n == n_fetched == len(rounds) // 2
    assert responders == 1
    assert query(store, "SELECT DISTINCT fetches FROM answers WHERE len(fetches) > 0") == [
        (['{"search":"pytest test src Write Bash"}'],)
    ]
    assert query(store, "SELECT DISTINCT text LIKE 'Found%' FROM answers WHERE len(fetches) > 0") == [(True,)]
    [(method, has_pointers, carried, read, share, fetches)] = query(
        store,
        "SELECT method, has_pointers, tokens_without, tokens_with, share_fetched, n_fetches FROM recovery",
    )
    assert (method, has_pointers, share, fetches) == ("head_tail(head=1,tail=3)", False, 1.0, 1.0)
    assert read > carried
    assert query(store, "SELECT * FROM checks WHERE violations > 0") == []
    shown: dict[bool, list[int]] = {True: [], False: []}
    for text in agent.judged:
        shown["Found" in text].append(len(json.loads(text)["compacted_context"]))
    assert len(shown[True]) == n
    assert min(shown[True]) > min(shown[False]), "the judge is shown what was fetched"

    again = working_command(*line, "--recover", "2", "--json")
    assert json.loads(again.stdout)["nothing_to_do"] is True


@pytest.mark.slow
def test_one_that_only_fetches_gives_no_answer_and_says_so(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    assert isinstance(provider.handler, Agent)
    provider.handler.request = '{"search": "more"}'
    found = working_command("run", sessions, "--store", tmp_path / "store", *OPTIONS, *MODEL, "--recover", "1")
    assert found.exit_code == 3, found.output
    assert query(tmp_path / "store", "SELECT DISTINCT error FROM answers WHERE status = 'failed'") == [
        ("the model asked for more than its 1 fetches and gave no answer",)
    ]


@pytest.mark.slow
def test_in_batches_each_round_is_a_batch(
    sessions: Path, tmp_path: Path, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-any")
    monkeypatch.setattr(prefill, "POLLING", Polling(first=0.01, longest=0.02, lost_after=0.05))
    line = ("run", sessions, "--store", tmp_path / "store", *OPTIONS, *MODEL[:2], "--recover", "2", "--batch")
    with BatchProvider(handler=Agent(), polls=1) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        done = working_command(*line)
    assert done.exit_code == 0, done.output
    batches = [one for one in provider.requests if (one.method, one.path) == ("POST", "/v1/batches")]
    assert len(batches) == 2
    assert query(tmp_path / "store", "SELECT DISTINCT share_fetched FROM recovery") == [(1.0,)]


@pytest.mark.slow
def test_the_embedded_engine_searches_with_the_questions_words(
    sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    line = ("run", sessions, "--store", store, "--points", "messages:20", "--quiet", "--recover", "1")
    done = working_command(*line, "--strategies", "empty,mask_seed(attention_window=2)")
    assert done.exit_code == 0, done.output
    found = query(
        store,
        "SELECT method, has_pointers, score_with > score_without, tokens_with > tokens_without, share_fetched, "
        "n_fetches FROM recovery ORDER BY method",
    )
    assert found[0] == ("empty", False, True, True, 1.0, 1.0)
    assert found[1][:2] == ("mask_seed(attention_window=2)", True)
    asked = (
        "SELECT count(*) FROM answers JOIN probes USING (probe_id) WHERE starts_with(question, fetches[1] ->> 'search')"
    )
    assert query(store, asked) == query(store, "SELECT count(*) FROM answers WHERE len(fetches) = 1")
    assert "recover(over=…): dropped messages were fetched" in working_command("leaderboard", "--store", store).stdout
    advice = working_command("recommend", "--store", store, "--baseline", "mask_seed(attention_window=2)", "--json")
    left_out = {row["method"]: row["left_out_because"] for row in json.loads(advice.stdout)[0]["candidates"]}
    assert left_out["recover(over=empty,fetches=1)"] == "fetches for questions"
    write_report(Store.open(str(store)), tmp_path / "page.html")
    [section] = re.findall(r'<section id="more".*?</section>', (tmp_path / "page.html").read_text("utf-8"), re.DOTALL)
    shown = [html.unescape(re.sub(r"<[^>]*>", "", name)) for name in re.findall(r"<tr data-method.*?</th>", section)]
    assert sorted(shown) == [row[0] for row in found]
    assert "t-next-action" not in section
