"""Microsoft Agent Framework's strategies for Python with a summariser: agent-framework-core 1.23.0.

The summary is an ordinary assistant message without a mark, so it is summarised again like any other text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from compaction.groups import Group
from compaction.model import SummaryError, SummaryRequest
from compaction.parameters import Positive
from compaction.pipeline import drop_to_budget
from compaction.registry import strategy
from compaction.strategies.agent_framework.python import (
    MARKERS,
    MAX_SUMMARY_CHARS,
    PEER,
    VERSION,
    collapse_groups,
    flatten_groups,
    window_groups,
)
from compaction.strategies.shared.parts import stands_for
from compaction.strategies.shared.requests import instructions
from compaction.strategy import History
from compaction.tokens import counted
from compaction.transcript import Message

SUMMARY_TOKENS = 400
"""The original sets no limit but five sentences; long ones of an agent's have up to 80 tokens."""

PROMPT = "af_py_summarization"

EMPTY_RESULT = "text content"
"""What the original shows of a result without text: the name of its type."""


@strategy(
    "af_py_summarization",
    needs_model=True,
    peer=PEER,
    peer_version=VERSION,
    variants=({"max_summary_input_tokens": None},),
    bites={"max_summary_input_tokens": None},
)
def summarization(
    history: History,
    *,
    target_count: Positive = 4,
    threshold: int = 2,
    max_summary_input_tokens: Positive | None = 8000,
    passes: Positive = 1,
    summary_tokens: Positive = SUMMARY_TOKENS,
    forced: bool = True,
) -> Sequence[Message]:
    """The newest groups with at least ``target_count`` messages, and before them one summary of five sentences.

    A call is shown at most ``max_summary_input_tokens`` (None: no limit), so only the oldest groups that fit are
    summarised, and a first group that alone does not fit stays as it is. ``passes`` runs it that often in a row, until
    nothing changes: an agent would, before each model call. ``threshold`` is how many messages more it takes to
    trigger, asked only when ``forced`` is off.
    """
    groups: Sequence[Group] = history.groups
    for _ in range(passes):
        left = summarize_groups(
            history,
            groups,
            target_count,
            0 if forced else threshold,
            max_input=max_summary_input_tokens,
            summary_tokens=summary_tokens,
            forced=forced,
        )
        if left is groups:
            break
        groups = left
    return flatten_groups(history, groups)


@strategy(
    "af_py_token_budget",
    needs_model=True,
    peer=PEER,
    peer_version=VERSION,
    markers=MARKERS,
    limit=lambda history, *, token_budget, **_: token_budget,
    bites={
        "token_budget": 24,
        "target_count": 2,
        "threshold": 0,
        "keep_last_groups": 3,
        "max_summary_input_tokens": None,
    },
    by_default=False,
)
def token_budget(
    history: History,
    *,
    token_budget: Positive = 16_000,
    keep_last_tool_call_groups: int = 1,
    target_count: Positive = 4,
    threshold: int = 2,
    max_summary_input_tokens: Positive | None = 8000,
    keep_last_groups: Positive = 20,
    early_stop: bool = True,
    summary_tokens: Positive = SUMMARY_TOKENS,
    mode: Literal["faithful", "valid"] = "valid",
) -> Sequence[Message]:
    """Collapse tool calls, summarise, keep a window, each step only while ``token_budget`` tokens are exceeded.

    The composition that the documentation shows: tool results (``keep_last_tool_call_groups``), summarisation
    (``target_count``, ``threshold``, ``max_summary_input_tokens``), sliding window (``keep_last_groups``). Then the
    oldest groups go, and at last the system messages, always but the newest group. Without ``early_stop`` every step
    runs. Under ``faithful`` a summary that fails leaves its step out; under ``valid`` it fails the compaction.
    """

    def tool_results(groups: Sequence[Group]) -> Sequence[Group]:
        return collapse_groups(history, groups, keep_last_tool_call_groups, MAX_SUMMARY_CHARS)

    def summary(groups: Sequence[Group]) -> Sequence[Group]:
        try:
            return summarize_groups(
                history,
                groups,
                target_count,
                threshold,
                max_input=max_summary_input_tokens,
                summary_tokens=summary_tokens,
            )
        except SummaryError:
            if mode == "valid":
                raise
            history.flag("summary_failed")
            return groups

    def window(groups: Sequence[Group]) -> Sequence[Group]:
        return window_groups(groups, keep_last_groups)

    def over(groups: Sequence[Group]) -> bool:
        return sum(history.count(g.messages) for g in groups) > token_budget

    groups: Sequence[Group] = history.groups
    if not over(groups):
        return history.messages
    for step in (tool_results, summary, window):
        groups = step(groups)
        if early_stop and not over(groups):
            break
    if over(groups):
        history.flag("last_resort")
        groups = drop_to_budget(groups, token_budget, history.count, strict=True)
    return flatten_groups(history, groups)


