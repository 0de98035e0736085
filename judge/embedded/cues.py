"""Names by which a question can point at one matter: identifiers, paths, products, numbers with a unit, rare words.

A common word ("take", "around") points anywhere, so no word among the 5,000 most frequent of English is a cue.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache, lru_cache
from importlib.resources import files
from itertools import combinations

_WORD = re.compile(r"(?<![\w@$./\\~-])[A-Za-z_$@.~/\\][\w$@.~/\\:+#()-]*[\w+#)]")
_QUOTED = re.compile(r"`([^`\n]{2,80})`")
_CODE = re.compile(r"[\w.@/:=-]*\w(?:\(\))?")
_PATH = re.compile(
    r"(?:~|\.{1,2}|"
    r"[A-Za-z]:)?[/\\](?:[\w.@+ -]+[/\\])*[\w.@+-]+|(?:[\w.@+-]+[/\\])*[\w@+-][\w.@+-]*\.[A-Za-z][A-Za-z0-9]{0,5}"
)
_IDENTIFIER = re.compile(
    r"[A-Za-z]\w*_\w+|_\w{2,}|[a-z]+\d*(?:[A-Z][a-z0-9]+)+[A-Z]*|(?:[A-Z][a-z0-9]+){2,}|[A-Z]+[a-z]+[A-Z]\w*|"
    r"[A-Za-z_]\w*(?:\.[a-z_]\w+)+|[A-Za-z_]\w*(?:::\w+)+|[A-Z]{2,}\d+|[A-Z]{3,}|--[a-z][\w-]+|"
    r"@?[\w/-]+@\d[\w.-]*|[A-Za-z][\w.]*\(\)"
)
_PRODUCT = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+(?:[- ][A-Z][a-z]+)?\b")
_NOUN = re.compile(
    r"\b(?:the|a|an|our|your|my|its|this|that|these|those|each|every|any|of|no|new|existing|both) ([a-z]{5,30})\b"
)
_NO_NOUN = ("ify", "ize", "ise", "ate", "ing", "ed", "ly", "able", "ible", "ful", "ous", "ive", "al", "ic")
_QUANTITY = re.compile(
    r"\b\d[\d.,]*\s?(?:%|ms|s|sec(?:onds)?|min(?:utes)?|hours?|days?|[KMGT]i?B|bytes?|tokens?|px|Hz|USD|EUR|dollars?)\b"
)
_INFLECTED = ("s", "es", "d", "ed", "ing", "ly", "er", "ers", "'s", "ment", "ness", "able", "al")
_JARGON = frozenset(
    """api apis app apps arg args async bool bugfix changelog cli cmd codebase config configs const css dev diff dir
    dirs docs endpoint endpoints env fallback filename frontend backend func git github html http https id ids impl
    init int json localhost metadata middleware mode namespace npm param params parser pr prs pytest python readme
    refactor regex repo repos repository runtime schema sdk stderr stdin stdout str struct subagent sync todo todos
    toml traceback ui url urls util utils uuid workflow worktree yaml yml boilerplate cleanup etc tmp usr src lib bin
    node_modules untracked repro testbed""".split()
)
"""Words that every session in a repository has, and that are rare in English."""


@cache
def common_words() -> frozenset[str]:
    """The 5,000 most frequent words of English, by wordfreq 3.1.1 (see NOTICE)."""
    return frozenset(files("judge.embedded").joinpath("common_words.txt").read_text("utf-8").split())


@lru_cache(maxsize=65_536)
def is_common(word: str) -> bool:
    """Whether a word, or the word that it is an inflection of, is among the common ones."""
    low = word.lower()
    known = common_words()
    if low in known or low in _JARGON or len(low) < 4:
        return True
    for ending in _INFLECTED:
        stem = low.removesuffix(ending)
        if (
            stem != low
            and len(stem) > 2
            and any(form in known or form in _JARGON for form in (stem, stem + "e", stem[:-1]))
        ):
            return True
    return low.endswith("ies") and low[:-3] + "y" in known


def is_name(word: str) -> bool:
    """Whether a word is an identifier, a path, a file name, an option or a package with its version."""
    if not 4 <= len(word) <= 80 or word.lower() in _JARGON:
        return False
    if _PATH.fullmatch(word):
        return len(word) >= 5
    return _IDENTIFIER.fullmatch(word) is not None and not (word.isalpha() and is_common(word))


def cues(sentence: str) -> list[str]:
    """What a sentence can be known by, as it is written: names, then quantities and products, then rare nouns."""
    found: dict[str, int] = {}
    for quoted in _QUOTED.findall(sentence):
        if is_name(quoted) or (_CODE.fullmatch(quoted) and len(quoted) > 3 and not is_common(quoted)):
            found.setdefault(quoted, 0)
    plain = _QUOTED.sub(" ", sentence)
    for match in _WORD.finditer(plain):
        word = match[0].rstrip(".:/\\")
        if is_name(word):
            found.setdefault(word, 0)
    for quantity in _QUANTITY.findall(plain):
        found.setdefault(quantity, 1)
    for product in _PRODUCT.findall(plain):
        if not any(map(is_common, product.split())):
            found.setdefault(product, 1)
    for noun in _NOUN.findall(plain):
        if not noun.endswith(_NO_NOUN) and not is_common(noun):
            found.setdefault(noun, 2)
    return sorted(found, key=lambda cue: found[cue])


def topic(sentence: str, pool: Collection[str]) -> list[str]:
    """One or two cues that single a sentence out of a pool; none when no two do.

    Args:
        sentence: The sentence.
        pool: All sentences that the question could mean, in lower case, this one among them.
    """
    hits = {cue: sum(cue.lower() in other for other in pool) for cue in cues(sentence)}
    found = sorted(hits, key=lambda cue: hits[cue])
    if found and hits[found[0]] <= 1:
        return found[:1]
    for one, two in combinations(found[:4], 2):
        if sum(one.lower() in other and two.lower() in other for other in pool) <= 1:
            return [one, two]
    return []
