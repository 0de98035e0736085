"""Whole runs with a language model in every part, against a provider on this machine."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flows.database.scores_db import connect
from flows.llm.cache import call_cache
from flows.store.shards import Shards
from tests.flows.conftest import Command, write_session
from tests.flows.llm.batch_server import BatchProvider
from tests.flows.llm.server import MockProvider, Received

pytestmark = pytest.mark.slow

OPTIONS = ("--points", "messages:20", "--strategies", "none,empty,freeform_summary,factory_style_anchored", "--quiet")
MODEL = ("--summarizer", "openai:m", "--responder", "openai:m", "--judge", "openai:judge")


def asked_of_a_judge(body: dict[str, Any]) -> list[str]:
    """Ids of the criteria, where the request is one for a verdict."""
    contents = [message["content"] for message in body.get("messages", ()) if message["role"] == "user"]
    said = "".join(each if isinstance(each, str) else "".join(block["text"] for block in each) for each in contents)
    found = re.search(r'"rubric_criteria"\s*:\s*\[(.*?)\]', said, re.DOTALL)
    return re.findall(r'"(\w+)"', found[1]) if found else []


def handler(body: dict[str, Any]) -> str:
    """A verdict for a judge's request, else a text of its own for every request."""
    ids = asked_of_a_judge(body)
    if not ids:
        return f"Looked into src/{hash(json.dumps(body)) % 10_000}.py; nothing else is known."
    results = [{"criterionId": id, "score": 2 + number % 3, "reasoning": "as seen"} for number, id in enumerate(ids)]
    return json.dumps({"criterionResults": results, "aggregateScore": 3.0, "dimensionScores": {}})


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A provider that summarises, answers and judges."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with MockProvider(handler=handler) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.openai_url)
        yield running


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    for number, (word, turns) in enumerate({"orchard": 30, "harbour": 25}.items()):
        write_session(tmp_path / "logs" / f"{word}.jsonl", f"session-{number}", turns, word)
    return tmp_path / "logs"


def query(store: Path, sql: str) -> list[tuple[Any, ...]]:
    with connect(store / "scores.duckdb") as connection:
        return connection.execute(sql).fetchall()


def bodies(requests: list[Received]) -> Counter[bytes]:
    return Counter(request.raw for request in requests)


