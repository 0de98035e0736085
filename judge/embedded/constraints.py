"""Rules of the person or of a rules file that are in force at a point: requirements, prohibitions, warnings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from compaction.reading.prose import sentences, shorten, terms
from compaction.transcript import Message
from judge.embedded.facts import Candidate, SessionFacts
from judge.embedded.own_words import brief_of, own_words, rules_of, without_code
from judge.statement import Statement

MAX_RULES = 6
"""Rules of one message or section; more of them are a document of which nobody knows all by heart."""

MIN_SHARE = 0.85
"""Share of a section's items that are rules by their words from which on it is about rules."""

IN_SO_MANY_WORDS = "forbid in so many words (do not, never, avoid …)"
PERSON = "the person"
FORBID, REQUIRE = "forbid, or say that it need not be done,", "require or warn of"

REMEMBERED = 3
"""Later messages of the person for which a rule holds that was set on the way, unless it says that it is general."""

MAX_CHARS = 300
MAX_BEGINNING = 60
_START = r"(?:^|[,;:.(!]\s*|\b(?:and|but|so|or|please|also|then|just|no|yes|ok|okay)\s+)"
"""Where an order begins: with a sentence, after a sign, or after a word that only leads to it."""

_ACT = r"(?:(?:modif|chang|touch|edit|delet|remov|commit|push|merg|add|install|creat|break|run)\w*|us(?:e|ed|ing))\b"
_FORBIDS = re.compile(
    rf"{_START}(?:(?:never(?! (?:\w+ed|been|mind)\b)|do not|don't|dont|let's not|avoid)\b|"
    rf"no (?:new|more|other|additional)\b|not (?:be )?{_ACT})|"
    r"^(?:please |and |but |also )?no (?!(?:[\w-]+ )?(?:this|was|has|does|yes|is|worries|always)\b)"
    r"(?:[\w-]+ )?[\w-]{3,}s\b(?! (?:available|found|detected|were|are))|"
    r"\b(?:should|must|may)(?:n't| not)\b|\b(?:should|must) never\b|\bwe (?:do not|don't) want\b(?! to)|"
    rf"\b(?:you|we) (?:do not|don't|never) (?:(?:want|need|have) to )?{_ACT}|"
    rf"\bcannot (?:be )?{_ACT}|\bwithout (?:chang|modify|touch|break|ask)\w*|\b(?:forbidden|not allowed)\b",
    re.IGNORECASE,
)
_REQUIRES = re.compile(
    r"\b(?:must|has to|be careful|as a rule|from now on|going forward|needs? to (?:stay|keep|remain)|minimal changes?|"
    r"no (?:longer|more) than|(?:before|after) (?:each|every)|before (?:you |we )?(?:commit|push|merg|squash)\w*|"
    r"should (?:always|only|never|stay|remain|be kept)|stays? as (?:it )?is|(?:rule|directive|convention)s? (?:is|are)|"
    r"(?:we|i) (?:would |should )?only (?:want|use)|(?:ask|check with) (?:me|us) (?:first|before|every)|"
    r"only\b.*\bshould|leave\b.*\b(?:alone|as (?:it )?is|untouched|unchanged)|i(?:'d| would) rather)\b|"
    rf"{_START}(?:(?:should |must )?always\b|use only\b|keep\b(?! (?:in mind|on|me|up|\w+ing)\b))|"
    r"(?:^|[,;:.]\s*|\b(?:please|also|and|but|just|let's)\s+)make sure\b|"
    r"\bmake sure (?:that )?(?:we|you)\b.*\b(?:not|never|always|only)\b|"
    rf"(?:{_START}|^\w+ |\b(?:should|let's|we) )use\b.*(?:\b(?:instead of|rather than)\b|[, ]not? )|"
    r"\b(?:we|i) (?:want|need|prefer)\b.*(?:(?:,| and| but) not|instead of|rather than) |"
    r"^(?:only|ensure|prefer|be sure|stick (?:to|with))\b",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\?$|:$|"
    r"\b(?:for now|right now|this time|at the moment|until|if you (?:want|like|need)|feel free|let me know|why|error|"
    r"do(?: not|n't) (?:know|think|see|understand|remember|mind|like|get|care|worry|forget|want to)|"
    r"do(?: not|n't) (?:have|need) (?!to (?:modify|change|touch|edit|install))|"
    r"there has to|i'm|i am|i (?:have|had|must|only)|(?:i|we|you|they|would)(?:'ll|'d)? (?:\w+ )?have to|"
    r"(?:does|did|is)(?:n't| not)|not sure|seems?|more careful|forget to|should (?:never|not) happen|"
    r"(?:must|should(?:n't| not)) have|(?:i|what|it) should(?:n't| not)|shouldn't (?:i|it|we|you|the|this|that)|"
    r"you must be|must be (?:a|an|the|because)|(?:do not|don'?t|let's not)(?! want\b)\b.*\byet|"
    r"make sure (?:that )?(?:your|the|it|this|that|they|all|everything)\b.* "
    r"(?:works?|pass(?:es)?|handles?|compiles?|expected|correct))\b|"
    r"^(?:can|could|would|will|is|are|do you|does|how|when|where|if|so that|keep in mind|consider)\b|"
    r"^(?:it|this|that|there|what|but it)\b(?! (?:must|should|has to|needs|means))|"
    r"^i\b(?! (?:want|prefer|would (?:only|rather))|'d rather)|^note\b(?!.*\b(?:as a rule|must|never|always)\b)|"
    r"^\d+\.\d+ |\b(?:(?:your|one|each|every) (?:response|submission|output)|tool calls?|one command|for feedback|"
    r"issue an? edit|edit command|currently open file|the bug|make multiple|exact command)\b|"
    r"\b(?:to|and) ensure\b(?!.*\bminimal)",
    re.IGNORECASE,
)
"""Questions, remarks, steps of a template, how to use the tools, and rules for a moment that is over."""

