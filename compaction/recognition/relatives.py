"""Tokens of an index that mean the same as another: forms of a word, ends of a path, beginnings of a hash."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from compaction.recognition.text_index import Numbers
from compaction.recognition.words import Token

MIN_ALIKE = 0.55
"""Dice's coefficient of the trigrams of two stems from which on they are forms of one word."""
WORTH = 0.9
"""What such a form, or a version within a longer name, is worth beside the token itself."""
MIN_WORD, MIN_VERSION, MIN_NAME, MIN_HASH = 4, 4, 6, 6
"""Characters of a token that is looked for in other forms."""

_HASH = re.compile(r"[0-9a-f]{6,}")
_SPECIFIC = re.compile(r"[/\\.@_-]|\d")


class Relatives:
    """The tokens of one index by shared beginnings and forms. A token's relatives are worked out once."""

    def __init__(self, token_ids: dict[str, int]) -> None:
        words = [(text, id) for text, id in token_ids.items() if len(text) >= MIN_WORD and text.isalpha()]
        self._words: Numbers = np.array([id for _, id in words], np.int32)
        length = np.array([len(text) + 2 for text, _ in words], np.int64)
        of_word = np.repeat(np.arange(len(words)), length)
        grams = _trigrams("".join(f"^{text}$" for text, _ in words))
        inside = of_word[:-2] == of_word[2:]
        grams, of_word = grams[inside], of_word[:-2][inside]
        order = np.argsort(grams, kind="stable")
        grams, of_word = grams[order], of_word[order]
        once = np.append(True, (grams[1:] != grams[:-1]) | (of_word[1:] != of_word[:-1]))[: len(grams)]
        self._grams, self._having = grams[once], of_word[once]
        """Every trigram of every word, in order, and the place of the word."""
        self._sizes = np.bincount(self._having, minlength=len(words))
        self._backwards: list[tuple[str, int]] = []
        """Tokens of several parts from their ends on, sorted."""
        self._versions: dict[str, list[int]] = defaultdict(list)
        hashes = []
        for text, id in token_ids.items():
            if _SPECIFIC.search(text):
                self._backwards.append((text.replace("\\", "/")[::-1], id))
                if any(c.isdigit() for c in text):
                    for version in _versions(text):
                        self._versions[version].append(id)
            if _HASH.fullmatch(text):
                hashes.append((text, id))
        self._hashes = sorted(hashes)
        self._backwards.sort()
        self._known: dict[Token, list[tuple[int, float]]] = {}

    def of(self, token: Token) -> list[tuple[int, float]]:
        """The tokens with the same meaning, each with its worth, 0-1; without the token itself."""
        if token not in self._known:
            found: dict[int, float] = {}
            for id, worth in self._find(token):
                found[id] = max(worth, found.get(id, 0.0))
            self._known[token] = list(found.items())
        return self._known[token]

    def _find(self, token: Token) -> Iterable[tuple[int, float]]:
        text = token.text.strip("$").rstrip(".")
        if token.kind == "word" and len(text) >= MIN_WORD:
            yield from self._forms(text)
        if token.kind != "name":
            return
        if "/" in text or "\\" in text or "." in text or (len(text) >= MIN_NAME and re.search("[_-]", text)):
            backwards = text.replace("\\", "/")[::-1]
            yield from ((id, 1.0) for joint in "/." for id in _beginning(self._backwards, backwards + joint))
        if _HASH.fullmatch(text):
            yield from ((id, 1.0) for id in _beginning(self._hashes, text))
            for end in range(MIN_HASH, len(text)):
                at = bisect_left(self._hashes, (text[:end], -1))
                if at < len(self._hashes) and self._hashes[at][0] == text[:end]:
                    yield self._hashes[at][1], 1.0
        if len(text) >= MIN_VERSION and any(c.isdigit() for c in text):
            yield from ((id, WORTH) for id in self._versions.get(text.lstrip("v"), ()))

    def _forms(self, word: str) -> Iterable[tuple[int, float]]:
        grams = np.unique(_trigrams(f"^{word}$"))
        first, after = (np.searchsorted(self._grams, grams, side) for side in ("left", "right"))
        having = [self._having[one:other] for one, other in zip(first, after, strict=True)]
        shared = np.bincount(np.concatenate(having), minlength=len(self._words))
        alike = 2 * shared / (len(grams) + self._sizes)
        return [
            (int(self._words[n]), WORTH * float(alike[n])) for n in np.flatnonzero(alike >= MIN_ALIKE) if alike[n] < 1
        ]


def _beginning(known: Sequence[tuple[str, int]], text: str) -> Iterator[int]:
    """Yield the numbers of the texts, in a sorted list, that begin with a text."""
    for n in range(bisect_left(known, (text, -1)), len(known)):
        if not known[n][0].startswith(text):
            return
        yield known[n][1]


def _trigrams(text: str) -> NDArray[np.int64]:
    """Every three characters in a row, as one number."""
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.int64)
    return (codes[:-2] << 42) | (codes[1:-1] << 21) | codes[2:]


def _versions(name: str) -> set[str]:
    """``numpy==1.26.4`` has the versions 1.26.4 and 1.26; the name itself is none."""
    found = set()
    for piece in re.split("[@:=]", name):
        plain = piece.removeprefix("v")
        ends = [match.start() for match in re.finditer(r"[.@-]", plain)] + [len(plain)]
        found |= {plain[:end] for end in ends if end >= MIN_VERSION}
    return found - {name}
