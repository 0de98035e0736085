"""An index over the distinct messages of a session and of its compacted contexts: which line has which token.

A *document* is a message by its content: text, reasoning and calls. A message that many contexts keep is one document.
Documents of the history come first, in order. A *unit* is a line or sentence that has tokens; units are numbered over
all documents, so that those of the history are the lowest.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, count, repeat

import numpy as np
from numpy.typing import NDArray

from compaction.measures.said import said_parts
from compaction.recognition.words import lines, tokens_of
from compaction.transcript import Message

Numbers = NDArray[np.int32]
Shares = NDArray[np.float32]

NONE: Numbers = np.zeros(0, np.int32)


def plain(text: str) -> str:
    """A text in lower case and with single spaces."""
    return " ".join(text.lower().split())


class TextIndex:
    """Documents, their units, and for each token the units that have it.

    Takes time and room linear in the text of the distinct messages.
    """

    def __init__(self, history: Sequence[Message], contexts: Iterable[Sequence[Message]] = ()) -> None:
        self._documents: dict[tuple[str, ...], int] = {}
        self._by_message: dict[int, tuple[Message, int]] = {}
        first_seen: list[int] = []
        for position, message in enumerate(history):
            if self._add(message):
                first_seen.append(position)
        self.first_seen: Numbers = np.array(first_seen, np.int32)
        """For each document of the history the position of its first message."""
        self.n_history = len(first_seen)
        """Documents of the history; the others were made by methods."""
        for message in chain.from_iterable(contexts):
            if id(message) not in self._by_message:
                self._add(message)
        self.token_ids: dict[str, int] = {}
        self._plain: dict[int, tuple[str, ...]] = {}
        self._quotes: dict[tuple[int, int], str] = {}
        self._read()

    def _add(self, message: Message) -> bool:
        """Index a message; return whether its content is new."""
        before = len(self._documents)
        known = self._by_message.get(id(message))
        if known is None:
            number = self._documents.setdefault(said_parts(message), before)
            self._by_message[id(message)] = message, number  # the message is kept, so that its id stays taken
        return len(self._documents) > before

    def document(self, message: Message) -> int:
        """Number of the document that a message is. Raises KeyError for one that was not given."""
        known = self._by_message.get(id(message))
        return known[1] if known is not None else self._documents[said_parts(message)]

    def texts(self, document: int) -> tuple[str, ...]:
        """The parts of a document."""
        return self._texts[document]

    def plain_parts(self, document: int) -> tuple[str, ...]:
        """The parts of a document, in lower case and with single spaces on each line."""
        if document not in self._plain:
            self._plain[document] = tuple("\n".join(map(plain, text.split("\n"))) for text in self.texts(document))
        return self._plain[document]

    def length(self, document: int) -> int:
        """Characters of a document."""
        return self._lengths[document]

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self._documents)

    def _read(self) -> None:
        self._texts = list(self._documents)
        lines = _Lines(self.token_ids)  # summaries and cut messages repeat lines
        read, parts, places, n_lines = array("i"), array("i"), array("i"), [0]
        n_parts = count()
        for texts in self._texts:
            place = 0
            for text, part in zip(texts, n_parts, strict=False):
                numbers = list(map(lines.__getitem__, text.split("\n")))
                read.extend(numbers)
                parts.extend(repeat(part, len(numbers)))
                places.extend(range(place, place + len(numbers)))
                place += len(numbers)
            n_lines.append(len(read))
        self._token_texts = list(self.token_ids)
        self._lengths = [sum(map(len, texts)) for texts in self._texts]
        line = np.array(read, np.int32)
        n_units = _numbers(lines.n_units)[line]
        said = _spread(np.cumsum(lines.n_units)[line] - n_units, n_units)
        size = _numbers(lines.sizes)[said]
        self.first_unit: Numbers = np.concatenate([[0], np.cumsum(n_units)])[n_lines].astype(np.int32)
        """First unit of each document, and the number of all units."""
        self.part: Numbers = np.repeat(np.array(parts, np.int32), n_units)
        """The message part that each unit stands in; windows do not reach over its end."""
        self._line_of: Numbers = np.repeat(np.array(places, np.int32), n_units)
        self.n_units = len(said)
        _, first, same = np.unique(_numbers(lines.same)[said], return_index=True, return_inverse=True)
        self.first_same: Numbers = first[same].astype(np.int32)
        """For each unit the first one that has the same tokens."""
        self._tokens: Numbers = _numbers(lines.tokens)[_spread(np.cumsum(lines.sizes)[said] - size, size)]
        self._first_token = np.concatenate([[0], np.cumsum(size)])
        of_unit = np.repeat(np.arange(self.n_units, dtype=np.int32), size)
        order = np.argsort(self._tokens, kind="stable")
        self._postings: Numbers = of_unit[order]
        self._first_posting = np.searchsorted(self._tokens[order], np.arange(len(self.token_ids) + 1))
        self.document_of: Numbers = np.repeat(np.arange(self.n_documents, dtype=np.int32), np.diff(self.first_unit))
        """The document that each unit stands in."""

    def token_text(self, token: int) -> str:
        """The text of a token."""
        return self._token_texts[token]

    def documents_before(self, cut: int) -> int:
        """Number of documents that the history has before a position; they are the first ones."""
        return int(np.searchsorted(self.first_seen, cut))

    def units_with(self, token: int) -> Numbers:
        """The units that have a token, ascending."""
        return self._postings[self._first_posting[token] : self._first_posting[token + 1]]

    def counts_before(self, unit: int) -> NDArray[np.int64]:
        """Count the units before one that have each token."""
        return np.bincount(self._tokens[: self._first_token[unit]], minlength=len(self._token_texts))

    def tokens_in(self, first: int, after: int) -> Numbers:
        """The tokens of some units in a row; one that several have comes several times."""
        return self._tokens[self._first_token[first] : self._first_token[after]]

    def quote(self, document: int, unit: int, n: int) -> str:
        """The lines of up to ``n`` units of one part, from a unit on, as they are written."""
        if (unit, n) not in self._quotes:
            written = [line.strip() for text in self.texts(document) for line in text.split("\n")]
            same = [one for one in range(unit, min(unit + n, self.n_units)) if self.part[one] == self.part[unit]]
            self._quotes[unit, n] = "\n".join(dict.fromkeys(written[self._line_of[one]] for one in same))
        return self._quotes[unit, n]


class _Lines(dict[str, int]):
    """Line of a text → its number; each line and each word is read once."""

    def __init__(self, ids: dict[str, int]) -> None:
        self._words = _Words(ids)
        self._sets: dict[tuple[int, ...], int] = {}
        self.n_units, self.sizes, self.same, self.tokens = array("i"), array("i"), array("i"), array("i")
        """Units of each line; of these units in a row the number of tokens, a number for the set, and the tokens."""

    def __missing__(self, line: str) -> int:
        number = self[line] = len(self.n_units)
        before = len(self.sizes)
        for said in lines(line):
            if unit := tuple(dict.fromkeys(chain.from_iterable(map(self._words.__getitem__, said)))):
                self.tokens.extend(unit)
                self.sizes.append(len(unit))
                self.same.append(self._sets.setdefault(tuple(sorted(unit)), len(self._sets)))
        self.n_units.append(len(self.sizes) - before)
        return number


class _Words(dict[str, tuple[int, ...]]):
    """Word as it is written → the numbers of its tokens; a new token gets the next number."""

    def __init__(self, ids: dict[str, int]) -> None:
        self._ids = ids

    def __missing__(self, word: str) -> tuple[int, ...]:
        found = self[word] = tuple(self._ids.setdefault(token.text, len(self._ids)) for token in tokens_of(word))
        return found


def _numbers(found: array[int]) -> Numbers:
    return np.array(found, np.int32)


def _spread(starts: Numbers, sizes: Numbers) -> NDArray[np.int64]:
    """The places of some stretches, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
