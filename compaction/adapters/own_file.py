"""Files of the user's own: strategies (``mine.py:last_messages``) and prompts (``prompt_file="short.md"``)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from compaction.closest import closest_or_all
from compaction.registry import REGISTRY
from compaction.strategy import Strategy, StrategyError

SEPARATOR = ".py:"
"""What tells the name of a file from that of a strategy."""
MOST_OF_PROMPT = 100_000
"""Characters of a prompt."""


def strategy_in_file(id: str) -> Strategy:
    """The strategy that ``FILE.py:ID`` names. The file is run; what it registers is known by this name alone.

    Raises StrategyError where there is no such file, where it cannot be run, and where it has no such strategy.
    """
    file, _, name = id.rpartition(":")
    found = _strategies_of(str(Path(file).expanduser().resolve()))
    if name not in found:
        what = closest_or_all(name, found) if found else "; no function in it has the decorator @strategy"
        raise StrategyError(f"{file} has no strategy {name!r}{what}")
    return replace(found[name], id=id)


@cache
def _strategies_of(file: str) -> Mapping[str, Strategy]:
    """The strategies that a file registers, taken out of the registry again."""
    if not Path(file).is_file():
        raise StrategyError(f"no such file: {file}")
    before = set(REGISTRY)
    name = f"file:{file}"
    loader = SourceFileLoader(name, file)
    sys.modules[name] = module = ModuleType(name)
    module.__file__ = file
    try:
        loader.exec_module(module)
    except Exception as error:
        raise StrategyError(f"{file} cannot be run: {type(error).__name__}: {error}") from error
    finally:
        found = {id: REGISTRY.pop(id) for id in set(REGISTRY) - before}
    return found


def read_prompt(file: str) -> str:
    """The text of a file with a prompt, 1 to 100,000 characters. Raises StrategyError where there is none."""
    return _prompt_in(str(Path(file).expanduser().resolve()), file)


@cache
def _prompt_in(path: str, file: str) -> str:
    """Read a file once, so that a run has one prompt from its first point to its last."""
    if not Path(path).is_file():
        raise StrategyError(f"prompt_file {file}: no such file; name one with the instructions to the summariser")
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        raise StrategyError(f"prompt_file {file}: expected a text in UTF-8 that can be read") from None
    if not 0 < len(text) <= MOST_OF_PROMPT:
        raise StrategyError(
            f"prompt_file {file}: expected 1 to {MOST_OF_PROMPT:,} characters of instructions, found {len(text):,}"
        )
    return text
