"""Measures how far a true statement can still be read in a compacted context, 0 to 1, and finds its lines.

The formula was fitted on the gradings of careful readers (docs/embedded-engine.md). It weighs words by their rarity in
the session. Its parts, each the best that any message of a context reaches:

- *words*: share of the statement's words within 3 and within 8 lines, divided by what the history before the cut
  reaches; and the rest of the statement beside each of its numbers and names (the weakest link);
- *copied*: share of the evidence's own lines within 3 lines;
- *kept*: an evidence message is there uncut;
- *anew*: the words in lines that no line of the history has: a summary in other words.

Words do not see what is denied, out of date or mixed up; a statement that can be false needs a slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compaction.recognition.line_search import Flags, LineSearch, weighed
from compaction.recognition.relatives import Relatives
from compaction.recognition.text_index import Numbers, Shares, TextIndex
from compaction.recognition.words import Token, tokens
from compaction.transcript import Message

Doubles = NDArray[np.float64]

READABLE = 0.5
"""Support from which on a statement is taken for readable."""

LEAST_CEILING = 0.2
"""What is reached is divided by at least this."""
BESIDE = 0.85
"""Likeness from which on a number or name counts as there."""
NEAR, FAR, AROUND = 3, 8, 5
"""Lines of the windows of words, and of those around a number or name."""
TOP_LINES, MOST_TOKENS = 3, 60
"""Windows of evidence that are looked up, and their most tokens."""
CUT = 0.9
"""What a shortened evidence message is worth, times the share of its length that is left."""
MIN_WORDS = 3
"""Different tokens of a quotation that proves a statement to be there word by word."""
QUOTED = 0.25
"""Support from which on the lines are quoted that say most of a statement."""
NOT_EXACT = 0.25
"""Most that a statement reaches whose exact words do not stand on one line."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A true statement to look up at a point of a session."""

    text: str
    evidence: tuple[int, ...] = ()
    """``seq`` of the messages that prove it, each alone."""
    quotes: tuple[str, ...] = ()
    """Words of these messages that prove it wherever they stand."""
    exact: tuple[str, ...] = ()
    """What has to stand to the letter on one line; empty for what can be said in other words."""
    is_latest: bool = False
    """Whether of several places that say as much the last one tells, as for the state of a task."""


