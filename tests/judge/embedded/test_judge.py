"""Scores worked out by hand from the formulas in docs/rubric.md."""

import pytest

from compaction import TiktokenCounter
from judge import Fact, JudgeCase, Probe, load_rubric
from judge.embedded import EmbeddedJudge
from judge.embedded.claims import ABSTENTION
from judge.embedded.prober import ARTIFACT_QUESTION, CONTINUATION_QUESTION, RECALL_FORM, RECALL_QUESTIONS


@pytest.fixture(scope="module")
def judge() -> EmbeddedJudge:
    return EmbeddedJudge(load_rubric(), TiktokenCounter())


RECALL = Probe(
    "recall",
    RECALL_QUESTIONS["error"].format(cue="npm test") + RECALL_FORM.format(limit=100),
    "401 Unauthorized from /api/auth/login",
    (
        Fact(
            "error",
            "401 Unauthorized from /api/auth/login",
            ("401", "unauthorized", "/api/auth/login"),
            ("401", "/api/auth/login"),
            (3,),
        ),
    ),
    (),
    100,
)
ARTIFACT = Probe(
    "artifact",
    ARTIFACT_QUESTION.format(place="", limit=900),
    "",
    (
        Fact("file_created", "src/retry.ts", ("src/retry.ts",), ("withretry",), (9,)),
        Fact("file_modified", "config/redis.ts", ("config/redis.ts",), ("poolsize", "keepalive"), (7,)),
        Fact("file_modified", "src/session.ts", ("src/session.ts",), (), (8,)),
        Fact("file_examined", "src/cors.ts", ("src/cors.ts",), (), (2,)),
    ),
    (),
    900,
)
CONTINUATION = Probe(
    "continuation",
    CONTINUATION_QUESTION.format(place="", limit=350),
    "",
    (
        Fact("open_task", "mend the mock set-up", ("mend", "mock", "set-up"), (), (5,)),
        Fact("next_step", "work on tests/auth.test.ts", ("tests/auth.test.ts",), (), (4,)),
    ),
    (),
    350,
)


def scores(judge: EmbeddedJudge, probe: Probe, answer: str) -> dict[str, float | None]:
    case = JudgeCase(probe, answer, (), judge.rubric.asked[probe.probe_type])
    return {verdict.criterion: verdict.score for verdict in judge.score(case)}


def test_the_true_answer_scores_5_on_every_criterion_that_applies(judge: EmbeddedJudge) -> None:
    found = scores(judge, RECALL, "401 Unauthorized from /api/auth/login")
    assert found["context_conversation_state"] is None
    assert {value for value in found.values() if value is not None} == {5.0}


def test_an_answer_that_lost_the_endpoint_scores_by_what_it_kept(judge: EmbeddedJudge) -> None:
    found = scores(judge, RECALL, "a 401 Unauthorized error")
    assert found["accuracy_factual"] == pytest.approx(5 * 2 / 3, abs=0.01)
    assert found["artifact_key_details"] == 2.5
    assert found["accuracy_technical"] == 5.0
    assert found["completeness_coverage"] == 5.0


def test_an_abstention_states_nothing_but_keeps_form_and_limit(judge: EmbeddedJudge) -> None:
    found = scores(judge, RECALL, ABSTENTION)
    assert found["accuracy_factual"] == found["completeness_depth"] == 0.0
    assert found["instruction_format"] == found["instruction_constraints"] == 5.0


def test_a_wrong_answer_is_no_better_than_none(judge: EmbeddedJudge) -> None:
    wrong, nothing = scores(judge, RECALL, "ENOENT: no such file x.json"), scores(judge, RECALL, ABSTENTION)
    assert all((wrong[c] or 0) <= (nothing[c] or 0) for c in nothing)


def test_files_are_scored_by_heading_and_changes(judge: EmbeddedJudge) -> None:
    answer = "Created: src/retry.ts (withRetry)\nModified: config/redis.ts (poolSize)\nExamined: src/session.ts"
    found = scores(judge, ARTIFACT, answer)
    assert found["artifact_files_created"] == 5.0
    # F1 of one right of one listed against two: 2/3; half of the changes of the one fact that has any
    assert found["artifact_files_modified"] == pytest.approx(5 * (0.6 * 2 / 3 + 0.4 * 0.5), abs=0.01)
    # two claims right, a file under the wrong heading half right
    assert found["accuracy_factual"] == pytest.approx(5 * 2.5 / 3, abs=0.01)
    assert found["context_artifact_state"] == pytest.approx(5 * 3 / 4, abs=0.01)
    assert found["completeness_coverage"] == pytest.approx(5 * 2 / 3, abs=0.01)
    assert found["continuity_work_state"] == pytest.approx(5 * 2 / 3, abs=0.01)


def test_the_same_file_under_an_absolute_path_is_the_same_file(judge: EmbeddedJudge) -> None:
    found = scores(judge, ARTIFACT, "Created: /srv/app/src/retry.ts\nModified: none\nExamined: none")
    assert found["artifact_files_created"] == 5.0


def test_a_file_that_was_never_touched_lowers_accuracy(judge: EmbeddedJudge) -> None:
    right = "Created: src/retry.ts\nModified: config/redis.ts; src/session.ts\nExamined: src/cors.ts"
    made_up = right + "; src/router.ts; src/views.ts"
    assert scores(judge, ARTIFACT, right)["accuracy_factual"] == 5.0
    assert scores(judge, ARTIFACT, made_up)["accuracy_factual"] == pytest.approx(5 * 4 / 6, abs=0.01)


def test_a_criterion_without_a_fact_is_unscored_with_its_reason(judge: EmbeddedJudge) -> None:
    case = JudgeCase(CONTINUATION, "Open: none\nFailing: none\nNext: none", (), ("continuity_reasoning",))
    (verdict,) = judge.score(case)
    assert verdict.score is None
    assert verdict.unscored_reason == "no reason was given for the decision in question"


def test_open_tasks_and_next_steps(judge: EmbeddedJudge) -> None:
    found = scores(judge, CONTINUATION, "Open: mend the mock\nFailing: none\nNext: work on tests/auth.test.ts")
    assert found["continuity_todo_state"] == pytest.approx(5 * 2 / 3, abs=0.01)
    assert found["context_artifact_state"] == 5.0


def test_lines_out_of_order_miss_the_form(judge: EmbeddedJudge) -> None:
    answer = "Modified: config/redis.ts\nCreated: src/retry.ts\nExamined: src/cors.ts"
    assert scores(judge, ARTIFACT, answer)["instruction_format"] == 0.0


def test_an_answer_over_the_limit_loses_on_constraints(judge: EmbeddedJudge) -> None:
    assert scores(judge, RECALL, "401 word " * 100)["instruction_constraints"] == pytest.approx(5 * 100 / 300, abs=0.01)


def test_a_criterion_that_the_engine_cannot_judge_is_unscored(judge: EmbeddedJudge) -> None:
    (verdict,) = judge.score(JudgeCase(RECALL, "401", (), ("tone",)))
    assert verdict.score is None
    assert verdict.unscored_reason == "the embedded judge has no formula for tone"
