"""Names of models, as they are asked for and as providers give them back."""

from __future__ import annotations

import pytest

from flows.llm.clients.replies import same_model


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("gpt-5.2", "gpt-5.2"),
        ("gpt-5.2", "GPT-5.2"),
        ("gpt-5.2", "gpt-5.2-2025-12-11"),
        ("gpt-4", "gpt-4-0613"),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
        ("claude-opus-4-0", "claude-opus-4-20250514"),
        ("openai/gpt-5.2", "gpt-5.2-2025-12-11"),
        ("gpt-5.2", "openai/gpt-5.2"),
        ("Qwen/Qwen3-8B", "/models/Qwen3-8B"),
        ("qwen3:latest", "qwen3"),
        ("qwen3-8b", "/models/qwen3-8b-q4_k_m.gguf"),
        ("qwen3-8b", "C:\\models\\Qwen3-8B.Q8_0.gguf"),
        ("qwen3-8b.gguf", "/models/qwen3-8b.gguf"),
        ("qwen3-8b", "qwen3-8b-00001-of-00002.gguf"),
    ],
)
def test_these_names_are_the_same_models(asked: str, got: str) -> None:
    assert same_model(asked, got)


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("gpt-5.2", "gpt-5.2-mini"),
        ("gpt-5.2", "gpt-5.2-mini-2025-12-11"),
        ("gpt-5.2-2025-12-11", "gpt-5.2-2026-03-01"),
        ("gpt-5.2-2025-12-11", "gpt-5.2"),
        ("gpt-5.2", "gpt-5"),
        ("qwen3:8b", "qwen3:32b"),
        ("qwen3-8b", "/models/qwen3-32b-q4_k_m.gguf"),
        ("qwen3", "/models/qwen3-8b.gguf"),
    ],
)
def test_these_names_are_other_models(asked: str, got: str) -> None:
    assert not same_model(asked, got)
