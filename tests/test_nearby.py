"""What ``python -m tests --for PATH…`` runs: few tests, and those that look at the changed file."""

from __future__ import annotations

from itertools import product

import pytest

from tests.nearby import ALWAYS, CONTRACTS, KINDS, ROOT, nearby


@pytest.mark.parametrize(
    ("changed", "among", "kind"),
    [
        (
            "compaction/strategies/masking.py",
            "tests/compaction/strategies/test_complexity_trap.py",
            "compaction.strategies",
        ),
        ("flows/sources/formats/pi.py", "tests/flows/sources/test_pi.py", "flows.sources.formats"),
        ("judge/embedded/judge.py", "tests/judge/embedded/test_judge.py", "judge.embedded"),
        ("sql/marts/moved.sql", "tests/sql/test_moved.py", "sql"),
        ("sql/marts/moved.sql", "tests/flows/serving/test_serve.py", "sql"),  # asks it
        ("flows/cli/moved.py", "tests/flows/test_twelve_nights.py", "flows.cli"),  # types it
    ],
)
def test_what_uses_a_file_is_near_it_and_what_holds_for_all_of_its_kind(changed: str, among: str, kind: str) -> None:
    found = nearby([ROOT / changed]).tests
    assert {among, *KINDS[kind].contracts, *ALWAYS} <= set(found)
    assert len(found) < 30


@pytest.mark.parametrize(
    ("changed", "named", "others"),
    [
        ("compaction/strategies/masking.py", {"mask_sweagent", "complexity_trap_hybrid"}, {"head_tail", "pi"}),
        ("flows/sources/formats/pi.py", {"pi"}, {"cline", "mask_sweagent"}),
        ("flows/sources/formats/openai/openai_responses.py", {"openai_responses"}, {"pi"}),
        ("judge/embedded/judge.py", {"accuracy_factual"}, {"pi"}),
        ("sql/marts/leaderboard.sql", {"leaderboard", "losses"}, {"moved"}),
        ("flows/cli/moved.py", {"moved"}, {"run"}),
    ],
)
def test_what_holds_for_all_is_run_for_what_the_file_adds_and_for_what_uses_it(
    changed: str, named: set[str], others: set[str]
) -> None:
    only = set(nearby([ROOT / changed]).only)
    assert named <= only
    assert not others & only


@pytest.mark.parametrize("changed", ["compaction/strategies/shared/parts.py", "compaction/tokens.py"])
def test_for_a_file_that_adds_nothing_all_of_it_is_run(changed: str) -> None:
    for more in ([], ["compaction/strategies/masking.py"]):
        found = nearby(ROOT / path for path in (changed, *more))
        assert not found.only
        assert set(KINDS["compaction.strategies"].contracts) <= set(found.tests)


def test_a_test_is_near_itself() -> None:
    assert nearby([ROOT / "tests/sql/test_pareto.py"]).tests == sorted(["tests/sql/test_pareto.py", *ALWAYS])


def test_every_kind_is_there_with_what_holds_for_it() -> None:
    assert all((ROOT / path).is_file() for path in (*CONTRACTS, *ALWAYS))
    for one, other in product(KINDS.values(), KINDS.values()):
        assert one.named()
        assert one is other or one.named().keys() != other.named().keys()
