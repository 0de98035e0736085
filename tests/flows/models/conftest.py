"""A provider on this machine for every test of the models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.flows.models.server import MockProvider


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[MockProvider]:
    """A provider without faults, and nothing of this machine's own settings in the environment."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with MockProvider() as running:
        yield running