def test_a_model_summarises_answers_and_judges_and_every_call_is_made_once(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    first = working_command("run", sessions, "--store", store, *OPTIONS, *MODEL)
    assert first.exit_code == 0, first.output
    assert query(store, "SELECT * FROM checks WHERE violations > 0") == []
    assert set(bodies(provider.requests).values()) == {1}
    n_sent = len(provider.requests)
    (counts,) = query(
        store,
        "SELECT (SELECT count(*) FROM calls WHERE NOT cached AND status = 'done'), "
        "(SELECT count(DISTINCT stage) FROM calls), (SELECT count(*) FROM answers WHERE status = 'done'), "
        "(SELECT count(DISTINCT answer_id) FROM scores WHERE score IS NOT NULL), "
        "(SELECT count(*) FROM leaderboard), (SELECT max(cost_usd) FROM costs)",
    )
    n_answers = query(store, "SELECT count(*) FROM answers")[0][0]
    assert counts == (n_sent, 3, n_answers, n_answers, 4, None)  # the price of a model of one's own is unknown, not 0
    assert query(store, "SELECT judge, protocol FROM judges") == [
        (f"openai:judge (127.0.0.1:{provider.port})", "study")
    ]

    again = working_command("run", sessions, "--store", store, *OPTIONS, *MODEL, "--json")
    assert json.loads(again.stdout)["nothing_to_do"] is True
    for name in ("compactions", "answers", "scores"):
        for file in (store / name).glob("*.parquet"):
            file.unlink()
    rebuilt = working_command("run", sessions, "--store", store, *OPTIONS, *MODEL)
    assert rebuilt.exit_code == 0, rebuilt.output
    assert len(provider.requests) == n_sent


def test_which_cached_answers_were_used_is_noted_before_what_came_of_them_is_stored(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored is not asked for again: a run that is killed after it could never note them."""
    store = tmp_path / "store"
    line = ("run", sessions, "--store", store, *OPTIONS, *MODEL)
    first = working_command(*line)
    assert first.exit_code == 0, first.output
    for file in (*(store / "answers").glob("*.parquet"), *(store / "scores").glob("*.parquet")):
        file.unlink()
    monkeypatch.setattr(call_cache, "USES_SECONDS", 1e9)
    monkeypatch.setattr(call_cache, "MOST_USES", 10**9)
    stored: Counter[str] = Counter()
    write = Shards.write

    def noted_first(shards: Shards, table: pa.Table) -> Any:
        if shards.folder.name in {"answers", "scores"}:
            with closing(sqlite3.connect(store / "cache" / call_cache.FILE)) as journal:
                noted = {item for (item,) in journal.execute("SELECT item_id FROM journal WHERE cached = 1")}
            ids = table["answer_id"].to_pylist()
            assert set(ids) <= noted
            stored[shards.folder.name] += len(ids)
        return write(shards, table)

    monkeypatch.setattr(Shards, "write", noted_first)
    n_sent = len(provider.requests)
    again = working_command(*line)
    assert again.exit_code == 0, again.output
    assert len(provider.requests) == n_sent
    assert stored["answers"]
    assert stored["scores"]


def test_an_answer_that_cannot_be_had_is_failed_with_its_reason_and_tried_again_by_the_next_run(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    provider.handler = lambda body: "" if "pytest" in json.dumps(body) and not asked_of_a_judge(body) else handler(body)
    first = working_command("run", sessions, "--store", store, *OPTIONS, "--responder", "openai:m")
    assert first.exit_code == 3, first.output
    assert "answers failed" in first.stderr
    failed = query(store, "SELECT count(*), any_value(error) FROM answers WHERE status = 'failed'")[0]
    assert failed[0] > 0
    assert "blank" in failed[1]
    assert query(store, "SELECT count(*) FROM scores JOIN answers USING (answer_id) WHERE status = 'failed'") == [(0,)]
    provider.handler = handler
    again = working_command("run", sessions, "--store", store, *OPTIONS, "--responder", "openai:m")
    assert again.exit_code == 0, again.output
    assert query(store, "SELECT count(*) FROM answers WHERE status = 'failed'") == [(0,)]


def test_a_key_that_is_refused_costs_one_call_and_is_named_nowhere(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.flows.llm.server import HttpError

    def refuse(body: dict[str, Any]) -> str:
        raise HttpError(401, "Incorrect API key provided: sk-very-secret-key-0123456789.", code="invalid_api_key")

    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key-0123456789")
    provider.handler = refuse
    store = tmp_path / "store"
    result = working_command(
        "run", sessions, "--store", store, *OPTIONS, "--responder", "openai:m", "--concurrency", "1"
    )
    assert result.exit_code == 3, result.output
    assert len(provider.requests) == 1
    assert "very-secret" not in result.output + result.stderr
    for file in store.rglob("*"):
        if file.is_file():
            assert b"very-secret" not in file.read_bytes(), file


def test_a_run_stops_at_its_budget_and_the_next_one_goes_on(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    study = tmp_path / "study.toml"
    study.write_text('[models."openai:m"]\ninput_usd = 1.0\noutput_usd = 5.0\n')
    store = tmp_path / "store"
    arguments = ("run", sessions, "--store", store, *OPTIONS[:-1], "--responder", "openai:m", "--study", study)
    first = working_command(*arguments, "--budget-usd", "0.02")
    assert first.exit_code == 4, first.output
    assert "stopped at the budget of $0.02" in first.stderr
    line = r"^answer: done, .* \d+ % of \d+ calls cached( \(\$0\.0\d saved\))?, \$0\.0\d spent$"
    assert re.search(line, first.stderr, re.MULTILINE), first.stderr
    assert query(store, "SELECT status, exit_code FROM runs") == [("stopped", 4)]
    spent, n_done, n_failed = query(
        store,
        "SELECT (SELECT sum(cost_usd) FROM calls WHERE NOT cached), count(*) FILTER (WHERE status = 'done'), "
        "count(*) FILTER (WHERE status = 'failed') FROM answers",
    )[0]
    assert 0 < spent <= 0.02
    assert n_done > 0
    assert n_failed == 0
    n_sent = len(provider.requests)
    second = working_command(*arguments, "--budget-usd", "5")
    assert second.exit_code == 0, second.output
    assert set(bodies(provider.requests).values()) == {1}
    assert len(provider.requests) > n_sent


def test_a_budget_in_dollars_needs_a_price(sessions: Path, provider: MockProvider, command: Command) -> None:
    result = command("run", sessions, "--responder", "openai:m", "--budget-usd", "1")
    assert result.exit_code == 2
    assert "the price of openai:m is not known" in result.stderr
    assert provider.requests == []


def test_a_backfill_adds_a_judge_and_touches_nothing_else(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    assert working_command("run", sessions, "--store", store, *OPTIONS).exit_code == 0
    tables = {name: query(store, f"SELECT * FROM {name} ORDER BY ALL") for name in ("scores", "answers", "compactions")}
    planned = working_command("backfill", "--judge", "openai:judge", "--store", store, "--plan", "--json")
    assert planned.exit_code == 0, planned.output
    (line,) = json.loads(planned.stdout)["calls"]
    assert provider.requests == []

    shards = {path: path.read_bytes() for path in (store / "scores").glob("*.parquet")}
    few = working_command("backfill", "--judge", "openai:judge", "--store", store, "--at-most", "3", "--quiet")
    assert few.exit_code == 0, few.output
    progress = "SELECT sum(n_judged), sum(n_left + n_judged) FROM backfill_progress WHERE judge <> 'embedded'"
    ((n_few, n_all),) = query(store, progress)
    assert 0 < n_few <= 3
    some = working_command("backfill", "--judge", "openai:judge", "--store", store, "--method", "none", "--quiet")
    assert some.exit_code == 0, some.output
    n_none = query(
        store, "SELECT count(DISTINCT answer_id) FROM scores JOIN judges USING (judge_id) WHERE judge <> 'embedded'"
    )[0][0]
    answers_of_none = query(
        store,
        "SELECT count(*) FROM answers JOIN compactions USING (compaction_id) "
        "JOIN methods USING (method_id) WHERE method = 'none'",
    )[0][0]
    assert answers_of_none <= n_none <= answers_of_none + n_few
    rest = working_command("backfill", "--judge", "openai:judge", "--store", store, "--by-day", "--quiet")
    assert rest.exit_code == 0, rest.output
    assert query(store, progress) == [(n_all, n_all)]
    assert {path: path.read_bytes() for path in shards} == shards
    status = working_command("backfill", "--judge", "openai:judge", "--store", store, "--status", "--json")
    assert sum(row["judged"] for row in json.loads(status.stdout)) == n_all
    assert line["to_pay"] == len(provider.requests)
    assert set(bodies(provider.requests).values()) == {1}
    assert query(store, "SELECT count(DISTINCT judge_id) FROM leaderboard") == [(2,)]
    old = query(store, "SELECT scores.* FROM scores JOIN judges USING (judge_id) WHERE judge = 'embedded' ORDER BY ALL")
    assert sorted(map(str, old)) == sorted(map(str, tables["scores"]))
    for name in ("answers", "compactions"):
        assert query(store, f"SELECT * FROM {name} ORDER BY ALL") == tables[name]
    n_sent = len(provider.requests)
    assert working_command("backfill", "--judge", "openai:judge", "--store", store).exit_code == 0
    assert len(provider.requests) == n_sent
    wrong = working_command("backfill", "--judge", "openai:judge", "--store", store, "--method", "nothing")
    assert (wrong.exit_code, "no results of 'nothing'" in wrong.stderr) == (2, True)


def test_a_backfill_by_batches_pays_half_and_nothing_twice(
    sessions: Path, tmp_path: Path, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-any")
    store, study = tmp_path / "store", tmp_path / "study.toml"
    study.write_text('[models."openai:judge"]\ninput_usd = 1.0\noutput_usd = 5.0\n')
    assert working_command("run", sessions, "--store", store, *OPTIONS).exit_code == 0
    with BatchProvider(handler=handler, polls=1) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        arguments = ("backfill", "--judge", "openai:judge", "--store", store, "--study", study, "--quiet")
        planned = working_command(*arguments, "--batch", "--plan", "--json")
        assert planned.exit_code == 0, planned.output
        [line] = json.loads(planned.stdout)["calls"]
        assert line["batch_usd"] == pytest.approx(line["cost_usd"] / 2)
        assert provider.requests == []
        left = working_command(*arguments, "--batch", "--no-wait")
        assert left.exit_code == 4, left.output
        assert f"{line['to_pay']:,} calls are under way in batches" in left.stderr
        assert "run again to go on from there" in left.stderr
        for _ in range(3):
            done = working_command(*arguments, "--batch", "--no-wait")
            if done.exit_code == 0:
                break
        assert done.exit_code == 0, done.output
        (sent,) = provider.batches.values()
        assert sent["request_counts"]["total"] == line["to_pay"]
        panel = ("--judges", "openai:judge,openai:other", *arguments[3:])
        study.write_text(study.read_text() + '[models."openai:other"]\ninput_usd = 1.0\noutput_usd = 5.0\n')
        done = working_command("backfill", *panel, "--batch")
        assert done.exit_code == 0, done.output
        assert [batch["request_counts"]["total"] for batch in provider.batches.values()] == [line["to_pay"]] * 2
        assert [request for request in provider.requests if request.path == "/v1/chat/completions"] == []
    answers, judged = query(
        store,
        "SELECT (SELECT count(*) FROM answers), (SELECT count(DISTINCT answer_id) FROM scores "
        "JOIN judges USING (judge_id) WHERE judge LIKE 'median of%' AND score IS NOT NULL)",
    )[0]
    assert answers == judged
    paid, full = query(
        store,
        "SELECT sum(cost_usd), sum(input_tokens * 1e-6 + output_tokens * 5e-6) FROM calls "
        "WHERE NOT cached AND stage = 'score'",
    )[0]
    assert paid == pytest.approx(full / 2)


def test_a_plan_foresees_the_calls_and_changes_nothing(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    options = (sessions, "--store", store, *OPTIONS, *MODEL)
    planned = working_command("plan", *options, "--json")
    assert planned.exit_code == 0, planned.output
    assert not store.exists()
    assert provider.requests == []
    lines = {line["stage"]: line for line in json.loads(planned.stdout)["calls"]}
    assert set(lines) == {"compact", "answer", "score"}
    assert all(line["cost_usd"] is None and line["cached"] <= line["calls"] for line in lines.values())

    assert working_command("run", *options).exit_code == 0
    sent = dict(query(store, "SELECT stage, count(*) FROM calls WHERE NOT cached GROUP BY stage"))
    assert {stage: line["to_pay"] for stage, line in lines.items()} == sent

    for file in (store / "scores").glob("*.parquet"):
        file.unlink()
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*.parquet")}
    again = json.loads(working_command("plan", *options, "--json").stdout)
    (line,) = again["calls"]
    assert (line["stage"], line["to_pay"]) == ("score", 0)
    assert again["items"]["score"] > 0
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*.parquet")} == before


def test_at_thirty_per_cent_faults_every_answer_is_there_once_or_failed_with_a_reason(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    kinds = (
        "429",
        "429_retry_after",
        "500",
        "503",
        "cut_body",
        "invalid_json",
        "schema_violation",
        "empty",
        "refusal",
        "wrong_model",
        "reset",
    )
    provider.faults = dict.fromkeys(kinds, 0.3 / len(kinds))
    store = tmp_path / "store"
    result = working_command("run", sessions, "--store", store, *OPTIONS, *MODEL)
    assert result.exit_code in (0, 3), result.output
    # What failed is missing from the figures of its method; nothing else may be wrong.
    assert query(store, "SELECT invariant FROM checks WHERE violations > 0") in ([], [("same_questions_scored",)])
    expected, there = query(
        store,
        "SELECT (SELECT count(*) FROM probes) * (SELECT count(*) FROM methods), "
        "(SELECT count(*) FROM answers) + (SELECT count(*) FROM compactions JOIN probes USING (point_id) "
        "WHERE status = 'failed')",
    )[0]
    assert there == expected
    assert query(store, "SELECT count(*) FROM answers WHERE status = 'failed' AND error IS NULL") == [(0,)]
    assert query(store, "SELECT count(*) FROM answers WHERE text LIKE '%refus%'") == [(0,)]
    provider.faults = {}
    for _ in range(2):
        final = working_command("run", sessions, "--store", store, *OPTIONS, *MODEL)
    assert final.exit_code == 0, final.output
    answered = query(store, "SELECT count(*) FROM answers WHERE status = 'done'")[0][0]
    assert answered == expected
    assert query(store, "SELECT * FROM checks WHERE violations > 0") == []


def test_nothing_that_the_judge_is_sent_names_a_method_or_an_id(
    provider: MockProvider, sessions: Path, tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    assert working_command("run", sessions, "--store", store, *OPTIONS, *MODEL).exit_code == 0
    requests = [request for request in provider.requests if asked_of_a_judge(request.body)]
    assert requests
    known = set()
    for table, columns in {
        "methods": ("method", "strategy", "method_id", "peer"),
        "compactions": ("compaction_id",),
        "answers": ("answer_id",),
        "probes": ("probe_id",),
        "points": ("point_id",),
        "sessions": ("session_id",),
        "runs": ("run_id",),
    }.items():
        for column in columns:
            known |= {str(value) for (value,) in query(store, f"SELECT DISTINCT {column} FROM {table}")}
    known -= {"none", "empty", "own", "None"}  # words of the language, too
    for request in requests:
        sent = request.raw.decode() + json.dumps(dict(request.headers))
        assert [name for name in known if name in sent] == []
        asked = request.body["messages"][-1]["content"]
        assert asked.count('"model_response":') == 1  # one answer a request (a quote in a text is escaped)


def test_when_an_answer_is_judged_says_nothing_about_its_method(
    provider: MockProvider, logs: Path, tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    log = logs / "orchard.jsonl"
    options = ("--judge", "openai:judge", "--concurrency", "1", "--limit", "1")
    assert working_command("run", log, "--store", store, *OPTIONS, *options).exit_code == 0
    sent = query(
        store,
        "SELECT compaction_id, item_id FROM calls JOIN answers ON item_id = answer_id "
        "WHERE stage = 'score' AND NOT cached ORDER BY calls.started_at",
    )
    assert len(sent) > 8
    assert sent == sorted(sent)  # by a hash among contexts, and by one within a context
