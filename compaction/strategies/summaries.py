"""Summaries by a model: merged into a persistent one, written anew, or without any structure.

The three differ in few things so that their results can be compared. All keep the system prompt, ask for the same
number of tokens, and show the summariser whole messages unless ``result_chars`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compaction.markers import headings, wrapper
from compaction.model import Section, SummaryError
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import compaction_cuts, needs_from, stands_for, system_prompt, tail_start
from compaction.strategies.shared.requests import summary_request, with_all_sections
from compaction.strategy import History
from compaction.transcript import Message

SUMMARY_TOKENS = 1500
"""Published comparisons remove 98 to 99 % of contexts of about 90,000 tokens, so a summary has 900 to 1,800."""

TAIL_SHARE = 0.1
"""``tail_tokens`` as a share of the budget where no figure is given. Ours: Factory's figures are not public."""

ANCHORED_MARK = "[Summary of the session so far. It stands for messages that are no longer in the context.]"
FREEFORM_MARK = "[Summary of the conversation so far]"
OPEN_TAG, CLOSE_TAG = "<summary>", "</summary>"

ANCHORED_SECTIONS = (
    Section(
        "Session intent",
        ("intent",),
        "What the user wants, with every later change of the request, and the constraints that the user set.",
    ),
    Section(
        "File modifications",
        ("files",),
        "One line a file: its path and what was done to it, with the names of what changed. Full paths as the session "
        "has them; a file once listed stays listed.",
    ),
    Section(
        "Decisions",
        ("decisions", "errors"),
        "What was decided and why, what was tried and given up and why, causes that were found, with exact names, "
        "values and error messages.",
    ),
    Section(
        "Next steps",
        ("next_steps",),
        "What is open now: unfinished work, failing tests, questions without an answer. What is done goes from here.",
    ),
)

REGENERATED_SECTIONS = (
    Section("Task Overview", ("intent",), "The request, its constraints, and what would count as done."),
    Section(
        "Current State",
        ("state", "files"),
        "What is finished, which files were created, changed or studied, what came out.",
    ),
    Section(
        "Important Discoveries",
        ("decisions", "errors"),
        "Technical findings, decisions with their reasons, errors with their solutions, attempts that failed and why.",
    ),
    Section("Next Steps", ("next_steps",), "Concrete actions still to take, their order, what stands in their way."),
    Section("Context to Preserve", ("details",), "The user's preferences, details of the domain, promises made."),
)


@strategy(
    "factory_style_anchored",
    version=2,
    needs_model=True,
    peer="Factory",
    peer_version="article of 2025-12-16",
    markers=(*wrapper(ANCHORED_MARK), *headings(ANCHORED_SECTIONS)),
)
def factory_style_anchored(
    history: History,
    *,
    summary_tokens: Positive = SUMMARY_TOKENS,
    tail_tokens: int | None = None,
    result_chars: Positive | None = None,
) -> Sequence[Message]:
    """A persistent summary of four sections; only what newly leaves the context is summarised and merged into it.

    The newest whole groups that fit ``tail_tokens`` (a tenth of the budget) stay beside it. The anchor is the position
    up to which the summary reaches. Over a whole session the strategy does what it would have done at each of the
    session's earlier points, so each message enters one merge. Sections as published; prompts and figures are ours.
    """
    messages = history.messages
    system = system_prompt(messages)
    found = _latest_summary(messages)
    anchor = len(system) if found is None else found + 1
    left_over: tuple[Message, ...] = () if found is None else messages[len(system) : found]
    text = "" if found is None else messages[found].text.removeprefix(ANCHORED_MARK).strip()
    covered: tuple[Message, ...] = () if found is None else (messages[found],)
    room = int(history.budget * TAIL_SHARE) if tail_tokens is None else tail_tokens
    needed = needs_from(history)
    merged = False
    for end in compaction_cuts(history, anchor):
        cut = tail_start(history, needed, anchor, end, room)
        span = (*left_over, *messages[anchor:cut])
        if cut == anchor or not span:
            continue
        request = summary_request(
            history,
            "factory_style_anchored",
            span,
            sections=ANCHORED_SECTIONS,
            max_tokens=summary_tokens,
            previous=text,
            result_chars=result_chars,
        )
        text = with_all_sections(history.summarize(request), ANCHORED_SECTIONS)
        covered += span
        anchor, left_over, merged = cut, (), True
    if not merged:
        return messages
    summary = Message("user", f"{ANCHORED_MARK}\n\n{text}", covers=stands_for(covered))
    return (*system, summary, *messages[anchor:])


