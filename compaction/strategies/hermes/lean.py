"""The strategy: its head and its tail, and what stands between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from compaction.groups import declarations
from compaction.markers import removed
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.hermes import pruning, summary
from compaction.strategies.hermes.pruning import OVERSHOOT, TAIL_MESSAGES, demote, prune
from compaction.strategies.hermes.summary import CLOSING, OPENING, is_request, write_summary
from compaction.strategies.shared.parts import (
    is_made,
    make_once,
    stands_for,
    system_prompt,
    with_calls,
    with_text,
    without_lost_results,
)
from compaction.strategy import History
from compaction.transcript import Message

LEAST_TAIL, MOST_TAIL, TAIL_SHARE = 10_000, 25_000, 0.025
"""Tokens of the tail, and their share of the window."""
CALL_GONE = "(tool call removed)"


@strategy(
    "hermes_lean",
    needs_model=True,
    peer="Hermes Agent",
    peer_version="4f22543",
    by_default=False,
    markers=(*pruning.MARKERS, *summary.MARKERS, *removed(CALL_GONE)),
    bites={"tail_tokens": 40, "protect_first": 1, "keep_tool_rounds": 1, "demote_chars": 20},
)
def hermes_lean(
    history: History,
    *,
    tail_tokens: Positive | None = None,
    protect_first: int = 3,
    keep_tool_rounds: int = 6,
    demote_chars: Positive = 1500,
    summary_tokens: Positive | None = None,
) -> Sequence[Message]:
    """A summary with an index of exact names, the user's own words and a pointer to the search, and a small tail.

    First results before the tail become a line each, of equal results only the newest stays, and long arguments are
    cut. The tail has ``tail_tokens`` (2.5 % of the budget, from 10,000 to 25,000), half as much again where a message
    would be cut, and the last message of the user and of the assistant; older results in it of ``demote_chars``
    characters become pointers, except in the last ``keep_tool_rounds`` rounds. The first ``protect_first`` messages
    stay until there is a summary. The rest becomes one of ``summary_tokens`` (a fifth of it, from 2,000 to 10,000),
    which an earlier one goes into, with a log of about 4,000. Behind it stand, made without a model: names of issues,
    commits, branches, files, errors, people and addresses by how often they came, what the user said, newest first, and
    how many messages the search reaches; they are those that the summary covers.
    """
    apart = system_prompt(history.messages)
    rest = history.messages[len(apart) :]
    made = [position for position, message in enumerate(rest) if is_made(message, OPENING.strip())]
    n_first = 0 if made else protect_first
    if len(apart) + len(rest) <= (1 if apart else 0) + n_first + 4:
        return history.messages
    room = tail_tokens or max(LEAST_TAIL, min(MOST_TAIL, int(TAIL_SHARE * history.budget)))
    pruned = prune(history, rest, room)
    start = _past_results(pruned, n_first)
    end = _tail_start(history, pruned, start, room)
    window = [m for position, m in enumerate(pruned[start:end], start) if position not in made]
    if made and made[-1] >= end:
        window, end = [m for n, m in enumerate(pruned[start : made[-1]], start) if n not in made], made[-1] + 1
    if not window:
        return history.messages
    previous = "\n\n".join(_body(rest[position].text) for position in made)
    tail = demote(history, pruned[end:], keep_tool_rounds, demote_chars)
    head = [m for position, m in enumerate(pruned[:start]) if position not in made]
    text = OPENING + write_summary(history, window, previous, summary_tokens) + CLOSING
    covers = stands_for([*(rest[position] for position in made), *window])
    made_of = Message(_role(head, tail), text, covers=covers)
    left = [*head, made_of, *(m for n, m in enumerate(tail, end) if n not in made)]
    return (*apart, *_without_lost_calls(history, rest, without_lost_results(rest, left)))


def _body(text: str) -> str:
    return text.removeprefix(OPENING).removesuffix(CLOSING)


def _role(head: Sequence[Message], tail: Sequence[Message]) -> Literal["user", "assistant"]:
    """The role that alternates best; the user's where neither does."""
    before = next((m.role for m in reversed(head) if m.role != "tool"), None)
    after = next((m.role for m in tail if m.role != "tool"), None)
    has_user = any(m.role == "user" and m.text.strip() for m in (*head, *tail))
    return "assistant" if before == "user" and has_user and after != "assistant" else "user"


