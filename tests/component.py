"""A component with a version, and the digests of what it was given and what it put out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

from compaction import (
    SummaryError,
)
from compaction.model import Completion
from compaction.testing import CharacterCounter
from judge.answer import AnswerError
from judge.scoring import JudgeError

COUNTER = CharacterCounter()

LENGTH = 16
"""Hex digits of a digest."""

Part = Literal["edges", "samples"]
PARTS: tuple[Part, ...] = ("edges", "samples")
Trial = tuple[Any, Any]
"""What a component was given, and what it put out."""


@dataclass(frozen=True)
class Component:
    """Something with a version."""

    name: str
    version: str
    raised: str
    """How its version is raised."""
    edges: Callable[[], Iterable[Trial]]
    samples: Callable[[], Iterable[Trial]] = tuple

    def digests(self) -> dict[str, Any]:
        """Its entry in the golden file: for each part two digests, of the input and of the output."""
        found: dict[str, Any] = {"version": self.version}
        for part in PARTS:
            trials = list(self.edges() if part == "edges" else self.samples())
            found[part] = [digest(given for given, _ in trials), digest(made for _, made in trials)]
        return found


def digest(values: Iterable[Any]) -> str:
    """Of some values, one after the other."""
    found = hashlib.sha256()
    for value in values:
        found.update(json.dumps(plain(value), sort_keys=True).encode() + b"\n")
    return found.hexdigest()[:LENGTH]


def plain(value: Any) -> Any:
    """A value as JSON: fields of dataclasses by name, sets in order; no functions, nor hints that change no output.

    A field that was added later is left out while it says nothing, so that digests of before hold.
    """
    if is_dataclass(value):
        pairs = ((field, getattr(value, field.name)) for field in fields(value))
        return {
            field.name: plain(item)
            for field, item in pairs
            if not callable(item)
            and not field.metadata.get("hint")
            and not (field.metadata.get("added") and item == field.default)
        }
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((plain(item) for item in value), key=json.dumps)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value


def number_of(version: str) -> int:
    return int(version.partition("+")[0])


def component_of(name: str, module: Any, edges: Any, samples: Any = tuple, beside: str = "") -> Component:
    """A component whose module has a ``VERSION``."""
    path = f"{module.__name__.replace('.', '/')}.py"
    raised = f"VERSION = {module.VERSION + 1} in {path if Path(path).exists() else path.replace('.py', '/__init__.py')}"
    return Component(name, f"{module.VERSION}{beside}", raised, edges, samples)


def outcome_of(call: Callable[[], Any]) -> Any:
    """What a call returns, or the error that it raises."""
    try:
        found = call()
    except (SummaryError, AnswerError, JudgeError) as why:
        return f"{type(why).__name__}: {why}"
    return found.text if isinstance(found, Completion) else found
