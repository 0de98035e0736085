"""What the person or a rules file requires, forbids or asks to be careful of, as far as it is in force at a point."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compaction.reading.prose import sentences, shorten, terms
from compaction.transcript import Message
from judge.embedded.facts import Candidate, SessionFacts
from judge.embedded.own_words import own_words, rules_of
from judge.statement import Statement

MAX_RULES = 6
"""Rules of one message or section; more of them are a document of which nobody knows all by heart."""

MIN_SHARE = 0.85
"""Share of a section's lines that are rules; of other sections only what they forbid is asked for: that is plain."""

IN_SO_MANY_WORDS = "forbid in so many words (do not, never, avoid …)"

REMEMBERED = 3
"""Later messages of the person for which a rule holds that was set on the way, unless it says that it is general."""

MAX_CHARS = 300
MAX_BEGINNING = 60
_FORBIDS = re.compile(
    r"(?:^|[,;:.(]\s*|\b(?:and|but|so|or|please|you|we|also|then|just|should|must|may|can)\s+)(?:never|do not|don't|"
    r"must(?:n't| not)|should(?:n't| not)|may not|not (?:be )?(?:change|modif|touch|edit|delet|us|commit|push)\w*|"
    r"avoid|no (?:new|more|other))\b|\bcannot (?:be )?(?:change|modif|touch|us)\w*|"
    r"\bwithout (?:chang|modify|touch|break)\w*|\b(?:forbidden|not allowed)\b",
    re.IGNORECASE,
)
_REQUIRES = re.compile(
    r"\b(?:must|always|careful|as a rule|has to|have to|needs? to (?:stay|keep|remain)|minimal changes?|"
    r"no longer than|before (?:each|every|you commit|committing)|should (?:always|only|never|stay|remain|be kept))\b|"
    r"(?:^|[,;:.]\s*|\b(?:please|also|and|but|just|let's)\s+)make sure\b|"
    r"^(?:only|keep(?! in mind)|ensure|prefer|be sure)\b",
    re.IGNORECASE,
)
_WORK = r"(?!to (?:modify|change|touch|edit|install))"
_PASSING = re.compile(
    r"\?$|:$|\b(?:yet|for now|right now|at the moment|until|if you (?:want|like|need)|feel free|let me know|why|error|"
    r"do(?: not|n't) (?:know|think|see|understand|remember|mind|like|get|care|worry|want to|have "
    + _WORK
    + r"|need "
    + _WORK
    + r")|i (?:have|had|must|only)|have to admit|doesn't|didn't|isn't|not sure|seems?|must have|"
    r"must be (?:a|an|the|because)|more careful|forget to|should (?:never|not) happen|"
    r"make sure (?:that )?(?:your|the|it|this|that|all|everything)\b.* (?:works?|pass(?:es)?|handles?|compiles?)"
    r")\b|^(?:can|could|would|will|is|are|do you|does|how|when|where|if|so that)\b|"
    r"^(?:it|this|that|there|i|what|but it|note)\b(?! (?:must|should|has to|needs|means))|^\d+\.\d+ |"
    r"\b(?:your (?:response|submission|output)|tool calls?|one command|for feedback|issue an? edit|edit command|"
    r"currently open file|the bug|make multiple|exact command)\b|\b(?:to|and) ensure\b(?!.*\bminimal)",
    re.IGNORECASE,
)
"""Questions, remarks, steps of a template, how to use the tools, and rules for a moment that is over."""

_GENERAL = re.compile(
    r"\b(?:always|never|from now on|in (?:the )?future|as a rule|in general|throughout|every|"
    r"any(?:where|more|thing)?)\b",
    re.IGNORECASE,
)
_OF_THE_HARNESS = re.compile(r"environment|command execution|submi|response format|workflow", re.IGNORECASE)
"""Headings of a task's template under which stands how an agent is run."""

_CLAUSE = re.compile(r"\b(?:where|when|that|which|because|if|while|who|since)\b", re.IGNORECASE)
"""Words after which a prohibition is part of a description."""

_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
"""What a harness adds to a result."""

_RULES_PATH = re.compile(r"(?:^|/)(?:(?:AGENTS|CLAUDE|GEMINI)\.md|[^/]*\.mdc)$")


def constraints(session: SessionFacts, cut: int) -> list[Candidate]:
    """A question for each message of the person, and each section of a rules file or a long task, that sets rules."""
    found = {
        candidate.question: candidate
        for message in session.person
        if (message.seq or 0) < cut
        for candidate in _of_message(session, message, cut)
    }
    for source, seq, heading, rules, share in _sections(session, cut):
        forbidden = [rule for rule in rules if is_prohibition(rule)]
        asked, told = ("require or forbid", rules) if share >= MIN_SHARE else (IN_SO_MANY_WORDS, forbidden)
        if 0 < len(told) <= MAX_RULES and not _OF_THE_HARNESS.search(heading):
            statements = tuple(Statement("constraint", shorten(rule, MAX_CHARS), (seq,), (rule,)) for rule in told)
            question = f"What does {source} {asked} under the heading “{heading}”?"
            found.setdefault(question, Candidate("rules", question, "; ".join(told), statements))
    return list(found.values())


