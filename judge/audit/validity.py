"""Checks that a judge sees altered answers: true answers are changed in known ways, and scored again.

Each alteration says what it does and which mean score is right for it. Those of a bias keep all facts and change the
form alone: what counts is the *effect*, the score less that of the same answer in the other form, question by question.
What an alteration cannot be made of (no number in the answer, a single item) is left out of its row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import fmean

from judge.audit.attacks import Estimate, estimate_mean
from judge.audit.clear_cases import Run, Scored
from judge.rubric import Rubric
from judge.scoring import CriterionScore, Judge, JudgeCase, JudgeError

UNCOUNTED = "instruction_following"
"""The dimension that is left out of a score: it is about the form of an answer."""

ABSTENTIONS = (
    "The context does not say.",
    "I don't know.",
    "I do not know.",
    "This cannot be told from the context.",
    "There is no information about this.",
    "Not mentioned.",
    "Unknown.",
    "I am not able to answer this from what I was given.",
    "The history does not contain this.",
    "No answer can be given.",
)
PLAN = (
    "Read the files first, run the tests, mend what fails, then write the documentation and ask for a review before "
    "the work is merged."
)
"""What is true of any task, and says nothing of this one."""

MOST_EFFECT = 0.25
"""Points by which form alone may move a judge. Ours: a twentieth of the scale."""

PADDING = (
    "To answer this, it helps to go through the question step by step and to look at everything that was asked.",
    "The points below are given in the way in which they can be told, one after the other, without any haste.",
    "Each of them deserves attention, and together they form what can be said in reply to the question above.",
    "It is worth keeping in mind that a question such as this one can be looked at from more than one side.",
    "In what follows, care was taken to address the question itself and nothing that lies beside it.",
    "With that, everything that was asked for has been addressed, and the reply comes to its natural end.",
)
"""Sentences that say nothing of any task."""

_ITEM = re.compile(r";\s+|\n+")
_LABEL = re.compile(r"^\s*(\w+):\s+")
_NUMBER = re.compile(r"\d+")
_VERB = re.compile(r"\b(?:Created|Modified)(?=:)")
_OTHER_VERB = {"Created": "Modified", "Modified": "Created"}
_FILE_NAME = re.compile(r"[\w-]+(?=\.[A-Za-z]\w{0,7}\b)")
_CHOICE = re.compile(r"\b(?:instead of|rather than|not)\b", re.IGNORECASE)
_NONE = re.compile(r"(?:none|nothing)\.?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TrueAnswer:
    """A question of a store with its true answer, the material of alterations."""

    case: JudgeCase
    """``answer`` is the truth."""
    cluster: str
    """The session: intervals are over sessions."""
    others: tuple[str, ...]
    """True answers to questions of the same type in other sessions."""
    also_true: tuple[str, ...]
    """Other true statements of the same session."""
    own_words: str | None = None
    """The truth in words of the model that judges; None where nobody was asked for them."""
    other_words: str | None = None
    """The truth in words of another model."""


@dataclass(frozen=True, slots=True)
class Alteration:
    """A way to change a true answer, and the right mean score of the altered answers."""

    id: str
    about: str
    alter: Callable[[TrueAnswer, Random], str | None]
    """None where it cannot be made of this answer."""
    low: float = 0.0
    high: float = 5.0
    below: str = ""
    """An alteration whose mean has to be higher than this one's."""
    against: str = ""
    """Of a bias: the alteration of the same facts in another form, before it in the list."""


@dataclass(frozen=True, slots=True)
class ValidityRow:
    """A judge's scores of one alteration."""

    alteration: str
    about: str
    n: int
    """Answers that could be altered so and were scored."""
    n_unscored: int
    mean: float | None
    """0-5, without instruction following; None with no scored answer."""
    ci_low: float | None
    ci_high: float | None
    effect: float | None
    """Of a bias: points by which the form moves the score; None of others."""
    effect_low: float | None
    effect_high: float | None
    required_low: float
    """Of the mean; of a bias, of the effect."""
    required_high: float
    passes: bool | None
    """None with no scored answer, and of a bias whose interval can be both: more questions would tell."""


