"""Reading prose without a model: sentences, the terms that carry a fact, and the marks of a decision.

Everything here is linear in the length of the text and knows English cue words only; a text in another language has
sentences and terms, but no decisions.
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
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[\"')\]]*\s+|\n+")
_MARKUP = re.compile(r"^[\s>#*\-•+]*(?:\d+[.)]\s+)?(?:THOUGHT:\s*)?|\*\*")

_CHOICE = re.compile(
    r"\b(?:decid\w+|opt(?:ed|ing)? for|go(?:ing)? with|instead of|rather than|prefer\w*|chose|choose|choosing|"
    r"(?:best|better|right|simplest|cleanest|safest|safer|cleaner|simpler) "
    r"(?:way|approach|option|fix|solution|idea|to)|"
    r"we should|i'll|i will|we'll|let's|the fix is|the solution is|switch(?:ed|ing)? to|stick(?:ing)? with|"
    r"must not|don't|do not|should(?:n't| not)?|keep(?:ing)?|avoid(?:ing)?|revert\w*|leave|leaving|not going to)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|so that|so (?:we|i|it|the|they|that|this)|due to|to avoid|in order to|otherwise|which means|"
    r"that way|this way|reason|as (?:it|this|that|the|they|we)|given that|"
    r"to (?:keep|prevent|ensure|preserve|make sure))\b",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"\b(?:root cause|the (?:problem|issue|bug|reason|cause|culprit) (?:is|was)|turns out|"
    r"this (?:happens|fails) because|"
    r"caused by|explains why|that's why|is why)\b",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"^(?:maybe|perhaps|hmm|wait|no,|if |what if|let me check|let me see)|"
    r"\b(?:i think|not sure|might be|may be|could be|doesn't make sense|i wonder|probably)\b",
    re.IGNORECASE,
)
_INTENT = re.compile(
    r"\b(?:next(?:,| i| we| step)|now (?:i|let|we)|let me|i'll|i will|i need to|we need to|i'm going to|then i|"
    r"remaining|still (?:need|to do|have to|fail))",
    re.IGNORECASE,
)

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


def is_decision(sentence: str) -> bool:
    """Whether a sentence says what was chosen together with why, or names a cause, and does not merely guess."""
    if len(sentence) < 40 or sentence.endswith(("?", ":")) or _DOUBT.search(sentence):
        return False
    return bool(_CAUSE.search(sentence) or (_REASON.search(sentence) and _CHOICE.search(sentence)))


def split_reason(sentence: str) -> tuple[str, str]:
    """A decision and its reason, split at the word that joins them; the reason is empty when none is marked."""
    for match in _REASON.finditer(sentence):
        before, after = sentence[: match.start()].strip(" ,;—-"), sentence[match.start() :].strip(" .")
        if len(before) >= 15 and len(after) >= 15:
            return before, after
    return sentence, ""


def is_intent(sentence: str) -> bool:
    """Whether a sentence announces what comes next."""
    return _INTENT.search(sentence) is not None


def shorten(text: str, limit: int) -> str:
    """A text on one line, cut at a word within ``limit`` characters."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
