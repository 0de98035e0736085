"""Pairs: answers of a small store compared by a provider on this machine, and what comes of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from flows.store.store import Store
from tests.flows.conftest import Command, write_session
from tests.flows.llm.server import HttpError, MockProvider
from tests.flows.test_model_runs import query

METHODS = ("none", "empty", "head_tail")


class Reader:
    """Prefers the answer that says more of the truth; of equal ones the first, as a biased judge does."""

    down = False

    def __call__(self, body: dict[str, Any]) -> str:
        if self.down:
            raise HttpError(400, "not today")
        shown = json.loads(next(one["content"] for one in body["messages"] if one["role"] == "user"))
        assert set(shown) == {"question", "ground_truth", "answer_1", "answer_2"}
        truth = set(re.findall(r"\w+", shown["ground_truth"]))
        first, second = (len(truth & set(re.findall(r"\w+", shown[name]))) for name in ("answer_1", "answer_2"))
        return json.dumps({"reasoning": "more of it", "better": "1" if first >= second else "2"})


@pytest.mark.slow
def test_answers_are_compared_in_both_orders_once_and_what_is_missing_is_gone_on_with(
    tmp_path: Path, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    store, reader = tmp_path / "store", Reader()
    for number, word in enumerate(("orchard", "harbour", "lantern")):
        write_session(tmp_path / "logs" / f"{word}.jsonl", f"session-{number}", 22 + number, word)
    options = ("--points", "messages:20", "--strategies", ",".join(METHODS), "--quiet")
    assert working_command("run", tmp_path / "logs", "--store", store, *options).exit_code == 0
    with MockProvider(handler=reader) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        line = ("pairs", *METHODS, "--store", store, "--judge", "openai:m", "--quiet")

        planned = json.loads(working_command(*line, "--plan", "--json").stdout)
        [calls] = planned["calls"]
        assert (calls["stage"], calls["model"], provider.requests) == ("pair", "openai:m", [])
        assert [(row["method_a"], row["method_b"]) for row in planned["decides"]] == [
            ("empty", "head_tail"),
            ("empty", "none"),
            ("head_tail", "none"),
        ]
        assert "tell that from one half" in working_command(*line, "--plan").stdout

        reader.down = True
        broken = working_command(*line, "--at-most", "4")
        assert broken.exit_code == 3, broken.output
        assert "4 comparisons failed" in broken.stdout
        reader.down = False
        provider.requests.clear()
        part = working_command(*line, "--at-most", "4", "--json")
        assert part.exit_code == 0, part.output
        assert 0 < len(provider.requests) <= 4  # two methods with one answer make the same request
        whole = working_command(*line, "--json")
        assert whole.exit_code == 0, whole.output
        assert len(provider.requests) == calls["to_pay"]  # each once
        assert len({one.raw for one in provider.requests}) == len(provider.requests)
        found = json.loads(whole.stdout)
        pairs = {(row["method_a"], row["method_b"]): row for row in found["pairs"]}
        assert pairs["empty", "none"]["share_a"] < 0.5
        n_questions = sum(row["n_questions"] for row in pairs.values())
        assert 2 * n_questions == calls["calls"] + planned["same_answers"]
        again = working_command(*line)
        assert again.exit_code == 0, again.output
        assert len(provider.requests) == calls["to_pay"]
        assert re.search(r"Position: the answer shown first wins \d\.\d\d of \d+ comparisons", again.stdout)

        for path in (store / "comparisons").glob("*.parquet"):
            path.unlink()
        paid = working_command(*line)  # from the call cache
        assert (paid.exit_code, len(provider.requests)) == (0, calls["to_pay"]), paid.output
    rows = query(store, "SELECT count(*), count(DISTINCT comparison_id), count(error) FROM comparisons")
    assert rows == [(2 * n_questions, 2 * n_questions, 0)]
    assert query(store, "SELECT * FROM checks WHERE violations > 0") == []
    assert Store.open(str(store)).comparisons.files()


@pytest.mark.slow
def test_pairs_that_cannot_be_compared_are_refused_in_a_sentence(tmp_path: Path, working_command: Command) -> None:
    store = tmp_path / "store"
    write_session(tmp_path / "logs" / "orchard.jsonl", "session-0", 20)
    run = ("run", tmp_path / "logs", "--store", store, "--points", "messages:20", "--strategies", "none,empty")
    assert working_command(*run, "--quiet").exit_code == 0
    for line, said in (
        (("none", "emty", "--judge", "openai:m"), "the store has no results of 'emty'"),
        (("none", "none", "--judge", "openai:m"), "name two methods or more"),
        (("none", "empty"), "pairs are compared by a language model, such as --judge openai:MODEL"),
    ):
        refused = working_command("pairs", *line, "--store", store)
        assert refused.exit_code == 2
        assert said in refused.stderr