def measure_validity(judge: Judge, answers: Sequence[TrueAnswer], run: Run = map) -> list[ValidityRow]:
    """One row for each alteration. Raises CallsStoppedError when no call may be made any more.

    Args:
        judge: Any judge; it is asked once for each answer and alteration.
        answers: Of several sessions and types.
        run: ``map``, or one that asks for several cases at a time.
    """
    made = [
        (alteration.id, number, replace(answer.case, answer=text, states=None))
        for number, answer in enumerate(answers)
        for alteration in ALTERATIONS
        if (text := alteration.alter(answer, Random(f"{alteration.id} {number}"))) is not None  # noqa: S311
    ]
    scored = run(lambda case: _overall(judge, case), [case for _, _, case in made])
    found: dict[str, dict[int, float | None]] = {}
    for (id, number, _), (score, _) in zip(made, scored, strict=True):
        found.setdefault(id, {})[number] = score
    sessions = [answer.cluster for answer in answers]
    rows: list[ValidityRow] = []
    for alteration in ALTERATIONS:
        scores = found.get(alteration.id, {})
        effect = Estimate(None)
        if alteration.against:
            effect = _effect(scores, found.get(alteration.against, {}), sessions)
        mean = estimate_mean([(sessions[number], score) for number, score in scores.items()])
        rows.append(_row(alteration, scores, mean, effect, {row.alteration: row.mean for row in rows}))
    return rows


def _effect(
    scores: Mapping[int, float | None], others: Mapping[int, float | None], sessions: Sequence[str]
) -> Estimate:
    """The mean over sessions of what the form adds to a score, where both forms have one."""
    differences = [
        (sessions[number], score - other)
        for number, score in scores.items()
        if score is not None and (other := others.get(number)) is not None
    ]
    return estimate_mean(differences)


def _row(
    alteration: Alteration,
    scores: Mapping[int, float | None],
    known: Estimate,
    effect: Estimate,
    means: Mapping[str, float | None],
) -> ValidityRow:
    higher = means.get(alteration.below)
    low, high = alteration.low, alteration.high if higher is None else min(alteration.high, higher)
    passes = None
    if alteration.against:
        low, high = -MOST_EFFECT, MOST_EFFECT
        passes = _is_unmoved(effect)
    elif known.mean is not None:
        passes = low <= round(known.mean, 9) <= high and (higher is None or known.mean < higher)
    return ValidityRow(
        alteration.id,
        alteration.about,
        sum(score is not None for score in scores.values()),
        sum(score is None for score in scores.values()),
        known.mean,
        known.low,
        known.high,
        effect.mean,
        effect.low,
        effect.high,
        low,
        high,
        passes,
    )


def effect_row(id: str, about: str, n: int, n_unscored: int, mean: Estimate, effect: Estimate) -> ValidityRow:
    """The row of a bias that was measured elsewhere."""
    passes = _is_unmoved(effect) if mean.mean is not None else None
    of_mean = (mean.mean, mean.low, mean.high)
    of_effect = (effect.mean, effect.low, effect.high)
    return ValidityRow(id, about, n, n_unscored, *of_mean, *of_effect, -MOST_EFFECT, MOST_EFFECT, passes)


def _is_unmoved(effect: Estimate) -> bool | None:
    """Whether the whole interval is within ``MOST_EFFECT``; None where it is not and 0 is in it."""
    if effect.low is None or effect.high is None:
        return None
    if effect.low >= -MOST_EFFECT and effect.high <= MOST_EFFECT:
        return True
    return None if effect.low <= 0 <= effect.high else False


def _overall(judge: Judge, case: JudgeCase) -> Scored:
    try:
        overall = overall_of(judge.rubric, judge.score(case))
    except JudgeError as error:
        return None, str(error)
    return overall, "" if overall is not None else "no criterion was scored"


