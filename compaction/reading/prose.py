"""Reading prose without a model: sentences, and the terms that carry a fact.

Everything here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

STOPWORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing done down during each few for from further get gets got had has have having he her here
    hers him his how i if in into is it its just let lets like make makes me more most my need needs no nor not now of
    off on once one only or other our out over own same see she should so some still such than that the their them then
    there these they this those through to too two under until up us use used uses using very want was way we well were
    what when where which while who why will with would yes yet you your i'll i'm i've it's let's we'll don't doesn't
    that's there's isn't can't won't we're didn't okay ok sure great perfect good actually really first next
    ll ve re don doesn didn isn aren wasn won shouldn couldn wouldn hasn haven thought""".split()
)

_TOKEN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:\-@+#]*[A-Za-z0-9_+#]|[A-Za-z0-9]|[぀-ヿ㐀-鿿가-힯]{1,2}")
_SPECIFIC = re.compile(r"[0-9_./:#@]|[a-z][A-Z]|[A-Z]{2}")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])(?:[\"')\]]+\s+(?![a-z])|\s+)|\n+")
_MARKUP = re.compile(r"^[\s>#*\-•+]*(?:\d+[.)]\s+)?(?:THOUGHT:\s*)?|\*\*")

MAX_SENTENCE = 600
"""Characters; a longer "sentence" is a table, a listing or minified code."""


def sentences(text: str) -> list[str]:
    """The prose of a text: code blocks left out, one entry a sentence or list item, markup removed."""
    if "```" in text:
        text = _FENCE.sub("\n", text)
    found = []
    for piece in _SENTENCE_END.split(text):
        plain = _MARKUP.sub("", piece).strip()
        if 12 <= len(plain) <= MAX_SENTENCE:
            found.append(plain)
    return found


def iter_terms(text: str) -> Iterator[str]:
    """Content terms in order: identifiers, paths, numbers, words; lower-case, without stop words."""
    for match in _TOKEN.finditer(text):
        term = match[0].lower().strip(".:-")
        if term and term not in STOPWORDS:
            yield term


@lru_cache(maxsize=65_536)
def terms(text: str) -> tuple[str, ...]:
    """Distinct content terms of a short text, in order."""
    return tuple(dict.fromkeys(iter_terms(text)))


@lru_cache(maxsize=65_536)
def specific_terms(text: str) -> tuple[str, ...]:
    """Distinct terms that only this matter has: identifiers, paths, numbers, versions, error classes."""
    found = dict.fromkeys(m[0].strip(".:-") for m in _TOKEN.finditer(text) if _SPECIFIC.search(m[0].strip(".:-")))
    return tuple(dict.fromkeys(term.lower() for term in found if len(term) > 1))


def shorten(text: str, limit: int) -> str:
    """A text on one line, cut at a word within ``limit`` characters."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
