"""Choices that somebody stated: what was chosen, against what, and why."""

from __future__ import annotations

import re
from functools import lru_cache

from compaction.reading.prose import sentences, split_reason
from judge.embedded.cues import topic
from judge.embedded.facts import FactCandidate, SessionFacts, make_fact
from judge.embedded.own_words import own_words

MIN_CHARS, MAX_CHARS = 40, 420
MIN_CHOICE_TERMS = 3
"""Terms of a choice that its question must not hold."""

_CONTRAST = re.compile(
    r"\b(?:instead of|rather than|in favou?r of|as opposed to|(?:and|but) not)\b|, not\b|"
    r"\b(?:prefer\w*|cho(?:se|ose|osing)|pick\w*|favou?r\w*)\b.{3,80}\bover\b|"
    r"\b(?:switch|mov|migrat|chang)(?:ed?|ing)\b.{3,60}\bfrom\b.{3,60}\bto\b",
    re.IGNORECASE,
)
_CHOSE = re.compile(
    r"\b(?:decided (?:to|on|against|that)|(?:going|went|gone) with|opt(?:ed|ing)? for|cho(?:se|osing|sen)|settled on|"
    r"agreed (?:to|on|that)|stick(?:ing)? (?:to|with)|the (?:decision|choice) (?:is|was))\b",
    re.IGNORECASE,
)
_DO = (
    "use|keep|treat|preserve|leave|avoid|make|add|put|store|implement|switch|move|replace|go|stick|skip|drop|create|"
    "build|"
    "modify|update|change|return|write|prefer|choose|pick|set|rename|remove|support|handle|call|import|define|base|"
    "ship|"
    "do|take|widen|narrow|limit|have|not|reuse|rely|pass|merge|split|extract|name|introduce|defer|fork|pin|mark|open|"
    "calculate|compute"
)
_COMMITS = re.compile(
    r"\b(?:i'll|i will|we'll|we will|let's|i should|we should|we must|i'm going to|we're going to|i decided to|"
    r"we decided to|i want (?:you )?to|i need to|we need to|please|i've|we've|i|we) (?:also |now |just |then |"
    r"only )?(?:"
    + _DO
    + r")(?:d|ed)?\b|\b(?:i'm|i am|we're|we are) (?:now |also )?(?:us|keep|treat|preserv|leav|avoid|mak|add|putt|stor|"
    r"implement|switch|mov|replac|go|stick|skipp|dropp|chang|defer|remov)ing\b|"
    r"^(?:ok(?:ay)?,? |yes,? |no,? |so |then |and |but |actually,? |instead,? )*(?:please )?(?:"
    + _DO
    + r"|using|keeping|going|sticking|replacing|switching|chose|decided)\b",
    re.IGNORECASE,
)
"""Somebody of the session chooses; code that does one thing instead of another does not."""

_REASON = re.compile(
    r"\b(?:because|due to|to avoid|in order to|otherwise|given that|as (?:it|this|that|they|we)(?:'s| is| are|'re|"
    r" has)?|"
    r"to (?:keep|prevent|preserve)|so that)\b|\bsince (?!the (?:merge|last|first|start|beginning)|then\b|v?\d)|"
    r"[,;] so (?:we|i|it|the|they|that|this)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\?|^(?:(?:so|and|then|now|but),? )?(?:if|when|unless|maybe|perhaps|hmm|wait|what if|either|option \w\b|let me|"
    r"now let me|should (?:i|we)|"
    r"would you|do you|whether)\b|\b(?:need to decide|have to decide|whether|might|maybe|perhaps|could|would you|"
    r"not sure|"
    r"i think|i wonder|probably|possibly|or should|if you (?:prefer|want|like)|would (?:be|have|need)|seems?|"
    r"make sure|(?:doesn't|does not) have|worth investigating|either|key insight|debug|for testing|reproduc\w*|"
    r"let me (?:check|see|look|try|verify|find|use|run|read)|(?:i'll|i will|i'm|let's) (?:also |now |first |just |"
    r"quickly )?"
    r"(?:do (?:a|one)|check|look|find|inspect|verif|read|search|see|run|print|view|explor|try|tak|test|debug|"
    r"examin)\w*)\b"
    r"|:$",
    re.IGNORECASE,
)
"""Deliberation, conditions, offers and narration decide nothing."""

_DEICTIC = re.compile(
    r"^(?:so )?(?:it|this|that|these|those|they|he|she|which|there)\b(?! (?:decision|choice|approach|way))",
    re.IGNORECASE,
)


@lru_cache(maxsize=32_768)
def is_choice(sentence: str) -> bool:
    """Whether a sentence states a choice together with what it was made against or with its reason."""
    sentence = sentence.replace("’", "'")
    if not MIN_CHARS <= len(sentence) <= MAX_CHARS or _OPEN.search(sentence) or _DEICTIC.match(sentence):
        return False
    if not _COMMITS.search(sentence):
        return False
    return bool(_CONTRAST.search(sentence) or _REASON.search(sentence))


def decisions(session: SessionFacts) -> list[FactCandidate]:
    """The choices of a session in order, each with a name in it that no other choice has."""
    stated = [
        (message, sentence)
        for message in session.messages
        if message.role in ("user", "assistant")
        for sentence in sentences(message.text if message.role == "assistant" else own_words(message.text))
        if is_choice(sentence)
    ]
    pool = {sentence.lower() for _, sentence in stated}
    found = []
    seen: set[str] = set()
    for message, sentence in stated:
        named = topic(sentence, pool)
        if not named or sentence.lower() in seen:
            continue
        seen.add(sentence.lower())
        asked = " ".join(named)
        choice, reason = split_reason(sentence)
        decided = make_fact("decision", choice, message, asked, MIN_CHOICE_TERMS)
        because = make_fact("reason", reason, message, without=asked) if reason else None
        if decided is not None:
            facts = (decided,) if because is None else (decided, because)
            found.append(FactCandidate("decision", message.seq or 0, "` and `".join(named), facts, sentence))
    return found
