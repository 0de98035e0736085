"""The README shows what the command prints, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compaction import load_registry
from compaction.strategy import _registry

from .conftest import ROOT, Command

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_leaderboard_in_the_readme_is_the_one_that_the_samples_give(
    tmp_path: Path, working_command: Command
) -> None:
    result = working_command("run", "--store", tmp_path / "store", "--quiet")
    assert result.exit_code == 0, result.output
    shown = re.search(r"```\n(method +overall.*?)\n```", README, re.DOTALL)
    assert shown is not None
    assert without_ids(shown[1]) == without_ids(result.stdout), "print it again: compaction-eval run --quiet"


def without_ids(text: str) -> list[str]:
    """The words of a text without hashes of code, which lines are broken around differently for."""
    return re.sub(r"\b[0-9a-f]{8,24}\b", "ID", text).split()


def test_the_strategy_in_the_readme_registers() -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    try:
        exec(compile(code[1], "README.md", "exec", dont_inherit=True), {})
        assert load_registry()["last_messages"].params == {"keep": 10}
    finally:
        _registry.pop("last_messages", None)


def test_every_document_that_the_readme_names_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
