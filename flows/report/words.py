"""What the page says, in the languages that it speaks: one catalogue each, ``words/<language>.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGES = {"en": "English", "zh": "中文"}


@dataclass(frozen=True)
class Words:
    """A catalogue: ``words("col.method")``, ``words("said.answers", n="4,152")``."""

    language: str
    catalogue: Mapping[str, Mapping[str, str]]

    def __call__(self, key: str, **values: Any) -> str:
        """A text, with values in it. KeyError where there is none: the catalogues are the page's own."""
        section, _, name = key.partition(".")
        text = self.catalogue[section][name]
        return text.format(**values) if values else text

    def of(self, section: str) -> Mapping[str, str]:
        """All texts of a section."""
        return self.catalogue[section]


@cache
def words(language: str) -> Words:
    """The catalogue of a language; ValueError for one that there is none of."""
    if language not in LANGUAGES:
        raise ValueError(f"no language {language!r}; there are: {', '.join(LANGUAGES)}")
    text = files("flows.report").joinpath("words", f"{language}.toml").read_text(encoding="utf-8")
    return Words(language, tomllib.loads(text))
