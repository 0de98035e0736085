import pytest

from tests.synth.cue_words import is_decision


@pytest.mark.parametrize(
    "sentence",
    [
        "I'll store UTC instead of local time because the zone rules change.",
        "The root cause is a stale connection in the session store.",
        "We should keep the public API so that old callers still work.",
    ],
)
def test_a_choice_with_a_reason_and_a_cause_are_decisions(sentence: str) -> None:
    assert is_decision(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Should we store UTC instead of local time because of the zones?",
        "Maybe the root cause is a stale connection in the session store.",
        "The file has 40 lines and three functions in it.",
        "Because it is.",
    ],
)
def test_questions_guesses_and_statements_are_not(sentence: str) -> None:
    assert not is_decision(sentence)
