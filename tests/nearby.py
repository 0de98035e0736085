"""Which tests to run for changed files: those that import them, write their names, or hold for all that can be added.

As a plugin of pytest, ``-p tests.nearby --only NAME``, it leaves out of the last what is parametrised by others.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("compaction_eval", "compaction", "judge", "flows", "sql")
NEAR = 1
"""Imports between a changed module and one that a test imports. Over more, nearly every test imports every module."""


@dataclass(frozen=True)
class Kind:
    """What can be added by putting a file into a folder, where it is found without being imported by name."""

    contracts: tuple[str, ...]
    """Tests of what holds for all of them."""
    named: Callable[[], Mapping[str, str]]
    """Name of each → its module."""


def _strategies() -> Mapping[str, str]:
    found = import_module("compaction").load_registry()
    return {id: strategy.function.__module__ for id, strategy in found.items()}


def _formats() -> Mapping[str, str]:
    return {known.name: known.read.__module__ for known in import_module("flows.sources.registry").formats()}


def _criteria() -> Mapping[str, str]:
    engine = import_module("judge.embedded.judge")
    parts = {f"embedded-{part}": f"judge.embedded.{part}" for part in ("judge", "prober", "responder")}  # as pinned
    return dict.fromkeys((*engine.FORMULAS, *engine.UNMEASURED), engine.__name__) | parts


def _commands() -> Mapping[str, str]:
    found = import_module("flows.cli.shared.commands").collected()
    return {one.name: one.function.__module__ for _, _, of_group in found for one in of_group}


def _relations() -> Mapping[str, str]:
    return {path.stem: module_of(path) for path in (ROOT / "sql").rglob("*.sql")}


KINDS = {
    "compaction.strategies": Kind(
        ("tests/compaction/test_strategies.py", "tests/compaction/test_promises.py", "tests/test_behaviour.py"),
        _strategies,
    ),
    "flows.sources.formats": Kind(
        ("tests/flows/sources/test_registry.py", "tests/flows/sources/test_never_raises.py", "tests/test_behaviour.py"),
        _formats,
    ),
    "judge.embedded": Kind(("tests/judge/embedded/test_formulas.py", "tests/test_behaviour.py"), _criteria),
    "flows.cli": Kind(("tests/flows/cli/test_command_registry.py", "tests/flows/cli/test_start.py"), _commands),
    "sql": Kind(("tests/sql/test_contract.py",), _relations),
}
"""Folder → its kind."""
CONTRACTS = tuple(dict.fromkeys(path for kind in KINDS.values() for path in kind.contracts))
ALWAYS = ("tests/test_architecture.py", "tests/test_layers.py")


@dataclass(frozen=True)
class Nearby:
    """What is to be run."""

    tests: Sequence[str]
    """Test files, as paths from the root."""
    only: Sequence[str]
    """Names of what was changed: tests of ``CONTRACTS`` that name others are left out. Empty: all are run."""


def nearby(changed: Iterable[Path], near: int = NEAR) -> Nearby:
    """What to run for changed files; a changed test is itself among it.

    Test files import a changed module or one that imports it within ``near`` steps, are named for it, or write the name
    of what it adds. Of a file that adds nothing, all that holds for its kind is run; of one of no kind, for all kinds.
    """
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    found, only, adds = set(ALWAYS), set[str](), True
    for path in (path.resolve() for path in changed):
        module = module_of(path)
        reached = _readers(path.stem) if path.suffix == ".sql" else _importers(module, near)
        kind = next((kind for folder, kind in KINDS.items() if f"{module}.".startswith(f"{folder}.")), None)
        named = kind.named() if kind else {}
        own = {name for name, of in named.items() if of == module or _is_in(of, module)}
        is_test = path in tests
        adds = adds and (bool(own) or is_test)
        users = {name for name, of in named.items() if of in reached}
        only |= own | users
        written = own | {name for name in users if "_" in name}  # others are words of every day
        found |= set(kind.contracts if kind else () if is_test else CONTRACTS)
        found |= {
            str(test.relative_to(ROOT))
            for test in tests
            if test == path or imported(test) & reached or test.stem == f"test_{path.stem}" or _writes(test, written)
        }
    return Nearby(sorted(found), sorted(only) if adds else ())


def module_of(path: Path) -> str:
    """The module of a file, such as ``flows.cli.run``; a file of SQL is named in the same way."""
    parts = path.resolve().relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def _importers(module: str, near: int) -> set[str]:
    graph = _graph()
    reached = front = {module}
    for _ in range(near):
        known = front & graph.modules
        front = {by for one in known for by in graph.find_modules_that_directly_import(one)} - reached
        reached = reached | front
    return reached


def _readers(relation: str) -> set[str]:
    """The files of a relation and of those that read it."""
    reads = re.compile(rf"\b(?:from|join)\s+{re.escape(relation)}\b")
    return {
        module_of(path)
        for path in (ROOT / "sql").rglob("*.sql")
        if path.stem == relation or reads.search(_statement(path))
    }


def _statement(path: Path) -> str:
    """What a file of SQL makes, without its comments."""
    return re.sub(r"--.*", "", path.read_text(encoding="utf-8"))


def _is_in(module: str, changed: str) -> bool:
    """Whether a module that adds something and a changed one make up one package within the folder of their kind."""
    package = module.rpartition(".")[0]
    return package in sys.modules and package not in KINDS and changed.startswith(f"{package}.")


@cache
def imported(test: Path) -> frozenset[str]:
    """All that a file of the tests imports, over helpers of the tests too: modules, and names as if they were some."""
    found: set[str] = set()
    for node in ast.walk(_parsed(test)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    helpers = {ROOT.joinpath(*name.split(".")).with_suffix(".py") for name in found if name.startswith("tests.")}
    return frozenset(found).union(*(imported(helper) for helper in helpers - {test} if helper.is_file()))


@cache
def _parsed(test: Path) -> ast.Module:
    return ast.parse(test.read_text(encoding="utf-8"))


def _writes(test: Path, names: set[str]) -> bool:
    """Whether a text in it has one of the names: alone, in a list, after FROM or JOIN; anywhere if it has a ``_``."""
    if not names:
        return False
    words = "|".join(re.escape(name) for name in sorted(names))
    long = "|".join(re.escape(name) for name in sorted(names) if "_" in name) or r"(?!)"
    pattern = re.compile(rf"(?:^|,)(?:{words})(?:$|[,(])|\b(?:from|join)\s+(?:{words})\b|\b(?:{long})\b", re.IGNORECASE)
    texts = (node.value for node in ast.walk(_parsed(test)) if isinstance(node, ast.Constant))
    return any(isinstance(text, str) and pattern.search(text) for text in texts)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--only NAME``, as often as needed."""
    parser.addoption("--only", action="append", default=[], help="names that the tests of CONTRACTS are run for")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what holds for others alone."""
    only = set(config.getoption("--only"))
    if not only:
        return
    pinned = json.loads((ROOT / "tests" / "golden" / "behaviour.json").read_text(encoding="utf-8"))
    names = {name.removeprefix("reader ") for name in pinned}.union(only, *(kind.named() for kind in KINDS.values()))
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    name = re.compile(rf"(?<!\w)(?:{longest_first})(?!\w)")

    def is_of_others(item: pytest.Item) -> bool:
        named = set(name.findall(item.name.partition("[")[2]))  # by its parameters
        return str(item.path.relative_to(ROOT)) in CONTRACTS and bool(named) and not named & only

    config.hook.pytest_deselected(items=[item for item in items if is_of_others(item)])
    items[:] = [item for item in items if not is_of_others(item)]
