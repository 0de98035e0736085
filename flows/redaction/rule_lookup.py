"""Finds the rules that can match a text at all: looking for their keywords first costs less than trying each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from flows.redaction.rules import RULES, Rule

_WORDS = sorted({word.encode() for rule in RULES for word in rule.keywords})
_RULES_OF = [frozenset(rule for rule in RULES if word.decode() in rule.keywords) for word in _WORDS]
_LONGEST_WORD = max(map(len, _WORDS))


def _triples(text: bytes) -> npt.NDArray[np.uint16]:
    """A number for every three bytes that follow one another; two that differ seldom have the same."""
    one = np.frombuffer(text, np.uint8).astype(np.uint16)
    return one[:-2] * 1369 + one[1:-1] * 37 + one[2:]


_TRIPLES = np.array([np.resize(_triples(word), _LONGEST_WORD) for word in _WORDS]).T.astype(np.intp)
"""A column for each keyword; zeros for one of two letters."""


def rules_for(text: str) -> list[Rule]:
    """The rules that can match a text at all, in their order: one of their keywords is in it.

    Most keywords have three letters in a row that the text has nowhere, so few are looked for.
    """
    lower = text.encode("utf-8", "surrogatepass").lower()
    is_there = np.zeros(1 << 16, np.bool_)
    is_there[0] = True
    is_there[_triples(lower)] = True
    candidates = np.flatnonzero(is_there[_TRIPLES].all(axis=0)).tolist()
    wanted = frozenset[Rule]().union(*(_RULES_OF[at] for at in candidates if _WORDS[at] in lower))
    return [rule for rule in RULES if rule in wanted] if wanted else []
