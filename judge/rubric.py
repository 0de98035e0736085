"""Rubrics are data: dimensions, criteria with anchors and weights, and which probe types ask which criterion."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from compaction.closest import did_you_mean
from compaction.parameters import value_text
from judge.given_files import read_given
from judge.probe import PROBE_TYPES

DEFAULT_RUBRIC = "software_engineering"

CONSTRAINTS = "constraints"
"""Dimension of what is asked of constraints, and of nothing else: it is no part of overall."""

HASH_LENGTH = 8
"""Hex digits of a rubric's hash in its name."""
MOST_WEIGHT = 1_000_000


class RubricError(ValueError):
    """A rubric that is not there or does not hold together."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One question that a judge answers with 0–5."""

    id: str
    dimension: str
    question: str
    anchors: Mapping[int, str]
    """Score → what an answer with that score looks like; at least 0, 3 and 5."""
    weight: float
    """Within the dimension."""


@dataclass(frozen=True, slots=True)
class Rubric:
    """A version of a rubric; a changed rubric is another one and makes other judge ids, whatever it calls itself."""

    id: str
    version: str
    criteria: Mapping[str, Criterion]
    asked: Mapping[str, tuple[str, ...]]
    """Probe type → ids of the criteria that apply to it."""

    @property
    def sha256(self) -> str:
        """Hash of the content: criteria with wording, anchors and weights, and the criteria of each probe type.

        The order of criteria and of what is asked counts, because it is the order that a judge sees them in.
        """
        criteria = [
            [c.id, c.dimension, c.question, sorted(c.anchors.items()), float(c.weight)] for c in self.criteria.values()
        ]
        content = json.dumps([criteria, sorted(self.asked.items())], ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def name(self) -> str:
        """Id, version and the beginning of ``sha256``, as stored with every judge."""
        return f"{self.id}@{self.version}.{self.sha256[:HASH_LENGTH]}"

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions, in the rubric's order."""
        return tuple(dict.fromkeys(criterion.dimension for criterion in self.criteria.values()))


def list_rubrics() -> list[str]:
    """Ids of the rubrics that come with the package."""
    folder = files("judge").joinpath("rubrics")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


@lru_cache(maxsize=8)
def load_rubric(name: str = DEFAULT_RUBRIC) -> Rubric:
    """A rubric by id, or from a TOML file by path."""
    source: Traversable = Path(name) if name.endswith(".toml") else files("judge").joinpath("rubrics", f"{name}.toml")
    try:
        data = tomllib.loads(read_given(source).decode() if isinstance(source, Path) else source.read_text("utf-8"))
    except FileNotFoundError:
        known = list_rubrics()
        raise RubricError(
            f"no rubric {value_text(name)}{did_you_mean(name, known)}; known: {', '.join(known)}, "
            "or the path of a .toml file"
        ) from None
    except OSError as error:
        raise RubricError(f"rubric {value_text(name)}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise RubricError(f"rubric {name}: not TOML: {error}") from None
    return _build(name, data)


def _build(name: str, data: dict[str, Any]) -> Rubric:
    try:
        criteria = {
            key: Criterion(
                id=key,
                dimension=entry["dimension"],
                question=entry["question"],
                anchors={int(score): text for score, text in entry["anchors"].items()},
                weight=float(entry.get("weight", 1.0)),
            )
            for key, entry in data["criteria"].items()
        }
        rubric = Rubric(data["id"], str(data["version"]), criteria, {k: tuple(v) for k, v in data["asked"].items()})
    except (KeyError, TypeError, AttributeError) as error:
        raise RubricError(f"rubric {name}: missing or misplaced key {error}") from None
    except (ValueError, OverflowError) as error:
        raise RubricError(f"rubric {name}: expected a number: {error}") from None
    for criterion in criteria.values():
        if not all(
            isinstance(text, str) for text in (criterion.dimension, criterion.question, *criterion.anchors.values())
        ):
            raise RubricError(f"rubric {name}: criterion {criterion.id}: dimension, question and anchors are texts")
        if not {0, 3, 5} <= set(criterion.anchors):
            raise RubricError(f"rubric {name}: criterion {criterion.id} needs anchors for 0, 3 and 5")
        if not 0 < criterion.weight <= MOST_WEIGHT:
            raise RubricError(
                f"rubric {name}: criterion {criterion.id} needs a weight above 0, of at most {MOST_WEIGHT:,}"
            )
    for probe_type, ids in rubric.asked.items():
        unknown = [i for i in ids if i not in criteria]
        if probe_type not in PROBE_TYPES or unknown:
            raise RubricError(f"rubric {name}: [asked] {probe_type}: unknown probe type or criterion {unknown}")
        if any((criteria[i].dimension == CONSTRAINTS) != (probe_type == "constraint") for i in ids):
            raise RubricError(
                f"rubric {name}: [asked] {probe_type}: criteria of the dimension {CONSTRAINTS} are asked of probes of "
                "the type constraint, and no others are"
            )
    return rubric