@dataclass(frozen=True, slots=True)
class Found:
    """The support of a statement in a context."""

    support: float
    """0-1; from ``READABLE`` on it counts as readable."""
    lines: str
    """The lines of the context that say most of it; empty where nothing does."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """The mention of a file in a context."""

    is_named: bool
    share: float
    """Share of some names that stand in messages with it, 0-1; 1 where none was asked for."""
    line: str
    """The first line with it; empty where there is none."""


class Matcher:
    """Looks for statements in the contexts of one session, through one index."""

    def __init__(self, history: Sequence[Message], index: TextIndex) -> None:
        self.history = history
        self.index = index
        self._relatives = Relatives(index.token_ids)

    def at(self, cut: int, contexts: Sequence[Sequence[Message]]) -> PointMatcher:
        """Contexts of the point before the message at ``cut``; all of their messages must be in the index."""
        return PointMatcher(self, cut, contexts)

    def search(self, cut: int, documents: Numbers) -> LineSearch:
        """The lines of the history before a cut and of some documents."""
        return LineSearch(self.index, self._relatives, cut, documents)


class PointMatcher:
    """Looks for statements in the contexts of one point, each statement in each message once."""

    def __init__(self, matcher: Matcher, cut: int, contexts: Sequence[Sequence[Message]]) -> None:
        self._history = matcher.history[:cut]
        self._index = index = matcher.index
        self._in_order = [np.array(list(map(index.document, context)), np.int32) for context in contexts]
        self._by_seq = [
            {m.seq: int(d) for m, d in zip(context, documents, strict=True) if m.seq is not None}
            for context, documents in zip(contexts, self._in_order, strict=True)
        ]
        self._has: Flags = np.zeros((len(contexts), index.n_documents), bool)
        """Context × document: whether it has it."""
        for has, documents in zip(self._has, self._in_order, strict=True):
            has[documents] = True
        self._lines = matcher.search(cut, np.flatnonzero(self._has.any(axis=0)).astype(np.int32))
        # The last place of each context stands for no document, so that none is empty.
        here = np.pad(self._has, ((0, 0), (0, 1)), constant_values=True)
        self._context_of, self._documents = np.nonzero(here)
        self._starts = np.searchsorted(self._context_of, np.arange(len(contexts)))

    def find(self, claim: Claim) -> list[Found]:
        """Measure the support of a statement in each of the contexts."""
        index, search = self._index, self._lines
        evidence = {seq: index.document(self._history[seq]) for seq in claim.evidence if 0 <= seq < len(self._history)}
        asked = tokens(claim.text)
        weights = np.array([search.weigh(token) for token in asked], np.float32)
        units, table = search.table(asked)
        words, where = self._cover(units, table, asked, weights)
        ceiling = words[:, : search.n_before].max(axis=1, initial=0.0)
        lines = self._evidence_lines(evidence.values(), units, weighed(table, weights))
        copied = np.zeros((1, index.n_documents), np.float32)
        for line in lines:
            copied = np.maximum(copied, search.copied(line))
        quoted = [text for text in (claim.text, *claim.quotes) if len(tokens(text)) >= MIN_WORDS]
        verbatim = search.standing(claim.exact, on_one_line=True)
        for text in () if claim.exact else quoted:
            verbatim |= search.standing([text], on_one_line=False)
        reached = self._best(words)
        lexical, kept = _relative(reached, ceiling), self._score_evidence(evidence)
        said = 0.4 * self._best(copied)[:, 0].astype(float) + 0.3 * kept + 0.3 * lexical
        first = said if lines else 0.55 * lexical + 0.45 * kept
        support = ((first - 0.25) / 0.45).clip(0.0)
        together = (reached[:, 0].astype(float) - 0.6) / 0.25
        all_there = reached[:, 2:].min(axis=1, initial=1.0) > 0  # no number or name is another one
        support = np.where(all_there, np.maximum(support, together), support)
        # In other words it is said at most as well as by all lines that were made.
        made = words.copy()
        made[:, : search.n_before] = 0
        wanted = _anew(self._best(made), ceiling) > support.clip(max=1.0)
        if wanted.any():
            is_in = self._has[wanted].any(axis=0) & (np.arange(index.n_documents) >= search.n_before)
            new = np.flatnonzero(is_in[index.document_of[units]])
            new = new[search.new(units[new])]
            anew, _ = self._cover(units[new], table[:, new], asked, weights)
            support = np.maximum(support, _anew(self._best(anew), ceiling))
        if claim.exact:
            support = support.clip(max=NOT_EXACT)
        support[self._has[:, verbatim].any(axis=1)] = 1.0
        order = -1 if claim.is_latest else 1
        return [
            Found(value, self._quote(documents[::order], words[0], where) if value >= QUOTED else "")
            for documents, value in zip(self._in_order, support.clip(max=1.0).tolist(), strict=True)
        ]

    def find_file(self, path: str, names: Sequence[str]) -> list[FoundFile]:
        """Find the mention of a file in each context, by its path or a unique end of it, and names with it."""
        units = self._lines.units_naming(path)
        is_naming, where = self._lines.best_by_document(units, np.ones(len(units), np.float32))
        documents = np.flatnonzero(is_naming)
        with_names = [np.intersect1d(self._lines.documents_with(name), documents) for name in names]
        shares = [self._has[:, some].any(axis=1) for some in with_names] or [np.ones(len(self._has), bool)]
        found = []
        for has, share in zip(self._in_order, np.mean(shares, axis=0).tolist(), strict=True):
            line = self._quote(has, is_naming, where, 1)
            found.append(FoundFile(bool(line), share, line))
        return found

    def last_with(self, words: Sequence[str]) -> list[int]:
        """Find each context's last message that has some texts to the letter on one line; -1 without one."""
        standing = self._lines.standing(words, on_one_line=True)
        return [int(np.max(np.flatnonzero(standing[documents]), initial=-1)) for documents in self._in_order]

    def has(self, text: str) -> list[bool]:
        """Whether a text stands in each context word by word."""
        standing = self._lines.standing([text], on_one_line=False)
        return [bool(has[standing].any()) for has in self._has]

    def _best(self, shares: Shares) -> Shares:
        """The best that each context has of shares by document: one row a context; 0 for an empty one."""
        padded = np.pad(shares, ((0, 0), (0, 1)))
        return np.ascontiguousarray(np.maximum.reduceat(padded[:, self._documents], self._starts, axis=1).T)

    def _quote(self, documents: Numbers, shares: Shares, where: Numbers, n: int = NEAR) -> str:
        """The lines that say most of something, from the place in the first of some documents that does."""
        best = documents[np.argmax(shares[documents])] if len(documents) else -1
        return self._index.quote(int(best), int(where[best]), n) if best >= 0 and shares[best] else ""

    def _cover(self, units: Numbers, table: Shares, asked: Sequence[Token], weights: Shares) -> tuple[Shares, Numbers]:
        """Shares of the statement by document: in 3 lines, in 8, then beside each group; and the unit of the first."""
        search, total = self._lines, float(weights.sum()) or 1.0
        near, where = search.best_by_document(units, weighed(search.windows(units, table, NEAR), weights) / total)
        far, _ = search.best_by_document(units, weighed(search.windows(units, table, FAR), weights) / total)
        groups = _groups(asked)
        around = search.windows(units, table, AROUND) if groups else table
        beside = []
        for group in groups:
            rest = [n for n, token in enumerate(asked) if n not in group and token.kind != "part"]
            if rest:
                there = around[group].max(axis=0, initial=0) >= BESIDE
                shares = weighed(around[rest][:, there], weights[rest]) / (float(weights[rest].sum()) or 1.0)
                beside.append(search.best_by_document(units[there], shares)[0])
        return np.stack([near, far, *beside]), where

    def _evidence_lines(self, evidence: Iterable[int], units: Numbers, weight: Shares) -> list[Numbers]:
        """The tokens of the lines of the evidence, one or two together, that say most of the statement."""
        index = self._index
        said = np.zeros(index.n_units, np.float32)
        for document in set(evidence):
            inside = (units >= index.first_unit[document]) & (units < index.first_unit[document + 1])
            said[units[inside]] = weight[inside]
        both = np.where(index.part[:-1] == index.part[1:], said[:-1] + said[1:], 0)
        shares = np.concatenate([said, both])
        lines: list[Numbers] = []
        for place in map(int, np.argsort(-shares, kind="stable")):
            if not shares[place] or len(lines) == TOP_LINES:
                break
            first, n = (place, 1) if place < index.n_units else (place - index.n_units, 2)
            line = np.unique(index.tokens_in(first, first + n))
            if len(line) <= MOST_TOKENS:
                lines.append(line)
        return lines

    def _score_evidence(self, evidence: Mapping[int, int]) -> Doubles:
        """Score each context's evidence: 1 where an evidence message is uncut, less where it is shortened, else 0."""
        kept = self._has[:, list(evidence.values())].any(axis=1).astype(float)
        shortened = {seq: original for seq, original in evidence.items() if self._history[seq].role != "tool"}
        for n in np.flatnonzero(kept == 0) if shortened else ():
            for seq, original in shortened.items():
                if (left := self._by_seq[n].get(seq)) is not None:
                    share = min(1.0, self._index.length(left) / max(1, self._index.length(original)))
                    kept[n] = max(kept[n], CUT * share)
        return kept


