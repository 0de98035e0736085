"""Checks of a model-written probe by counting, and the reasons to drop one.

No language model takes part: a quote stands in what was shown or does not, a name stands in the history or does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence

from compaction.reading.file_effects import same_file
from compaction.reading.prose import shorten, specific_terms, terms
from compaction.tokens import counted_text
from compaction.transcript import Message
from judge.embedded.facts import MIN_TERMS
from judge.llm.probes.reply import Quote
from judge.llm.probes.show import ShownHistory
from judge.measures.states import states_in_answer
from judge.probe import Evidence, Probe
from judge.statement import Statement, StatementKind

NO_FILES = "no tool call in the history creates or modifies a file of the project"
TOO_SMALL = "no part of the history fits into the model's window"
NO_RULES = "neither a person nor a file of rules says anything in the history"
NOTHING = "the model found nothing to ask for"
NO_QUOTE = "no quote stands in the history as it was shown"
NOT_IN_HISTORY = "the true answer names what the history does not have"
NOT_IN_EVIDENCE = "the quoted messages do not hold the true answer"
CONTRADICTED = "the tool calls contradict the model's account of the files"
LIFTED = "the person has asked for what the rule forbids since"
VAGUE = "the true answer has nothing that an answer could be checked for"
TOO_LONG = "the true answer is longer than the question allows"
NO_QUESTION = "the question is none, is too long, or asks for yes or no"
NAMES_EVALUATION = "the question names what only the evaluation knows"
GIVES_AWAY = "the question gives the true answer away"
GUESSED = "the question can be answered without the history"
REASONS = (
    NO_FILES,
    NO_RULES,
    TOO_SMALL,
    NOTHING,
    NO_QUOTE,
    NOT_IN_HISTORY,
    NOT_IN_EVIDENCE,
    CONTRADICTED,
    LIFTED,
    VAGUE,
    TOO_LONG,
    NO_QUESTION,
    NAMES_EVALUATION,
    GIVES_AWAY,
    GUESSED,
)
"""In the order in which a probe meets them: of several drafts the one that came furthest gives the reason."""

MIN_QUOTE, MAX_QUOTE = 12, 300
"""Characters without white space that a quote needs to say anything, and characters that are kept of one."""

MIN_LINE = 24
"""The same of one line or sentence of a quote that is not right as a whole: short lines of code stand everywhere."""

MIN_QUESTION, MAX_QUESTION = 15, 500
"""Characters of the model's part of a question."""

EVIDENCE_SHARE = 0.5
"""Share of the true answer's terms that the quoted messages have to hold: a model may say "kept" where the session
said "left alone", but half of the words of an answer that is about these messages stand in them."""

GUESSED_SHARE = 0.6
"""Share of the truth from which on a guess states it: 3 of 5 by the embedded judge's formula, the anchor of an answer
that is right on the whole. A probe that gives this to somebody who has seen nothing does not measure memory."""

_QUOTED = re.compile(r"`([^`\n]{2,120})`|\"([^\"\n]{2,120})\"|(?<!\w)'([^'\n]{2,120})'(?!\w)")
_OMISSION = re.compile(r"\s*(?:\[…[^\]]*\]|\[\.\.\.\]|…|\.\.\.)\s*")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)*(?!\w)")
_BREAK = re.compile(r"\n|(?<=[.!?])\s")
_GROUPED = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")
_YES_OR_NO = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|am)\b", re.IGNORECASE)
_EVALUATION = re.compile(
    r"\b(?:transcripts?|excerpts?|compaction|compacted|summari[sz]ed)\b|"
    r"\b(?:the|this|that|given|provided|above|your) (?:summary|conversation|evidence|quotes?|lines? shown)\b|"
    r"\bmessages? (?:#|no\.? ?|number )?\d|\bmessage number\b",
    re.IGNORECASE,
)


class ProbeDropped(Exception):  # noqa: N818 (no error: a verdict)
    """A draft that is not asked, and why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def find_quote(quote: Quote, shown: ShownHistory, messages: Sequence[Message]) -> Evidence | None:
    """Find the place of a quote, whatever its white space; None if the shown history lacks it.

    The message that the model named comes first, then the nearest to it. Where the model left a part of the quote out,
    the longest part counts; where it got one of several lines or sentences wrong, the longest that stands.
    """
    text = quote.text.strip()
    part_left = max(_OMISSION.split(text), key=len)
    lines = sorted(_BREAK.split(part_left), key=len, reverse=True)
    for part, least in ((text, MIN_QUOTE), (part_left, MIN_QUOTE), *((line, MIN_LINE) for line in lines)):
        words = part.strip("`\"' \n")[:MAX_QUOTE].split()
        if len("".join(words)) < least:
            continue
        pattern = re.compile(r"\s+".join(re.escape(word) for word in words))
        for seq in sorted(shown.pieces, key=lambda seq: (abs(seq - quote.message), seq)):
            for piece in shown.pieces[seq]:
                if found := pattern.search(piece):
                    return Evidence(seq, _as_recorded(found[0], messages[seq]))
    return None


def _as_recorded(quote: str, message: Message) -> str:
    """The quote as it stands in the message; of an argument's text, whose lines JSON escapes, the longest line."""
    if quote in message.text or quote in message.reasoning:
        return quote
    recorded = [call.arguments for call in message.tool_calls]
    lines = [line.strip() for line in quote.splitlines() if len(line.strip()) >= MIN_QUOTE]
    lines.sort(key=len, reverse=True)
    for form in (quote, *lines, *(form for part in (*lines, quote) for form in _escaped_forms(part))):
        if any(form in arguments for arguments in recorded):
            return form
    return quote


