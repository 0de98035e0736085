"""Lines of the session pinned word for word on top of any other strategy; no model is asked.

What is a constraint, and what is an open item, is told by rules of this module's own, of words and signs alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from compaction.markers import SHORTENED, Marker
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.around import put_in, run_without
from compaction.strategies.shared.parts import stands_for
from compaction.strategy import History, Method
from compaction.transcript import Message, ToolCall

CONSTRAINTS = "[What the user demanded, word for word, from messages that are no longer in the context.]"
OPEN_ITEMS = "[Items of the agent's last list that were still open, word for word.]"
EARLIER = "- and {n} earlier"

PIN_TOKENS = 1000
MAX_LINE = 400
"""Characters; a longer sentence is as a rule data."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'`(\[])|\n+")
_DEMAND = re.compile(
    r"\b(?:must|never|always|only|shall|cannot|can't|don['’]t|do not|should(?: not|n['’]t)?|mustn['’]t|may not|"
    r"avoid|without|require[sd]?|at most|at least|no more than|make sure|ensure|forbidden|not allowed)\b"
    r"|必须|不要|不能|只能|禁止|务必",
    re.IGNORECASE,
)
_ASKING = re.compile(r"\?\s*$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_BOX = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+\[([ xX~-])\]\s+(\S.*)$", re.MULTILINE)
_DONE = ("done", "complete", "completed", "finished", "cancelled", "canceled", "deleted", "skipped")
_TEXT_KEYS = ("content", "step", "title", "subject", "description", "text", "name")


@strategy(
    "constraint_pinning",
    version=1,
    wraps=("over", "af_py_sliding_window"),
    by_default=False,
    markers=(
        Marker(CONSTRAINTS, "intent:"),
        Marker(EARLIER, SHORTENED, "line", made=True),
    ),
    bites={"over": "af_py_sliding_window(keep_last_groups=3)"},
)
def constraint_pinning(history: History, over: Method, *, pin_tokens: Positive = PIN_TOKENS) -> Sequence[Message]:
    """The context of another strategy (``over``), and the user's demands that are gone from it, word for word.

    A demand is a sentence or line of a user's message with a word such as must, never, only, without or at most, that
    is no question, no code and not over 400 characters. Those of messages that are no longer there as they were said
    are listed where the system prompt ends, each once, but for those that another of the user's messages or a summary
    has. Beyond ``pin_tokens`` the oldest go, and a first line says how many. They are found in the whole session, so in
    a chain none is forgotten.
    """
    left = run_without(history, over, CONSTRAINTS)
    stays = {message.seq: message.text for message in left if message.seq is not None}
    demands: dict[str, Message] = {}
    for message in history.session:
        if message.role == "user" and message.seq is not None and stays.get(message.seq) != message.text:
            for line in find_demands(message.text):
                demands.pop(line, None)
                demands[line] = message
    standing = (message.text for message in left if message.role == "user" or message.seq is None)
    here = {line for text in standing for line in find_demands(text)}
    return _pin(history, left, CONSTRAINTS, demands, pin_tokens, here)


@strategy(
    "checklist",
    version=1,
    wraps=("over", "af_py_sliding_window"),
    by_default=False,
    markers=(
        Marker(OPEN_ITEMS, "next_steps:"),
        Marker(EARLIER, SHORTENED, "line", made=True),
    ),
    bites={"over": "af_py_sliding_window(keep_last_groups=3)"},
)
def checklist(history: History, over: Method, *, pin_tokens: Positive = PIN_TOKENS) -> Sequence[Message]:
    """The context of another strategy (``over``), and the open items of the agent's last list, word for word.

    The last list is that of the newest message of the agent's with unchecked or checked boxes in its text or its calls,
    or with a call that has a list of objects with a status. Where that message stays as it was, or nothing is open,
    nothing is added. Items stand where the system prompt ends; beyond ``pin_tokens`` the first go. A list that is kept
    item by item (``TaskUpdate``) is not read.
    """
    left = run_without(history, over, OPEN_ITEMS)
    for message in reversed(history.session):
        items = _list_items(message) if message.role == "assistant" and message.seq is not None else []
        if items:
            break
    else:
        return left
    if any(m.seq == message.seq and (m.text, m.tool_calls) == (message.text, message.tool_calls) for m in left):
        return left
    found = {text: message for text, is_open in items if is_open}
    return _pin(history, left, OPEN_ITEMS, found, pin_tokens)


def _pin(
    history: History,
    left: Sequence[Message],
    mark: str,
    lines: Mapping[str, Message],
    max_tokens: int,
    here: Set[str] = frozenset(),
) -> Sequence[Message]:
    """These messages with a list of the last lines that fit, without those that are there already."""
    fitting: list[str] = []
    for line in reversed(list(lines)):
        max_tokens -= history.counter.count(f"- {line}\n")
        if max_tokens < 0:
            break
        fitting.append(line)
    listed = [line for line in reversed(fitting) if line not in here]
    if not listed:
        return left
    more = [EARLIER.format(n=len(lines) - len(fitting))] if len(fitting) < len(lines) else []
    text = "\n".join([mark, "", *more, *(f"- {line}" for line in listed)])
    return put_in(history, left, Message("user", text, covers=stands_for(lines[line] for line in listed)), mark)


def find_demands(text: str) -> Iterator[str]:
    """The sentences and lines of a text that demand something, in order."""
    in_code = False
    for line in text.splitlines():
        if _FENCE.match(line):
            in_code = not in_code
        elif not in_code and _DEMAND.search(line):
            for part in _SENTENCE.split(line):
                sentence = part.strip(" \t-*>#•")
                if 10 <= len(sentence) <= MAX_LINE and _DEMAND.search(sentence) and not _ASKING.search(sentence):
                    yield sentence


def _list_items(message: Message) -> list[tuple[str, bool]]:
    """The items of a message's list, and whether each is open."""
    for call in reversed(message.tool_calls):
        has_list = any(sign in call.arguments for sign in ('"status"', "[ ]", "[x]"))
        if has_list and (items := list(_call_items(call))):
            return items
    return list(_boxes(message.text)) if "[ ]" in message.text else []


def _call_items(call: ToolCall) -> Iterator[tuple[str, bool]]:
    for value in call.parsed().values():
        if isinstance(value, str):
            yield from _boxes(value)
        elif isinstance(value, list):
            yield from (item for entry in value if (item := _object_item(entry)) is not None)


def _boxes(text: str) -> Iterator[tuple[str, bool]]:
    return ((" ".join(item.split()), mark not in "xX") for mark, item in _BOX.findall(text))


def _object_item(entry: Any) -> tuple[str, bool] | None:
    status = entry.get("status") if isinstance(entry, dict) else None
    if not isinstance(status, str):
        return None
    text = next((entry[key] for key in _TEXT_KEYS if isinstance(entry.get(key), str) and entry[key].strip()), None)
    return None if text is None else (" ".join(text.split()), status.lower() not in _DONE)
