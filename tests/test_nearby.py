"""What ``python -m tests --for PATH…`` runs: few tests, and those that look at the changed file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nearby import CONTRACTS, ROOT, nearby


@pytest.mark.parametrize(
    ("changed", "among"),
    [
        ("compaction/strategies/masking.py", "tests/compaction/test_strategies.py"),
        ("flows/sources/formats/pi.py", "tests/flows/sources/test_pi.py"),
        ("judge/embedded/judge.py", "tests/judge/embedded/test_judge.py"),
        ("sql/marts/moved.sql", "tests/sql/test_moved.py"),
        ("flows/cli/moved.py", "tests/flows/cli/test_command_registry.py"),
        ("tests/sql/test_pareto.py", "tests/sql/test_pareto.py"),
    ],
)
def test_the_tests_near_a_file_are_among_them_and_all_contracts(changed: str, among: str) -> None:
    found = nearby([ROOT / changed])
    assert among in found
    assert set(CONTRACTS) <= set(found)
    assert len(found) < 60


def test_the_contracts_are_there() -> None:
    assert all(Path(ROOT / path).is_file() for path in CONTRACTS)