def _past_results(messages: Sequence[Message], position: int) -> int:
    while position < len(messages) and messages[position].role == "tool":
        position += 1
    return min(position, len(messages))


def _before_results(messages: Sequence[Message], position: int) -> int:
    """The position, or that of the call whose results stand right before it."""
    if not 0 < position < len(messages):
        return position
    before = position - 1
    while before >= 0 and messages[before].role == "tool":
        before -= 1
    return before if before >= 0 and messages[before].tool_calls else position


def _tail_start(history: History, messages: Sequence[Message], head: int, room: int) -> int:
    n = len(messages)
    available = max(0, n - head - 1)
    least = min(TAIL_MESSAGES, max(3, available - 2), available) if available > 1 else 0
    cut, tokens = _walk_back(history, messages, head, int(OVERSHOOT * room), least)
    if cut <= head and tokens > 0:
        again, _ = _walk_back(history, messages, head, room, least)
        cut = again - 1 if again > head else again
    cut = min(cut, n - least)
    if cut <= head:
        cut = max(n - least, head + 1)
    cut = _before_results(messages, cut)
    user = next((p for p in range(n - 1, head - 1, -1) if is_request(messages[p])), None)
    if user is not None and user < cut:
        cut = user if user > head else max(_turn_end(messages, user), head + 1)
    answer = _last_answer(messages, head)
    if answer is not None and answer < cut:
        cut = max(_before_results(messages, answer), head + 1)
    if cut == user:  # the summary and the request do not stand side by side
        cut = _bridge(messages, user, head)
    return min(n, _past_results(messages, max(cut, head + 1)))


def _walk_back(history: History, messages: Sequence[Message], head: int, room: int, least: int) -> tuple[int, int]:
    """The first of the newest messages within so many tokens, and these; ``least`` messages at least."""
    cut, tokens = len(messages), 0
    while cut > head:
        more = history.count((messages[cut - 1],))
        if tokens + more > room and len(messages) - cut + 1 >= least:
            break
        cut, tokens = cut - 1, tokens + more
    return cut, tokens


def _turn_end(messages: Sequence[Message], user: int) -> int:
    following = user + 1
    if following < len(messages) and messages[following].role == "assistant":
        following = _past_results(messages, following + 1)
    return following


def _last_answer(messages: Sequence[Message], head: int) -> int | None:
    """The last message of the assistant with a text, or the last at all."""
    said = [p for p in range(head, len(messages)) if messages[p].role == "assistant" and messages[p].seq is not None]
    return next((p for p in reversed(said) if messages[p].text.strip()), said[-1] if said else None)


def _bridge(messages: Sequence[Message], user: int, head: int) -> int:
    """The user's message, or what the assistant did right before it."""
    before = user - 1
    if before >= 0 and messages[before].role == "tool":
        before = _before_results(messages, user)
    elif before < 0 or messages[before].role != "assistant":
        return user
    return before if before > head else user


def _without_lost_calls(history: History, before: Sequence[Message], left: Sequence[Message]) -> Iterator[Message]:
    """The messages without the calls whose result is in the summary now."""
    kept = {message.seq for message in left}
    lost: dict[int | None, set[str]] = {}
    for message, asked in zip(before, declarations(before), strict=True):
        if asked is not None and message.role == "tool" and message.seq not in kept and message.tool_call_id:
            lost.setdefault(before[asked].seq, set()).add(message.tool_call_id)
    for message in left:
        calls = tuple(c for c in message.tool_calls if c.id not in lost.get(message.seq, ()))
        if message.seq is None or calls == message.tool_calls:
            yield message
            continue
        found = make_once(history.counter, with_calls, message, calls)
        yield found if calls or found.text.strip() else make_once(history.counter, with_text, found, CALL_GONE)
