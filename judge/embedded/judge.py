"""Criterion scores from the facts that an answer has, lacks or makes up.

An answer is taken apart into claims (``claims.py``), the truth is a list of facts. For a claim *right* is its best
match with any fact, 0–1; for a fact *had* is its best match with any claim, 0–1. Every score is 5 times a share, which
the docstring of each formula gives; docs/rubric.md shows them. A criterion for which the probe has no fact is unscored.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from compaction.reading.file_effects import same_file
from compaction.tokens import TokenCounter
from judge.embedded.claims import (
    FILE_KINDS,
    SECTIONS,
    Claim,
    file_name,
    match_share,
    split_claims,
    technical_terms,
    term_share,
)
from judge.probe import Fact, FactKind, Probe
from judge.rubric import Rubric
from judge.scoring import CriterionScore, JudgeCase, JudgeVersion

VERSION = 2
"""Raise it when an answer is scored otherwise."""

NAME = f"embedded-judge@{VERSION}"

DETAILS_WEIGHT = 0.4
"""Share of what was changed in artifact_files_modified: all files without their changes score 3, as its anchor says."""

MAX_REMEMBERED = 4096
"""Scored answers."""

Finding = tuple[float | None, str]
"""Share 0–1 with what it counts, or None with the reason why there is no score."""


class EmbeddedJudge:
    """Scores by counting; no language model reads anything."""

    def __init__(self, rubric: Rubric, counter: TokenCounter) -> None:
        self.rubric = rubric
        self._counter = counter
        self._known: dict[tuple[int, str, tuple[str, ...]], tuple[Probe, list[CriterionScore]]] = {}
        self.version = JudgeVersion(
            judge="embedded",
            model=NAME,
            rubric=rubric.name,
            prompt_sha256=hashlib.sha256(NAME.encode()).hexdigest(),
            protocol="facts of the ground truth against claims of the answer; context not read",
            params={"details_weight": DETAILS_WEIGHT, "tokenizer": counter.name},
        )

    def score(self, case: JudgeCase) -> Sequence[CriterionScore]:
        """One entry for each criterion of the case."""
        # Many methods leave what a probe asks for, and then their answers are the same to the letter.
        key = (id(case.probe), case.answer, case.criteria)
        if key not in self._known:
            if len(self._known) >= MAX_REMEMBERED:
                self._known.clear()
            sheet = _Sheet(case.probe, case.answer, self._counter)
            self._known[key] = case.probe, [self._criterion(criterion, sheet) for criterion in case.criteria]
        return self._known[key][1]

    def _criterion(self, criterion: str, sheet: _Sheet) -> CriterionScore:
        formula = formulas.get(criterion)
        if formula is None:
            reason = f"the embedded judge has no formula for {criterion}"
            return CriterionScore(criterion, None, "", reason)
        value, why = formula.finding(sheet)
        if value is None:
            return CriterionScore(criterion, None, "", why)
        return CriterionScore(criterion, round(5 * min(max(value, 0.0), 1.0), 2), why)


@dataclass(eq=False)
class _Sheet:
    """One answer beside its truth."""

    probe: Probe
    answer: str
    counter: TokenCounter

    @cached_property
    def claims(self) -> list[Claim]:
        return [claim for claim in split_claims(self.answer) if not _is_scratch(claim)]

    def facts(self, *kinds: FactKind) -> list[Fact]:
        """The facts of some kinds, all of them when none is named."""
        return [fact for fact in self.probe.facts if not kinds or fact.kind in kinds]

    def claims_under(self, section: str) -> list[Claim]:
        return [claim for claim in self.claims if claim.section == section]

    @cached_property
    def _matches(self) -> dict[tuple[int, int], float]:
        by_name: dict[str, list[Claim]] = {}
        for claim in self.claims:
            by_name.setdefault(file_name(claim.text), []).append(claim)
        return {
            (id(fact), id(claim)): match_share(fact, claim)
            for fact in self.probe.facts
            for claim in (by_name.get(file_name(fact.value), ()) if fact.kind in FILE_KINDS else self.claims)
        }

    def match(self, fact: Fact, claim: Claim) -> float:
        """How well a claim of the answer states a fact of the probe."""
        return self._matches.get((id(fact), id(claim)), 0.0)

    @cached_property
    def right(self) -> dict[int, float]:
        """Claim → how right it is. A file under the wrong heading is half right."""
        found = {}
        for i, claim in enumerate(self.claims):
            kinds = SECTIONS.get(claim.section)
            inside = [self.match(fact, claim) for fact in self.probe.facts if kinds is None or fact.kind in kinds]
            best = max(inside, default=0.0)
            if best == 0.0 and kinds is not None and kinds[0] in FILE_KINDS:
                best = 0.5 * max((self.match(fact, claim) for fact in self.facts(*FILE_KINDS)), default=0.0)
            found[i] = best
        return found

    def had(self, fact: Fact) -> float:
        """How well the answer states a fact, under its own heading where the answer has headings."""
        sectioned = [c for c in self.claims if fact.kind in SECTIONS.get(c.section, (fact.kind,))]
        return max((self.match(fact, claim) for claim in sectioned), default=0.0)

    def details_had(self, fact: Fact) -> float:
        """Share of a fact's details that the claims on it (for other facts: the whole answer) have."""
        if fact.kind in FILE_KINDS:
            own = [c for c in self.claims if self.match(fact, c) > 0]
            return max((term_share(fact.details, c.details) for c in own), default=0.0)
        return term_share(fact.details, self.answer)


