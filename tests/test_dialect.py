"""Docstrings say the thing first, and functions are named by verbs: neither gets worse."""

import pytest

from tests.dialect import PACKAGES, ROOT, Docstring, count_riddles, read_docstrings

MOST_RIDDLES = 0.08  # of the docstrings of a folder
MOST_PARTICIPLES = 81


def test_no_folder_has_more_riddles_than_the_limit() -> None:
    counts = count_riddles(read_docstrings(ROOT, PACKAGES))
    above = {folder: f"{riddles} of {n}" for folder, (n, riddles) in counts.items() if riddles > n * MOST_RIDDLES}
    assert above == {}, "python -m tests.dialect FOLDER prints them with the rule"


def test_no_more_functions_are_named_by_a_participle() -> None:
    named = [f"{each.path}:{each.line}" for each in read_docstrings(ROOT, PACKAGES) if each.is_named_by_participle()]
    assert len(named) <= MOST_PARTICIPLES, named


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("By which its worker is chosen, and its weight counted.", "begins with a preposition"),
        ("What came of it.", "begins with a relative"),
        ("Finds it in what was shown.", "acts on an unnamed thing"),
        ("The conversation that a message is the end of.", "ends with a preposition"),
        ("Selects the worker and weighs the bucket.", None),
        ("Whether a name fills its quotes.", None),
        ("The text of a message without its reasoning.", None),
    ],
)
def test_a_riddle_is_told_from_a_plain_sentence(sentence: str, rule: str | None) -> None:
    assert Docstring("a/b.py", 1, "function", "f", sentence).find_rule() == rule
