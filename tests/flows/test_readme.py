"""The README shows what the command prints, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compaction import load_registry
from compaction.strategy import _registry

from .conftest import ROOT, Command

README = (ROOT / "README.md").read_text(encoding="utf-8")


CODE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.slow
def test_the_leaderboard_and_the_frames_in_the_readme_are_what_the_samples_give(
    tmp_path: Path, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = working_command("run", "--quiet")
    assert result.exit_code == 0, result.output
    check_leaderboard(result.stdout)
    [frames] = [code for code in CODE if "open_results" in code]
    exec(compile(frames, "README.md", "exec", dont_inherit=True), found := {})
    with found["results"] as results:
        assert results.frame("paired_differences").height > 1000
        assert results.query("quality_and_tokens").height == results.leaderboard().height


def check_leaderboard(output: str) -> None:
    shown = re.search(r"```\n(method +overall.*?)\n```", README, re.DOTALL)
    assert shown is not None
    parts = [without_ids(part) for part in re.split(r"^⋮.*$", shown[1], flags=re.MULTILINE)]
    assert len(parts) == 2, "the table is shown without its middle"
    printed = without_ids(output)
    top, bottom = parts
    assert printed[: len(top)] == top, "print it again: compaction-eval run --quiet"
    assert printed[-len(bottom) :] == bottom, "print it again: compaction-eval run --quiet"
    left_out = re.search(r"^⋮ \((\d+) more", shown[1], re.MULTILINE)
    assert left_out is not None
    rows = len(re.findall(r" +\d+\.\d%| +-\d+\.\d%", output))
    assert int(left_out[1]) == rows - len(re.findall(r" +-?\d+\.\d%", shown[1]))


def without_ids(text: str) -> list[str]:
    """The words of a text without hashes of code, which lines are broken around differently for."""
    return re.sub(r"\b[0-9a-f]{8,24}\b", "ID", text).split()


def test_the_strategy_in_the_readme_registers() -> None:
    [code] = [code for code in CODE if "@strategy" in code]
    try:
        exec(compile(code, "README.md", "exec", dont_inherit=True), {})
        assert load_registry()["last_messages"].params == {"keep": 10}
    finally:
        _registry.pop("last_messages", None)


def test_every_document_that_the_readme_names_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
