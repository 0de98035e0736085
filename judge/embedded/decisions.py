"""What was decided: by the person, who answers, approves, refuses and chooses; by the agent, where an edit bears it out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from compaction.reading.prose import sentences, shorten, split_reason, terms
from compaction.reading.tool_calls import call_effects
from compaction.transcript import Message, ToolCall
from judge.embedded.facts import Candidate, SessionFacts
from judge.embedded.own_words import FILLING, own_words
from judge.probe import Statement

MIN_CHARS, MAX_CHARS = 25, 400
REACH = 40
"""Messages within which a choice has to be borne out."""

MAX_STEPS = 8
MAX_REPLY = 300
"""Characters of an answer that somebody gives in passing."""

MAX_QUOTE = 90
"""Characters of a message or call that a question quotes."""

_PLAN_TOOL = re.compile(r"exit_?plan|present_plan|propose_plan", re.IGNORECASE)
_APPROVED = re.compile(r"approved|accepted|you can now (?:start|proceed)", re.IGNORECASE)
_REFUSED = re.compile(
    r"^(?:The user doesn't want|Permission for this tool use was denied|User rejected|The user (?:rejected|declined|denied)|"
    r".{0,20}rejected by (?:the )?user)",
    re.IGNORECASE,
)
_SAID = re.compile(r"the user said:\s*(.+)", re.IGNORECASE | re.DOTALL)
_ANSWER = re.compile(r'"([^"\n]{3,400})"\s*=\s*"([^"\n]{1,400})"')
_CONTRAST = re.compile(
    r"^.{0,60}?\b(?:replac\w+ |from )(?P<other3>`[^`]{3,60}`) (?:with|to) (?P<chosen3>`.{3,}?)[.!:]?$|"
    r"^(?P<chosen>.{8,}?),? (?:instead of|rather than|in favou?r of|as opposed to|(?:and|but) not) (?P<other>.{3,}?)[.!:]?$|"
    r"^(?P<chosen2>.{8,}?), not (?P<other2>.{3,}?)[.!:]?$",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yeah|no|alright|actually|so|and|but|also|then|great|cool|fine|hm+)\b[,.!:; ]*)*"
    r"(?:let'?s (?:go with|use|keep|do|not|make|drop|skip|stick)|(?:i|we) (?:want|prefer|would prefer|'d prefer|decided|should use|chose)|"
    r"i'd (?:rather|prefer)|use|keep|go with|stick (?:to|with)|prefer|make it|call it|name it|drop|skip)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"`([^`\n]{3,80})`|\b([A-Za-z_]\w*(?:_\w+|\.\w+|[a-z][A-Z]\w*)(?:\(\))?)")
_DIRECTS = re.compile(
    r"\b(?:no|don't|do not|not|instead|should|rather|prefer\w*|stop|use|keep|let's|want|would have|just|only|never|always|please)\b",
    re.IGNORECASE,
)
_REPLIES = re.compile(r"(?:yes|yeah|yep|no|nope|both|neither|either|the (?:first|second|third|latter|former)|all of|none)\b", re.IGNORECASE)
_ASIDE = re.compile(r"(?:also|btw|by the way|another|wait)\b", re.IGNORECASE)
MIN_OWN = 3
"""Content words of an answer that are not the question's."""

_OPEN = re.compile(
    r"\?|\b(?:if|when|whether|maybe|perhaps|might|could|would|should (?:i|we|be|have|return|use)|not sure|i think|probably|seems?|either|"
    r"currently|was|were|wrong\w*|bug|problem|issue|instead of \w+ing an? error|expects?|expected|because it|returns|is using|it uses|why|test)\b",
    re.IGNORECASE,
)
_COMMITS = re.compile(
    r"\b(?:i'll|i will|we'll|let's|let me|i'm going to|i'm (?:now )?(?:us|keep|switch|replac|mov|mak|chang|leav|treat|preserv|updat|stor)ing|"
    r"i need to|we need to|we should|i should|i've|i (?:changed|replaced|switched|moved|kept|used|updated|made)|now i)\b|"
    r"^(?:now )?(?:use|keep|replace|switch|move|change[ds]?|update[ds]?|make|store|modify|fix(?:ed)?|replaced|switched|refactor(?:ed)?)\b",
    re.IGNORECASE,
)


def decisions(session: SessionFacts, since: int, cut: int) -> list[Candidate]:
    """What can be asked for at a point, the surest proof first."""
    found = [*_answers(session, cut), *_plans(session, cut), *_refusals(session, since, cut)]
    return [*found, *_choices(session, cut), *_contrasts(session, cut)]


def _decision(text: str, seq: int, *quotes: str, foils: tuple[str, ...] = ()) -> Statement:
    return Statement("decision", shorten(text, MAX_CHARS), (seq,), quotes, foils=foils)


