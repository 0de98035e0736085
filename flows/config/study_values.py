"""Values that a study may name: methods, models and runners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compaction import StrategyError
from compaction.closest import did_you_mean
from compaction.methods import read_table
from compaction.parameters import value_text
from flows.config.runner_spec import ACCEPTED, Runner
from flows.llm.settings import BY_FILE, PROVIDERS, is_by_file, is_model
from flows.support.errors import UsageError
from judge.panel import LEAST_MEMBERS


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


def check_model(value: Any, place: str, *, by_file: bool = False) -> str:
    """A model, ``embedded``, or with ``by_file`` a file. Raises UsageError, which begins with ``place``."""
    if isinstance(value, str) and (value == "embedded" or is_model(value) or (by_file and is_by_file(value))):
        return value
    known = (*PROVIDERS, *([BY_FILE] if by_file else ()))
    accepted = ", ".join(f"{provider}:MODEL" for provider in PROVIDERS) + (", file or file:NAME" if by_file else "")
    meant = did_you_mean(value.partition(":")[0], (*known, "embedded")) if isinstance(value, str) else ""
    raise UsageError(f"{place}: expected embedded, {accepted}, found {value_text(value)}{meant}")


def check_panel(values: Sequence[str], place: str) -> tuple[str, ...]:
    """The judges of a panel, which commas may part; none for no panel. Raises UsageError, which begins with ``place``.

    The same judge twice would be one judge with two votes.
    """
    found = [check_model(spec.strip(), place) for value in values for spec in value.split(",")]
    repeated = sorted({spec for spec in found if found.count(spec) > 1})
    if repeated:
        raise UsageError(f"{place}: {repeated[0]} is named twice")
    if len(found) == 1:
        raise UsageError(f"{place}: a panel has {LEAST_MEMBERS} judges or more, found {found[0]} alone")
    return tuple(found)


def check_runner(value: str, place: str) -> str:
    """A runner that is installed. Raises UsageError, which begins with ``place``."""
    try:
        Runner.parse(value).check_installed(place)
    except ValueError:
        raise UsageError(f"{place}: expected {ACCEPTED}, found {value_text(value)}") from None
    return value
