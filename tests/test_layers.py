"""Imports go one way: ``compaction`` ← ``judge`` ← ``flows``, and by the contracts of pyproject.toml within these."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = {
    "compaction": {"compaction"},
    "judge": {"compaction", "judge"},
    "flows": {"compaction", "judge", "flows", "sql"},
    "compaction_eval": {"compaction", "judge", "flows", "compaction_eval"},
}
WORLD = {
    "asyncio",
    "datetime",
    "duckdb",
    "fcntl",
    "http",
    "io",
    "multiprocessing",
    "openai",
    "os",
    "pathlib",
    "polars",
    "prefect",
    "pyarrow",
    "random",
    "requests",
    "shutil",
    "socket",
    "sqlite3",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "typer",
    "urllib",
}
"""Disk, network, clock, chance and orchestration: nothing for the package that only computes."""
EXCEPTIONS = {
    ("compaction/adapters/own_file.py", "pathlib"),
    ("compaction/adapters/summarizer_bridge.py", "asyncio"),
    ("compaction/strategies/file_index.py", "threading"),
    ("compaction/strategies/retrieval.py", "threading"),
    ("compaction/strategies/shared/parts.py", "datetime"),
}
"""A recorded time is read. A file that a user names is run. A class of somebody else's may be asynchronous. What was
last read of a session is shared by threads, with a lock."""

STATE = {
    "compaction/adapters/openhands_sdk.py": {"_actions"},
    "compaction/reading/message_facts.py": {"_read"},
    "compaction/strategies/file_index.py": {"_last", "_reading"},
    "compaction/strategies/recovery.py": {"_searched"},
    "compaction/strategies/retrieval.py": {"_searched"},
    "compaction/strategies/shared/parts.py": {"_made"},
    "judge/blinding.py": {"_current"},
    "flows/cli/shared/commands.py": {"registered"},
    "flows/execution/pools/cluster_worker.py": {"_looked", "_one_at_a_time"},
    "flows/execution/run.py": {"_current"},
    "flows/llm/calling_for.py": {"_calling_for"},
    "flows/pipeline/tasks/task_context.py": {"_open"},
    "flows/store/call_cache_sync.py": {"_one_at_a_time"},
    "flows/store/object_storage.py": {"_storages", "_storages_lock"},
    "flows/support/atomic_files.py": {"_checks"},
}
"""What a process keeps. Most is a cache, and a result is the same without it. Four decide something: the run of a flow,
what a model call is for, the permit that a file needs, and the registry of commands."""
HOLDERS = {
    "ContextVar",
    "Event",
    "LastIndex",
    "Lock",
    "Memo",
    "RLock",
    "SessionCache",
    "defaultdict",
    "deque",
    "dict",
    "list",
    "set",
}


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


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("compaction/tokens.py", "from judge import Rubric", "flows is built on judge, and judge on compaction BROKEN"),
        ("compaction/triggers.py", "def f(): from compaction import methods", "strategies do not parse BROKEN"),
        ("judge/probe.py", "from judge import answer", "The floors of judge BROKEN"),
        ("compaction/new.py", "", "strategies do not parse BROKEN"),
        ("compaction/reading/patches.py", "from compaction.reading import tool_calls", "folders of one folder BROKEN"),
    ],
)
def test_a_contract_is_broken_by_an_import_upwards_also_a_late_one(
    tmp_path: Path, module: str, line: str, contract: str
) -> None:
    for package in ALLOWED:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "samples"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    command = [sys.executable, ROOT / "tests" / "imports.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert contract in " ".join(found.stdout.split())


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
            *modules("flows/pipeline/tasks"),
            ROOT / "flows/pipeline/plan.py",
            ROOT / "flows/pipeline/load/tables.py",
            ROOT / "flows/__main__.py",
        ]
        for line, name in imported(path)
        if name.partition(".")[0] == "prefect"
    ]
    assert wrong == []


def test_no_modules_of_flows_import_each_other_in_a_circle() -> None:
    """Imports inside functions and those for the type checker count."""
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in modules("flows")}
    known = {name.removesuffix(".__init__"): path for path, name in names.items()}
    TopologicalSorter({name: imported_modules(path, known) for name, path in known.items()}).prepare()  # or CycleError


def imported_modules(path: Path, known: Collection[str]) -> set[str]:
    """The known modules that are imported; a package only for what its own ``__init__`` defines or hands on."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= modules if modules <= set(known) else {*modules, node.module or ""}
    return found & set(known)


def kept_state(path: Path) -> Iterator[str]:
    """Names of a module that hold something which changes: written small, or rebound by ``global``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and not target.id.isupper() and target.id != "__all__":
                called = ast.unparse(node.value.func).rpartition(".")[2] if isinstance(node.value, ast.Call) else ""
                if isinstance(node.value, ast.List | ast.Dict | ast.Set) or called in HOLDERS:
                    yield target.id
    yield from (name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names)


def test_a_process_keeps_nothing_but_what_is_listed() -> None:
    found = {str(path.relative_to(ROOT)): set(kept_state(path)) for package in ALLOWED for path in modules(package)}
    assert {name: kept for name, kept in found.items() if kept} == STATE


def test_every_public_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for package in ALLOWED
        for path in modules(package)
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []
