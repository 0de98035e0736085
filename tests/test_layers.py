"""Imports go one way: ``compaction`` ← ``judge`` ← ``flows``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = {
    "compaction": {"compaction"},
    "judge": {"compaction", "judge"},
    "flows": {"compaction", "judge", "flows", "sql"},
}
WORLD = {
    "asyncio", "datetime", "duckdb", "fcntl", "http", "io", "multiprocessing", "openai", "os", "pathlib", "polars",
    "prefect", "pyarrow", "random", "requests", "shutil", "socket", "sqlite3", "subprocess", "tempfile", "threading",
    "time", "typer", "urllib",
}  # fmt: skip
"""Disk, network, clock, chance and orchestration: nothing for the package that only computes."""
EXCEPTIONS = {
    ("compaction/adapters/_asking.py", "asyncio"),
    ("compaction/strategies/file_index.py", "threading"),
    ("compaction/strategies/retrieval.py", "threading"),
}
"""A class of somebody else's may be asynchronous. What was last read of a session is shared by threads, with a lock."""


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import hides its direction"
            yield node.lineno, node.module or ""


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_lies_below_it(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in modules(package)
        for line, name in imported(path)
        if (top := name.partition(".")[0]) in ALLOWED and top not in ALLOWED[package]
    ]
    assert wrong == []


def test_compaction_touches_neither_disk_nor_network_nor_clock_nor_prefect() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in modules("compaction")
        for line, name in imported(path)
        if name.partition(".")[0] in WORLD and (str(path.relative_to(ROOT)), name) not in EXCEPTIONS
    ]
    assert wrong == []


def test_judge_knows_nothing_of_prefect_nor_of_the_store() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in modules("judge")
        for line, name in imported(path)
        if name.partition(".")[0] in {"prefect", "duckdb", "pyarrow", "polars", "typer"}
    ]
    assert wrong == []


def test_what_workers_do_knows_nothing_of_prefect() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in [
            *modules("flows/work"),
            ROOT / "flows/plan.py",
            ROOT / "flows/tables.py",
            ROOT / "flows/__main__.py",
        ]
        for line, name in imported(path)
        if name.partition(".")[0] == "prefect"
    ]
    assert wrong == []


def test_every_public_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for package in ALLOWED
        for path in modules(package)
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []
