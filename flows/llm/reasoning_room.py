"""Tokens beside an answer's that a model may spend on reasoning: as set, else as its family needs (``prices.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from flows.llm.settings import ModelSettings


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files("flows.llm").joinpath("prices.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=256)
def reasoning_room(settings: ModelSettings) -> int:
    """The room of a model: of its family the one with the longest name that fits; 0 where none does.

    A model that reasons only because it is asked to (``reasoning_effort``) has the table's ``reasoning_asked``.
    """
    if settings.reasoning_tokens is not None:
        return settings.reasoning_tokens
    if settings.reasoning_effort == "none" or settings.is_by_file:
        return 0
    families: Mapping[str, int] = _table()[settings.provider]["reasoning"]
    name = settings.model.rsplit("/", 1)[-1]
    fitting = [family for family in families if name.startswith(family)]
    asked: int = _table()["reasoning_asked"] if settings.reasoning_effort is not None else 0
    return max(asked, families[max(fitting, key=len)] if fitting else 0)