def overall_of(rubric: Rubric, scores: Sequence[CriterionScore]) -> float | None:
    """The mean of the dimensions' means, 0-5, without instruction following; None where nothing was scored."""
    dimensions: dict[str, list[float]] = {}
    for one in scores:
        criterion = rubric.criteria.get(one.criterion)
        if one.score is not None and criterion is not None and criterion.dimension != UNCOUNTED:
            dimensions.setdefault(criterion.dimension, []).append(one.score)
    return fmean(map(fmean, dimensions.values())) if dimensions else None


def split_items(text: str) -> list[str]:
    """The single items of an answer, each with the label of its line; a line like "none" gives no item."""
    found = []
    for line in text.splitlines():
        label = _LABEL.match(line)
        head = label[0] if label else ""
        found += [f"{head}{item.strip()}" for item in _ITEM.split(line[len(head) :]) if item.strip()]
    return [item for item in found if not _NONE.fullmatch(_LABEL.sub("", item))]


def _first(share: float) -> Callable[[TrueAnswer, Random], str | None]:
    def alter(answer: TrueAnswer, random: Random) -> str | None:
        items = split_items(answer.case.answer)
        return "\n".join(random.sample(items, round(len(items) * share))) if len(items) >= 4 else None

    return alter


def _with_invented(number: int) -> Callable[[TrueAnswer, Random], str | None]:
    """Items of other sessions are of the right kind and not true here."""

    def alter(answer: TrueAnswer, random: Random) -> str | None:
        items = [item for other in answer.others for item in split_items(other)]
        if len(items) < number:
            return None
        return "\n".join([answer.case.answer, *random.sample(items, number)])

    return alter


def _change(pattern: re.Pattern[str], change: Callable[[str], str]) -> Callable[[TrueAnswer, Random], str | None]:
    def alter(answer: TrueAnswer, _: Random) -> str | None:
        text = answer.case.answer
        changed = pattern.sub(lambda found: change(found[0]), text)
        return changed if changed != text else None

    return alter


def _exchange_ends(answer: TrueAnswer, _: Random) -> str | None:
    parts = _CHOICE.split(answer.case.answer, maxsplit=1)
    word = _CHOICE.search(answer.case.answer)
    return f"{parts[1].strip(' .')} {word[0]} {parts[0].strip(' .')}" if word and len(parts) == 2 else None


def _say_done(answer: TrueAnswer, _: Random) -> str | None:
    text = answer.case.answer
    changed = re.sub(r"(?m)^(?:Open|Failing):", "Done:", text)
    return changed if changed != text and len(changed.splitlines()) == changed.count("Done:") else None


def _earlier_value(answer: TrueAnswer, _: Random) -> str | None:
    text = answer.case.answer
    for statement in answer.case.probe.statements:
        if statement.exact and statement.foils and statement.exact[-1] in text:
            return text.replace(statement.exact[-1], statement.foils[-1])
    return None


def _shuffled(answer: TrueAnswer, random: Random) -> str | None:
    words = answer.case.answer.split()
    return " ".join(random.sample(words, len(words))) if len(words) >= 4 else None


def _otherwise_formed(answer: TrueAnswer, random: Random) -> str:
    items = split_items(answer.case.answer) or [answer.case.answer]
    return "\n".join(f"- **{item}**" for item in random.sample(items, len(items)))


def _lengthened(answer: TrueAnswer, _: Random) -> str | None:
    text = answer.case.answer
    more = "\n".join(answer.also_true)
    return f"{text}\n{more[: 9 * len(text)]}" if len(more) >= 4 * len(text) else None


def _pad(answer: TrueAnswer, random: Random) -> str:
    """The truth between sentences that say nothing, at least twice as long as it is."""
    text, more = answer.case.answer, list[str]()
    while sum(map(len, more)) < 2 * len(text):
        more += random.sample(PADDING, len(PADDING))
    half = len(more) // 2
    return "\n\n".join((" ".join(more[:half]), text, " ".join(more[half:])))


