"""Finds whether a context calls a matter done or still open: a to-do list's item, a test."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from compaction.reading.todos import TodoList
from compaction.recognition.words import shared_words, tokens
from compaction.transcript import Message
from judge.measures.labelled_statements import MAX_LINE, joined, statements

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


def told_outcome(matter: str, context: Sequence[Message], todo: TodoList | None) -> Outcome | None:
    """The outcome of a matter in the context's to-do list, else in the last line about it; None without either."""
    for item in todo.items if todo else ():
        if shared_words(matter, item.text) >= SAME_MATTER:
            return "done" if item.status == "done" else "open"
    told = (_said_last(matter, m.text) for m in reversed(context) if m.role != "tool" and not m.tool_calls)
    return next(filter(None, told), None)


@lru_cache(maxsize=4_096)
def _said_last(matter: str, text: str) -> Outcome | None:
    asked = _words(matter)
    for label, said in reversed(_find_marked(text)):
        if len(asked & _words(said)) >= SAME_MATTER * len(asked) and (outcome := _outcome(f"{label}: {said}", matter)):
            return outcome
    return None


@lru_cache(maxsize=2_048)
def _find_marked(text: str) -> tuple[tuple[str, str], ...]:
    """Label and text of the statements that call anything open or done."""
    return tuple(
        (joined(heading, one.label), one.text)
        for heading, said in statements(text)
        for one in said
        if len(one.text) <= MAX_LINE and (_is_marked(one.text) or _is_marked(joined(heading, one.label)))
    )


@lru_cache(maxsize=16_384)
def _is_marked(text: str) -> bool:
    return bool(_OPEN.search(text) or _DONE.search(text))


@lru_cache(maxsize=4_096)
def _words(text: str) -> frozenset[str]:
    return frozenset(token.text for token in tokens(text))


def _outcome(line: str, matter: str) -> Outcome | None:
    """Open or done by the words of a line that are not the matter's own."""
    own = {word.lower() for word in re.findall(r"\w+", matter)}
    marks = [(m[0].lower(), "open") for m in _OPEN.finditer(line)] + [
        (m[0].lower(), "done") for m in _DONE.finditer(line)
    ]
    found = {outcome for mark, outcome in marks if mark not in own}
    return "open" if "open" in found else "done" if "done" in found else None
