from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judge import Rubric, RubricError, list_rubrics, load_rubric


def test_the_default_rubric_is_the_studys_with_constraints_beside_it() -> None:
    rubric = load_rubric()
    assert rubric.dimensions == (
        "accuracy",
        "context_awareness",
        "artifact_trail",
        "completeness",
        "continuity",
        "instruction_following",
        "constraints",
    )
    assert len(rubric.criteria) == 14 + 1
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
        (
            'id="x"\nversion="1"\n[asked]\nrecall=["b"]\n[criteria.a]\ndimension="d"\nquestion="q"\n'
            'anchors={0="a",3="b",5="c"}',
            "unknown probe type or criterion",
        ),
        (
            'id="x"\nversion="1"\n[asked]\n[criteria.a]\ndimension="d"\nquestion="q"\nanchors={0="a"}',
            "anchors for 0, 3 and 5",
        ),
        (
            'id="x"\nversion="1"\n[asked]\nrecall=["a"]\nconstraint=["a"]\n[criteria.a]\ndimension="d"\nquestion="q"\n'
            'anchors={0="a",3="b",5="c"}',
            "criteria of the dimension constraints are asked of probes of the type constraint",
        ),
        (
            'id="x"\nversion="1"\n[asked]\nrecall=["a"]\n[criteria.a]\ndimension="constraints"\nquestion="q"\n'
            'anchors={0="a",3="b",5="c"}',
            "criteria of the dimension constraints are asked of probes of the type constraint",
        ),
    ],
)
def test_a_rubric_that_does_not_hold_together_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(RubricError, match=complaint):
        load_rubric(str(path))


def test_an_unknown_rubric_names_the_known_ones() -> None:
    with pytest.raises(RubricError, match="software_engineering"):
        load_rubric("nonesuch")


def changed(**parts: Any) -> Rubric:
    return replace(load_rubric(), **parts)


def with_criterion(**parts: Any) -> Rubric:
    criteria = load_rubric().criteria
    return changed(criteria={**criteria, "accuracy_factual": replace(criteria["accuracy_factual"], **parts)})


def test_a_rubrics_name_has_its_version_and_the_beginning_of_its_hash() -> None:
    rubric = load_rubric()
    assert rubric.name == f"software_engineering@{rubric.version}.{rubric.sha256[:8]}"
    assert len(rubric.sha256) == 64


@pytest.mark.parametrize(
    "rubric",
    [
        with_criterion(question="Right?"),
        with_criterion(anchors={0: "none", 3: "some", 5: "all"}),
        with_criterion(anchors={**load_rubric().criteria["accuracy_factual"].anchors, 4: "nearly all"}),
        with_criterion(weight=1.5),
        with_criterion(dimension="completeness"),
        changed(asked={**load_rubric().asked, "recall": load_rubric().asked["recall"][1:]}),
        changed(asked={**load_rubric().asked, "recall": load_rubric().asked["recall"][::-1]}),
        changed(criteria=dict(reversed(load_rubric().criteria.items()))),
    ],
    ids=["question", "anchor", "anchor added", "weight", "dimension", "map", "order of the map", "order of criteria"],
)
def test_a_changed_rubric_is_another_rubric_though_its_version_is_the_same(rubric: Rubric) -> None:
    assert rubric.version == load_rubric().version
    assert rubric.name != load_rubric().name


def test_layout_and_comments_of_a_rubrics_file_do_not_count(tmp_path: Path) -> None:
    text = 'id="x"\nversion="1"\n[asked]\nrecall=["a"]\n[criteria.a]\ndimension="d"\nquestion="q"\n'
    (tmp_path / "a.toml").write_text(text + 'anchors={0="a",3="b",5="c"}')
    (tmp_path / "b.toml").write_text("# mine\n" + text + '\nweight=1\nanchors = {5 = "c", 0 = "a", 3 = "b"}')
    assert load_rubric(str(tmp_path / "a.toml")) == load_rubric(str(tmp_path / "b.toml"))
    assert load_rubric(str(tmp_path / "a.toml")).name == load_rubric(str(tmp_path / "b.toml")).name