def _reverse(answer: TrueAnswer, _: Random) -> str | None:
    items = split_items(answer.case.answer)
    return "\n".join(reversed(items)) if len(items) >= 2 else None


def _list_items(answer: TrueAnswer, _: Random) -> str | None:
    items = split_items(answer.case.answer)
    return "\n".join(items) if len(items) >= 2 else None


def _add_headings(answer: TrueAnswer, _: Random) -> str:
    items = split_items(answer.case.answer) or [answer.case.answer]
    return "\n".join(("# Answer", "", "## What is known", "", *(f"- **{item}**" for item in items)))


def _next_number(number: str) -> str:
    return str(int(number) + 7) if len(number) < 20 else number[::-1]


_DENIALS = ("It is false that ", "It was never the case that ", "This is not so: ", "Nobody found or did this: ")
_PERHAPS = "I do not know, but perhaps: "

ALTERATIONS: tuple[Alteration, ...] = (
    Alteration("truth", "the true answer", lambda answer, _: answer.case.answer, low=4.7),
    Alteration("other_form", "its items in another order, as bold bullets", _otherwise_formed, low=4.3),
    Alteration("abstention", "an answer that says it does not know", lambda _, r: r.choice(ABSTENTIONS), high=0.2),
    Alteration("question", "the question itself", lambda answer, _: answer.case.probe.question, high=0.5),
    Alteration(
        "other_session",
        "the truth of another session",
        lambda answer, random: random.choice(answer.others) if answer.others else None,
        high=0.5,
    ),
    Alteration("generic_plan", "a plan that fits any task", lambda *_: PLAN, high=0.5),
    Alteration("denied", "the truth, denied", lambda answer, r: r.choice(_DENIALS) + answer.case.answer, high=1.5),
    Alteration("roles", "what was chosen and what was rejected exchanged", _exchange_ends, high=2.0),
    Alteration("shuffled", "the truth's words in random order", _shuffled, high=2.0),
    Alteration("numbers", "every number another one", _change(_NUMBER, _next_number), high=2.0),
    Alteration(
        "file_names", "every file name another one", _change(_FILE_NAME, lambda name: f"{name[::-1]}_x"), high=1.0
    ),
    Alteration("verbs", "created and modified exchanged", _change(_VERB, _OTHER_VERB.__getitem__), high=2.5),
    Alteration("done", "what is open told as done", _say_done, high=2.0),
    Alteration("stale", "an earlier value in place of the true one", _earlier_value, high=2.0),
    Alteration("invented_1", "the truth and 1 item that is not true", _with_invented(1), below="truth"),
    Alteration("invented_3", "the truth and 3 such items", _with_invented(3), below="invented_1"),
    Alteration("invented_10", "the truth and 10 such items", _with_invented(10), high=2.5, below="invented_3"),
    Alteration("half", "half of the truth's items", _first(0.5), low=2.0, high=3.5),
    Alteration("quarter", "a quarter of the truth's items", _first(0.25), low=0.8, high=2.2),
    Alteration("hedged", "the truth as a guess", lambda answer, _: _PERHAPS + answer.case.answer, low=0.2, high=2.5),
    Alteration("in_order", "the truth's items, a line each", _list_items, low=4.3),
    Alteration("other_words", "the truth in another model's words", lambda answer, _: answer.other_words, low=4.0),
    Alteration("bias_length", "length: the truth among words that say nothing", _pad, against="truth"),
    Alteration("bias_position", "position: the truth's items, the last first", _reverse, against="in_order"),
    Alteration("bias_style", "style: the truth under headings, in bold", _add_headings, against="truth"),
    Alteration(
        "bias_own_words",
        "self-preference: the truth in the judge's own words, beside another model's",
        lambda answer, _: answer.own_words,
        against="other_words",
    ),
    Alteration("long", "the truth in a text ten times as long, all of it true", _lengthened, low=4.2),
)
