"""A method that works before the provider's cache expires, around any other one; no model is asked by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import read_time, whole_cuts
from compaction.strategy import History, Method, NotApplicable
from compaction.transcript import Message


@strategy(
    "cache_aware",
    version=1,
    wraps=("over", "af_py_sliding_window"),
    by_default=False,
    bites={"over": "af_py_sliding_window(keep_last_groups=3)"},
)
def cache_aware(
    history: History, over: Method, *, cache_seconds: Positive = 300, lead_seconds: int = 30, worth: float = 0.5
) -> Sequence[Message]:
    """The context of another strategy (``over``) at the last long pause, and all messages since.

    A pause is long where the next message comes ``cache_seconds`` less ``lead_seconds`` later or more: there the
    prompt that the provider has in its cache would expire, and a summary still reads it at the price of the cache. It
    counts where the context then had more than the share ``worth`` of the budget, where no call was under way, and
    after the last summary (flag ``at_pause``). Where there was none, or what comes of it is over the budget, the other
    strategy works at the point. Not applicable without times in the log.
    """
    messages = history.messages
    times = [read_time(message) for message in messages]
    of_log = [time for time, message in zip(times, messages, strict=True) if message.seq is not None]
    if of_log and all(time is None for time in of_log):
        raise NotApplicable("the log has no times of its messages")
    cut = _last_pause(history, times, max(0, cache_seconds - lead_seconds), worth)
    if cut is not None:
        history.flag("at_pause")
        messages = (*over.run(_up_to(history, cut)), *messages[cut:])
    if history.count(messages) > history.budget:
        return over.run(replace(history, messages=tuple(messages)))
    return messages


def _last_pause(history: History, times: Sequence[float | None], seconds: int, worth: float) -> int | None:
    """The position of the first message after the last long pause that counts."""
    messages = history.messages
    first = max((n for n, message in enumerate(messages, 1) if message.seq is None), default=0)
    legal = whole_cuts(messages)
    tokens, found = 0, None
    for position, message in enumerate(messages):
        before, now = times[position - 1] if position else None, times[position]
        is_pause = before is not None and now is not None and now - before >= seconds
        if is_pause and position > first and position in legal and tokens > worth * history.budget:
            found = position
        tokens += history.count((message,))
    return found


def _up_to(history: History, cut: int) -> History:
    """The history as it was before the message at ``cut``; what is asked of a model counts for this one."""
    before = history.messages[cut].seq
    session = tuple(m for m in history.session if m.seq is None or before is None or m.seq < before)
    return replace(
        history,
        messages=history.messages[:cut],
        session=session,
        recorded=tuple(c for c in history.recorded if before is None or c.at_seq <= before),
        earlier_cuts=tuple(c for c in history.earlier_cuts if before is None or c <= before),
    )
