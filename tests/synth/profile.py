"""The numbers that a made-up corpus follows: measured from real sessions, without a word of them.

Sessions are told apart by their length, in bands: short ones are not small copies of long ones. Sizes are characters
of the normal form (``compaction.transcript``).
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from flows.support.errors import UsageError

VERSION = 1
LEVELS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
"""Shares at which quantiles are kept."""
BANDS = (1, 10, 50, 200)
"""Least number of messages of each band of sessions."""
TOOLS = ("shell", "read", "search", "edit", "create", "todo", "other")
SAID = ("system", "request", "user", "talk", "remark", "reasoning")
"""Kinds of text: the first user message and later ones, an answer without calls and one beside calls."""
MOST_RESULTS = 8
"""Tool results of one response that are told apart."""


@dataclass(frozen=True)
class Spread:
    """How a number is spread: its quantiles at ``LEVELS``, and its mean."""

    quantiles: tuple[float, ...]
    mean: float

    @staticmethod
    def of(values: Sequence[float], mean: float | None = None) -> Spread:
        """The spread of some values; ``mean`` where it is another than that of the values."""
        if not values:
            return Spread((0.0,) * len(LEVELS), 0.0)
        ordered = sorted(values)
        at = [ordered[min(len(ordered) - 1, int(level * len(ordered)))] for level in LEVELS]
        return Spread(tuple(round(v, 3) for v in at), round(sum(values) / len(values) if mean is None else mean, 3))

    @cached_property
    def drawn_mean(self) -> float:
        """Mean of what ``draw`` gives before it is corrected."""
        total = 0.0
        for low, high, start, end in zip(LEVELS, LEVELS[1:], self.quantiles, self.quantiles[1:], strict=False):
            step = math.log((end + 1) / (start + 1))
            total += (high - low) * ((end - start) / step - 1 if step > 1e-9 else start)
        return total

    def draw(self, chance: Random) -> float:
        """A number that is spread like this: between two quantiles evenly in its logarithm, with the same mean."""
        level = chance.random()
        at = bisect_right(LEVELS, level) - 1
        low, high = self.quantiles[at], self.quantiles[at + 1]
        share = (level - LEVELS[at]) / (LEVELS[at + 1] - LEVELS[at])
        value = float((low + 1) * ((high + 1) / (low + 1)) ** share - 1)
        return value * (self.mean / self.drawn_mean) if self.drawn_mean > 0 else value


@dataclass(frozen=True)
class Tool:
    """Calls of one kind of tool."""

    share: float
    """Of all calls."""
    error: float
    """Share of results that are errors."""
    arguments: Spread
    """Characters of the JSON of the arguments."""
    result: Spread
    """Characters."""


@dataclass(frozen=True)
class Band:
    """Sessions of about one length."""

    least: int
    """Messages of the shortest that may be in it."""
    share: float
    """Of all sessions."""
    messages: Spread
    """Messages of a session."""
    factor: Spread
    """Size of a session's messages over that of the mean session of the band with as many of each kind."""
    system: float
    """Share of sessions that begin with a system message."""
    user_after_user: float
    user_after_talk: float
    """Share of responses without a call that a person answers, rather than another response."""
    user_after_calls: float
    results: tuple[float, ...]
    """Share of responses with 0, 1, 2 … tool results (the last: as many or more)."""
    has_text: float
    """Share of responses with calls that also say something."""
    has_reasoning: float
    chars: Mapping[str, Spread]
    """Kind of text → characters."""
    tools: Mapping[str, Tool]
    again: Mapping[str, float]
    """File operation → share whose file the session had touched before."""
    compactions: float
    """Compactions by the agent itself, for a thousand messages."""


@dataclass(frozen=True)
class Profile:
    """What a corpus follows."""

    version: int
    measured: Mapping[str, float]
    """What it was measured on: sessions, messages, characters, tokens."""
    bands: tuple[Band, ...]
    repeated: Mapping[str, float]
    """Role → share of its messages of 80 characters and more that stand in another session too."""
    content: Mapping[str, float]
    """Share of prose messages with a decision or an announcement, of shell results with failing or passing
    tests, of first requests with a pasted error."""
    folder_sessions: float
    """Sessions that work in one folder, on average."""

    @property
    def session_messages(self) -> float:
        """Messages of a session, on average."""
        return sum(band.share * band.messages.mean for band in self.bands)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as the file has it."""
        return asdict(self)

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        body = self.as_dict()
        bands = ",\n  ".join(map(json.dumps, body.pop("bands")))
        rest = ",\n ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in body.items())
        path.write_text(f'{{{rest},\n "bands": [\n  {bands}]}}\n', encoding="utf-8")


def shipped() -> Profile:
    """The profile that comes with the package."""
    return _made(json.loads(Path(__file__).with_name("profile.json").read_text(encoding="utf-8")))


def load_profile(path: Path) -> Profile:
    """A profile from a file.

    Raises:
        UsageError: The file cannot be read, or is no profile of this version.
    """
    try:
        return _made(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"profile {path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, LookupError) as error:
        raise UsageError(
            f"profile {path}: not a profile of version {VERSION} ({type(error).__name__}: {error}); make one with "
            "`python -m tests.synth --profile-of STORE --output FILE.json`"
        ) from None


def _made(body: dict[str, Any]) -> Profile:
    if body["version"] != VERSION:
        raise ValueError(f"version is {body['version']!r}")
    bands = tuple(_band(band) for band in body["bands"])
    if not bands or sum(band.share * band.messages.mean for band in bands) <= 0:
        raise ValueError("no sessions in it")
    return Profile(**{**body, "bands": bands})


def _band(body: dict[str, Any]) -> Band:
    if not {field.name for field in fields(Band)} <= body.keys():
        raise KeyError(f"a band has only {', '.join(sorted(body))}")
    tools = {
        name: Tool(tool["share"], tool["error"], _spread(tool["arguments"]), _spread(tool["result"]))
        for name, tool in body["tools"].items()
        if name in TOOLS
    }
    changed = {
        "messages": _spread(body["messages"]),
        "factor": _spread(body["factor"]),
        "tools": tools,
        "chars": {kind: _spread(body["chars"][kind]) for kind in SAID},
        "results": tuple(body["results"]),
    }
    return Band(**{**body, **changed})


def _spread(body: dict[str, Any]) -> Spread:
    quantiles = tuple(float(value) for value in body["quantiles"])
    if len(quantiles) != len(LEVELS):
        raise ValueError(f"{len(quantiles)} quantiles, expected {len(LEVELS)}")
    return Spread(quantiles, float(body["mean"]))
