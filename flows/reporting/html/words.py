"""The texts of the page in each language: one catalogue each, ``words/<language>.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGES = {"en": "English", "zh": "中文"}


@dataclass(frozen=True)
class TextCatalogue:
    """A catalogue: ``words("col.method")``, ``words("said.answers", n="4,152")``."""

    language: str
    catalogue: Mapping[str, Mapping[str, str]]

    def __call__(self, key: str, **values: Any) -> str:
        """Fill the values of a text. Raises KeyError for an unknown key."""
        section, _, name = key.partition(".")
        text = self.catalogue[section][name]
        return text.format(**values) if values else text

    def of(self, section: str) -> Mapping[str, str]:
        """All texts of a section."""
        return self.catalogue[section]


@cache
def load_catalogue(language: str) -> TextCatalogue:
    """The catalogue of a language. Raises ValueError for a language without one."""
    if language not in LANGUAGES:
        raise ValueError(f"no language {language!r}; there are: {', '.join(LANGUAGES)}")
    text = files("flows.reporting.html").joinpath("words", f"{language}.toml").read_text(encoding="utf-8")
    return TextCatalogue(language, tomllib.loads(text))
