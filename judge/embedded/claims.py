"""An answer taken apart into claims, and how well a claim states a fact."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from compaction.reading.file_effects import same_file
from compaction.reading.prose import specific_terms, terms
from judge.probe import Fact, FactKind

ABSTENTION = "The context does not say."
"""What the responder says when it finds nothing; it states no fact."""

SECTIONS: dict[str, tuple[FactKind, ...]] = {
    "created": ("file_created",),
    "modified": ("file_modified",),
    "examined": ("file_examined",),
    "open": ("open_task", "next_step", "request"),
    "failing": ("failing_test",),
    "next": ("open_task", "next_step", "request"),
}
"""Labels that a question asks for, and the facts that belong under each."""

FILE_KINDS: tuple[FactKind, ...] = ("file_created", "file_modified", "file_examined")

_LABEL = re.compile(r"^\s*[-*]*\s*\**(\w+)\**\s*:\s*(.*)$")
_ITEM = re.compile(r";\s+(?![^()]*\))")
_ITEM_DETAILS = re.compile(r"^(.*?)\s*(?:\((.*)\))?\s*$", re.DOTALL)
_NOTHING = re.compile(r"^(?:none|nothing|unknown|n/?a|-)?\.?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that an answer states."""

    section: str
    """Lower-case label of the line that it stands in; empty outside of labelled lines."""
    text: str
    """For a file its path; else the statement."""
    details: str = ""


def split_claims(answer: str) -> list[Claim]:
    """Items of labelled lines one by one; any other text as one claim. An abstention claims nothing."""
    if answer.strip() in ("", ABSTENTION):
        return []
    claims: list[Claim] = []
    loose: list[str] = []
    for line in answer.splitlines():
        match = _LABEL.match(line)
        if match and match[1].lower() in SECTIONS:
            section = match[1].lower()
            for item in _ITEM.split(match[2]):
                if _NOTHING.match(item.strip()) or item.strip() == ABSTENTION:
                    continue
                parts = _ITEM_DETAILS.match(item.strip())
                is_file = SECTIONS[section][0] in FILE_KINDS
                if parts and is_file:
                    claims.append(Claim(section, parts[1].strip("` "), parts[2] or ""))
                else:
                    claims.append(Claim(section, item.strip()))
        elif line.strip():
            loose.append(line.strip())
    if loose:
        claims.append(Claim("", " ".join(loose)))
    return claims


def term_share(wanted: Sequence[str], text: str) -> float:
    """Share of the wanted terms that a text has, 0–1; 0 if there are none."""
    if not wanted:
        return 0.0
    have = set(terms(text)) | set(specific_terms(text))
    return sum(_has(term, have) for term in wanted) / len(wanted)


def _has(term: str, have: set[str]) -> bool:
    return term in have or ("/" in term and any(same_file(term, other) for other in have if "/" in other))


def file_name(path: str) -> str:
    """The last part of a path, by which candidates for the same file are found."""
    return path.rpartition("/")[2].lower()


def match_share(fact: Fact, claim: Claim) -> float:
    """How well a claim states a fact, 0–1: for files the same file or not, else the share of its terms.

    A next step with a single term is a file to be worked on.
    """
    if fact.kind in FILE_KINDS:
        return float(same_file(fact.value.lower(), claim.text.lower()))
    if fact.kind == "next_step" and len(fact.terms) == 1:
        path = fact.terms[0]
        words = terms(f"{claim.text} {claim.details}")
        return float(any(same_file(path, word) for word in words))
    return term_share(fact.terms, f"{claim.text} {claim.details}")


def technical_terms(text: str) -> set[str]:
    """Code names, paths, numbers and versions of a text."""
    return set(specific_terms(text))
