"""Cue words by which the corpora are measured: sentences that tell a decision, sentences that announce a step."""

from __future__ import annotations

import re

from compaction.reading.prose import sentences
from compaction.transcript import Message

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


def said(message: Message) -> list[str]:
    """The sentences of a message, its reasoning first."""
    return [*sentences(message.reasoning), *sentences(message.text)]


def is_decision(sentence: str) -> bool:
    """Whether a sentence says what was chosen together with why, or names a cause, and does not merely guess."""
    if len(sentence) < 40 or sentence.endswith(("?", ":")) or _DOUBT.search(sentence):
        return False
    return bool(_CAUSE.search(sentence) or (_REASON.search(sentence) and _CHOICE.search(sentence)))


def is_intent(sentence: str) -> bool:
    """Whether a sentence announces what comes next."""
    return _INTENT.search(sentence) is not None
