"""The cost of a call, in US dollars: by the study's own prices, else the dated table, else unknown (None, never 0).

The table, ``prices.toml``, holds the providers' own standard rates, so it speaks of models at the providers' own
addresses only. Whoever has other prices (a contract, another service tier, a gateway) sets them in the study.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

from flows.llm.clients.transport import TokenUse
from flows.llm.settings import PROVIDERS, ModelSettings
from flows.support.errors import UsageError

MILLION = 1_000_000
CACHE_WRITE = 1.25
"""Price of input written into a prompt cache over that of input: both providers' rate for their shortest retention
(https://developers.openai.com/api/docs/guides/prompt-caching, https://platform.claude.com/docs/en/about-claude/pricing).
Used with a study's own prices, which do not say."""
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")
_PRICES = ("input", "output", "cached_input", "cache_write")


@dataclass(frozen=True, slots=True)
class Rate:
    """US dollars a million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """None: like input."""
    cache_write: float | None = None
    """None: like input."""

    def cost(self, use: TokenUse) -> float:
        """US dollars for these tokens."""
        cached = use.cached_input_tokens
        written = use.cache_write_tokens
        # A server may count what it cached beside the input instead of in it.
        plain = max(0, use.input_tokens - cached - written)
        price = self.as_dict()
        sent = plain * price["input"] + cached * price["cached_input"] + written * price["cache_write"]
        return (sent + use.output_tokens * price["output"]) / MILLION

    def as_dict(self) -> dict[str, float]:
        """The four prices; the price of input where one of its kinds has none of its own."""
        return {
            "input": self.input,
            "cached_input": self.input if self.cached_input is None else self.cached_input,
            "cache_write": self.input if self.cache_write is None else self.cache_write,
            "output": self.output,
        }

    @property
    def dearest_input(self) -> float:
        """The most that a token of input can cost."""
        return max(self.input, self.cached_input or 0.0, self.cache_write or 0.0)


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model, and its source."""

    rate: Rate
    source: str
    """For people: ``the study``, or the table with its day."""
    above: int | None = None
    """Input tokens above which ``long`` holds for the whole request; None when the length does not matter."""
    long: Rate | None = None

    def rate_for(self, input_tokens: int) -> Rate:
        """The rate of a request of this length."""
        return (
            self.long if self.long is not None and self.above is not None and input_tokens > self.above else self.rate
        )


class Prices:
    """Prices of models. Safe for threads."""

    def __init__(self, table: Mapping[str, Any] | None = None, place: str = "prices.toml") -> None:
        """Take a table of prices, by default the package's own.

        Raises UsageError, naming ``place``, for one that is not sound.
        """
        self._given = table
        self._place = place
        if table is not None:
            _ = self._table

    @cached_property
    def _table(self) -> dict[str, tuple[dict[str, Price], float]]:
        """Prices by provider and model, with each provider's share for batches."""
        table = self._given
        if table is None:
            table = tomllib.loads(files("flows.llm").joinpath("prices.toml").read_text(encoding="utf-8"))
        return _read(table, self._place)

    def price(self, settings: ModelSettings) -> Price | None:
        """Find a model's price; None if too little is known for the cost of a call."""
        if settings.is_by_file:
            return Price(Rate(0.0, 0.0), "nobody is called")
        listed = self._listed(settings) if settings.is_official else None
        given = (settings.input_usd, settings.output_usd, settings.cached_input_usd)
        if given == (None, None, None):
            return listed
        rate = listed.rate if listed is not None else None
        input_usd, output_usd, cached_usd = given
        if rate is not None:
            if input_usd is None:
                input_usd = rate.input
                cached_usd = rate.cached_input if cached_usd is None else cached_usd
            output_usd = rate.output if output_usd is None else output_usd
        if input_usd is None or output_usd is None:
            return None
        write_usd = CACHE_WRITE * input_usd if settings.is_official else None
        return Price(Rate(input_usd, output_usd, cached_usd, write_usd), "the study")

    def list_prices(self) -> dict[str, Price]:
        """The table's prices by spec (``openai:NAME``)."""
        return {
            f"{provider}:{name}": price
            for provider, (models, _) in self._table.items()
            for name, price in models.items()
        }

    def cost(self, settings: ModelSettings, use: TokenUse, *, batch: bool = False) -> float | None:
        """US dollars that a call has cost; None when the price is not known. Batches at the provider's discount."""
        price = self.price(settings)
        if price is None:
            return None
        return price.rate_for(use.input_tokens).cost(use) * (self._batch(settings) if batch else 1.0)

    def bound(
        self, settings: ModelSettings, input_tokens: int, output_tokens: int, *, batch: bool = False
    ) -> float | None:
        """The most that a call of so many tokens can cost; None when the price is not known.

        Nothing served from the provider's cache, everything written to it. The tokens must be upper limits themselves.
        """
        price = self.price(settings)
        if price is None:
            return None
        rate = price.rate_for(input_tokens)
        total = (input_tokens * rate.dearest_input + output_tokens * rate.output) / MILLION
        return total * (self._batch(settings) if batch else 1.0)

    def _listed(self, settings: ModelSettings) -> Price | None:
        models, _ = self._table[settings.provider]
        return models.get(settings.model) or models.get(_DATED.sub("", settings.model))

    def _batch(self, settings: ModelSettings) -> float:
        return 1.0 if settings.is_by_file else self._table[settings.provider][1]


def _read(table: Mapping[str, Any], place: str) -> dict[str, tuple[dict[str, Price], float]]:
    as_of = table.get("as_of")
    if type(as_of) is not datetime.date:
        raise UsageError(f"{place}: as_of: expected the day of the table, found {as_of!r}")
    found = {}
    for provider in PROVIDERS:
        part = table.get(provider, {})
        unknown = sorted(set(part) - {"source", "batch", "models", "reasoning"})
        if unknown:
            raise UsageError(f"{place}: {provider}: unknown key {unknown[0]!r}")
        batch = part.get("batch", 1.0)
        if not _is_price(batch) or not 0 < batch <= 1:
            raise UsageError(f"{place}: {provider}: batch: expected a share of the price, found {batch!r}")
        models = {
            name: _read_price(row, as_of, f"{place}: {provider}: {name}")
            for name, row in part.get("models", {}).items()
        }
        found[str(provider)] = (models, float(batch))
    return found


def _read_price(row: Any, as_of: datetime.date, place: str) -> Price:
    if not isinstance(row, Mapping):
        raise UsageError(f"{place}: expected a table with input and output, found {row!r}")
    prices = {key: value for key, value in row.items() if key not in ("above", "long", "as_of")}
    above, long, day = row.get("above"), row.get("long"), row.get("as_of", as_of)
    if type(day) is not datetime.date or day > as_of:
        raise UsageError(f"{place}: as_of: expected a day, not after the table's ({as_of}), found {day!r}")
    if (above is None) != (long is None) or (above is not None and (not isinstance(above, int) or above < 1)):
        raise UsageError(f"{place}: above and long: expected a number of tokens, and the prices above it, or neither")
    return Price(
        rate=_read_rate(prices, place),
        source=f"the table of {day.isoformat()}",
        above=above,
        long=None if long is None else _read_rate(long, f"{place}: long"),
    )


def _read_rate(row: Mapping[str, Any], place: str) -> Rate:
    unknown = sorted(set(row) - set(_PRICES))
    if unknown:
        raise UsageError(f"{place}: unknown key {unknown[0]!r}; known: {', '.join(_PRICES)}")
    for name in ("input", "output"):
        if name not in row:
            raise UsageError(f"{place}: {name} is missing")
    for name, value in row.items():
        if not _is_price(value):
            raise UsageError(f"{place}: {name}: expected US dollars a million tokens, found {value!r}")
    if row.get("cached_input", 0) > row["input"]:
        raise UsageError(f"{place}: cached_input: dearer than input, so one of the two is wrong")
    return Rate(**{name: float(value) for name, value in row.items()})


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