def _escaped_forms(text: str) -> Iterator[str]:
    for ascii_only in (False, True):
        yield json.dumps(text, ensure_ascii=ascii_only)[1:-1]


def all_text(messages: Sequence[Message]) -> str:
    """All text of these messages, call arguments both raw and unescaped; lower case, ``240_000`` as 240000."""
    parts = []
    for message in messages:
        if message.role != "system":
            parts.append(counted_text(message))
            parts += (text for call in message.tool_calls for text in _texts(call.parsed()))
    return _GROUPED.sub("", "\n".join(parts).lower())


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def session_names(text: str) -> tuple[str, ...]:
    """Names specific to a session: paths, identifiers, numbers of any length; in lower case."""
    return tuple(dict.fromkeys((*specific_terms(text), *_NUMBER.findall(text))))


def has_term(text: str, term: str) -> bool:
    """Whether a lower-case text has a term as a whole word; a path also by its last two parts, a version after a v."""
    forms = [term, f"v{term}"] if term[:1].isdigit() else [term]
    if term.count("/") > 1:
        forms.append("/".join(term.rsplit("/", 2)[-2:]))
    return any(_has_word(text, form) for form in forms)


def _has_word(text: str, word: str) -> bool:
    place = text.find(word)
    while place >= 0:
        end = place + len(word)
        if not (place and _inside(text[place - 1], word[0])) and not (end < len(text) and _inside(text[end], word[-1])):
            return True
        place = text.find(word, place + 1)
    return False


def _inside(neighbour: str, edge: str) -> bool:
    """Whether two characters belong to one word."""
    return (neighbour.isalnum() or neighbour == "_") and (edge.isalnum() or edge == "_")


def support_fault(
    truth: str, evidence: str, history: str, exact: bool = False, least: float = EVIDENCE_SHARE
) -> str | None:
    """Return the reason why a true answer is not supported, or None.

    Every name, number and quoted string of it must stand in the history, and with ``exact`` in the quoted messages
    themselves; of its terms they must hold a share, and one at least.

    Args:
        truth: The true answer, or a part of it.
        evidence: ``all_text`` of the messages whose quotes were verified.
        history: ``all_text`` before the cut.
        exact: For what a message says whole: a single fact, the change that a call makes.
        least: Share of the terms, 0-1.
    """
    truth = _GROUPED.sub("", truth)
    known = session_names(truth)
    strings = [" ".join((a or b or c).lower().split()) for a, b, c in _QUOTED.findall(truth)]
    for text, reason in ((history, NOT_IN_HISTORY), (evidence, NOT_IN_EVIDENCE))[: 2 if exact else 1]:
        flat = " ".join(text.split()) if strings else ""
        if not all(has_term(text, name) for name in known) or not all(string in flat for string in strings):
            return reason
    content = dict.fromkeys((*terms(truth), *strings))
    if content and sum(has_term(evidence, term) for term in content) < max(1, least * len(content)):
        return NOT_IN_EVIDENCE
    return None


def speaks_of(quote: str, truth: str) -> bool:
    """Whether a quote has a word of the truth; one that has none is a true quote of something else."""
    said = _GROUPED.sub("", quote.lower())
    return any(has_term(said, term) for term in terms(_GROUPED.sub("", truth)))


def question_fault(question: str, methods: Collection[str]) -> str | None:
    """Return the reason why a question cannot be put, or None.

    Args:
        question: The model's part of the question.
        methods: Names of compaction methods, none of which may be named.
    """
    if not MIN_QUESTION <= len(question) <= MAX_QUESTION or "?" not in question or _YES_OR_NO.match(question):
        return NO_QUESTION
    words = set(re.findall(r"[\w.-]+", question.lower()))
    if _EVALUATION.search(question) or any(name in words for name in methods):
        return NAMES_EVALUATION
    return None


def make_statement(kind: StatementKind, value: str, question: str, evidence: Sequence[Evidence]) -> Statement:
    """The statement that an answer has to make, with the words that prove it.

    Raises:
        Dropped: There is nothing to check an answer for, or the question leaves nothing of it.
    """
    everything_said = [t for t in dict.fromkeys((*terms(value), *session_names(value))) if len(t) > 1 or t.isdigit()]
    if not _enough(everything_said, value):
        raise ProbeDropped(VAGUE)
    asked = {*terms(question), *session_names(question)}
    if not _enough([t for t in everything_said if not _is_in_question(t, asked)], value):
        raise ProbeDropped(GIVES_AWAY)
    seqs = tuple(dict.fromkeys(e.seq for e in evidence))
    return Statement(kind, shorten(value, 400), seqs, tuple(e.quote for e in evidence))


def _enough(found: Sequence[str], value: str) -> bool:
    """One name or number can be told from a guess; of plain words it takes more."""
    return len(found) >= MIN_TERMS or bool(set(found) & set(session_names(value)))


def _is_in_question(term: str, asked: Collection[str]) -> bool:
    return term in asked or ("." in term and any("." in other and same_file(term, other) for other in asked))


def guessed_share(probe: Probe, guess: str) -> float:
    """The share of the truth that a guess states, 0–1: the mean over the statements."""
    states = states_in_answer(probe.statements, guess)
    return sum(one.support or 0.0 for one in states) / len(states) if states else 0.0
