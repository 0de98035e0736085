"""Searches the lines of an index's documents for a statement's words, weighted as they were known at a cut.

Shares come by *tables*: a row for each of the words, a column for each unit that has any of them. What is rare is so in
the history before the cut. Nothing depends on how a session goes on, nor on the contexts of other points and methods.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from compaction.recognition.relatives import Relatives
from compaction.recognition.text_index import NONE, Numbers, Shares, TextIndex, plain
from compaction.recognition.words import Token, tokens

Flags = NDArray[np.bool_]

KIND_WEIGHT: Mapping[str, float] = {"number": 1.5, "name": 1.5, "part": 0.5, "word": 1.0}
NOT_IN_HISTORY = 0.3
"""Factor for words of the statement that the history never uses: the reader's own."""
LEAST_COPY = 0.25
"""Share of a line below which a window is not looked at."""
SAME_LINE = 0.9
"""Share of a line's weight that one line of the history has, from which on it is not new."""
NEAR = 3
"""Lines within which a copied line's words stand."""


class LineSearch:
    """The lines of the history before a cut and of some documents, by the words that they have."""

    def __init__(self, index: TextIndex, relatives: Relatives, cut: int, documents: Numbers) -> None:
        self.index = index
        self._relatives = relatives
        self.n_before = index.documents_before(cut)
        """Documents of the history before the cut."""
        self._units_before = int(index.first_unit[self.n_before])
        is_searched = np.arange(index.n_documents) < self.n_before
        is_searched[documents] = True
        self._is_searched: Flags = is_searched[index.document_of]
        self._is_made: Flags = np.zeros(index.n_units, bool)
        self._is_made[self._units_before :] = self._is_searched[self._units_before :]
        self._new_lines: dict[int, bool] = {}
        self._searched: dict[int, Numbers] = {}
        self._n_having = index.counts_before(self._units_before)
        """For each token how many units before the cut have it."""
        self._rarity = np.log1p(self._units_before / np.where(self._n_having, self._n_having, 1))
        """For each token log(1 + units / units with it) before the cut; the highest for one that is not there."""

    def _units_with(self, token: int) -> Numbers:
        if token not in self._searched:
            units = self.index.units_with(token)
            self._searched[token] = units[self._is_searched[units]]
        return self._searched[token]

    def weigh(self, token: Token) -> float:
        """Weigh a token of a statement."""
        id = self.index.token_ids.get(token.text, -1)
        is_there = id >= 0 and self._n_having[id] > 0
        rarity = self._rarity[id] if id >= 0 else np.log1p(self._units_before)
        return float(rarity * KIND_WEIGHT[token.kind] * (1.0 if is_there or token.kind != "word" else NOT_IN_HISTORY))

    def table(self, asked: Sequence[Token]) -> tuple[Numbers, Shares]:
        """The units that have something of some tokens, and how much of each: one row a token, one column a unit."""
        found: list[tuple[int, Numbers, float]] = []
        for row, token in enumerate(asked):
            id = self.index.token_ids.get(token.text, -1)
            if id >= 0:
                found.append((row, self._units_with(id), 1.0))
            found += ((row, self._units_with(other), worth) for other, worth in self._relatives.of(token))
        is_found = np.zeros(self.index.n_units, bool)
        for _, having, _ in found:
            is_found[having] = True
        units: Numbers = np.flatnonzero(is_found).astype(np.int32)
        table = np.zeros((len(asked), len(units)), np.float32)
        for row, having, worth in found:
            at = np.searchsorted(units, having)
            table[row, at] = np.maximum(table[row, at], worth)
        return units, table

    def windows(self, units: Numbers, table: Shares, n: int) -> Shares:
        """Find the best share of each row within ``n`` lines of the same part, from each unit on."""
        best = table.copy()
        part = self.index.part[units]
        for ahead in range(1, min(n, len(units))):
            at = np.flatnonzero((units[ahead:] - units[:-ahead] < n) & (part[ahead:] == part[:-ahead]))
            if not len(at):
                break
            best[:, at] = np.maximum(best[:, at], table[:, at + ahead])
        return best

    def best_by_document(self, units: Numbers, shares: Shares) -> tuple[Shares, Numbers]:
        """The highest share in each document, and the first unit that has it."""
        best = np.zeros(self.index.n_documents, np.float32)
        where = np.zeros(self.index.n_documents, np.int32)
        if len(units):
            documents = self.index.document_of[units]
            starts = np.flatnonzero(np.r_[True, documents[1:] != documents[:-1]])
            best[documents[starts]] = np.maximum.reduceat(shares, starts)
            tops = np.flatnonzero(shares == best[documents])[::-1]  # the first one is written last
            where[documents[tops]] = units[tops]
        return best, where

    def copied(self, line: Numbers) -> Shares:
        """Find each document's largest share of a line's tokens, by weight, within three lines."""
        weights = self._rarity[line].astype(np.float32)
        having = [self._units_with(int(token)) for token in line]
        total = float(weights.sum())
        each = np.bincount(
            np.concatenate(having), np.repeat(weights, list(map(len, having))), minlength=self.index.n_units
        ).astype(np.float32)
        most = each.copy()  # of the window of three lines that begins here, at most
        most[:-1] += each[1:]
        most[:-2] += each[2:]
        starts = most >= LEAST_COPY * total
        near = starts.copy()
        near[1:] |= starts[:-1]
        near[2:] |= starts[:-2]
        units = np.flatnonzero(near & (each > 0)).astype(np.int32)
        table = np.zeros((len(line), len(units)), np.float32)
        for row, found in enumerate(having):
            table[row, np.searchsorted(units, found[near[found]])] = 1
        best, _ = self.best_by_document(units, weighed(self.windows(units, table, NEAR), weights) / total)
        return best

    def new(self, units: Numbers) -> Flags:
        """Whether a method wrote each unit and no line of the history before the cut says the same."""
        first = self.index.first_same[units]
        found = self._is_made[units] & (first >= self._units_before)
        for n in np.flatnonzero(found):
            line = int(first[n])
            if line not in self._new_lines:
                self._new_lines[line] = self._find_cover(self.index.tokens_in(line, line + 1)) < SAME_LINE
            found[n] = self._new_lines[line]
        return found

    def _find_cover(self, line: Numbers) -> float:
        """The largest share of a line's tokens, by weight, that one unit before the cut has; 0 below ``SAME_LINE``."""
        weights = self._rarity[line]
        total = float(weights.sum())
        # A unit that has most of a line has one of its rarest tokens.
        rarest = np.argsort(self._n_having[line], kind="stable")
        n = int(np.searchsorted(np.cumsum(weights[rarest]), (1 - SAME_LINE) * total, side="right")) + 1
        if not self._n_having[line[rarest[:n]]].any():
            return 0.0
        having = [self.index.units_with(int(token))[: self._n_having[token]] for token in line]
        units = np.unique(np.concatenate([having[place] for place in rarest[:n]]))
        shares = np.zeros(len(units))
        for weight, some in zip(weights, having, strict=True):
            if len(some):
                shares += weight * (some.take(some.searchsorted(units), mode="clip") == units)
        return float(shares.max()) / total

    def units_naming(self, path: str) -> Numbers:
        """The units that have a path, or an end of it that no other path before the cut has, ascending."""
        low = path.lower().replace("\\", "/").strip("/")
        parts = low.split("/")
        found = [NONE]
        for end in ("/".join(parts[n:]) for n in range(len(parts))):
            ids = {id for id, _ in self._relatives.of(Token("name", end))} | {self.index.token_ids.get(end, -1)} - {-1}
            others = {id for id in ids if _is_other(self.index.token_text(id).replace("\\", "/"), end, low)}
            if self._n_having[list(others)].any():
                break
            found += map(self._units_with, ids - others)
        return np.unique(np.concatenate(found))

    def documents_with(self, name: str) -> Numbers:
        """The documents that have the words of a name."""
        ids = [self.index.token_ids.get(token.text, -1) for token in tokens(name) if token.kind != "part"]
        if not ids or -1 in ids:
            return NONE
        documents = [np.unique(self.index.document_of[self._units_with(id)]) for id in ids]
        return reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), documents)

    def standing(self, words: Sequence[str], *, on_one_line: bool) -> Flags:
        """Whether each document has some texts to the letter, but for space and case."""
        found = np.zeros(self.index.n_documents, bool)
        searched = [plain(text) for text in words if text.strip()]
        wanted = [re.compile(rf"(?<!\w){re.escape(text)}(?!\w)") for text in searched]
        # A name can stand within a longer one; what it is made of stands there too.
        asked = [token for text in words for token in tokens(text) if token.kind != "name"]
        ids = [self.index.token_ids.get(token.text, -1) for token in asked]
        if not wanted or not ids or -1 in ids:
            return found
        having = sorted(map(self._units_with, set(ids)), key=len)
        documents = np.unique(self.index.document_of[having[0]])
        for units in having[1:4]:
            documents = np.intersect1d(documents, self.index.document_of[units])
        for document in map(int, documents):
            found[document] = any(
                all(text in line for text in searched) and all(one.search(line) for one in wanted)
                for part in self.index.plain_parts(document)
                if not on_one_line or all(text in part for text in searched)
                for line in (part.split("\n") if on_one_line else (part.replace("\n", " "),))
            )
        return found


def weighed(table: Shares, weights: Shares) -> Shares:
    """The sum of each column by weight, row after row: a product of matrices is rounded by the table's size."""
    found = np.zeros(table.shape[1], np.float32)
    for row, weight in zip(table, weights, strict=True):
        found += row * weight
    return found


def _is_other(name: str, end: str, path: str) -> bool:
    """Whether a name with the same end as a path is that of another file."""
    is_same = name.endswith(f"/{path}") or f"/{path}".endswith(f"/{name.lstrip('/')}")
    return name.endswith(f"/{end}") and not is_same
