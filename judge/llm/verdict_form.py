"""The form of a judge's reply: the study's JSON, as a schema and a parser.

The parser trusts nothing. Every criterion that was asked must be scored exactly once and no other, with a number from
0 to 5 and a reason. Totals are computed from the criterion scores; what the model says of them is kept beside ours and
decides nothing, so a wrong or missing total is no fault of the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, overload

import orjson

from compaction.model import ReplyError
from judge.rubric import Rubric
from judge.scoring import CriterionScore

LOWEST, HIGHEST = 0, 5

_FENCE = re.compile(r"```[A-Za-z]*\s*\n?(.*)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict(Sequence[CriterionScore]):
    """The criterion scores of one answer, with the totals that follow from them and those that the model stated."""

    results: tuple[CriterionScore, ...]
    overall: float
    """Mean of ``dimensions``, 0–5."""
    dimensions: Mapping[str, float]
    """Weighted mean of the criteria of each dimension that was asked, 0–5."""
    stated_overall: float | None = None
    """The model's ``aggregateScore``; None where it gave no number."""
    stated_dimensions: Mapping[str, float] = field(default_factory=dict)
    """The model's ``dimensionScores``, as far as they are numbers of dimensions that were asked."""
    asked_again: bool = False
    """Whether the first reply could not be read."""

    @property
    def overall_difference(self) -> float | None:
        """Stated less computed overall; None where none was stated."""
        return None if self.stated_overall is None else self.stated_overall - self.overall

    def __len__(self) -> int:
        return len(self.results)

    @overload
    def __getitem__(self, index: int) -> CriterionScore: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[CriterionScore, ...]: ...
    def __getitem__(self, index: int | slice) -> CriterionScore | tuple[CriterionScore, ...]:
        return self.results[index]

    def __iter__(self) -> Iterator[CriterionScore]:
        return iter(self.results)


class Form:
    """The form of a verdict on some criteria of a rubric, worked out once."""

    def __init__(self, rubric: Rubric, criteria: Sequence[str]) -> None:
        self.criteria = tuple(criteria)
        self._known = frozenset(self.criteria)
        self._weights: dict[str, list[tuple[str, float]]] = {}
        for id in self.criteria:
            criterion = rubric.criteria[id]
            self._weights.setdefault(criterion.dimension, []).append((id, criterion.weight))
        self._totals = {name: sum(weight for _, weight in found) for name, found in self._weights.items()}

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions of the criteria."""
        return tuple(self._weights)

    def schema(self) -> dict[str, Any]:
        """JSON schema that strict modes take: all fields required, no others, no bounds (the parser has those).

        The reason stands before the score, so that a model which writes from left to right gives its reason first. A
        dimension may be null: one schema, that of all criteria, serves cases with some of them.
        """
        result = {
            "criterionId": {"type": "string", "enum": list(self.criteria)},
            "reasoning": {"type": "string"},
            "score": {"type": "number"},
        }
        return _object(
            {
                "criterionResults": {"type": "array", "items": _object(result)},
                "dimensionScores": _object({name: {"type": ["number", "null"]} for name in self.dimensions}),
                "aggregateScore": {"type": "number"},
            }
        )

    def read(self, text: str) -> Verdict:
        """The verdict in a reply. Raises ReplyError, which quotes nothing of the reply."""
        return self.read_object(json_object(text))

    def read_object(self, given: Mapping[str, Any]) -> Verdict:
        """The verdict in an object of a reply. Raises ReplyError, which quotes nothing of it."""
        results = given.get("criterionResults")
        if not isinstance(results, list):
            raise ReplyError("criterionResults is missing or not a list")
        found: dict[str, CriterionScore] = {}
        scores: dict[str, float] = {}
        for number, result in enumerate(results, 1):
            id, score, reasoning = self._result(number, result)
            if id in found:
                raise ReplyError(f"{id} is scored more than once")
            found[id] = CriterionScore(id, score, reasoning)
            scores[id] = score
        if len(found) < len(self.criteria):
            raise ReplyError("not scored: " + ", ".join(id for id in self.criteria if id not in found))
        dimensions = {
            name: sum([weight * scores[id] for id, weight in weights]) / self._totals[name]
            for name, weights in self._weights.items()
        }
        said = given.get("dimensionScores")
        stated = {k: v for k in dimensions if (v := _number(said.get(k))) is not None} if isinstance(said, dict) else {}
        return Verdict(
            tuple([found[id] for id in self.criteria]),
            sum(dimensions.values()) / len(dimensions),
            dimensions,
            _number(given.get("aggregateScore")),
            stated,
        )

    def _result(self, number: int, result: Any) -> tuple[str, float, str]:
        if not isinstance(result, dict):
            raise ReplyError(f"entry {number} of criterionResults is not an object")
        id = result.get("criterionId")
        if not isinstance(id, str) or id not in self._known:
            raise ReplyError(f"entry {number} of criterionResults has a criterionId that was not asked for")
        score = _number(result.get("score"))
        if score is None or not LOWEST <= score <= HIGHEST:
            raise ReplyError(f"the score of {id} is not a number from {LOWEST} to {HIGHEST}")
        reasoning = result.get("reasoning")
        if not isinstance(reasoning, str) or not reasoning.strip():
            raise ReplyError(f"the reasoning of {id} is missing or blank")
        return id, score, reasoning


def schema_of_several(form: Form) -> dict[str, Any]:
    """JSON schema of verdicts on several answers, each with the answer's number."""
    verdict = _object({"number": {"type": "integer"}, **form.schema()["properties"]})
    return _object({"verdicts": {"type": "array", "items": verdict}})


def read_several(text: str, forms: Sequence[Form]) -> list[Verdict | ReplyError]:
    """The verdicts on answers 1, 2 … in a reply, by the form of each; what is wrong in the place of one of no use.

    Raises ReplyError, which quotes nothing of the reply, where none is of use.
    """
    given = json_object(text).get("verdicts")
    if not isinstance(given, list):
        raise ReplyError("verdicts is missing or not a list")
    found: list[Verdict | ReplyError] = []
    for number, form in enumerate(forms, 1):
        own = [one for one in given if isinstance(one, dict) and one.get("number") is not True]
        own = [one for one in own if one.get("number") == number]
        try:
            if len(own) != 1:
                raise ReplyError(f"there are {len(own)} verdicts on answer {number}")
            found.append(form.read_object(own[0]))
        except ReplyError as error:
            found.append(error)
    if not any(isinstance(one, Verdict) for one in found):
        raise ReplyError(f"none of {len(found)} verdicts is of use; the first: {found[0]}")
    return found


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) else None


def json_object(text: str) -> dict[str, Any]:
    """The one JSON object of a reply, within a code fence or not. Raises ReplyError, which quotes nothing of it."""
    body = text.strip()
    if not body.startswith("{"):
        fenced = _FENCE.search(body)
        body = fenced[1] if fenced else body
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ReplyError(f"it is not one JSON object (error at character {error.pos} of {len(body)})") from None
    if not isinstance(given, dict):
        raise ReplyError("it is JSON, but not an object")
    return given