@dataclass(frozen=True, slots=True)
class Formula:
    """How one criterion is scored."""

    finding: Callable[[_Sheet], Finding]
    unscored_when: str
    """For people; blank where there is always a score."""

    @property
    def share(self) -> str:
        """What share of the score it gives, for people: the function's docstring."""
        return inspect.getdoc(self.finding) or ""


formulas: dict[str, Formula] = {}
"""Id of a criterion → its formula; ``criterion`` fills it."""


def criterion(
    id: str, *, unscored_when: str = ""
) -> Callable[[Callable[[_Sheet], Finding]], Callable[[_Sheet], Finding]]:
    """Give a criterion of a rubric its formula. What share it is, says the function's docstring."""

    def register(finding: Callable[[_Sheet], Finding]) -> Callable[[_Sheet], Finding]:
        formulas[id] = Formula(finding, unscored_when)
        return finding

    return register


def _is_scratch(claim: Claim) -> bool:
    return claim.section in ("created", "modified", "examined") and claim.text.startswith(("/tmp/", "/dev/"))  # noqa: S108


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


@criterion("accuracy_factual")
def _accuracy_factual(sheet: _Sheet) -> Finding:
    """Mean of *right* over the claims; 0 if nothing is claimed."""
    if not sheet.claims:
        return 0.0, "states no fact"
    right = list(sheet.right.values())
    return _mean(right), f"{sum(r >= 0.5 for r in right)} of {len(right)} claims right, mean match {_mean(right):.2f}"


@criterion("accuracy_technical", unscored_when="the truth has none")
def _accuracy_technical(sheet: _Sheet) -> Finding:
    """Code names, paths and numbers in the claims that are those of the truth (the question's own do not count)."""
    asked = technical_terms(sheet.probe.question)
    truth = {
        t for f in sheet.facts() for text in (f.value, *f.terms, *f.details) for t in technical_terms(text)
    } - asked
    if not truth:
        return None, "the true answer has no code names, numbers or paths beyond those of the question"
    given = {t for claim in sheet.claims for t in technical_terms(f"{claim.text} {claim.details}")} - asked
    if not given:
        return 0.0, "gives no code names, numbers or paths"
    right = sum(t in truth or ("/" in t and any(same_file(t, o) for o in truth if "/" in o)) for t in given)
    return right / len(given), f"{right} of {len(given)} code names, numbers and paths are those of the truth"


@criterion("context_conversation_state", unscored_when="the probe has none of them")
def _conversation_state(sheet: _Sheet) -> Finding:
    """Mean of *had* over requests, open tasks, decisions."""
    facts = sheet.facts("request", "open_task", "decision")
    if not facts:
        return None, "no fact on the state of the conversation belongs to this probe"
    value = _mean([sheet.had(fact) for fact in facts])
    return value, f"{value:.2f} of {len(facts)} requests, tasks and decisions stated"


@criterion("context_artifact_state", unscored_when="no file belongs to the probe")
def _artifact_state(sheet: _Sheet) -> Finding:
    """Share of the files named under any heading."""
    facts = sheet.facts(*FILE_KINDS, "next_step")
    if not facts:
        return None, "no file belongs to this probe"
    known = [max((sheet.match(fact, claim) for claim in sheet.claims), default=0.0) for fact in facts]
    return _mean(known), f"{sum(known):.0f} of {len(facts)} files named under any heading"


def _f1(sheet: _Sheet, kind: FactKind, section: str) -> tuple[float, str] | None:
    facts, claims = sheet.facts(kind), sheet.claims_under(section)
    if not facts:
        return None
    had = sum(any(sheet.match(f, c) for c in claims) for f in facts)
    right = sum(any(sheet.match(f, c) for f in facts) for c in claims)
    recall, precision = had / len(facts), right / len(claims) if claims else 0.0
    value = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return value, f"{had} of {len(facts)} {section}, {len(claims) - right} wrongly listed"


@criterion("artifact_files_created", unscored_when="none was created")
def _files_created(sheet: _Sheet) -> Finding:
    """F1 of the files under ``Created:``."""
    found = _f1(sheet, "file_created", "created")
    return found if found else (None, "no file of the project had been created")