def _relative(shares: Shares, ceiling: Shares) -> Doubles:
    """Relate shares to the history's own: the mean of both windows, and of it with the third where there is one."""
    most = np.maximum(ceiling, LEAST_CEILING)
    whole: Doubles = np.minimum(1.0, shares[:, :2] / most[:2]).mean(axis=1).astype(float)
    if len(ceiling) == 2:
        return whole
    beside: Doubles = shares[:, 2:].mean(axis=1).astype(float) / max(LEAST_CEILING, float(ceiling[2:].mean()))
    whole += beside.clip(max=1.0)
    return whole / 2


def _anew(shares: Shares, ceiling: Shares) -> Doubles:
    found: Doubles = (_relative(shares, ceiling) - 0.30) / 0.50
    return found


def _groups(asked: Sequence[Token]) -> list[list[int]]:
    """The numbers and names of a statement: places of their tokens; a path and its last part are one."""
    names = [(n, token.text) for n, token in enumerate(asked) if token.kind == "name"]
    taken: set[int] = set()
    groups = []
    for n, text in names:
        if n not in taken:
            group = [k for k, other in names if k not in taken and (k == n or text.endswith("/" + other))]
            taken.update(group)
            groups.append(group)
    return groups + [[n] for n, token in enumerate(asked) if token.kind == "number"]
