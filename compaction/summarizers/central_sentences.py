"""General extractive summarising: which sentences of a text stand for the others.

Continuous LexRank by degree (Erkan and Radev 2004): a sentence's worth is the sum of its cosines with all sentences,
each word weighted by its rarity. That sum is one product with the sum of all sentences, so it takes linear time. Then
what says nearly the same as a better sentence goes (maximal marginal relevance). It knows no marks of what matters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from math import log, sqrt

LINE_CHARS = 260
"""Longest line that is taken over."""

SAME = 0.6
"""Cosine from which on two sentences say the same."""

RAREST = 3
"""Words of a sentence by which those that say the same are found."""

MOST = 150
"""Sentences that are ranked; no summary has more."""

_FENCE = re.compile(r"^\s*(```+|~~~+).*?(?:^\s*\1|\Z)", re.MULTILINE | re.DOTALL)
_BOX = re.compile(r"[─-╿]+")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"^\s*(?:</?[A-Za-z][\w:-]{0,40}>\s*)+|(?:</[A-Za-z][\w:-]{0,40}>\s*)+$")
_END = re.compile(r"(?<=[.!?])[\"')\]*]*\s+(?=[\"'(\[*`]*[A-Z0-9])|(?<=[。！？])|\n+")
_MARKUP = re.compile(r"^[\s>#*•+-]*(?:\d{1,2}[.)]\s+)?(?:\[[ xX]\]\s+)?|\*\*|__(?=\s|$)")
_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힯]{1,2}|\w[\w./-]*\w")
_PLAIN = re.compile(r"(?<!\S)[\"'(\[`*]*[^\W\d_][^\W\d_'’-]*[.,;:!?)\]\"'`*]*(?!\S)|[぀-ヿ㐀-鿿가-힯]{2}")
_DRAWN = re.compile(r"^\s*[─-╿]|\|.*\||^\s*(?:at |File \"|@@ |[$>%] )|[{};]\s*$|^[\w.\[\]]+ = ")
"""Lines that are no prose: trees, tables, stack traces, diffs, prompts, code."""


@lru_cache(maxsize=4_096)
def prose(text: str) -> tuple[str, ...]:
    """The sentences and list items of a text, without markup; no code, tables, trees or listings."""
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("\n", text)
    if "<!--" in text:
        text = _COMMENT.sub("\n", text)
    found = []
    for line in text.splitlines():
        if _DRAWN.search(line):
            continue
        for piece in _END.split(_TAG.sub("", _BOX.sub(" ", line))):
            plain = " ".join(_MARKUP.sub("", piece).split())
            if len(_PLAIN.findall(plain)) >= 3 and len(plain) <= 4 * LINE_CHARS:
                found.append(cut(plain))
    return tuple(found)


def cut(text: str, limit: int = LINE_CHARS) -> str:
    """A text on one line of at most ``limit`` characters, cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rsplit(" ", 1)[0] + "…"


@lru_cache(maxsize=16_384)
def words(sentence: str) -> tuple[str, ...]:
    """Distinct words, lower-case."""
    return tuple(dict.fromkeys(word.lower() for word in _WORD.findall(sentence)))


def central(priors: Mapping[str, float]) -> dict[str, float]:
    """Weigh sentences by centrality, in their order, without those that repeat a better one.

    ``priors`` multiply the centrality: what is known of a sentence beside its words.
    """
    number: dict[str, int] = {}
    bags = [[number.setdefault(word, len(number)) for word in words(sentence)] for sentence in priors]
    counts = Counter(chain.from_iterable(bags))
    weights = [log((1 + len(bags)) / counts[word]) ** 2 for word in range(len(number))]
    norms = [sqrt(sum(map(weights.__getitem__, bag))) or 1.0 for bag in bags]
    total = [0.0] * len(number)
    for bag, norm in zip(bags, norms, strict=True):
        for word in bag:
            total[word] += weights[word] / norm
    worth = [
        prior * sum(map(total.__getitem__, bag)) / norm
        for prior, bag, norm in zip(priors.values(), bags, norms, strict=True)
    ]
    chosen: set[int] = set()
    holding: dict[int, list[int]] = {}
    for n in sorted(range(len(bags)), key=lambda n: (-worth[n], n)):
        # Whoever says the same has one of the rarest words too.
        near = {other for word in nlargest(RAREST, bags[n], weights.__getitem__) for other in holding.get(word, ())}
        least = SAME * norms[n]
        own = set(bags[n])
        if any(sum(map(weights.__getitem__, own.intersection(bags[m]))) > least * norms[m] for m in near):
            continue
        for word in own:
            holding.setdefault(word, []).append(n)
        chosen.add(n)
        if len(chosen) >= MOST:
            break
    return {sentence: worth[n] for n, sentence in enumerate(priors) if n in chosen}


def ranked(worth: Mapping[str, float]) -> list[tuple[int, str]]:
    """(rank, sentence) in their order; 0 is the best."""
    ranks = {sentence: n for n, sentence in enumerate(sorted(worth, key=lambda sentence: -worth[sentence]))}
    return [(ranks[sentence], sentence) for sentence in worth]
