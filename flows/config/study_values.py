"""What each key of a study may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compaction import StrategyError
from compaction.closest import did_you_mean
from compaction.methods import read_table, split_specs
from compaction.parameters import CONTROL, value_text
from flows.config.runner_spec import ACCEPTED, Runner
from flows.llm.settings import PROVIDERS, is_model
from flows.support.choices import HISTORIES, PROTOCOLS, TOKENIZERS
from flows.support.errors import UsageError

MODEL_ROLES = ("summarizer", "responder", "prober", "judge")


LONGEST_TEXT = 4_096
"""Characters of a text in a study: as many as a path may have."""
LONGEST_LIST = 100_000
"""Characters of a list of strategies."""
LEAST = {
    "replicates": 1,
    "judge_replicates": 1,
    "anchors": 0,
    "anchor_days": 1,
    "limit": 1,
    "concurrency": 1,
    "budget_tokens": 1,
}
"""Key of a whole number → its smallest value."""
MOST = {
    "replicates": 1_000,
    "judge_replicates": 1_000,
    "anchors": 1_000_000,
    "anchor_days": 36_500,
    "limit": 10**9,
    "concurrency": 1_024,
    "budget_tokens": 10**15,
}
"""Key of a whole number → its largest value; a larger one is a slip of the hand."""
MOST_USD = 10**9
CHOICES = {"history": HISTORIES, "tokenizer": TOKENIZERS, "protocol": PROTOCOLS}
"""Key → what it may be."""
_LISTS = ("sources", "strategies")
_SWITCHES = ("redact",)


def check_value(key: str, value: Any, place: str) -> Any:
    """The value of a key as a study has it. Raises UsageError, which begins with ``place``."""
    if key in _LISTS:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
            raise UsageError(f"{place}: expected a text or a list of texts, found {value_text(value)}")
        for item in items:
            if not item.strip() or "\0" in item or len(item) > (LONGEST_LIST if key == "strategies" else LONGEST_TEXT):
                raise UsageError(f"{place}: expected a text, found {value_text(item)}")
        return tuple(spec for item in items for spec in split_specs(item)) if key == "strategies" else tuple(items)
    if key in LEAST:
        if not isinstance(value, int) or isinstance(value, bool) or value < LEAST[key]:
            raise UsageError(f"{place}: expected a whole number of at least {LEAST[key]}, found {value_text(value)}")
        if value > MOST[key]:
            raise UsageError(f"{place}: expected a whole number of at most {MOST[key]:,}, found {value_text(value)}")
        return value
    if key == "budget_usd":
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= MOST_USD:
            raise UsageError(
                f"{place}: expected an amount above 0 in US dollars, found {value_text(value)} (at most {MOST_USD:,})"
            )
        return float(value)
    if key in _SWITCHES:
        if not isinstance(value, bool):
            raise UsageError(f"{place}: expected true or false, found {value_text(value)}")
        return value
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{place}: expected a text, found {value_text(value)}")
    if len(value) > LONGEST_TEXT or CONTROL.search(value):
        what = (
            f"longer than {LONGEST_TEXT:,} characters"
            if len(value) > LONGEST_TEXT
            else "a text with control characters"
        )
        raise UsageError(f"{place}: {what}: {value_text(value)}")
    if key in MODEL_ROLES:
        return check_model(value, place)
    if key == "runner":
        return check_runner(value, place)
    if key in CHOICES and value not in CHOICES[key]:
        raise UsageError(
            f"{place}: expected {' or '.join(CHOICES[key])}, found {value_text(value)}"
            f"{did_you_mean(value, CHOICES[key])}"
        )
    return value


def check_methods(tables: Any, place: Callable[..., str]) -> tuple[str, ...]:
    """The specs of the tables ``[[methods]]``. Raises UsageError, which begins with what ``place`` gives."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{place('methods')}: expected tables [[methods]], found {value_text(tables)}")
    specs: list[str] = []
    names: list[str] = []
    for number, table in enumerate(tables):
        try:
            specs.append(read_table(table))
        except StrategyError as error:
            raise UsageError(f"{place('methods', number)}: {error}") from None
        names.append(table["name"].strip())
        if names[-1] in names[:-1]:
            raise UsageError(f"{place('methods', number)}: two methods are called {names[-1]!r}")
    return tuple(specs)


def check_model(value: Any, place: str) -> str:
    """A model, or ``embedded``. Raises UsageError, which begins with ``place``."""
    if isinstance(value, str) and (value == "embedded" or is_model(value)):
        return value
    accepted = ", ".join(f"{provider}:MODEL" for provider in PROVIDERS)
    meant = did_you_mean(value.partition(":")[0], (*PROVIDERS, "embedded")) if isinstance(value, str) else ""
    raise UsageError(f"{place}: expected embedded, {accepted}, found {value_text(value)}{meant}")


def check_runner(value: str, place: str) -> str:
    """A runner that is installed. Raises UsageError, which begins with ``place``."""
    try:
        Runner.parse(value).check_installed(place)
    except ValueError:
        raise UsageError(f"{place}: expected {ACCEPTED}, found {value_text(value)}") from None
    return value
