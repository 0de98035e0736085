"""How far a statement that is known to be true can still be read in a compacted context, 0 to 1, and where.

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

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compaction.recognition.relatives import Relatives
from compaction.recognition.text_index import NONE, Numbers, Shares, TextIndex
from compaction.recognition.words import Token, tokens
from compaction.transcript import Message

READABLE = 0.5
"""Support from which on a statement is taken for readable."""

KIND_WEIGHT: Mapping[str, float] = {"number": 1.5, "name": 1.5, "part": 0.5, "word": 1.0}
NOT_IN_HISTORY = 0.3
"""Factor for words of the statement that the history never uses: the reader's own."""
LEAST_CEILING = 0.2
"""What is reached is divided by at least this."""
BESIDE = 0.85
"""Likeness from which on a number or name counts as there."""
NEAR, FAR, AROUND = 3, 8, 5
"""Lines of the windows of words, and of those around a number or name."""
TOP_LINES, MOST_TOKENS = 3, 60
"""Windows of evidence that are looked up, and their most tokens."""
LEAST_COPY = 0.25
"""Share of an evidence line below which a window is not looked at."""
SAME_LINE = 0.9
"""Share of a line's weight that one line of the history has, from which on it is not new."""
CUT = 0.9
"""What a shortened evidence message is worth, times the share of its length that is left."""
MIN_WORDS = 3
"""Different tokens of a quotation that proves a statement to be there word by word."""
NOT_EXACT = 0.45
"""Most that a statement reaches whose exact words do not stand on one line."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that is true at a point of a session."""

    text: str
    evidence: tuple[int, ...] = ()
    """``seq`` of the messages that prove it, each alone."""
    quotes: tuple[str, ...] = ()
    """Words of these messages that prove it wherever they stand."""
    exact: tuple[str, ...] = ()
    """What has to stand to the letter on one line; empty for what can be said in other words."""


