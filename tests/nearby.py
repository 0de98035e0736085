"""Which test files depend on changed files: by the import graph of the packages, what tests import, and their names."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PACKAGES = ("compaction", "judge", "flows", "sql")
COLLECTORS = {
    "compaction.strategies": "compaction.strategies",
    "flows.sources.formats": "flows.sources.registry",
    "flows.cli": "flows.cli.shared.commands",
}
"""Folder whose modules are found by themselves → what collects them; no import names them."""
CONTRACTS = (
    "tests/test_architecture.py",
    "tests/test_layers.py",
    "tests/compaction/test_strategies.py",
    "tests/flows/cli/test_command_registry.py",
    "tests/flows/cli/test_start.py",
    "tests/flows/sources/test_registry.py",
    "tests/judge/embedded/test_formulas.py",
    "tests/sql/test_contract.py",
)
"""What holds for all that can be added."""
NEAR = 1
"""Imports between a changed module and one that a test imports. Over more, nearly every test imports every module."""


def nearby(changed: Iterable[Path], near: int = NEAR) -> Sequence[str]:
    """Test files to run for changed files, as paths from the root; the contract tests last.

    They import a changed module, or one that imports it within ``near`` steps, or are named for it. For a file of
    ``sql/`` they are the tests of ``tests/sql``; a changed test is itself among them.
    """
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    found: set[Path] = set()
    for path in (path.resolve() for path in changed):
        if path.is_relative_to(ROOT / "sql"):
            found |= {test for test in tests if test.parent == ROOT / "tests" / "sql"}
        reached = front = {module_of(path)}
        for _ in range(near):
            front = {importer for module in front for importer in _importers(graph, module)} - reached
            reached = reached | front
        found |= {
            test for test in tests if test == path or imported(test) & reached or test.stem == f"test_{path.stem}"
        }
    return [*sorted({str(test.relative_to(ROOT)) for test in found} - set(CONTRACTS)), *CONTRACTS]


def module_of(path: Path) -> str:
    """The module of a file, such as ``flows.cli.run``."""
    parts = path.resolve().relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _importers(graph: grimp.ImportGraph, module: str) -> set[str]:
    collected = {by for folder, by in COLLECTORS.items() if module.startswith(f"{folder}.") and by != module}
    known = graph.find_modules_that_directly_import(module) if module in graph.modules else set()
    return known | collected


@cache
def imported(test: Path) -> frozenset[str]:
    """All that a file of the tests imports, over helpers of the tests too: modules, and names as if they were some."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    helpers = {ROOT.joinpath(*name.split(".")).with_suffix(".py") for name in found if name.startswith("tests.")}
    return frozenset(found).union(*(imported(helper) for helper in helpers - {test} if helper.is_file()))