def said_by_rule_givers(session: SessionFacts, cut: int) -> list[Message]:
    """The messages in which the person speaks, or in which a rules file is given or read."""
    person = {message.seq for message in session.person}
    return [m for m in session.messages[:cut] if m.seq in person or _rules_in(session, m)]


def is_rule(sentence: str) -> bool:
    """Whether a sentence sets a rule for the work that goes on holding."""
    plain = sentence.replace("’", "'")
    if len(terms(plain)) < 3 or len(plain) > MAX_CHARS or _PASSING.search(plain):
        return False
    return is_prohibition(plain) or _REQUIRES.search(plain) is not None


def is_prohibition(sentence: str) -> bool:
    """Whether a sentence forbids something or says that it need not be done."""
    found = _FORBIDS.search(sentence.replace("’", "'"))
    return found is not None and not _CLAUSE.search(sentence[: found.start()])


def _of_message(session: SessionFacts, message: Message, cut: int) -> Iterator[Candidate]:
    """What a message forbids, and what else it requires."""
    seq, said = message.seq or 0, sentences(own_words(message.text))
    rules = [sentence for sentence in said if is_rule(sentence)]
    forbidden = [rule for rule in rules if is_prohibition(rule)]
    required = [rule for rule in rules if rule not in forbidden]
    for asked, told in (("forbid, or say that it need not be done,", forbidden), ("require or warn of", required)):
        until = {rule: _holds_until(session, rule, seq) for rule in told}
        in_force = [rule for rule, lifted in until.items() if lifted is None or lifted >= cut]
        if in_force and len(told) <= MAX_RULES:
            question = f"What did the person {asked} {_place(session, seq, said, told)}?"
            statements = tuple(Statement("constraint", r, (seq,), (r,), until=until[r]) for r in in_force)
            yield Candidate(asked[:6], question, "; ".join(in_force), statements)


def _place(session: SessionFacts, seq: int, said: list[str], rules: list[str]) -> str:
    """Where a message stands, told without its rules."""
    if said[0] not in rules:
        return f"in the message that begins “{shorten(said[0], MAX_BEGINNING)}”"
    before = next((m for m in reversed(session.messages[:seq]) if m.role == "assistant" and sentences(m.text)), None)
    if before is None:
        return "in the first message"
    return f"in the message after the agent had said “{shorten(sentences(before.text)[-1], 2 * MAX_BEGINNING)}”"


def _holds_until(session: SessionFacts, rule: str, seq: int) -> int | None:
    """``seq`` of the message from which on a rule of the person holds no more; None for one that goes on holding."""
    lifted = lifted_at(session, rule, seq)
    later = [m.seq for m in session.person if (m.seq or 0) > seq]
    is_first = all((m.seq or 0) >= seq for m in session.person)
    if is_first or _GENERAL.search(rule) or len(later) <= REMEMBERED:
        return lifted
    return min(later[REMEMBERED] or 0, lifted) if lifted is not None else later[REMEMBERED]


def lifted_at(session: SessionFacts, rule: str, seq: int) -> int | None:
    """``seq`` of a later message in which the person asks for what the rule forbids."""
    forbidden = _FORBIDS.search(rule.replace("’", "'"))
    wanted = set(terms(rule[forbidden.end() :])[:3]) if forbidden else set()
    for message in session.person if len(wanted) > 1 else ():
        said = sentences(own_words(message.text)) if (message.seq or 0) > seq else []
        if any(wanted <= set(terms(sentence)) and not is_prohibition(sentence) for sentence in said):
            return message.seq
    return None


def _rules_in(session: SessionFacts, message: Message) -> tuple[str, str] | None:
    """(file, text) of a rules file that a message gives, or that its call has read."""
    if message.role == "user" and message.author != "harness":
        return rules_of(message)
    path = session.shown_file(message) if message.role == "tool" else ""
    if not _RULES_PATH.search(path):
        return None
    shown = _REMINDER.sub("", message.text)
    return path, re.sub(r"^\s*\d+(?:→|\t|: )", "", shown, flags=re.MULTILINE)


def _sections(session: SessionFacts, cut: int) -> Iterator[tuple[str, int, str, list[str], float]]:
    """(file, seq, heading, rules, their share of its lines) of each section of rules files that were given or read."""
    for seq, message in enumerate(session.messages[:cut]):
        named = _rules_in(session, message)
        for part in re.split(r"^(?=#{1,4} )", named[1], flags=re.MULTILINE) if named else ():
            head, _, body = re.sub(r"```.*?(?:```|\Z)", "", part, flags=re.DOTALL).partition("\n")
            lines = [re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+|\*\*", "", line).strip() for line in body.splitlines()]
            if named and head.startswith("#"):
                rules = [line for line in lines if is_rule(line)]
                said = sum(len(terms(line)) >= 3 for line in lines)
                yield named[0], seq, head.strip("# ").strip(), rules, len(rules) / max(1, said)
