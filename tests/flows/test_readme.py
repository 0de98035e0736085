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
    parts = [without_ids(part) for part in re.split(r"^⋮.*$", shown[1], flags=re.MULTILINE)]
    assert len(parts) == 2, "the table is shown without its middle"
    printed = without_ids(result.stdout)
    top, bottom = parts
    assert printed[: len(top)] == top, "print it again: compaction-eval run --quiet"
    assert printed[-len(bottom) :] == bottom, "print it again: compaction-eval run --quiet"
    left_out = re.search(r"^⋮ \((\d+) more", shown[1], re.MULTILINE)
    assert left_out is not None
    rows = len(re.findall(r" +\d+\.\d%| +-\d+\.\d%", result.stdout))
    assert int(left_out[1]) == rows - len(re.findall(r" +-?\d+\.\d%", shown[1]))


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
