from pathlib import Path

import pytest

from judge import RubricError, list_rubrics, load_rubric


def test_the_default_rubric_is_the_studys() -> None:
    rubric = load_rubric()
    assert rubric.dimensions == (
        "accuracy",
        "context_awareness",
        "artifact_trail",
        "completeness",
        "continuity",
        "instruction_following",
    )
    assert len(rubric.criteria) == 14
    assert {c.weight for c in rubric.criteria.values()} == {1.0}


def test_every_criterion_is_asked_of_some_probe_type() -> None:
    rubric = load_rubric()
    assert {c for ids in rubric.asked.values() for c in ids} == set(rubric.criteria)


def test_the_shipped_rubrics_are_listed() -> None:
    assert list_rubrics() == ["software_engineering"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("id = ", "not TOML"),
        ('id = "x"', "missing or misplaced key"),
        ('id="x"\nversion="1"\n[asked]\nrecall=["b"]\n[criteria.a]\ndimension="d"\nquestion="q"\n'
         'anchors={0="a",3="b",5="c"}', "unknown probe type or criterion"),
        ('id="x"\nversion="1"\n[asked]\n[criteria.a]\ndimension="d"\nquestion="q"\nanchors={0="a"}',
         "anchors for 0, 3 and 5"),
    ],
)  # fmt: skip
def test_a_rubric_that_does_not_hold_together_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(RubricError, match=complaint):
        load_rubric(str(path))


def test_an_unknown_rubric_names_the_known_ones() -> None:
    with pytest.raises(RubricError, match="software_engineering"):
        load_rubric("nonesuch")
