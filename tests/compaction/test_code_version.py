from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compaction import History, Message, load_registry, parse_method
from compaction.code_version import LENGTH, code_sha256, function_version
from compaction.registry import REGISTRY, strategy
from compaction.strategy import StrategyError


def keep_all(history: History) -> Sequence[Message]:
    return history.messages


def typed_in(body: str, module: str = "typed_in") -> Callable[..., Any]:
    space: dict[str, Any] = {"__name__": module}
    exec(f"def f():\n    {body}", space)
    found: Callable[..., Any] = space["f"]
    return found


def test_a_strategy_of_the_project_has_version_1_until_it_says_another() -> None:
    assert load_registry()["none"].version == "1"
    assert all(found.version.isdecimal() for found in load_registry().values())


def test_the_source_of_the_projects_own_strategies_is_no_part_of_their_version() -> None:
    first, second = (typed_in(body, "compaction.strategies.x") for body in ("return 1", "return 2"))
    assert function_version(first) == function_version(second) == "1"
    assert function_version(first, 7) == "7"


def test_a_plug_in_that_declares_nothing_is_known_by_its_source() -> None:
    first, second, third = (function_version(typed_in(f"return {n}")) for n in (1, 2, 1))
    assert first == third != second
    assert len(first) == len(function_version(keep_all)) == LENGTH


def test_a_plug_in_that_declares_a_version_is_known_by_it() -> None:
    assert {function_version(typed_in(f"return {n}"), 3) for n in (1, 2)} == {"3"}


def test_a_declared_version_is_that_of_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "declares", replace(load_registry()["none"], id="declares", declared_version=4))
    assert parse_method("declares").version == "4"
    assert parse_method("file_index(over=declares)").version == f"{REGISTRY['file_index'].version}+declares@4"
    assert parse_method('pipeline(steps="none -> declares -> none")').version == "1+declares@4+none@1"


@pytest.mark.parametrize("version", [0, -1, "2", 1.0, True])
def test_a_version_is_a_whole_number_from_1(version: Any) -> None:
    with pytest.raises(StrategyError, match="its version is a whole number from 1"):
        strategy("wrong", version=version)(keep_all)


def test_the_hash_of_the_code_sees_files_at_any_depth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = set()
    for number, (file, text) in enumerate({"__init__.py": "", "deep/er/x.md": "a", "deep/er/y.md": "b"}.items()):
        path = tmp_path / "hashed_package" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        (tmp_path / "hashed_package" / "x.pyc").write_text(str(number))
        monkeypatch.syspath_prepend(str(tmp_path))
        code_sha256.cache_clear()
        hashes.add(code_sha256("hashed_package"))
    assert len(hashes) == 3