def _answers(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """Questions that a tool put to the person, with the options and the choice."""
    for message, call, result in session.tool_calls(cut):
        if result is None or result.is_error:
            continue
        for asked, options in _asked(call.parsed()):
            chosen = _answer_to(asked, options, result.text)
            if chosen and asked:
                foils = tuple(option for option in options if option not in chosen)
                statement = _decision(f"{asked} {chosen}", result.seq or 0, chosen, foils=foils)
                given = f" The options were: {'; '.join(options)}." if options else ""
                yield Candidate("answer", f"What did the person answer to “{shorten(asked, 200)}”?{given}", chosen, (statement,))


def _asked(values: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """(question, labels of the options) of each question in a call's arguments."""
    listed = values.get("questions")
    for item in listed if isinstance(listed, list) else [values]:
        if not isinstance(item, dict) or not isinstance(item.get("question"), str):
            continue
        options = item.get("options") or item.get("choices") or item.get("answers") or []
        labels = [o.get("label") if isinstance(o, dict) else o for o in options] if isinstance(options, list) else []
        if labels or listed:
            yield item["question"], [str(label) for label in labels if label]


def _answer_to(asked: str, options: list[str], text: str) -> str:
    """What the result says was answered."""
    pairs = {question: answer for question, answer in _ANSWER.findall(text)}
    if asked in pairs:
        return pairs[asked]
    named = [option for option in options if re.search(rf"(?<!\w){re.escape(option)}(?!\w)", text)]
    if len(named) == 1:
        return named[0]
    said = re.match(r"(?:user (?:responded|answered|selected|chose)[^:]{0,20}:)\s*(.{1,300})", text, re.IGNORECASE)
    return said[1].strip() if said else ""


def _plans(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """Plans that were put to the person, and what became of them; the last one counts."""
    for message, call, result in session.tool_calls(cut):
        plan = call.parsed().get("plan")
        if not _PLAN_TOOL.search(call.name) or not isinstance(plan, str) or result is None:
            continue
        heads = [h.strip("# *").strip() for h in re.findall(r"^#{1,4} .+$", plan, re.MULTILINE)]
        if not heads:
            continue
        refused = result.is_error or _REFUSED.match(result.text) is not None
        if not refused and not _APPROVED.search(result.text[:200]):
            continue
        steps = [h for h in heads[1:] if re.match(r"(?:step |phase )?\d+\b|(?:create|add|modify|update|implement|fix|remove|test|write)\b", h, re.I)]
        verb = "refused" if refused else "approved"
        statements = [_decision(f"The person {verb} the plan: {heads[0]}", result.seq or 0, heads[0])]
        statements += [_decision(step, message.seq or 0, step) for step in steps[:MAX_STEPS]]
        asked = f"Which plan did the person {'refuse' if refused else 'approve'}" + (", and which steps does it have?" if steps else "?")
        yield Candidate("plan", asked, "; ".join(s.text for s in statements), tuple(statements))


def _refusals(session: SessionFacts, since: int, cut: int) -> Iterator[Candidate]:
    """Calls that the person refused, where they said why or what instead."""
    for message, call, result in session.tool_calls(cut):
        if result is None or not _REFUSED.match(result.text) or (result.seq or 0) < since:
            continue
        said = _SAID.search(result.text)
        words = " ".join(said[1].split("\n\nNote:")[0].split()) if said else ""
        if len(terms(words)) < 3 or len(words) > MAX_REPLY or words.endswith("?") or not _DIRECTS.search(words):
            continue
        what = _call_words(call)
        statement = _decision(words, result.seq or 0)
        yield Candidate("refusal", f"What did the person say when they refused {what}?", words, (statement,))


def _call_words(call: ToolCall) -> str:
    values = call.parsed()
    for key in ("command", "cmd", "file_path", "path", "filePath", "pattern", "prompt"):
        if isinstance(values.get(key), str):
            return f"the call of {call.name} with `{shorten(values[key], MAX_QUOTE)}`"
    return f"a call of {call.name}"


def _choices(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """What the person chose in words of their own: against something else, or when the agent had asked."""
    for message in session.person:
        seq = message.seq or 0
        if seq >= cut:
            break
        yield from _option(session, message)
        said = sentences(own_words(message.text))
        for sentence in said:
            parts = _parts(sentence)
            if parts and _PERSON.search(sentence) and not sentence.endswith("?"):
                statement = _decision(sentence, seq, sentence, foils=(parts[1],))
                yield Candidate("choice", f"What did the person want instead of “{parts[1]}”?", sentence, (statement,))
        before = session.messages[seq - 1] if seq else None
        if before is None or before.role != "assistant" or before.tool_calls or len(own_words(message.text)) > MAX_REPLY:
            continue
        told = (sentences(before.text) or [""])[-1]
        asked = set(terms(told)) if told.endswith("?") else set()
        fits = [s for s in said if _PERSON.search(s) or (asked and (_REPLIES.match(s) or asked & set(terms(s))))]
        own = {term for s in fits for term in terms(s)} - asked - FILLING
        if told and fits == said and len(own) >= MIN_OWN and not any(s.endswith("?") or _ASIDE.match(s) for s in said):
            statements = tuple(_decision(sentence, seq, sentence) for sentence in fits)
            question = f"What did the person answer when the agent had ended with “{shorten(told, 200)}”?"
            yield Candidate("reply", question, " ".join(fits), statements)


def _option(session: SessionFacts, message: Message) -> Iterator[Candidate]:
    """An option that the agent had numbered and the person took by its number."""
    said = re.match(
        r"^(?:ok(?:ay)?[,. ]+|yes[,. ]+|let'?s (?:go with|do|use)\s+|go with\s+|i(?:'d)? (?:prefer|like|choose|want)\s+|use\s+)*"
        r"(?:option|variant|approach|choice|number)?\s*#?([1-9A-Ea-e])[.!)]?(?:\s|$)",
        own_words(message.text),
        re.IGNORECASE,
    )
    before = next((m for m in reversed(session.messages[: message.seq]) if m.role == "assistant" and m.text.strip()), None)
    if said is None or before is None or len(message.text) > 120:
        return
    found = re.findall(r"^[\s#>*-]*(?:option|variant|approach)?\s*([1-9A-E])[.):]\**\s+(.{10,300})$", before.text, re.MULTILINE | re.IGNORECASE)
    options = {mark.lower(): re.sub(r"[*`_]{2,}", "", text).strip() for mark, text in found}
    mark = said[1].lower()
    if len(options) < 2 or len(options) != len(found) or mark not in options:
        return
    foils = tuple(text for key, text in options.items() if key != mark)
    statement = Statement("decision", options[mark], (before.seq or 0,), (options[mark],), foils=foils)
    question = f"The agent offered options; the person answered “{shorten(own_words(message.text), MAX_QUOTE)}”. Which option is that?"
    yield Candidate("option", question, options[mark], (statement,))


def _parts(sentence: str) -> tuple[str, str] | None:
    """(what was chosen, what it was chosen against) of a contrast."""
    if not MIN_CHARS <= len(sentence) <= MAX_CHARS:
        return None
    match = _CONTRAST.match(sentence.replace("’", "'"))
    if match is None:
        return None
    chosen = match["chosen"] or match["chosen2"] or match["chosen3"]
    other = match["other"] or match["other2"] or match["other3"]
    other = re.split(r",|;| (?:because|since|so that|as|to|for|when|in order|which|and|by|if|in the)\b", other)[0].strip()
    return (chosen, other) if terms(chosen) and terms(other) and len(other) < 100 else None


def _contrasts(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """The agent's own contrasts whose chosen name an edit beside or soon after them writes, and nothing takes out again."""
    for message in session.messages[:cut]:
        if message.role != "assistant":
            continue
        for sentence in sentences(message.text):
            parts = _parts(sentence)
            if parts is None:
                continue
            chosen, other = parts
            names, others = _names(chosen) - _names(other), _names(other) - _names(chosen)
            proof = _borne_out(session, message.seq or 0, names, others, cut) if names and others else ""
            if proof != "replaced" and (proof != "written" or not _COMMITS.search(sentence) or _OPEN.search(sentence)):
                continue
            decided, reason = split_reason(sentence)
            statements = [_decision(decided, message.seq or 0, sentence, foils=(other,))]
            if reason:
                statements.append(Statement("reason", reason, (message.seq or 0,), (sentence,)))
            asked = f"What was chosen instead of “{other}”{' and why' if reason else ''}?"
            yield Candidate("contrast", asked, sentence, tuple(statements))


def _names(text: str) -> set[str]:
    return {(one or two).removesuffix("()") for one, two in _NAME.findall(text)}


def _borne_out(session: SessionFacts, seq: int, names: set[str], others: set[str], cut: int) -> str:
    """``replaced``: an edit puts a chosen name in the place of what it was chosen against; ``written``: it writes it.

    Empty where no edit does, or a later one before the cut takes it back.
    """
    proof = ""
    for position in range(seq, min(cut, len(session.messages))):
        for _, new, old in session.edits(position):
            comes = any(n in new and n not in old for n in names)
            if comes and position <= seq + REACH:
                proof = "replaced" if proof == "replaced" or any(o in old and o not in new for o in others) else "written"
            elif any(n in old and n not in new for n in names) and any(o in new and o not in old for o in others):
                proof = ""
        if not proof and position <= seq + REACH and any(names & set(op.details) for op in session.ops.get(position, ())):
            proof = "written"
    return proof
