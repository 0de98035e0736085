"""What a call costs: the study's prices, the dated table, or unknown; never 0 for what is not known."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import flows.llm.prices
from flows.llm.clients.transport import TokenUse
from flows.llm.prices import Prices
from flows.llm.settings import make_settings
from flows.support.errors import UsageError

DAY = datetime.date(2026, 11, 1)
TABLE: dict[str, Any] = {
    "as_of": DAY,
    "openai": {
        "source": "https://prices.test",
        "batch": 0.5,
        "models": {
            "m-1": {"input": 2, "cached_input": 0.5, "cache_write": 2.5, "output": 8.0},
            "m-2": {"input": 1.0, "output": 4.0, "as_of": datetime.date(2026, 10, 1)},
            "m-long": {"input": 1.0, "output": 4.0, "above": 1000, "long": {"input": 2.0, "output": 6.0}},
        },
    },
    "anthropic": {"source": "https://prices.test", "models": {"c-1": {"input": 3.0, "output": 15.0}}},
}
PRICES = Prices(TABLE)
USE = TokenUse(input_tokens=1_000_000, output_tokens=500_000, cached_input_tokens=400_000, cache_write_tokens=100_000)


@pytest.fixture(autouse=True)
def official(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def settings(spec: str = "openai:m-1", **given: Any):
    return make_settings(spec, given, "study")


def test_each_kind_of_token_has_its_price() -> None:
    assert PRICES.cost(settings(), USE) == pytest.approx(0.5 * 2 + 0.4 * 0.5 + 0.1 * 2.5 + 0.5 * 8)


def test_without_prices_of_their_own_cached_and_written_tokens_cost_what_input_does() -> None:
    assert PRICES.cost(settings("openai:m-2"), USE) == pytest.approx(1.0 + 0.5 * 4)


def test_a_batch_costs_the_providers_share() -> None:
    whole = PRICES.cost(settings(), USE)
    assert whole is not None
    assert PRICES.cost(settings(), USE, batch=True) == pytest.approx(whole / 2)
    assert PRICES.cost(settings("anthropic:c-1"), USE, batch=True) == PRICES.cost(settings("anthropic:c-1"), USE)
    assert PRICES.bound(settings(), 10, 10, batch=True) == pytest.approx((PRICES.bound(settings(), 10, 10) or 0) / 2)


@pytest.mark.parametrize(("tokens", "usd"), [(1000, 1000 * 1.0 + 10 * 4.0), (1001, 1001 * 2.0 + 10 * 6.0)])
def test_a_long_request_costs_the_long_price_as_a_whole(tokens: int, usd: float) -> None:
    model = settings("openai:m-long")
    assert PRICES.cost(model, TokenUse(tokens, 10)) == pytest.approx(usd / 1e6)
    assert PRICES.bound(model, tokens, 10) == pytest.approx(usd / 1e6)


def test_the_bound_is_never_below_the_cost_of_any_use_of_so_many_tokens() -> None:
    for model in (settings(), settings("openai:m-2"), settings(input_usd=5.0, output_usd=5.0)):
        bound = PRICES.bound(model, 1000, 100)
        assert bound is not None
        for cached in (0, 300, 1000):
            for written in (0, 200, 1000 - cached):
                if cached + written <= 1000:
                    cost = PRICES.cost(model, TokenUse(1000, 100, cached, written))
                    assert cost is not None
                    assert cost <= bound * (1 + 1e-12)


@pytest.mark.parametrize("suffix", ["-2025-12-11", "-20251211"])
def test_a_name_with_a_date_has_the_price_of_the_name_without(suffix: str) -> None:
    assert PRICES.cost(settings(f"openai:m-1{suffix}"), USE) == PRICES.cost(settings(), USE)


@pytest.mark.parametrize("name", ["m-1-mini", "m-1-2025", "m", "M-1", "m-1-2025-12-11-x"])
def test_a_model_that_is_not_in_the_table_has_no_price(name: str) -> None:
    model = settings(f"openai:{name}")
    assert (PRICES.price(model), PRICES.cost(model, USE), PRICES.bound(model, 1, 1)) == (None, None, None)


def test_a_row_of_the_dated_name_goes_before_the_undated_one() -> None:
    models = {"m": {"input": 1.0, "output": 1.0}, "m-2024-05-13": {"input": 5.0, "output": 1.0}}
    prices = Prices({"as_of": DAY, "openai": {"models": models}})
    assert prices.cost(settings("openai:m-2024-05-13"), TokenUse(1_000_000, 0)) == 5.0
    assert prices.cost(settings("openai:m-2024-08-01"), TokenUse(1_000_000, 0)) == 1.0


def test_the_table_does_not_speak_of_other_servers() -> None:
    assert PRICES.cost(settings(base_url="http://localhost:8000/v1"), USE) is None


def test_the_studys_prices_hold_everywhere_and_zero_is_a_price() -> None:
    local = settings(base_url="http://localhost:8000/v1", input_usd=0.0, output_usd=0.0)
    assert PRICES.cost(local, USE) == 0.0
    own = settings("openai:unheard-of", input_usd=10.0, output_usd=20.0, cached_input_usd=1.0)
    assert PRICES.cost(own, USE) == pytest.approx(0.5 * 10 + 0.4 * 1 + 0.1 * 12.5 + 0.5 * 20)
    price = PRICES.price(own)
    assert price is not None
    assert price.source == "the study"


def test_half_a_price_is_none_unless_the_table_has_the_other_half() -> None:
    assert PRICES.cost(settings("openai:unheard-of", input_usd=10.0), USE) is None
    assert PRICES.cost(settings(output_usd=16.0), TokenUse(0, 1_000_000)) == 16.0
    assert PRICES.cost(settings(output_usd=16.0), TokenUse(1_000_000, 0, 1_000_000)) == 0.5
    dearer = settings(input_usd=4.0)
    assert PRICES.cost(dearer, TokenUse(1_000_000, 0, 1_000_000)) == 4.0, "the table's cached price is of its own input"


def test_a_server_that_counts_cached_tokens_beside_the_input_makes_no_negative_cost() -> None:
    assert PRICES.cost(settings(), TokenUse(100, 0, 1_000_000)) == pytest.approx(0.5)


def test_a_price_says_where_it_is_from() -> None:
    price = PRICES.price(settings("openai:m-2"))
    assert price is not None
    assert price.source == "the table of 2026-10-01"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"input": 1.0}, "prices.toml: openai: m: output is missing"),
        ({"input": 1.0, "output": -1.0}, "output: expected US dollars a million tokens, found -1.0"),
        ({"input": "1", "output": 1.0}, "input: expected US dollars a million tokens, found '1'"),
        ({"input": True, "output": 1.0}, "input: expected US dollars"),
        ({"input": float("nan"), "output": 1.0}, "input: expected US dollars"),
        ({"input": 1.0, "output": 1.0, "cached": 1.0}, "unknown key 'cached'; known: input, output"),
        ({"input": 1.0, "output": 1.0, "cached_input": 2.0}, "cached_input: dearer than input"),
        ({"input": 1.0, "output": 1.0, "above": 10}, "above and long: expected"),
        ({"input": 1.0, "output": 1.0, "above": 10, "long": {"input": 2.0}}, "m: long: output is missing"),
        ({"input": 1.0, "output": 1.0, "as_of": datetime.date(2027, 1, 1)}, "as_of: expected a day, not after"),
        (3, "expected a table with input and output, found 3"),
    ],
)
def test_a_table_that_is_not_sound_is_refused_with_the_place(row: Any, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        Prices({"as_of": DAY, "openai": {"models": {"m": row}}})


def test_a_table_without_its_day_or_with_a_wrong_batch_share_is_refused() -> None:
    with pytest.raises(UsageError, match="as_of: expected the day of the table, found None"):
        Prices({})
    with pytest.raises(UsageError, match="anthropic: batch: expected a share of the price, found 50"):
        Prices({"as_of": DAY, "anthropic": {"batch": 50}})


def test_the_packages_table_is_sound_dated_and_says_where_it_is_from() -> None:
    table = tomllib.loads((Path(flows.llm.prices.__file__).parent / "prices.toml").read_text())
    prices = Prices()
    for provider in ("openai", "anthropic"):
        assert table[provider]["source"].startswith("https://")
        for name, row in table[provider]["models"].items():
            assert row["as_of"] <= table["as_of"]
            price = prices.price(settings(f"{provider}:{name}"))
            assert price is not None
            writes = "embedding" not in name
            assert price.rate.input > 0
            assert (price.rate.output == 0) != writes
            assert price.rate.input < price.rate.output or not writes
            if price.long is not None:
                assert price.rate.input < price.long.input
                assert price.rate.output < price.long.output


def test_known_prices_of_the_package() -> None:
    use = TokenUse(1_000_000, 1_000_000)
    assert Prices().cost(settings("openai:gpt-5.2-2025-12-11"), TokenUse(100_000, 10_000)) == pytest.approx(0.315)
    assert Prices().cost(settings("anthropic:claude-haiku-4-5-20251001"), use) == pytest.approx(6.0)
    assert Prices().cost(settings("anthropic:claude-haiku-4-5"), use, batch=True) == pytest.approx(3.0)
