"""What is recommended, on stores of which the answer is known."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from flows.reporting.recommendation import Wanted, recommend
from flows.reporting.text_tables import Layout
from flows.support.errors import UsageError
from tests.sql.loaded import make_loaded
from tests.sql.tiny import Rows, answer, graded, probe, scores

SESSIONS = 12
TOKENS = {"none": 1000, "now": 400, "good": 450, "cheap": 100, "poor": 50, "rough": 200, "empty": 0}


def store_of(lost: float = 5.0) -> Rows:
    """``good`` is better than ``now`` by 0.6, ``cheap`` as good, ``poor`` worse by 2, and ``rough`` varies too much.

    ``good`` has ``lost`` points for constraints where the others have 5.
    """
    rng = np.random.default_rng(7)
    shifts = {"now": 0.0, "good": 0.6, "cheap": 0.0, "poor": -2.0, "rough": -0.1}
    noise = {"rough": 0.8, "cheap": 0.03}
    drawn = {
        name: np.clip(3.0 + np.arange(SESSIONS) / 50 + shift + rng.normal(0, noise.get(name, 0.1), SESSIONS), 0, 5)
        for name, shift in shifts.items()
    } | {"none": np.full(SESSIONS, 5.0), "empty": np.zeros(SESSIONS)}
    store = graded(
        {name: {(f"s{s:02d}", "q"): float(score) for s, score in enumerate(of)} for name, of in drawn.items()}
    )
    for row in store["compactions"]:
        row["tokens_after"] = TOKENS[row["method_id"]]
    store["criteria"] = [
        *store["criteria"],
        {"rubric": "tiny@1", "criterion": "held", "dimension": "constraints", "weight": 1.0, "question": "Held?"},
    ]
    for s in range(SESSIONS):
        point_id, probe_id = f"p-s{s:02d}", f"s{s:02d}-c"
        store["probes"].append(probe(probe_id, point_id, "constraint"))
        for name in drawn:
            store["answers"].append(answer(name, point_id, probe_id))
            [given] = scores(f"{name}/{probe_id}", "j1", facts=(lost if name == "good" else 5.0) - s % 2 / 10)
            store["scores"].append({**given, "criterion": "held", "dimension": "constraints"})
    return store


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_loaded(store_of(), tmp_path_factory.mktemp("recommend"))


def candidates(path: Path, **wanted: Any) -> dict[str, dict[str, Any]]:
    [found] = json.loads(recommend(path, Wanted("now", **wanted), layout=Layout("json")))
    return {row["method"]: row for row in found["candidates"]}


def picked(path: Path, which: str, **wanted: Any) -> list[str]:
    return [name for name, row in candidates(path, **wanted).items() if row[which]]


def test_three_sentences_and_the_picks(path: Path) -> None:
    text = " ".join(recommend(path, Wanted("now"), layout=Layout(width=200)).split())
    assert "good scores highest (3." in text
    assert "and is better than now (+0." in text
    assert "corrected for 4 comparisons), reading 112 % of its tokens." in text
    assert "cheap is shown to be at most 0.2 worse than now" in text
    assert "and reads 25 % of its tokens, keeping" in text
    assert (
        "1 method of 4 may be better, worse or as good as now: 12 sessions cannot tell, and to show a difference"
        in text
    )
    assert "retention of literal facts. No language model gave these scores" in text
    assert "Constraints were asked about in 12 questions" in text
    assert picked(path, "is_best") == ["good"]
    assert picked(path, "is_cheapest") == ["cheap"]
    assert picked(path, "is_best_value") == ["cheap"]
    assert set(candidates(path)) == {"now", "good", "cheap", "poor", "rough"}


def test_bounds_leave_methods_out_and_say_so(path: Path) -> None:
    assert picked(path, "is_best", most_tokens=400) != ["good"]
    assert candidates(path, most_tokens=400)["good"]["left_out_because"] == "too many tokens"
    assert candidates(path, least_retention=0.5)["poor"]["left_out_because"] == "keeps too little"
    text = " ".join(recommend(path, Wanted("now", least_retention=0.5), layout=Layout(width=200)).split())
    assert "Not recommended, keeps less than asked for: poor." in text
    assert "No method does what is asked for." in recommend(path, Wanted("now", least_retention=1.0, most_tokens=1))


def priced(tokens: dict[str, int]) -> Rows:
    """The store with a call of each method in one session, at two dollars a million tokens."""
    store = store_of()
    prices = {
        f"{name}{suffix}": 2.0
        for name in ("input", "cached_input", "cache_write", "output")
        for suffix in ("", "_long")
    }
    store["price_lists"] = [{"price_list": "openai:m", "source": "by hand", **prices}]
    store["replay_calls"] = [
        {
            "session_id": "s00",
            "method_id": name,
            "seq": 1,
            "input_tokens": n * 1000,
            "cached_tokens": 0,
            "output_tokens": 0,
        }
        for name, n in tokens.items()
    ]
    return store


def test_a_cost_bounds_what_is_recommended_and_is_shown(tmp_path: Path) -> None:
    path = make_loaded(priced({name: tokens for name, tokens in TOKENS.items() if name != "rough"}), tmp_path)
    found = candidates(path, most_usd=0.85, price_list="openai:m")
    assert {name: row["usd"] for name, row in found.items()} == {
        "now": 0.8, "good": 0.9, "cheap": 0.2, "poor": 0.1, "rough": None
    }  # fmt: skip
    assert [name for name, row in found.items() if row["left_out_because"] == "costs too much"] == ["good", "rough"]
    text = recommend(path, Wanted("now", most_usd=0.85, price_list="openai:m"), layout=Layout(width=200))
    assert "$: of a session on average, replayed at the prices of openai:m." in text
    assert "costs more than allowed, or nobody knows what: good, rough." in " ".join(text.split())


def test_sentences_say_dollars_where_both_methods_replayed_the_same_sessions(tmp_path: Path) -> None:
    def said(folder: str, store: Rows) -> str:
        text = recommend(
            make_loaded(store, tmp_path / folder), Wanted("now", price_list="openai:m"), layout=Layout(width=200)
        )
        return " ".join(text.split())

    both = said("both", priced({**TOKENS, "cheap": 4}))
    assert "reading 112 % of its tokens at $0.90 a session against $0.80." in both
    assert "reads 25 % of its tokens at $0.008 a session against $0.80, keeping" in both
    without_base = said("without", priced({name: tokens for name, tokens in TOKENS.items() if name != "now"}))
    assert "reading 112 % of its tokens." in without_base
    assert "reads 25 % of its tokens, keeping" in without_base
    store = priced(TOKENS)
    [call] = [row for row in store["replay_calls"] if row["method_id"] == "good"]
    store["replay_calls"].append({**call, "session_id": "s01"})
    other = said("other", store)
    assert "reading 112 % of its tokens." in other
    assert "reads 25 % of its tokens at $0.20 a session against $0.80, keeping" in other


def test_what_costs_more_than_no_compaction_is_named_after_all_others_and_says_so(tmp_path: Path) -> None:
    tokens = {**TOKENS, "good": 3840, "rough": 1190, "now": 1005}
    path = make_loaded(priced(tokens), tmp_path)
    wanted = Wanted("now", price_list="openai:m")
    found = candidates(path, price_list="openai:m")
    assert {name: (row["share_of_none"], row["costs_more_than_none"]) for name, row in found.items()} == {
        "now": (1.005, False),  # within one percent
        "good": (3.84, True),
        "cheap": (0.1, False),
        "poor": (0.05, False),
        "rough": (1.19, True),
    }
    assert [name for name, row in found.items() if row["is_best"]] == ["now"]
    assert found["good"]["value"] == pytest.approx(found["good"]["retention"] - 3.84)
    text = " ".join(recommend(path, wanted, layout=Layout(width=200)).split())
    assert "scores highest of the methods that may be recommended" in text
    assert "of rough (119 % of what no compaction costs) it takes about" in text
    assert "recommended only where nothing else is: good (384%), rough (119%)." in text


def test_where_all_cost_more_than_no_compaction_the_best_is_named_with_its_cost(tmp_path: Path) -> None:
    path = make_loaded(priced({**{name: n + 2000 for name, n in TOKENS.items()}, "none": 1000}), tmp_path)
    wanted = Wanted("now", price_list="openai:m")
    text = " ".join(recommend(path, wanted, layout=Layout(width=200)).split())
    assert "Baseline: now (240 % of what no compaction costs)." in text
    assert "good (245 % of what no compaction costs) scores highest (3." in text
    assert "cheap (210 % of what no compaction costs) is shown to be at most 0.2 worse" in text
    table = recommend(path, wanted, layout=Layout(width=200)).splitlines()
    [quality] = [line for line in table if line.startswith("best quality")]
    assert "4.90    245%" in quality


def test_a_cost_cannot_be_asked_for_where_nothing_was_replayed(path: Path) -> None:
    with pytest.raises(UsageError, match="--max-cost: what a session costs at the prices of openai:m is not known"):
        recommend(path, Wanted("now", most_usd=1.0, price_list="openai:m"))


def test_a_retention_cannot_be_asked_for_without_the_controls(tmp_path: Path) -> None:
    figures = {(f"s{i}", "q"): 2.0 + i / 5 for i in range(6)}
    path = make_loaded(graded({"a": figures, "b": {k: x + 0.1 for k, x in figures.items()}}), tmp_path)
    with pytest.raises(UsageError, match="without the controls: run none and empty"):
        recommend(path, Wanted("a", least_retention=0.5))


def test_a_method_that_loses_constraints_is_vetoed_unless_asked_otherwise(tmp_path: Path) -> None:
    path = make_loaded(store_of(lost=2.0), tmp_path)
    assert picked(path, "is_best") != ["good"]
    assert candidates(path)["good"]["left_out_because"] == "loses constraints"
    assert "loses constraints that the baseline keeps (--allow-lost-constraints): good." in " ".join(
        recommend(path, Wanted("now"), layout=Layout(width=200)).split()
    )
    assert "scores highest of the methods that may be recommended" in recommend(path, Wanted("now"))
    assert picked(path, "is_best", allows_lost_constraints=True) == ["good"]


def test_how_many_sessions_it_takes_is_the_sample_size_of_a_paired_comparison(path: Path) -> None:
    """Of rough: z(1 - 0.05 / 8) + z(0.8) = 2.498 + 0.842, squared, times the sessions and the variance of the error."""
    row = candidates(path)["rough"]
    error = (row["ci_high"] - row["ci_low"]) / 2 / stats.t.ppf(0.975, SESSIONS - 1)
    z = stats.norm.ppf(1 - 0.05 / 8) + stats.norm.ppf(0.8)
    assert row["sessions_needed"] == pytest.approx(ceil(SESSIONS * (z * error / 0.2) ** 2), abs=1)


def test_value_is_retention_above_the_share_of_the_tokens(path: Path) -> None:
    for name, row in candidates(path).items():
        assert row["value"] == pytest.approx(row["retention"] - TOKENS[name] / TOKENS["none"])


def test_without_a_baseline_it_says_which_was_taken_and_why(path: Path) -> None:
    text = " ".join(recommend(path, Wanted(), layout=Layout(width=200)).split())
    assert "Baseline: cheap, the first by name of the methods in most sessions, since none was named" in text


def test_a_baseline_that_is_a_control_is_named(path: Path) -> None:
    text = " ".join(recommend(path, Wanted("none"), layout=Layout(width=200)).split())
    assert "and is worse than none (-1." in text
    assert "No method that reads fewer tokens is shown to be as good as none." in text


def test_one_session_recommends_nothing(tmp_path: Path) -> None:
    path = make_loaded(graded({"a": {("s1", "q"): 5.0}, "b": {("s1", "q"): 0.0}}), tmp_path)
    text = " ".join(recommend(path, Wanted()).split())
    assert "One session cannot say how sessions differ, so nothing is recommended" in text
    assert "best quality" not in text


def test_a_difference_that_is_the_same_in_all_sessions_is_said_without_an_interval(tmp_path: Path) -> None:
    base = {("s1", "q"): 3.0, ("s2", "q"): 2.0}
    path = make_loaded(graded({"base": base, "up": {key: x + 0.5 for key, x in base.items()}}), tmp_path)
    text = " ".join(recommend(path, Wanted("base")).split())
    assert "is better than base (+0.50; p <.001" in text


def test_nothing_to_compare_is_said(tmp_path: Path) -> None:
    path = make_loaded(graded({"a": {("s1", "q"): 5.0}}), tmp_path)
    with pytest.raises(UsageError, match="nothing to compare"):
        recommend(path, Wanted())
    with pytest.raises(UsageError, match="no method 'who'"):
        recommend(path, Wanted("who"))