_GENERAL = re.compile(
    r"\b(?:always|never|from now on|in (?:the )?future|as a rule|in general|throughout|every|"
    r"any(?:where|more|thing)?|only|must|everywhere|instead of|rather than)\b",
    re.IGNORECASE,
)
_OF_THE_HARNESS = re.compile(r"environment|command execution|submi|response format|workflow", re.IGNORECASE)
"""Headings of a task's template under which stands how an agent is run."""

_RULES_HEADING = re.compile(
    r"\b(?:rules?|constraints?|guard ?rails?|conventions?|guidelines?|principles|polic(?:y|ies)|boundar(?:y|ies)|"
    r"restrictions?|non-?(?:goals?|negotiables?)|out of scope|(?:execution|code|coding) style|do nots|don'ts)\b",
    re.IGNORECASE,
)
"""Headings below which every item is a rule, whatever its words."""

_MAY_FORBID = re.compile(
    r"\b(?:never|avoid|without|leave|unless|forbidden|only|dont)\b|"
    r"\b(?:do|must|should|shall|may|need|can)(?: not|n't|not)\b|(?:^|[,;:] )no\b",
    re.IGNORECASE,
)
_MAY_REQUIRE = re.compile(
    r"\b(?:must|always|should|ensure|make sure|only|keep|has to|have to|need(?:s|ed)? to|careful|prefer|required?)\b",
    re.IGNORECASE,
)
"""Words of a sentence that may set a rule, so that nobody can say that the others are all."""

_CLAUSE = re.compile(r"\b(?:where|when|that|which|because|if|while|who|since)\b", re.IGNORECASE)
"""Words after which a prohibition is part of a description."""

_HEADING = re.compile(r"^(?=#{1,4} |\*{0,2}[A-Z][^\n:.*]{3,60}:\*{0,2}\s*$)", re.MULTILINE)
"""Where a section begins: a heading, or a line that ends with a colon."""

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
    for source, seq, heading, items in _sections(session, cut):
        for asked, told in _asked_of(heading, items) if not _OF_THE_HARNESS.search(heading) else ():
            statements = tuple(Statement("constraint", shorten(rule, MAX_CHARS), (seq,), (rule,)) for rule in told)
            question = f"What does {source} {asked} under the heading “{heading}”?"
            found.setdefault(question, Candidate("rules", question, "; ".join(told), statements))
    return list(found.values())


