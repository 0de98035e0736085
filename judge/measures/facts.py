"""Measures which facts of the probes a compacted context still states, at their own point and at later points."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from compaction.measures.needs import SessionNeeds
from compaction.measures.said import said_text
from compaction.reading.file_effects import same_file
from compaction.reading.prose import specific_terms, terms
from compaction.transcript import Message
from judge.measures.kept_files import FileUse
from judge.probe import Fact, FactKind, Probe

FILE_USE: Mapping[FactKind, FileUse] = {
    "file_created": "created",
    "file_modified": "modified",
    "file_examined": "read",
}
STATES: frozenset[FactKind] = frozenset({*FILE_USE, "open_task", "failing_test", "next_step"})
"""Facts that can cease to be true: at a later point only those that its own probes state again are looked for."""

STATED = 0.8
"""Share of a fact's terms that one line has to have to state it."""
AROUND = 1
"""Lines before and after that count as one with it: prose is wrapped, and a reason follows its decision."""
LONGEST = 2_000
"""Characters of a line that are read."""


@dataclass(frozen=True, slots=True)
class Tracked:
    """A fact, the probe that stated it first, and when."""

    fact: Fact
    probe: str
    """Id of the probe of the first point that states it."""
    position: int
    """Place among the probe's facts, from 1."""
    first: int
    """Number of the point, in the order of the session, from 0."""


class KeptFacts:
    """The facts of one session's probes, followed from point to point."""

    def __init__(self, session: SessionNeeds, probes: Sequence[Mapping[str, Probe]]) -> None:
        """``probes`` has for each point in order the probes by id; one that was not asked is left out."""
        self.session = session
        self._by_point: list[list[Tracked]] = []
        known: dict[tuple[str, str], Tracked] = {}
        for number, by_id in enumerate(probes):
            now: set[tuple[str, str]] = set()
            for id, probe in by_id.items():
                for position, fact in enumerate(probe.facts, 1):
                    key = fact.kind, " ".join(fact.value.lower().split())
                    known.setdefault(key, Tracked(fact, id, position, number))
                    now.add(key)
            self._by_point.append([t for key, t in known.items() if t.fact.kind not in STATES or key in now])
        self._stating: dict[Fact, frozenset[int]] = {}

    def at(self, number: int) -> Sequence[Tracked]:
        """The facts that hold at a point: all that happened until then, and the states that its own probes name."""
        return self._by_point[number]

    def stated(
        self, tracked: Iterable[Tracked], context: Sequence[Message], files: Mapping[FileUse, Collection[str]]
    ) -> list[bool]:
        """Whether a context states each of some facts.

        A file is stated where the context tells it under that use (``kept_files``). Any other fact is stated by a
        message that has its value word by word, or one line, taken with its neighbours, with at least 80 % of its
        terms; and by the messages that prove it, as long as they stay as they were.
        """
        kept, others = self.session.parted(context)
        texts = [said_text(message) for message in others]
        found = []
        for item in tracked:
            use = FILE_USE.get(item.fact.kind)
            if use is not None:
                found.append(any(same_file(item.fact.value, path) for path in files[use]))
            else:
                found.append(
                    not self._messages(item.fact).isdisjoint(kept) or any(_states(item.fact, text) for text in texts)
                )
        return found

    def _messages(self, fact: Fact) -> frozenset[int]:
        """Messages of the session that state a fact."""
        if fact not in self._stating:
            proving = set(fact.seqs)
            more = (m for m in range(len(self.session.messages)) if m not in proving)
            self._stating[fact] = frozenset(proving.union(seq for seq in more if _states(fact, self.session.text(seq))))
        return self._stating[fact]


def _states(fact: Fact, text: str) -> bool:
    low = _lower(text)
    value, wanted, enough = _search_form(fact)
    if value in low:
        return True
    missing = 0
    for term in wanted:  # most texts fall at the first terms
        if term not in low:
            missing += 1
            if missing > len(wanted) - enough:
                return False
    if not wanted:
        return False
    hits = [line.intersection(wanted) for line in _term_lines(text)]
    return any(
        hit and len(hit.union(*hits[i + 1 : i + 1 + 2 * AROUND])) >= enough  # a window of lines begins at each hit
        for i, hit in enumerate(hits)
    )


@lru_cache(maxsize=4_096)
def _search_form(fact: Fact) -> tuple[str, tuple[str, ...], int]:
    """A fact's value in the form of ``_lower``, its terms with the longest first, and how many of them state it."""
    return _lower(fact.value), tuple(sorted(fact.terms, key=len, reverse=True)), _enough(len(fact.terms))


def _enough(n: int) -> int:
    """How many of n terms state a fact."""
    return max(1, -(-n * int(100 * STATED) // 100))


@lru_cache(maxsize=2_048)
def _lower(text: str) -> str:
    return " ".join(text.lower().split())


@lru_cache(maxsize=1_024)
def _term_lines(text: str) -> list[frozenset[str]]:
    """The terms of each line that has some."""
    found = (frozenset((*terms(line), *specific_terms(line))) for line in (x[:LONGEST] for x in text.splitlines()))
    return [line for line in found if line]
