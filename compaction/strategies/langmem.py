"""langmem 0.0.30: ``summarize_messages``, a running summary that each compaction extends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from compaction.markers import wrapper
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import compaction_cuts, stands_for, whole_cuts
from compaction.strategies.shared.requests import summary_or_empty, summary_request
from compaction.strategies.shared.trim import newest_from_user
from compaction.strategy import History, StrategyError
from compaction.transcript import Message

PREFIX = "Summary of the conversation so far: "
SHARE = 0.5
"""``max_tokens`` as a share of the budget where no figure is given. Ours: the original has no default."""


class _Span(NamedTuple):
    """The messages that a call summarises, as positions after the last call's end."""

    positions: list[int]
    tokens: int


def _limit(history: History, *, max_tokens: int | None, max_summary_tokens: int, **_: object) -> int:
    return max(int(history.budget * SHARE), max_summary_tokens + 1) if max_tokens is None else max_tokens


@strategy(
    "langmem_running",
    needs_model=True,
    peer="langmem",
    peer_version="0.0.30",
    markers=wrapper(PREFIX.rstrip()),
    limit=_limit,
    bites={"max_summary_tokens": 2},
    by_default=False,
)
def langmem_running(
    history: History,
    *,
    max_tokens: Positive | None = None,
    max_tokens_before_summary: Positive | None = None,
    max_summary_tokens: int = 256,
    mode: Literal["valid", "faithful"] = "valid",
) -> Sequence[Message]:
    """A running summary as a system message, extended by the oldest messages that were not in it yet.

    From the oldest on, messages are summarised until there are ``max_tokens_before_summary`` (``max_tokens`` where not
    given) and what is left fits ``max_tokens`` (half of the budget where not given) beside the system message and
    ``max_summary_tokens``. If the last one calls tools their results go with it. ``valid`` summarises on to where no
    result is parted from its call; ``faithful`` cuts among results, and goes on with an empty summary. The
    summariser is shown the newest ``max_tokens`` of these, from a user message on, or all when that leaves none; the
    rest is lost. A session with fewer tokens stays as it is. Over a whole session the strategy does what it would have
    done at each earlier point.
    """
    limit = _limit(history, max_tokens=max_tokens, max_summary_tokens=max_summary_tokens)
    if max_summary_tokens >= limit:
        raise StrategyError(f"max_summary_tokens ({max_summary_tokens}) must be less than max_tokens ({limit})")
    messages = history.messages
    head = messages[:1] if messages and messages[0].role == "system" and not _is_summary(messages[0]) else ()
    found = next((i for i, message in enumerate(messages) if _is_summary(message)), None)
    text = "" if found is None else messages[found].text.removeprefix(PREFIX)
    covers = set() if found is None else set(messages[found].covers)
    exists = found is not None
    before = () if found is None else messages[len(head) : found]
    start = after = len(head) if found is None else _after(messages, found)
    room = limit - max_summary_tokens - history.count(head)
    changed = False
    for end in compaction_cuts(history, after):
        rest = messages[after:end]
        start = after
        span = _span(history, rest, max_tokens_before_summary or limit, room, mode)
        if span is None:
            continue
        summarised = [rest[position] for position in span.positions]
        most = limit - history.count((Message("system", text),)) if exists else limit
        shown: Sequence[Message] = summarised
        if span.tokens > most:
            shown = newest_from_user(history, summarised, most, keep_system=False) or summarised
        request = summary_request(
            history, "langmem_running", shown, sections=(), max_tokens=max_summary_tokens, previous=text
        )
        text = summary_or_empty(history, request, mode)
        covers = covers | set(stands_for(shown)) if text else set()
        start, after, exists, changed = after + len(span.positions), after + max(span.positions) + 1, True, True
    if not changed:
        return messages if found is None else (*messages[: found + 1], *messages[start:])
    kept = (*before, *messages[start:])
    summary = Message("system", PREFIX + text, covers=tuple(sorted(covers)))
    return (*head, summary, *kept)


def _is_summary(message: Message) -> bool:
    return message.seq is None and message.role == "system" and message.text.startswith(PREFIX)


def _after(messages: Sequence[Message], summary: int) -> int:
    """Find the first message after all that the summary covers.

    What the last call kept before a late result that it summarised is passed over from then on.
    """
    last = max(messages[summary].covers, default=-1)
    places = (i for i, message in enumerate(messages) if message.seq is not None and message.seq <= last)
    return max(summary, *places, summary) + 1


def _span(history: History, rest: Sequence[Message], enough: int, room: int, mode: str) -> _Span | None:
    """The oldest messages that are enough to be summarised and whose going lets the others fit.

    Under ``valid`` they end where no result behind them answers one of their calls.
    """
    total = history.count(rest)
    tokens = 0
    legal = whole_cuts(rest) if mode == "valid" else range(len(rest) + 1)
    for last, message in enumerate(rest):
        tokens += history.count((message,))
        if tokens >= enough and total - tokens <= room and last + 1 in legal:
            positions = list(range(last + 1))
            results = {m.tool_call_id: i for i, m in enumerate(rest) if m.role == "tool" and m.tool_call_id}
            for call in message.tool_calls:
                if (result := results.get(call.id)) is not None:
                    positions.append(result)
                    tokens += history.count((rest[result],))
            return _Span(positions, tokens)
    return None
