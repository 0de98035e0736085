"""A provider on this machine and a call cache for every test of the models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.llm.cache.call_cache import CallCache
from tests.flows.llm.server import MockProvider


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[MockProvider]:
    """A provider without faults, and nothing of this machine's own settings in the environment."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with MockProvider() as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CallCache]:
    with CallCache(tmp_path / "cache") as opened:
        yield opened