@criterion("artifact_files_modified", unscored_when="none was modified")
def _files_modified(sheet: _Sheet) -> Finding:
    """0.6 × F1 of the files under ``Modified:`` + 0.4 × share of the changed names."""
    found = _f1(sheet, "file_modified", "modified")
    if found is None:
        return None, "no existing file of the project had been modified"
    detailed = [fact for fact in sheet.facts("file_modified") if fact.details]
    if not detailed:
        return found
    changes = _mean([sheet.details_had(fact) for fact in detailed])
    value = (1 - DETAILS_WEIGHT) * found[0] + DETAILS_WEIGHT * changes
    return value, f"{found[1]}; {changes:.2f} of the changes named"


@criterion("artifact_key_details", unscored_when="the facts have none")
def _key_details(sheet: _Sheet) -> Finding:
    """Mean share of the facts' names and messages."""
    facts = [fact for fact in sheet.facts() if fact.details]
    if not facts:
        return None, "the true answer has no names or messages beyond what was scored"
    value = _mean([sheet.details_had(fact) for fact in facts])
    return value, f"{value:.2f} of the names and messages of {len(facts)} facts"


def _parts(sheet: _Sheet) -> list[list[Fact]]:
    """The facts by the part of the question that they answer."""
    labels = [kinds for kinds in SECTIONS.values() if any(fact.kind in kinds for fact in sheet.probe.facts)]
    if labels:
        return [sheet.facts(*kinds) for kinds in labels]
    return [[fact] for fact in sheet.probe.facts]


@criterion("completeness_coverage")
def _coverage(sheet: _Sheet) -> Finding:
    """Parts of the question answered with something true (a half-stated fact is enough)."""
    parts = _parts(sheet)
    dealt = [min(1.0, 2 * max(sheet.had(fact) for fact in part)) for part in parts]
    return _mean(dealt), f"{sum(d >= 1 for d in dealt)} of {len(parts)} parts answered with something true"


@criterion("completeness_depth")
def _depth(sheet: _Sheet) -> Finding:
    """Mean of *had*, and of the changed names for files."""
    shares = []
    for fact in sheet.facts():
        shares.append(sheet.had(fact))
        if fact.details and fact.kind in FILE_KINDS:
            shares.append(sheet.details_had(fact))
    return _mean(shares), f"{_mean(shares):.2f} of the truth's detail"


@criterion("continuity_work_state", unscored_when="none of them belongs to the probe")
def _work_state(sheet: _Sheet) -> Finding:
    """Mean of *had* over created and modified files, failing tests, next steps, the request."""
    facts = sheet.facts("file_created", "file_modified", "failing_test", "next_step", "request")
    if not facts:
        return None, "nothing of the state of the work belongs to this probe"
    value = _mean([sheet.had(fact) for fact in facts])
    return value, f"{value:.2f} of {len(facts)} files, failures and next steps need not be looked up"


@criterion("continuity_todo_state", unscored_when="nothing was open")
def _todo_state(sheet: _Sheet) -> Finding:
    """Mean of *had* over open tasks and failing tests."""
    facts = sheet.facts("open_task", "failing_test")
    if not facts:
        return None, "no task or failing test was open"
    value = _mean([sheet.had(fact) for fact in facts])
    return value, f"{value:.2f} of {len(facts)} open tasks and failing tests stated"


@criterion("continuity_reasoning", unscored_when="no reason was given")
def _reasoning(sheet: _Sheet) -> Finding:
    """*had* of the reason."""
    facts = sheet.facts("reason")
    if not facts:
        return None, "no reason was given for the decision in question"
    value = _mean([sheet.had(fact) for fact in facts])
    return value, f"{value:.2f} of the reason stated"


@criterion("instruction_format")
def _format(sheet: _Sheet) -> Finding:
    """The labelled lines in their order, or one line, as asked."""
    lines = [line for line in sheet.answer.splitlines() if line.strip()]
    labels = [label for label in SECTIONS if f"`{label.capitalize()}:`" in sheet.probe.question]
    if labels and sheet.claims:
        found = [line.split(":", 1)[0].strip().lower() for line in lines]
        return float(found == labels) if found else 0.0, f"lines {', '.join(found)}"
    if "on one line" in sheet.probe.question:
        return float(len(lines) == 1), f"{len(lines)} lines where one was asked for"
    return (1.0, "free form was asked for") if lines else (0.0, "empty")


@criterion("instruction_constraints")
def _constraints(sheet: _Sheet) -> Finding:
    """Limit ÷ tokens used, at most 1."""
    used, limit = sheet.counter.count(sheet.answer), sheet.probe.max_tokens
    return min(1.0, limit / used) if used else 1.0, f"{used} of at most {limit} tokens"
