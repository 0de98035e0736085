"""A provider with a batch interface, and the settings of its models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flows.llm.settings import ModelSettings
from tests.flows.llm.batch.filling import KEY, settings_of
from tests.flows.llm.batch_server import BatchProvider


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchProvider]:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)
    with BatchProvider() as running:
        yield running


@pytest.fixture(params=["chat", "responses", "messages"])
def settings(request: pytest.FixtureRequest, provider: BatchProvider) -> ModelSettings:
    return settings_of(provider, request.param)


@pytest.fixture(params=["chat", "messages"])
def either(request: pytest.FixtureRequest, provider: BatchProvider) -> ModelSettings:
    """One of each provider; how requests and answers look makes no difference."""
    return settings_of(provider, request.param)


@pytest.fixture
def chat(provider: BatchProvider) -> ModelSettings:
    return settings_of(provider, "chat")