def single_rules(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """Yield a question for each rule that its first words identify."""
    said = dict.fromkeys(sentence for _, _, told in _list_given(session, cut) for sentence in told)
    for source, statement in rules_in_force(session, cut):
        if beginning := _beginning(statement.text, said):
            question = f"Which rule that begins with “{beginning}” was given by {source}?"
            yield Candidate("rule", question, statement.text, (statement,))


def rules_in_force(session: SessionFacts, cut: int) -> Iterator[tuple[str, Statement]]:
    """(who gave it, rule) of each sentence that sets a rule by its own words, whatever stands beside it."""
    for source, seq, told in _list_given(session, cut):
        for rule in filter(is_rule, told):
            until = _holds_until(session, rule, seq) if source == PERSON else None
            if until is None or until >= cut:
                yield source, Statement("constraint", rule, (seq,), (rule,), until=until)


def _list_given(session: SessionFacts, cut: int) -> Iterator[tuple[str, int, list[str]]]:
    """(source, seq, sentences) of each message of the person, and of each section that is not about the harness."""
    for message in session.person:
        if (message.seq or 0) < cut:
            yield PERSON, message.seq or 0, sentences(own_words(message.text))
    for source, seq, heading, items in _sections(session, cut):
        if not _OF_THE_HARNESS.search(heading):
            yield f"{source} under the heading “{heading}”", seq, items


def _beginning(rule: str, said: Iterable[str]) -> str:
    """The fewest first words, at least three, that are unique to a rule; empty if they are half of it."""
    words, others = rule.split(), [other for other in said if other != rule]
    for n in range(3, len(words) // 2):
        begun = " ".join(words[:n])
        others = [other for other in others if other.startswith(begun)]
        if not others:
            return begun
    return ""


def said_by_rule_givers(session: SessionFacts, cut: int) -> list[Message]:
    """The messages of the person, and those that give or read a rules file."""
    person = {message.seq for message in session.person}
    return [m for m in session.messages[:cut] if m.seq in person or _rules_in(session, m)]


def is_rule(sentence: str) -> bool:
    """Whether a sentence sets a rule for the work that goes on holding."""
    plain = sentence.replace("’", "'")
    if len(terms(plain)) < 2 or len(plain) > MAX_CHARS or _PASSING.search(plain):
        return False
    return is_prohibition(plain) or _REQUIRES.search(plain) is not None


def is_prohibition(sentence: str) -> bool:
    """Whether a sentence forbids something or says that it need not be done."""
    found = _FORBIDS.search(sentence.replace("’", "'"))
    return found is not None and not _CLAUSE.search(sentence[: found.start()])


def _of_message(session: SessionFacts, message: Message, cut: int) -> Iterator[Candidate]:
    """Yield the prohibitions of a message, and its other requirements."""
    seq, said = message.seq or 0, [part for s in sentences(own_words(message.text)) for part in _parts(s)]
    rules = [sentence for sentence in said if is_rule(sentence)]
    forbidden = [rule for rule in rules if is_prohibition(rule)]
    required = [rule for rule in rules if rule not in forbidden]
    for asked, told, doubt in ((FORBID, forbidden, _MAY_FORBID), (REQUIRE, required, _MAY_REQUIRE)):
        if any(doubt.search(other) for other in said if other not in rules):
            continue
        until = {rule: _holds_until(session, rule, seq) for rule in told}
        in_force = [rule for rule, lifted in until.items() if lifted is None or lifted >= cut]
        place = _place(session, seq, said, told) if in_force and len(told) <= MAX_RULES else ""
        if place:
            question = f"What did the person {asked} {place}?"
            statements = tuple(Statement("constraint", r, (seq,), (r,), until=until[r]) for r in in_force)
            yield Candidate(asked[:6], question, "; ".join(in_force), statements)


def _parts(sentence: str) -> list[str]:
    """A sentence, or what stands between the semicolons of a long one."""
    return sentence.split("; ") if len(sentence) > MAX_CHARS else [sentence]


def _place(session: SessionFacts, seq: int, said: list[str], rules: list[str]) -> str:
    """Describe the place of a message without its rules; empty if its neighbour's words recur."""
    if said[0] not in rules:
        return f"in the message that begins “{shorten(said[0], MAX_BEGINNING)}”"
    before = next((m for m in reversed(session.messages[:seq]) if m.role == "assistant" and sentences(m.text)), None)
    if before is None:
        return "in the first message"
    cue = sentences(before.text)[-1]
    if sum(cue in message.text for message in session.messages) > 1:
        return ""
    return f"in the message after the agent had said “{shorten(cue, 2 * MAX_BEGINNING)}”"


def _holds_until(session: SessionFacts, rule: str, seq: int) -> int | None:
    """``seq`` of the message that ends a rule of the person; None for a rule that holds to the end."""
    lifted = lifted_at(session, rule, seq)
    later = [m.seq for m in session.person if (m.seq or 0) > seq]
    is_first = all((m.seq or 0) >= seq for m in session.person)
    if is_first or _GENERAL.search(rule) or len(later) <= REMEMBERED:
        return lifted
    return min(later[REMEMBERED] or 0, lifted) if lifted is not None else later[REMEMBERED]


def lifted_at(session: SessionFacts, rule: str, seq: int) -> int | None:
    """``seq`` of a later message that asks for a thing that the rule forbids; None without one."""
    forbidden = _FORBIDS.search(rule.replace("’", "'"))
    wanted = set(terms(rule[forbidden.end() :])[:3]) if forbidden else set()
    for message in session.person if len(wanted) > 1 else ():
        said = sentences(own_words(message.text)) if (message.seq or 0) > seq else []
        if any(wanted <= set(terms(sentence)) and not is_prohibition(sentence) for sentence in said):
            return message.seq
    return None


def _asked_of(heading: str, items: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the question and the rules of a section: all its items if it is about rules, else its plain rules."""
    rules = [item for item in items if is_rule(item)]
    forbidden = [rule for rule in rules if is_prohibition(rule)]
    if len(items) <= MAX_RULES and (_RULES_HEADING.search(heading) or len(rules) >= MIN_SHARE * len(items)):
        yield "require or forbid", items
        return
    others = [item for item in items if item not in forbidden]
    if 0 < len(forbidden) <= MAX_RULES and not any(map(_MAY_FORBID.search, others)):
        yield IN_SO_MANY_WORDS, forbidden


def _rules_in(session: SessionFacts, message: Message) -> tuple[str, str] | None:
    """(source, text) of a rules file that a message gives, or that its call has read, or of a person's long brief."""
    if message.role == "user" and message.author != "harness":
        brief = brief_of(message.text) if any(message is m for m in session.person) else ""
        return rules_of(message) or (("the task", brief) if brief else None)
    path = session.shown_file(message) if message.role == "tool" else ""
    if not _RULES_PATH.search(path):
        return None
    shown = _REMINDER.sub("", message.text)
    return path, re.sub(r"^\s*\d+(?:→|\t|: )", "", shown, flags=re.MULTILINE)


def _sections(session: SessionFacts, cut: int) -> Iterator[tuple[str, int, str, list[str]]]:
    """(source, seq, heading, items) of each section of rules files and briefs that were given or read."""
    for seq, message in enumerate(session.messages[:cut]):
        named = _rules_in(session, message)
        for part in _HEADING.split(without_code(named[1])) if named else ():
            head, _, body = part.partition("\n")
            lines = (re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+|\*\*", "", line).strip() for line in body.splitlines())
            items = [line for line in lines if len(terms(line)) >= 3 and not line.startswith("|")]
            if named and items and _HEADING.match(part):
                yield named[0], seq, head.strip("#*: ").strip(), items