class Matcher:
    """Looks for statements in the contexts of one session. A statement is looked for in each message once."""

    def __init__(self, history: Sequence[Message], index: TextIndex) -> None:
        self.history = history
        self.index = index
        self._relatives = Relatives(index.token_ids)

    def context(self, messages: Sequence[Message]) -> Context:
        """A context of the index, to be asked about."""
        return Context(messages, [self.index.document(message) for message in messages])

    def match(self, statement: Statement) -> Match:
        """What of a statement each document has."""
        return Match(self, statement)

    def documents_of(self, seqs: Collection[int]) -> dict[int, int]:
        """``seq`` of messages of the history → their documents."""
        return {seq: self.index.document(self.history[seq]) for seq in seqs if 0 <= seq < len(self.history)}

    def weigh(self, token: Token, id: int) -> float:
        """What a token of a statement weighs."""
        known = token.kind != "word" or self.index.is_in_history(id)
        return self.index.rarity(id) * KIND_WEIGHT[token.kind] * (1.0 if known else NOT_IN_HISTORY)

    def rows(self, asked: Sequence[Token]) -> tuple[Numbers, Shares]:
        """The units that have something of some tokens, and how much of each: one row a unit, one column a token."""
        found: list[tuple[int, Numbers, float]] = []
        for column, token in enumerate(asked):
            id = self.index.token_ids.get(token.text, -1)
            if id >= 0:
                found.append((column, self.index.units_with(id), 1.0))
            found += ((column, self.index.units_with(other), worth) for other, worth in self._relatives.of(token))
        units = np.unique(np.concatenate([units for _, units, _ in found])) if found else NONE
        table = np.zeros((len(units), len(asked)), np.float32)
        for column, having, worth in found:
            at = np.searchsorted(units, having)
            table[at, column] = np.maximum(table[at, column], worth)
        return units, table

    def windows(self, units: Numbers, table: Shares, n: int) -> Shares:
        """For each row the best of each column within ``n`` lines of the same part, from the row's own on."""
        best = table.copy()
        for ahead in range(1, min(n, len(units))):
            near = (units[ahead:] - units[:-ahead] < n) & (
                self.index.part[units[ahead:]] == self.index.part[units[:-ahead]]
            )
            at = np.flatnonzero(near)
            if not len(at):
                break
            best[at] = np.maximum(best[at], table[at + ahead])
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
        """For each document the largest share of a line's tokens, by weight, within three lines."""
        index = self.index
        weights = np.array([index.rarity(int(token)) for token in line], np.float32)
        having = [index.units_with(int(token)) for token in line]
        total = float(weights.sum())
        each = np.bincount(
            np.concatenate(having), np.repeat(weights, list(map(len, having))), minlength=index.n_units
        ).astype(np.float32)
        most = each.copy()  # of the window of three lines that begins here, at most
        most[:-1] += each[1:]
        most[:-2] += each[2:]
        starts = most >= LEAST_COPY * total
        near = starts.copy()
        near[1:] |= starts[:-1]
        near[2:] |= starts[:-2]
        units = np.flatnonzero(near & (each > 0)).astype(np.int32)
        table = np.zeros((len(units), len(line)), np.float32)
        for column, found in enumerate(having):
            table[np.searchsorted(units, found[near[found]]), column] = 1
        best, _ = self.best_by_document(units, self.windows(units, table, NEAR) @ weights / total)
        return best

    @cached_property
    def is_new(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether a unit that a method made says something that no line of the history before it says."""
        index = self.index
        new = np.zeros(index.n_units, bool)
        known: dict[tuple[bytes, int], bool] = {}
        for document in range(index.n_history, index.n_documents):
            before = int(index.first_unit[index.documents_before(int(index.known_from[document]))])
            for unit in range(int(index.first_unit[document]), int(index.first_unit[document + 1])):
                line = np.unique(index.tokens_in(unit, unit + 1))
                key = line.tobytes(), before
                if key not in known:
                    known[key] = self._covered(line, before) < SAME_LINE
                new[unit] = known[key]
        return new

    def _covered(self, line: Numbers, before: int) -> float:
        """The largest share of a line's tokens, by weight, that one unit before a unit has."""
        weights = [self.index.rarity(int(token)) for token in line]
        shares = np.zeros(before, np.float32)
        for token, weight in zip(line, weights, strict=True):
            units = self.index.units_with(int(token))
            shares[units[: np.searchsorted(units, before)]] += weight
        return float(shares.max(initial=0.0)) / (sum(weights) or 1.0)

    def standing(self, words: Sequence[str], *, on_one_line: bool) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """For each document whether it has some texts to the letter, but for space and case."""
        found = np.zeros(self.index.n_documents, bool)
        wanted = [re.compile(rf"(?<!\w){re.escape(_plain(text))}(?!\w)") for text in words if text.strip()]
        asked = {
            id for text in words for token in tokens(text) if (id := self.index.token_ids.get(token.text, -1)) >= 0
        }
        if wanted and asked:
            rarest = min(map(self.index.units_with, asked), key=len)
            for document in np.unique(self.index.document_of[rarest]):
                texts = self._plain_texts(int(document), on_one_line)
                found[document] = any(all(pattern.search(text) for pattern in wanted) for text in texts)
        return found

    def _plain_texts(self, document: int, by_line: bool) -> Iterator[str]:
        for text in self.index.texts(document):
            yield from map(_plain, text.split("\n") if by_line else (text,))


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


class Context:
    """A compacted context as the documents of an index."""

    def __init__(self, messages: Sequence[Message], documents: Sequence[int]) -> None:
        self.documents: Numbers = np.unique(np.array(documents, np.int32))
        self.by_seq = {m.seq: d for m, d in zip(messages, documents, strict=True) if m.seq is not None}


@dataclass(frozen=True, slots=True)
class Found:
    """How far a statement can be read in a context."""

    support: float
    """0-1; from ``READABLE`` on it counts as readable."""
    lines: str
    """The lines of the context that say most of it; empty where nothing does."""


class Match:
    """What each document of an index has of one statement."""

    def __init__(self, matcher: Matcher, statement: Statement) -> None:
        self._matcher = matcher
        self._statement = statement
        index = matcher.index
        self._evidence = matcher.documents_of(statement.evidence)
        asked = tokens(statement.text)
        weights = np.array([matcher.weigh(t, index.token_ids.get(t.text, -1)) for t in asked], np.float32)
        groups = _groups(asked)
        units, table = matcher.rows(asked)
        self._words, self._where = self._cover(units, table, asked, weights, groups)
        made = (units >= index.n_history_units) & matcher.is_new[units]
        self._anew, _ = self._cover(units[made], table[made], asked, weights, groups)
        self._copied = np.zeros(index.n_documents, np.float32)
        self._lines = self._evidence_lines(units, table @ weights)
        for line in self._lines:
            self._copied = np.maximum(self._copied, matcher.copied(line))
        self._verbatim = np.zeros(index.n_documents, bool)
        if statement.exact:
            self._verbatim = matcher.standing(statement.exact, on_one_line=True)
        else:
            for text in (statement.text, *statement.quotes):
                if len(tokens(text)) >= MIN_WORDS:
                    self._verbatim |= matcher.standing([text], on_one_line=False)

    def _cover(
        self, units: Numbers, table: Shares, asked: Sequence[Token], weights: Shares, groups: Sequence[Sequence[int]]
    ) -> tuple[Shares, Numbers]:
        """Shares of the statement by document: in 3 lines, in 8, then beside each group; and the unit of the first."""
        matcher, total = self._matcher, float(weights.sum()) or 1.0
        near, where = matcher.best_by_document(units, matcher.windows(units, table, NEAR) @ weights / total)
        far, _ = matcher.best_by_document(units, matcher.windows(units, table, FAR) @ weights / total)
        around = matcher.windows(units, table, AROUND) if groups else table
        beside = []
        for group in groups:
            rest = [n for n, token in enumerate(asked) if n not in group and token.kind != "part"]
            if rest:
                there = around[:, group].max(axis=1, initial=0) >= BESIDE
                shares = around[there][:, rest] @ weights[rest] / float(weights[rest].sum())
                beside.append(matcher.best_by_document(units[there], shares)[0])
        return np.stack([near, far, *beside]), where

    def _evidence_lines(self, units: Numbers, weight: Shares) -> list[Numbers]:
        """The tokens of the lines of the evidence, one or two together, that say most of the statement."""
        index = self._matcher.index
        said = np.zeros(index.n_units, np.float32)
        for document in set(self._evidence.values()):
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

    def _kept(self, context: Context) -> float:
        """1 where an evidence message is there uncut; less for one that is shortened, nothing for a result that is."""
        best = 0.0
        index = self._matcher.index
        for seq, original in self._evidence.items():
            left = context.by_seq.get(seq)
            if left == original or original in context.documents:
                return 1.0
            if left is not None and self._matcher.history[seq].role != "tool":
                best = max(best, CUT * min(1.0, index.length(left) / max(1, index.length(original))))
        return best

    def in_context(self, context: Context, cut: int) -> Found:
        """How far the statement can be read in a context of the point before the message at ``cut``."""
        before = self._matcher.index.documents_before(cut)
        here = context.documents
        if not len(here):
            return Found(0.0, "")
        ceiling = np.maximum(self._words[:, :before].max(axis=1, initial=0.0), LEAST_CEILING)
        words = self._words[:, here].max(axis=1)
        lexical = _combined(np.minimum(1.0, words / ceiling), words, ceiling)
        anew_words = self._anew[:, here].max(axis=1)
        anew = _combined(np.minimum(1.0, anew_words / ceiling), anew_words, ceiling)
        kept = self._kept(context)
        copied = float(self._copied[here].max())
        first = 0.4 * copied + 0.3 * kept + 0.3 * lexical if self._lines else 0.55 * lexical + 0.45 * kept
        support = max((first - 0.25) / 0.45, (anew - 0.30) / 0.50, (float(words[0]) - 0.6) / 0.25)
        if self._verbatim[here].any():
            support = 1.0
        elif self._statement.exact:
            support = min(support, NOT_EXACT)
        return Found(min(1.0, max(0.0, support)), self._quote(here))

    def _quote(self, here: Numbers) -> str:
        document = int(here[self._words[0, here].argmax()])
        if not self._words[0, document]:
            return ""
        unit = int(self._where[document])
        part = self._matcher.index.part
        n = next((k for k in range(1, NEAR) if unit + k >= len(part) or part[unit + k] != part[unit]), NEAR)
        return self._matcher.index.quote(document, unit, n)


def _combined(shares: Shares, words: Shares, ceiling: Shares) -> float:
    whole = (float(shares[0]) + float(shares[1])) / 2
    if len(shares) == 2:
        return whole
    beside = min(1.0, float(words[2:].mean()) / max(LEAST_CEILING, float(ceiling[2:].mean())))
    return (whole + beside) / 2


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
