"""What is still to be done at a point: the to-do list, failing tests, the open request, what was announced last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from compaction.points import LOOKAHEAD
from compaction.reading.file_effects import same_file
from compaction.reading.prose import sentences, shorten, terms
from compaction.reading.run_reports import MAX_REASON
from compaction.transcript import Message
from judge.embedded.cues import is_name
from judge.embedded.facts import SessionFacts, make_fact
from judge.embedded.own_words import agrees, asked_for, own_words
from judge.statement import Statement

MAX_AGE = 10
"""Messages after which an announcement no longer says what comes next."""

MAX_FAILING = 10

_STEP = re.compile(
    r"\b(?:next,? (?:i|we|let|step)|now,? (?:i|let|we)|i'll|i will|i need to|we need to|i'm going to|let's|let me|"
    r"then i|"
    r"i still|we still|remaining (?:is|are|steps?|tasks?|work))\b",
    re.IGNORECASE,
)
"""Announcements of what the agent is about to do."""

_LATER = re.compile(
    r"\b(?:next(?:,| i| we| step| up)|(?:and |, )then (?:i|we|run|add|update|test|fix|write)|after (?:that|this)|"
    r"afterwards?|once "
    r"(?:that|this|it)|remaining|still (?:need|to do|have to|missing)|left to do|(?:i|we)(?:'ll| will) (?:also|"
    r"then))\b",
    re.IGNORECASE,
)
"""Announcements of more than the call that stands beside them."""

_NO_STEP = re.compile(
    r"\blet me know\b|\bif you\b|\bwould you\b|\bfeel free\b|\bplease confirm\b|^(?:so,? |but )?if\b|"
    r"\b(?:let's|let me|i'll|i will|i need to) (?:also |now |first |just |quickly |double-)*(?:check|look|see|verify|"
    r"find|view|"
    r"examine|read|search|try)\b",
    re.IGNORECASE,
)
"""Offers, conditions, and looks at something, which say nothing of what is left to do."""

_DELIVERABLE = re.compile(
    r"\b(?:write|create|add|save|produce|generate|put)\b[^.?!\n]{0,80}?[\s`'\"(]((?:[\w.-]+/)*[\w-]+\.[a-z]{1,5})\b",
    re.IGNORECASE,
)


def open_work(session: SessionFacts, cut: int) -> Iterator[tuple[Statement, str]]:
    """Each open matter at ``cut`` with the words of the history that say it, the most binding first."""
    yield from _todo_items(session, cut)
    yield from _failing_tests(session, cut)
    following = session.messages[cut : cut + LOOKAHEAD]
    request = open_request([m for m in session.person if (m.seq or 0) < cut], session.messages[:cut], following)
    if request is not None:
        sentence = asked_for(request.text)
        fact = make_fact("request", sentence, request) if sentence else None
        if fact is not None:
            yield fact, sentence
        yield from _deliverables(session, cut, request)
    step = announced(session.messages[:cut])
    fact = make_fact("next_step", step[1], step[0]) if step else None
    if step is not None and fact is not None:
        yield fact, step[1]


def open_request(
    person: Sequence[Message], messages: Sequence[Message], following: Sequence[Message]
) -> Message | None:
    """The person's last request, if the agent has not yet ended its turn on it.

    A turn has ended with a message of the agent without tool calls that the person then answers, or would have to. An
    answer that only agrees opens the request again.

    Args:
        person: The messages that a person wrote, in order.
        messages: The history, or what is left of it.
        following: What the session went on with.
    """
    request = next((m for m in reversed(person) if not agrees(m.text)), None)
    if request is None:
        return None
    start = next((i for i, message in enumerate(messages) if message is person[-1]), len(messages)) + 1
    later = [*messages[start:], *following]
    for i in range(len(messages) - start):
        ends = later[i].role == "assistant" and not later[i].tool_calls and later[i].text.strip()
        if ends and i + 1 < len(later) and later[i + 1].role == "user":
            return None
    return request


def _todo_items(session: SessionFacts, cut: int) -> Iterator[tuple[Statement, str]]:
    todo = session.todos(cut)
    for item in todo.items if todo else ():
        source = session.messages[max(todo.seq, 0) if todo else 0]
        fact = make_fact("open_task", item.text, source) if item.status != "done" else None
        if fact is not None:
            yield fact, item.text


def _failing_tests(session: SessionFacts, cut: int) -> Iterator[tuple[Statement, str]]:
    seq, failing = session.failing(cut) or (0, [])
    for test, reason in failing[:MAX_FAILING]:
        value = shorten(f"{test}: {reason}" if reason else test, MAX_REASON)
        if terms(test):
            yield Statement("failing_test", value, (seq,), exact=(test,)), test


def _deliverables(session: SessionFacts, cut: int, request: Message) -> Iterator[tuple[Statement, str]]:
    """Files that the open request asks for and that nothing has written since."""
    for path in dict.fromkeys(_DELIVERABLE.findall(own_words(request.text))):
        written = (
            op.verb in ("created", "modified", "moved") and same_file(op.path.lower(), path.lower())
            for seq in range(request.seq or 0, cut)
            for op in session.ops.get(seq, ())
        )
        if is_name(path) and not any(written):
            yield Statement("open_task", f"write {path}", (request.seq or 0,)), path


def announced(messages: Sequence[Message]) -> tuple[Message, str] | None:
    """What the agent last said it would do and has not begun, if nobody has asked for something else since."""
    recent = [m for m in messages[-MAX_AGE:] if m.role in ("user", "assistant")]
    calls = 0
    for message in reversed(recent):
        if message.role == "user":
            if not agrees(message.text):
                return None
            continue
        calls += bool(message.tool_calls)
        said = [
            sentence
            for sentence in sentences(message.text)
            if _STEP.search(sentence.replace("’", "'"))
            and not _NO_STEP.search(sentence.replace("’", "'"))
            and (calls == 0 or (calls == 1 and _LATER.search(sentence)))
            and not sentence.endswith((":", "?"))
            and len(terms(sentence)) >= 3
        ]
        if said:
            return message, said[-1]
    return None
