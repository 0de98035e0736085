"""``docs/architecture.md`` names files that are there, and every floor of ``flows`` that import-linter knows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`(\w+/[\w/.]*)`", PAGE)))
LINKS = sorted(set(re.findall(r"\]\(([\w.-]+)(?:#[\w-]+)?\)", PAGE)))


@pytest.mark.parametrize("path", [*PATHS, *(f"docs/{link}" for link in LINKS)])
def test_a_path_of_the_page_exists(path: str) -> None:
    found = ROOT / path
    assert found.is_dir() if path.endswith("/") else found.is_file()


def test_the_page_names_paths_and_links() -> None:
    assert len(PATHS) > 25
    assert LINKS


def test_the_floors_of_the_page_are_those_of_the_contract() -> None:
    [drawing] = re.findall(r"## The layers of `flows`\n.*?```\n(.*?)```", PAGE, re.DOTALL)
    drawn = [set(re.split(r" {2,}", line)[0].split(" · ")) for line in drawing.splitlines()]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    [contract] = [one for one in settings["contracts"] if one["id"] == "flows"]
    assert drawn == [set(layer.split(" | ")) for layer in contract["layers"]]
