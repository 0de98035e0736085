"""Criterion scores from the facts that an answer has, lacks or makes up.

An answer is taken apart into claims (``claims.py``), the truth is a list of facts. For a claim *right* is its best
match with any fact, 0–1; for a fact *had* is its best match with any claim, 0–1. Every score is 5 times a share, and
docs/embedded-engine.md gives the formula of each criterion. A criterion for which the probe has no fact is unscored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from compaction.artifacts import same_file
from compaction.tokens import TokenCounter
from compaction.version import code_sha256
from judge.embedded.claims import FILE_KINDS, SECTIONS, Claim, file_name, match, share, split_claims, technical
from judge.probe import Fact, FactKind, Probe
from judge.rubric import Rubric
from judge.verdict import CriterionScore, JudgeCase, JudgeVersion

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
            model="none",
            rubric=rubric.name,
            prompt_sha256=code_sha256("compaction", "judge/embedded"),
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
        formula = _FORMULAS.get(criterion)
        if formula is None:
            reason = f"the embedded judge has no formula for {criterion}"
            return CriterionScore(criterion, None, "", reason)
        value, why = formula(sheet)
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
            (id(fact), id(claim)): match(fact, claim)
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
            return max((share(fact.details, c.details) for c in own), default=0.0)
        return share(fact.details, self.answer)


def _is_scratch(claim: Claim) -> bool:
    return claim.section in ("created", "modified", "examined") and claim.text.startswith(("/tmp/", "/dev/"))  # noqa: S108


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _accuracy_factual(sheet: _Sheet) -> Finding:
    if not sheet.claims:
        return 0.0, "states no fact"
    right = list(sheet.right.values())
    return _mean(right), f"{sum(r >= 0.5 for r in right)} of {len(right)} claims right, mean match {_mean(right):.2f}"


def _accuracy_technical(sheet: _Sheet) -> Finding:
    asked = technical(sheet.probe.question)
    truth = {t for f in sheet.facts() for text in (f.value, *f.terms, *f.details) for t in technical(text)} - asked
    if not truth:
        return None, "the true answer has no code names, numbers or paths beyond those of the question"
    given = {t for claim in sheet.claims for t in technical(f"{claim.text} {claim.details}")} - asked
    if not given:
        return 0.0, "gives no code names, numbers or paths"
    right = sum(t in truth or ("/" in t and any(same_file(t, o) for o in truth if "/" in o)) for t in given)
    return right / len(given), f"{right} of {len(given)} code names, numbers and paths are those of the truth"


def _conversation_state(sheet: _Sheet) -> Finding:
    facts = sheet.facts("request", "open_task", "decision")
    if not facts:
        return None, "no fact on the state of the conversation belongs to this probe"
    value = _mean([sheet.had(fact) for fact in facts])
    return value, f"{value:.2f} of {len(facts)} requests, tasks and decisions stated"


def _artifact_state(sheet: _Sheet) -> Finding:
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


def _files_created(sheet: _Sheet) -> Finding:
    found = _f1(sheet, "file_created", "created")
    return found if found else (None, "no file of the project had been created")


def _files_modified(sheet: _Sheet) -> Finding:
    found = _f1(sheet, "file_modified", "modified")
    if found is None:
        return None, "no existing file of the project had been modified"
    detailed = [fact for fact in sheet.facts("file_modified") if fact.details]
    if not detailed:
        return found
    changes = _mean([sheet.details_had(fact) for fact in detailed])
    value = (1 - DETAILS_WEIGHT) * found[0] + DETAILS_WEIGHT * changes
    return value, f"{found[1]}; {changes:.2f} of the changes named"


def _key_details(sheet: _Sheet) -> Finding:
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


def _coverage(sheet: _Sheet) -> Finding:
    parts = _parts(sheet)
    dealt = [min(1.0, 2 * max(sheet.had(fact) for fact in part)) for part in parts]
    return _mean(dealt), f"{sum(d >= 1 for d in dealt)} of {len(parts)} parts answered with something true"


def _depth(sheet: _Sheet) -> Finding:
    shares = []
    for fact in sheet.facts():
        shares.append(sheet.had(fact))
        if fact.details and fact.kind in FILE_KINDS:
            shares.append(sheet.details_had(fact))
    return _mean(shares), f"{_mean(shares):.2f} of the truth's detail"


def _work_state(sheet: _Sheet) -> Finding:
    facts = sheet.facts("file_created", "file_modified", "failing_test", "next_step", "request")
    if not facts:
        return None, "nothing of the state of the work belongs to this probe"
    value = _mean([sheet.had(fact) for fact in facts])
    return value, f"{value:.2f} of {len(facts)} files, failures and next steps need not be looked up"


def _todo_state(sheet: _Sheet) -> Finding:
    facts = sheet.facts("open_task", "failing_test")
    if not facts:
        return None, "no task or failing test was open"
    value = _mean([sheet.had(fact) for fact in facts])
    return value, f"{value:.2f} of {len(facts)} open tasks and failing tests stated"


def _reasoning(sheet: _Sheet) -> Finding:
    facts = sheet.facts("reason")
    if not facts:
        return None, "no reason was given for the decision in question"
    value = _mean([sheet.had(fact) for fact in facts])
    return value, f"{value:.2f} of the reason stated"


def _format(sheet: _Sheet) -> Finding:
    lines = [line for line in sheet.answer.splitlines() if line.strip()]
    labels = [label for label in SECTIONS if f"`{label.capitalize()}:`" in sheet.probe.question]
    if labels and sheet.claims:
        found = [line.split(":", 1)[0].strip().lower() for line in lines]
        return float(found == labels) if found else 0.0, f"lines {', '.join(found)}"
    if "on one line" in sheet.probe.question:
        return float(len(lines) == 1), f"{len(lines)} lines where one was asked for"
    return (1.0, "free form was asked for") if lines else (0.0, "empty")


def _constraints(sheet: _Sheet) -> Finding:
    used, limit = sheet.counter.count(sheet.answer), sheet.probe.max_tokens
    return min(1.0, limit / used) if used else 1.0, f"{used} of at most {limit} tokens"


_FORMULAS: Mapping[str, Callable[[_Sheet], Finding]] = {
    "accuracy_factual": _accuracy_factual,
    "accuracy_technical": _accuracy_technical,
    "context_conversation_state": _conversation_state,
    "context_artifact_state": _artifact_state,
    "artifact_files_created": _files_created,
    "artifact_files_modified": _files_modified,
    "artifact_key_details": _key_details,
    "completeness_coverage": _coverage,
    "completeness_depth": _depth,
    "continuity_work_state": _work_state,
    "continuity_todo_state": _todo_state,
    "continuity_reasoning": _reasoning,
    "instruction_format": _format,
    "instruction_constraints": _constraints,
}