ANALYSIS = Section(
    "Analysis",
    ("decisions", "errors", "state"),
    "The conversation gone through in order: what was asked, what was tried, what came of it, and what follows.",
)
PUBLISHED_TOKENS = 2500
"""About the middle of the 7,000 to 12,000 characters that Factory's article of 2025-12-16 counted."""


@strategy(
    "anthropic_sdk_regen",
    needs_model=True,
    peer="anthropic SDK",
    peer_version="0.125.0",
    variants=({"summary_tokens": PUBLISHED_TOKENS, "analysis": True},),
    markers=(*wrapper(OPEN_TAG, CLOSE_TAG), *headings((ANALYSIS, *REGENERATED_SECTIONS))),
    by_default=False,
)
def anthropic_sdk_regen(
    history: History,
    *,
    summary_tokens: Positive = SUMMARY_TOKENS,
    analysis: bool = False,
    result_chars: Positive | None = None,
) -> Sequence[Message]:
    """A summary of five sections, written anew from the whole history each time, in place of all messages.

    As the SDK's ``compaction_control``: one user message with the text in ``<summary>`` tags is all that stays; not
    the task, no recent messages. The system prompt is no message there, is not summarised, and stays. Calls that
    still wait for a result are not shown to the summariser. Unlike the original a blank summary is refused.
    ``analysis`` asks for a section before the five; with it, and at 2,500 tokens, it is the summary that Factory's
    article compares with, which the SDK's own prompt does not ask for.
    """
    system = system_prompt(history.messages)
    gone = history.messages[len(system) :]
    span = _without_waiting_calls(gone)
    if not span:
        return history.messages
    request = summary_request(
        history,
        "anthropic_sdk_regen",
        span,
        sections=(ANALYSIS, *REGENERATED_SECTIONS) if analysis else REGENERATED_SECTIONS,
        max_tokens=summary_tokens,
        result_chars=result_chars,
    )
    text = history.summarize(request)
    if not text.replace(OPEN_TAG, "").replace(CLOSE_TAG, "").strip():
        raise SummaryError("the summariser returned a summary with nothing in its tags")
    if OPEN_TAG not in text:
        text = f"{OPEN_TAG}\n{text}\n{CLOSE_TAG}"
    return (*system, Message("user", text, covers=stands_for(gone)))


@strategy("freeform_summary", needs_model=True, markers=wrapper(FREEFORM_MARK), by_default=False)
def freeform_summary(
    history: History,
    *,
    summary_tokens: Positive = SUMMARY_TOKENS,
    keep_first_user: bool = False,
    result_chars: Positive | None = None,
) -> Sequence[Message]:
    """One summary in plain prose, without sections, of the whole history.

    It differs from ``anthropic_sdk_regen`` in the missing structure only, so the two together say what structure is
    worth. ``keep_first_user`` leaves the first request word for word beside it, as most other systems do.
    """
    system = system_prompt(history.messages)
    rest = history.messages[len(system) :]
    first = [m for m in rest if m.role == "user" and m.seq is not None][:1] if keep_first_user else []
    gone = tuple(m for m in rest if not first or m is not first[0])
    span = _without_waiting_calls(gone)
    if not span:
        return history.messages
    request = summary_request(
        history, "freeform_summary", span, sections=(), max_tokens=summary_tokens, result_chars=result_chars
    )
    text = history.summarize(request)
    return (*system, *first, Message("user", f"{FREEFORM_MARK}\n\n{text}", covers=stands_for(gone)))


def _latest_summary(messages: Sequence[Message]) -> int | None:
    """Position of the persistent summary that the strategy left behind last time."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if message.seq is None and message.covers and message.text.startswith(ANCHORED_MARK):
            return position
    return None


def _without_waiting_calls(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages without calls at their end that have no result yet."""
    if not messages or not messages[-1].tool_calls:
        return tuple(messages)
    last = messages[-1]
    if last.text or last.reasoning:
        return (*messages[:-1], replace(last, tool_calls=(), tokens=None))
    return tuple(messages[:-1])