def summarize_groups(
    history: History,
    groups: Sequence[Group],
    target_count: int,
    threshold: int,
    *,
    max_input: int | None,
    summary_tokens: int,
    forced: bool = False,
) -> Sequence[Group]:
    """The groups with the oldest that fit the summariser as one summary; the same object where nothing is to do.

    ``forced``: a lone message that a strategy made is not summarised again, since nothing has come since.
    """
    others = [i for i, g in enumerate(groups) if g.kind != "system"]
    if sum(len(groups[i].messages) for i in others) <= target_count + threshold:
        return groups
    retained, first_kept = 0, len(others)
    while first_kept and (retained < target_count or first_kept == len(others)):
        first_kept -= 1
        retained += len(groups[others[first_kept]].messages)
    candidates = others[:first_kept]
    asked = instructions(history, PROMPT, (), summary_tokens)
    chosen = _that_fit(history, [groups[i] for i in candidates], max_input, asked)
    span = tuple(m for number in chosen for m in groups[candidates[number]].messages)
    if not span:
        if candidates:
            history.flag("nothing_fits")
        return groups
    if forced and len(span) == 1 and span[0].seq is None:
        return groups
    prompt = (Message("system", asked), Message("user", render(span)))
    text = history.summarize(SummaryRequest(prompt, span, (), "", summary_tokens))
    message = counted(Message("assistant", text, covers=stands_for(span)), history.counter)
    gone = {candidates[number] for number in chosen}
    place = min(groups[i].positions[0] for i in gone)
    made = Group("assistant_text", (message,), (place,))
    first = min(gone)
    return [made if i == first else g for i, g in enumerate(groups) if i == first or i not in gone]


def render(messages: Sequence[Message], start: int = 1) -> str:
    """Messages as the original shows them to the summariser: numbered lines without reasoning."""
    return "\n".join(f"{number}. [{m.role}] {_content(m)}" for number, m in enumerate(messages, start))


def _content(message: Message) -> str:
    if message.role == "tool":
        error = "error: " if message.is_error else ""
        call = f" [call_id={message.tool_call_id}]" if message.tool_call_id else ""
        return f"function_result: {error}{message.text or EMPTY_RESULT}{call}"
    parts = [message.text] if message.text else []
    for call_ in message.tool_calls:
        suffix = f" [call_id={call_.id}]" if call_.id else ""
        parts.append(f"function_call {call_.name}({call_.arguments}){suffix}")
    return "; ".join(parts) or ("text_reasoning" if message.reasoning else "")


def _that_fit(history: History, groups: Sequence[Group], max_input: int | None, prompt: str) -> list[int]:
    """Numbers of the oldest groups that fit together; leading ones that do not fit alone are passed over."""
    if max_input is None:
        return list(range(len(groups)))
    count = history.counter.count
    used = count(prompt)
    line_end = count("\n")
    chosen: list[int] = []
    shown = 0
    for number, group in enumerate(groups):
        size = count(render(group.messages, shown + 1)) + (line_end if chosen else 0)
        if used + size > max_input:
            if chosen:
                break
            continue
        chosen.append(number)
        shown += len(group.messages)
        used += size
    return chosen
