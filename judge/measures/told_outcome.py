"""Whether a context says of a matter that it is done or still open: a to-do list's item, a test."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from compaction.reading.todos import latest_todos
from compaction.recognition.words import shared_words, tokens
from compaction.transcript import Message
from judge.measures.labelled_statements import MAX_LINE, statements

Outcome = Literal["open", "done"]

SAME_MATTER = 0.75
"""Share of a matter's words that a line about it has."""

_OPEN = re.compile(
    r"\[[ ~-]\]|[☐□]|\b(?:open|pending|to-?do|remain\w*|left|next|outstanding|in[ _-]progress|un\w+ed|not|no|cannot|"
    r"still|fail\w*|red|broken|needs?|must|should|yet)\b|n't\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\[[xX]\]|[✅✓✔☑]|\b(?:done|complete[sd]?|finish(?:es|ed)|implemented|resolved|fixed|closed|pass(?:es|ed|ing)?|"
    r"succe\w+|green)\b",
    re.IGNORECASE,
)


def told_outcome(matter: str, context: Sequence[Message]) -> Outcome | None:
    """What the last list or line about a matter says of it; None where none is about it or says either."""
    asked = frozenset(token.text for token in tokens(matter))
    todo = latest_todos(context)
    for item in todo.items if todo else ():
        if shared_words(matter, item.text) >= SAME_MATTER:
            return "done" if item.status == "done" else "open"
    last: Outcome | None = None
    for message in context:
        if message.role != "tool" and not message.tool_calls:
            for said, around in _lines(message.text):
                if len(asked & said) >= SAME_MATTER * len(asked):
                    last = _outcome(around, matter) or last
    return last


@lru_cache(maxsize=512)
def _lines(text: str) -> tuple[tuple[frozenset[str], str], ...]:
    """The words of each line of a text, and the line after its label."""
    return tuple(_worded(text))


def _worded(text: str) -> Iterator[tuple[frozenset[str], str]]:
    for statement in statements(text):
        if len(statement.text) <= MAX_LINE:
            yield frozenset(token.text for token in tokens(statement.text)), statement.whole


def _outcome(line: str, matter: str) -> Outcome | None:
    """Open or done by the words of a line that are not the matter's own."""
    own = {word.lower() for word in re.findall(r"\w+", matter)}
    marks = [(m[0].lower(), "open") for m in _OPEN.finditer(line)] + [
        (m[0].lower(), "done") for m in _DONE.finditer(line)
    ]
    found = {outcome for mark, outcome in marks if mark not in own}
    return "open" if "open" in found else "done" if "done" in found else None
