"""The recipes of ``docs/extending.md`` are carried out in a copy, and what holds for all holds there.

Two files at most are touched for each of six extensions, but for tests and for pages that are made from code.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
FILE = re.compile(
    r"^([^\n]*)`([\w/]+\.\w+)`[^`]*?:\n\n(?:<!--[^\n]*-->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
RECIPES = ("A strategy", "A format", "A criterion", "A mart", "A command", "A study option")
COPIED = (
    *("compaction_eval", "compaction_eval_command.py", "compaction", "judge", "flows", "sql", "docs", "tests"),
    *("pyproject.toml", "README.md", "zensical.toml"),
)

PINNED = """
import json
from tests.behaviour import GOLDEN, components
pinned = json.loads(GOLDEN.read_text())
GOLDEN.write_text(json.dumps({**pinned, "short_results": components()["short_results"].digests()}))
"""
"""What ``python -m tests.pin`` does, of one component."""
CONTRACTS = (
    "tests/compaction/test_strategies.py",
    "tests/flows/sources/test_registry.py",
    "tests/flows/sources/test_never_raises.py",
    "tests/judge/embedded/test_formulas.py",
    "tests/sql/test_contract.py",
    "tests/flows/cli/test_command_registry.py",
)
ADDED = ("short_results", "my_agent", "artifact_errors", "sessions_by_format", "locate")


def section(title: str) -> str:
    [found] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def blocks(title: str) -> list[tuple[str, str, str]]:
    """The words before a path, the path, and the text that goes there."""
    return [(words, path, text) for words, path, _, text in FILE.findall(section(title))]


def put_after_last(path: Path, pattern: str, text: str) -> None:
    """Write text below the last line that begins with a pattern."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if re.match(pattern, line))
    path.write_text("".join([*lines[: last + 1], text, *lines[last + 1 :]]), encoding="utf-8")


def carry_out(title: str, folder: Path) -> None:
    """Write what a recipe says: a new file, the end of one, or a row of a table."""
    for words, name, text in blocks(title):
        path = folder / name
        if words.startswith("A row"):
            # Beside the last row of the table that the page has: in sql.md the marts end with `checks`.
            put_after_last(path, r"\| `checks`" if name == "docs/sql.md" else r"\| `\w+` \| .*\|$", text)
        elif words.startswith("In `VIEWS`"):
            put_after_last(path, r'    "retention": ', text)
        elif words.startswith("Above `models`"):
            source = path.read_text(encoding="utf-8")
            path.write_text(source.replace("    models: ", f"    {text}    models: ", 1), encoding="utf-8")
        elif words.startswith("At the end"):
            with path.open("a", encoding="utf-8") as file:
                file.write(f"\n\n{text}")
        else:
            assert not path.exists(), name
            path.write_text(text, encoding="utf-8")


def ask_of_all(rubric: Path) -> None:
    """The criterion's id under ``[asked]``, as the recipe says in words."""
    text, n = re.subn(
        r'"instruction_constraints",\n\]', '"instruction_constraints", "artifact_errors",\n]', rubric.read_text()
    )
    assert n == 4
    rubric.write_text(text)


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_touches_two_files_at_most(title: str) -> None:
    touched = {path for _, path, _ in blocks(title) if not path.startswith("tests/")}
    assert 1 <= len(touched) <= 2


def test_there_is_a_recipe_for_everything_that_can_be_added() -> None:
    titles = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert {*RECIPES, "A probe type", "A ready query", "A model client", "A judge"} == set(titles)


def test_a_path_of_the_page_is_there_unless_a_recipe_makes_it() -> None:
    made = {path for title in RECIPES for _, path, _ in blocks(title)}
    paths = set(re.findall(r"`((?:compaction|judge|flows|sql|tests|docs)/[\w/]+(?:\.\w+)?)`", PAGE))
    assert len(paths) > 20
    assert {path for path in paths - made if not (ROOT / path).exists()} == set()


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages with all six extensions, and its pages made anew."""
    folder = tmp_path_factory.mktemp("extended")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    for title in RECIPES:
        carry_out(title, folder)
    ask_of_all(folder / "judge" / "rubrics" / "software_engineering.toml")
    python(folder, "-m", "flows.cli.pages.docs_pages", "docs")
    python(folder, "-c", PINNED)
    return folder


def python(folder: Path, *arguments: str) -> str:
    """What Python prints in the copy, whose packages come before those of the checkout."""
    environment: Mapping[str, str] = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.slow
def test_what_holds_for_all_holds_for_what_the_recipes_add(extended: Path) -> None:
    """What one of these tests asks for in vain is a place that the recipe forgot."""
    said = python(
        extended, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", "-k", " or ".join(ADDED), *CONTRACTS
    )
    passed = re.search(r"(\d+) passed", said)
    assert passed is not None
    assert int(passed[1]) > 20, said


@pytest.mark.slow
def test_the_command_of_the_recipe_runs(extended: Path) -> None:
    assert python(extended, "-m", "flows", "locate", "--store", "/data/store") == "/data/store\n"


@pytest.mark.slow
def test_the_study_option_of_the_recipe_is_shown_checked_and_written(extended: Path) -> None:
    assert "Minutes that a run may take (default: 600)" in " ".join(
        python(extended, "-m", "flows", "run", "-h").split()
    )
    python(extended, "-m", "flows", "init", "option.toml")
    assert "#patience = 600" in (extended / "option.toml").read_text(encoding="utf-8")
    tried = """
from flows.config.study import make_study
from flows.support.errors import UsageError
print(make_study({"patience": 5}).as_dict()["patience"])
try:
    make_study({"patience": 0})
except UsageError as error:
    print(error)
"""
    said = python(extended, "-c", tried).splitlines()
    assert said == ["5", "--patience: expected a whole number of at least 1, found 0"]
