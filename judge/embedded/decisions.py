"""Decisions of the person: answers to questions, plans approved or refused, calls refused, choices in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from compaction.reading.prose import sentences, shorten, terms
from compaction.transcript import ToolCall
from judge.embedded.facts import Candidate, SessionFacts
from judge.embedded.own_words import FILLING, own_words
from judge.statement import Statement

MAX_STEPS = 8
MAX_REPLY = 300
"""Characters of an answer that somebody gives in passing."""

MIN_OWN = 3
"""Content words of an answer that are not the question's."""

MAX_QUOTE = 90
"""Characters of a call that a question quotes."""

_PLAN_TOOL = re.compile(r"exit_?plan|present_plan|propose_plan", re.IGNORECASE)
_STEP = re.compile(
    r"(?:step |phase )?\d+\b|(?:create|add|modify|update|implement|fix|remove|test|write)\b", re.IGNORECASE
)
_INTRODUCES = re.compile(r"(?:context|overview|background|summary|goals?|problem|motivation)\b", re.IGNORECASE)
_APPROVED = re.compile(r"approved|accepted|you can now (?:start|proceed)", re.IGNORECASE)
_REFUSED = re.compile(
    r"^(?:The user (?:doesn't want|rejected|declined|denied)|Permission for this tool use was denied|User rejected|"
    r".{0,20}rejected by (?:the )?user)",
    re.IGNORECASE,
)
_SAID = re.compile(r"the user said:\s*(.+)", re.IGNORECASE | re.DOTALL)
_ANSWER = re.compile(r'"([^"\n]{3,400})"\s*=\s*"([^"\n]{1,400})"')
_RESPONDED = re.compile(r"user (?:responded|answered|selected|chose)[^:]{0,20}:\s*(.{1,300})", re.IGNORECASE)
_DIRECTS = re.compile(
    r"\b(?:no|don't|do not|not|instead|should|rather|prefer\w*|stop|use|keep|let's|want|would have|just|only|never)\b",
    re.IGNORECASE,
)
_CHOOSES = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yeah|no|alright|actually|so|and|but|then|great|cool|fine|hm+)\b[,.!:; ]*)*"
    r"(?:let'?s |(?:i|we) (?:want|prefer|would prefer|'d prefer|decided|should use|chose)|i'd (?:rather|prefer)|use|"
    r"keep|go with|stick (?:to|with)|prefer|make it|call it|name it|drop|skip|(?:just )?(?:go ahead|do it|start))\b",
    re.IGNORECASE,
)
_NORM = re.compile(
    r"\b(?:should(?:n't| not)?|must(?:n't| not)?) (?!have\b|work|happen|never happen)\w+|\bneeds? to be\b|"
    r"\bno need (?:to|for)\b|^no \w+ \w+!|\bdon'?t (?:set|use|modify|add|touch|change|make)\b",
    re.IGNORECASE,
)
_NO_NORM = re.compile(
    r"\b(?:i (?:don'?t )?(?:guess|think|see|know)|be (?:good|fine|able)|let me|not sure|maybe|where|tell me|adhere)\b|"
    r"[❯➜{}]|^(?:can|could|would|what|why|how)\b",
    re.IGNORECASE,
)
"""How the person says what the work has to be like, and what only sounds like it."""

