"""A judge's identity changes with everything that can change a score, and with nothing else."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest

from compaction.model import Model
from compaction.testing import ScriptedModel
from judge import Criterion, JudgeVersion, Rubric
from judge.llm import ModelJudge
from judge.llm.judge import JudgePrompts, Protocol, judge_prompts, judge_version, judge_versions
from tests.judge.llm.cases import RUBRIC

SETTINGS = {"provider": "openai", "model": "m", "base_url": "http://a", "temperature": 0.0, "seed": None}


def model(**settings: Any) -> Model:
    return ScriptedModel(**{**SETTINGS, **settings})


def version(
    of: Model | None = None,
    rubric: Rubric = RUBRIC,
    protocol: Protocol = "study",
    prompts: JudgePrompts | None = None,
    **versions: int,
) -> JudgeVersion:
    return judge_version(of or model(), rubric, protocol, prompts or judge_prompts(), {**judge_versions(), **versions})


def with_criterion(**changes: Any) -> Rubric:
    criterion: Criterion = replace(RUBRIC.criteria["accuracy_factual"], **changes)
    return replace(RUBRIC, criteria={**RUBRIC.criteria, "accuracy_factual": criterion})


def prompts(judge: Callable[[str], str] = str, again: Callable[[str], str] = str) -> JudgePrompts:
    own = judge_prompts()
    return JudgePrompts(judge(own.judge), again(own.again))


CHANGES = {
    "model": version(model(model="n")),
    "base URL": version(model(base_url="http://b")),
    "provider": version(model(provider="anthropic")),
    "sampling: temperature": version(model(temperature=1.0)),
    "sampling: seed": version(model(seed=7)),
    "prompt": version(prompts=prompts(judge=lambda text: text + " ")),
    "prompt for the second try": version(prompts=prompts(again=lambda text: text + " ")),
    "prompt for this protocol": version(prompts=prompts(judge=lambda text: text + "\n@study Be kind.")),
    "rubric: a criterion's question": version(rubric=with_criterion(question="Right?")),
    "rubric: an anchor": version(rubric=with_criterion(anchors={0: "a", 3: "b", 5: "c"})),
    "rubric: a weight": version(rubric=with_criterion(weight=2.0)),
    "rubric: a dimension": version(rubric=with_criterion(dimension="completeness")),
    "rubric: its version": version(rubric=replace(RUBRIC, version=f"{RUBRIC.version}b")),
    "map": version(rubric=replace(RUBRIC, asked={**RUBRIC.asked, "recall": RUBRIC.asked["recall"][1:]})),
    "order of the map": version(rubric=replace(RUBRIC, asked={**RUBRIC.asked, "recall": RUBRIC.asked["recall"][::-1]})),
    "protocol": version(protocol="closed"),
    "version": version(version=1),
    "blinding": version(blinding=2),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_makes_another_judge(what: str) -> None:
    assert CHANGES[what] != version()
    assert json.dumps(asdict(CHANGES[what])) != json.dumps(asdict(version()))


def test_every_change_makes_a_judge_of_its_own() -> None:
    assert len({json.dumps(asdict(changed), sort_keys=True) for changed in CHANGES.values()}) == len(CHANGES)


def test_another_schema_is_another_judge() -> None:
    params = version().params
    assert version(rubric=with_criterion(question="Right?")).params["schema_sha256"] == params["schema_sha256"]
    assert CHANGES["rubric: a dimension"].params["schema_sha256"] != params["schema_sha256"]
    fewer = {type: tuple(id for id in ids if id != "accuracy_factual") for type, ids in RUBRIC.asked.items()}
    assert version(rubric=replace(RUBRIC, asked=fewer)).params["schema_sha256"] != params["schema_sha256"]


def test_the_same_parts_make_the_same_judge() -> None:
    assert ModelJudge(model(), RUBRIC, "study").version == version() == version(model(), RUBRIC)
    assert ModelJudge(model(), RUBRIC, "closed").version == version(protocol="closed")


def test_what_only_the_other_protocol_is_told_changes_nothing() -> None:
    changed = prompts(judge=lambda text: text + "\n@closed Be kind.")
    assert version(prompts=changed) == version()
    assert version(prompts=changed, protocol="closed") != version(protocol="closed")


def test_the_answering_prompt_and_the_prober_are_no_part_of_the_judge() -> None:
    assert set(judge_versions()) == {"version", "blinding"}
    assert set(version().params) == {
        "identity",
        "rubric_sha256",
        "schema_sha256",
        "tokens_per_criterion",
        "tokens_beside",
        "version",
        "blinding",
    }


def test_a_version_is_json_and_says_what_the_table_of_judges_has() -> None:
    row = json.loads(json.dumps(asdict(version())))
    assert (row["judge"], row["model"], row["protocol"]) == ("scripted", "m", "study")
    assert row["rubric"] == RUBRIC.name
    assert row["params"]["identity"] == SETTINGS
    assert len(row["prompt_sha256"]) == 64


def test_prompts_of_ones_own_are_used_and_are_another_judge() -> None:
    own = JudgePrompts("Score.\n$criteria\n$dimensions", "Again: $problem $criteria")
    judge = ModelJudge(model(), RUBRIC, "study", prompts=own)
    assert judge.version == version(prompts=own) != version()
