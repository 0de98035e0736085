from __future__ import annotations

import pytest

from compaction import Message, Transcript
from compaction.measures.needs import SessionNeeds
from judge import Probe
from judge.measures.facts import KeptFacts
from judge.probe import Fact, FactKind

MESSAGES = (
    Message("user", "Sort the rows by number.", seq=0, tokens=10),
    Message("assistant", "We keep the merge sort,\nbecause equal keys must stay in order.", seq=1, tokens=10),
    Message("tool", "KeyError: 'harbour' in src/rows.py line 12", seq=2, tokens=10),
    Message("assistant", "Something else entirely was said in this message.", seq=3, tokens=10),
)
ERROR = Fact(
    "error", "KeyError: 'harbour' in src/rows.py line 12", ("keyerror", "harbour", "src/rows.py", "12"), seqs=(2,)
)
DECISION = Fact(
    "decision", "keep merge sort; equal keys in order", ("keep", "merge", "sort", "equal", "keys"), seqs=(1,)
)
NOTHING: dict[str, frozenset[str]] = {"created": frozenset(), "modified": frozenset(), "read": frozenset()}


def probe(*facts: Fact) -> Probe:
    return Probe("recall", "?", "!", facts, (), 100)


def facts(*by_point: dict[str, Probe]) -> KeptFacts:
    return KeptFacts(SessionNeeds(Transcript("s", MESSAGES)), by_point)


def stated(context: tuple[Message, ...], *wanted: Fact) -> list[bool]:
    kept = facts({"p": probe(*wanted)})
    return kept.stated(kept.at(0), context, NOTHING)  # type: ignore[arg-type]


def made(text: str) -> tuple[Message, ...]:
    return (Message("user", text, covers=(0, 1), tokens=5),)


def test_the_message_that_proves_a_fact_states_it_and_others_do_not() -> None:
    assert stated(MESSAGES, ERROR, DECISION) == [True, True]
    assert stated(MESSAGES[1:2], ERROR, DECISION) == [False, True]
    assert stated(MESSAGES[3:], ERROR, DECISION) == [False, False]
    assert stated((), ERROR, DECISION) == [False, False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It said: KEYERROR: 'harbour' in  src/rows.py line 12.", True),
        ("The harbour KeyError comes from src/rows.py, line 12", True),
        ("A KeyError for harbour comes from\nline 12 of src/rows.py", True),
        ("KeyError: harbour\n\nelsewhere\nmore\nand more\n12\nsrc/rows.py", False),
        ("A KeyError was seen.", False),
        ("keyerrors harbours 120", False),
    ],
)
def test_a_text_states_a_fact_by_its_words_or_by_its_terms_close_together(text: str, expected: bool) -> None:
    assert stated(made(text), ERROR) == [expected]


def test_four_terms_of_five_state_a_fact_and_three_do_not() -> None:
    assert stated(made("we keep a merge sort for equal rows"), DECISION) == [True]
    assert stated(made("we keep a merge sort for those rows"), DECISION) == [False]


def file(kind: FactKind, path: str) -> Fact:
    return Fact(kind, path, (path,), seqs=(0,))


def test_a_file_is_stated_where_the_context_tells_it_under_that_use() -> None:
    kept = facts({"p": probe(file("file_created", "src/rows.py"), file("file_modified", "src/rows.py"))})
    told = {**NOTHING, "created": frozenset({"src/rows.py"})}
    assert kept.stated(kept.at(0), MESSAGES, told) == [True, False]  # type: ignore[arg-type]


def test_what_happened_is_followed_for_ever_and_a_state_as_long_as_it_is_stated_again() -> None:
    open_task, other = Fact("open_task", "write docs", ("write", "docs")), file("file_modified", "a.py")
    kept = facts({"p0": probe(ERROR, open_task, other)}, {"p1": probe(other)}, {})
    names = [[(t.fact.value, t.probe, t.position, t.first) for t in kept.at(n)] for n in range(3)]
    error = (ERROR.value, "p0", 1, 0)
    assert names == [[error, ("write docs", "p0", 2, 0), ("a.py", "p0", 3, 0)], [error, ("a.py", "p0", 3, 0)], [error]]


def test_a_fact_belongs_to_the_first_probe_that_states_it() -> None:
    kept = facts({}, {"p1": probe(ERROR)}, {"p2": probe(DECISION, ERROR)})
    assert [(t.probe, t.position, t.first) for t in kept.at(2)] == [("p1", 1, 1), ("p2", 1, 2)]