_REPLIES = re.compile(r"(?:yes|yeah|yep|no|nope|both|neither|all of|none)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"\b(?:option|variant|approach|number) *#?\w\b|^\W*\w\W*$", re.IGNORECASE)
"""A choice by a number or letter, which says nothing without the list."""

_CONTRAST = re.compile(
    r"\b(?:instead of|rather than|as opposed to|(?:and|but) not|, not) (.{3,80}?)(?:[.,;!]|$)", re.IGNORECASE
)


def decisions(session: SessionFacts, cut: int) -> list[Candidate]:
    """Candidates for a decision probe at a point, the surest proof first."""
    return [*_answers(session, cut), *_plans(session, cut), *_refusals(session, cut), *_choices(session, cut)]


def _decided(text: str, seq: int, foils: tuple[str, ...] = ()) -> Statement:
    return Statement("decision", text, (seq,), (text,), foils=foils)


def _answers(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """Questions that a tool put to the person, with the options and the choice."""
    for _, call, result in session.tool_calls(cut):
        for asked, options in _list_asked(call.parsed()) if not result.is_error else ():
            chosen = _answer_to(asked, options, result.text)
            if chosen:
                foils = tuple(option for option in options if option not in chosen)
                statement = Statement("decision", f"{asked} {chosen}", (result.seq or 0,), (chosen,), foils=foils)
                question = f"What did the person answer to “{shorten(asked, 200)}”?"
                yield Candidate("answer", question, chosen, (statement,))


def _list_asked(values: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """(question, labels of the options) of each question in a call's arguments."""
    listed = values.get("questions")
    for item in listed if isinstance(listed, list) else [values]:
        if isinstance(item, dict) and isinstance(item.get("question"), str):
            options = item.get("options") or item.get("choices") or []
            labels = (
                [o.get("label") if isinstance(o, dict) else o for o in options] if isinstance(options, list) else []
            )
            if labels or listed:
                yield item["question"], [str(label) for label in labels if label]


def _answer_to(asked: str, options: list[str], text: str) -> str:
    """The person's answer to a question, read from the call's result."""
    pairs = dict(_ANSWER.findall(text))
    if asked in pairs:
        return str(pairs[asked])
    named = [option for option in options if re.search(rf"(?<!\w){re.escape(option)}(?!\w)", text)]
    said = _RESPONDED.match(text)
    return named[0] if len(named) == 1 else said[1].strip() if said else ""


def _plans(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """Plans that were put to the person, and what became of them, the last one first."""
    for message, call, result in reversed(list(session.tool_calls(cut))):
        plan = call.parsed().get("plan") if _PLAN_TOOL.search(call.name) else None
        heads = (
            [h.strip("# *").strip() for h in re.findall(r"^#{1,4} .+$", plan, re.MULTILINE)]
            if isinstance(plan, str)
            else []
        )
        refused = result.is_error or _REFUSED.match(result.text) is not None
        if heads and (refused or _APPROVED.search(result.text[:200])):
            steps = [head for head in heads[1:] if not _INTRODUCES.match(head)]
            if len(steps) > MAX_STEPS or not all(map(_STEP.match, steps)):
                steps = []  # nobody tells which of them are the plan
            statements = [_decided(heads[0], result.seq or 0), *(_decided(step, message.seq or 0) for step in steps)]
            asked = f"Which plan did the person {'refuse' if refused else 'approve'}"
            asked += ", and which steps does it have?" if steps else "?"
            yield Candidate("plan", asked, "; ".join(s.text for s in statements), tuple(statements))


def _refusals(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """Calls that the person refused, where they said what to do or not to do."""
    refused = [(call, result) for _, call, result in session.tool_calls(cut) if _REFUSED.match(result.text)]
    named = Counter(_call_words(call) for call, _ in refused)
    for call, result in refused:
        said = _SAID.search(result.text) if named[_call_words(call)] == 1 else None
        words = " ".join(said[1].split("\n\nNote:")[0].split()) if said else ""
        if (
            len(terms(words)) >= MIN_OWN
            and len(words) <= MAX_REPLY
            and not words.endswith("?")
            and _DIRECTS.search(words)
        ):
            question = f"What did the person say when they refused {_call_words(call)}?"
            yield Candidate("refusal", question, words, (_decided(words, result.seq or 0),))


def _call_words(call: ToolCall) -> str:
    values = call.parsed()
    keys = ("command", "cmd", "file_path", "path", "filePath", "pattern", "prompt")
    told = next((values[key] for key in keys if isinstance(values.get(key), str)), "")
    return f"the call of {call.name} with `{shorten(told, MAX_QUOTE)}`" if told else f"a call of {call.name}"


def _choices(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """Yield the person's answers and choices after the agent had ended its turn; a short message counts whole."""
    for message in session.person:
        seq, words = message.seq or 0, own_words(message.text)
        before = session.before(seq)
        told = session.told_before(seq, cut) if seq < cut and len(words) <= MAX_REPLY else ""
        said = sentences(words) if told else []
        demands = bool(said) and _NORM.search(said[0]) and not any(map(_NO_NORM.search, said))
        demands = demands and not session.is_taken_up(message, cut)
        offered = set(terms(before.text)) if before and not demands else set()
        own = {term for sentence in said for term in terms(sentence)} - offered - FILLING
        chooses = said and (_CHOOSES.search(said[0]) or (told.endswith("?") and _REPLIES.match(said[0])))
        if (
            (chooses or demands)
            and len(own) >= MIN_OWN
            and not any(s.endswith("?") or _NUMBERED.search(s) for s in said)
        ):
            statements = tuple(_decided(s, seq, tuple(_CONTRAST.findall(s))) for s in said)
            question = f"What did the person answer when the agent had ended with “{shorten(told, 200)}”?"
            yield Candidate("choice", question, " ".join(said), statements)
