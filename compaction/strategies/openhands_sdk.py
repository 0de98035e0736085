"""OpenHands' SDK: its ``LLMSummarizingCondenser``, openhands-sdk 1.58.0.

Events before the middle are forgotten and one summary takes their place. What the summariser is shown of an event is
its display form, which leaves out what the agent did; ``_openhands_events`` has that, and where a view may be cut.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from compaction.markers import headings, shortened
from compaction.model import Section, SummaryError, SummaryRequest
from compaction.parameters import InnerShare, Positive
from compaction.registry import strategy
from compaction.strategies.shared.openhands_events import (
    CLIPPED,
    Event,
    clip_text,
    event_text,
    events_of,
    legal_cuts,
    shown_message,
    view_of,
)
from compaction.strategies.shared.parts import compaction_cuts, stands_for
from compaction.strategies.shared.requests import instructions, summary_or_empty
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History, StrategyError
from compaction.transcript import Message

PEER = "openhands-sdk"
VERSION = "1.58.0"

Mode = Literal["faithful", "full_content"]
Reason = Literal["request", "tokens", "events"]

TASK_TRACKING = Section(
    "TASK_TRACKING", ("next_steps",), "Every task that a task tracker or plan holds, with its identifier and status."
)
SECTIONS = (
    Section("USER_CONTEXT", ("intent",), "What the user asked for, its purpose, limits and later clarifications."),
    Section("COMPLETED", ("decisions",), "What has been done so far, each with what came of it."),
    Section("PENDING", ("next_steps",), "What is still to be done."),
    Section("CURRENT_STATE", ("state",), "Where the work stands: values, variables, running processes."),
    Section("CODE_STATE", ("details",), "Paths, signatures of functions, data structures that matter."),
    Section("TESTS", ("errors",), "Which tests fail and how, error messages, outputs."),
    Section("CHANGES", ("files",), "Which files and lines were changed, and to what."),
    Section("DEPS", (), "Dependencies, imports, calls to the outside."),
    Section("VERSION_CONTROL_STATUS", (), "Repository, branch, commits, pull requests."),
)
"""The topics of the original's prompt, TASK_TRACKING aside; the embedded summariser has nothing for the last two."""

MARKERS = (*shortened(CLIPPED), *headings((TASK_TRACKING, *SECTIONS), DEPS="details", VERSION_CONTROL_STATUS="state"))

_TRACKERS = ("task_track", "tasktrack", "todo", "update_plan")


def _limit(history: History, *, max_tokens: int | None, **_: object) -> int:
    return history.budget if max_tokens is None else max_tokens


@strategy(
    "openhands_sdk",
    needs_model=True,
    peer=PEER,
    peer_version=VERSION,
    variants=({"max_size": 80, "keep_first": 4}, {"mode": "full_content"}),
    markers=MARKERS,
    limit=_limit,
    bites={"max_size": 8, "keep_first": 2},
)
def openhands_sdk(
    history: History,
    *,
    max_size: Positive = 240,
    keep_first: int = 2,
    max_tokens: int | None = None,
    minimum_progress: InnerShare = 0.1,
    hard_context_reset_max_retries: Positive = 5,
    hard_context_reset_context_scaling: InnerShare = 0.8,
    thinking_blocks: bool = True,
    summary_tokens: Positive = SUMMARY_TOKENS,
    mode: Mode = "faithful",
    forced: bool = True,
) -> Sequence[Message]:
    """The first ``keep_first`` events, a summary as a user message, and the last events up to half of the size.

    Of a view with more than ``max_tokens`` (the budget) half of these stay, beyond ``max_size`` events half of that;
    a point at which the tokens are not exceeded is a condensation request, after which half of the events stay. The
    least counts. With ``forced`` off there are no requests. Cuts move on to where no batch, pair, or run of tools that
    began with thinking is torn (``thinking_blocks``: reasoning counts as thinking). Where there is no such cut, where
    less than ``minimum_progress`` of the events would go, or where the summariser fails, everything after the system
    prompt is summarised, the task too (``hard_context_reset_max_retries`` attempts, each but the first with events
    cut to ``hard_context_reset_context_scaling`` of the longest so far); a surplus of events alone is let be instead.

    ``faithful`` shows the summariser what the original does: 500 characters of a text, of an action its thought and
    class but no argument, 497 of the earlier summary; and it takes a blank summary. ``full_content`` shows all. Over
    a whole session it does what it would have done at the session's earlier points.
    """
    if max_size // 2 - keep_first - 1 <= 0:
        raise StrategyError(f"keep_first ({keep_first}) must be less than max_size // 2 - 1 ({max_size // 2 - 1})")
    condenser = _Condenser(
        history,
        max_size,
        keep_first,
        _limit(history, max_tokens=max_tokens),
        minimum_progress,
        hard_context_reset_max_retries,
        hard_context_reset_context_scaling,
        thinking_blocks,
        summary_tokens,
        mode,
        forced,
    )
    if history.messages == history.previous:
        return history.messages
    left: tuple[Message, ...] = ()
    done = 0
    condensed = False
    for end in compaction_cuts(history, 0):
        left += history.messages[done:end]
        done = end
        found = condenser.condense(left)
        if found is not None:
            left, condensed = found, True
    return left if condensed else history.messages


@dataclass(frozen=True)
class _Condenser:
    history: History
    max_size: int
    keep_first: int
    max_tokens: int
    minimum_progress: InnerShare
    max_retries: int
    scaling: float
    thinking_blocks: bool
    summary_tokens: int
    mode: Mode
    forced: bool

    def condense(self, messages: Sequence[Message]) -> tuple[Message, ...] | None:
        """The messages that stay; None where nothing is condensed. Raises SummaryError when it is and it fails."""
        view = view_of(events_of(self.history, messages, self.thinking_blocks))
        reasons = self._reasons(view)
        if not reasons:
            return None
        is_soft = reasons == {"events"}
        failure: SummaryError | None = None
        span = self._forgotten(view, reasons)
        if span is not None:
            try:
                return self._without(view, *span)
            except SummaryError as error:
                if is_soft:
                    raise
                failure = error
        return None if is_soft else self._reset(view, failure)

    def _reasons(self, view: Sequence[Event]) -> set[Reason]:
        reasons: set[Reason] = set()
        if sum(event.tokens for event in view) > self.max_tokens:
            reasons.add("tokens")
        elif self.forced:
            reasons.add("request")
        if len(view) > self.max_size:
            reasons.add("events")
        return reasons

    def _forgotten(self, view: Sequence[Event], reasons: set[Reason]) -> tuple[int, int] | None:
        """First and last position (exclusive) of the forgotten events; None if no range may be forgotten."""
        tails = []
        if "request" in reasons:
            tails.append(len(view) // 2 - self.keep_first - 1)
        if "events" in reasons:
            tails.append(self.max_size // 2 - self.keep_first - 1)
        if "tokens" in reasons:
            tails.append(self._tail_within_tokens(view))
        is_system = bool(view) and view[0].kind == "system"
        legal = legal_cuts(view)
        start = _next(legal, max(self.keep_first, int(is_system)))
        end = _next(legal, len(view) - min(tails))
        if start is None or end is None or end <= start or end - start < len(view) * self.minimum_progress:
            return None
        return start, end

    def _tail_within_tokens(self, view: Sequence[Event]) -> int:
        """Events at the end that stay when the oldest go until more than the surplus over half the limit is gone."""
        surplus = sum(event.tokens for event in view) - self.max_tokens // 2
        rest = view[self.keep_first :]
        for number, event in enumerate(rest, 1):
            surplus -= event.tokens
            if surplus < 0:
                return len(rest) - number
        return 0

    def _reset(self, view: Sequence[Event], failure: SummaryError | None) -> tuple[Message, ...] | None:
        start = int(bool(view) and view[0].kind == "system")
        if start == len(view):
            if failure is not None:
                raise failure
            return None
        self.history.flag("hard_context_reset")
        max_chars: int | None = None
        for _ in range(self.max_retries):
            try:
                return self._without(view, start, len(view), max_chars)
            except SummaryError as error:
                failure = failure or error
                if max_chars is None:
                    max_chars = max(len(self._written(event)) for event in view)
                max_chars = int(max_chars * self.scaling)
        assert failure is not None  # there is at least one attempt
        raise failure

    def _without(
        self, view: Sequence[Event], start: int, end: int, max_chars: int | None = None
    ) -> tuple[Message, ...]:
        gone = view[start:end]
        text = summary_or_empty(self.history, self._request(gone, max_chars), self.mode)
        summary = Message("user", text, covers=stands_for(_messages(gone)))
        return (*_messages(view[:start]), summary, *_messages(view[end:]))

    def _request(self, events: Sequence[Event], max_chars: int | None) -> SummaryRequest:
        blocks = "\n".join(f"<EVENT>\n{clip_text(self._written(event), max_chars)}\n</EVENT>\n" for event in events)
        whole = self.mode == "full_content"
        span = tuple(shown_message(self.history, m, max_chars, whole=whole) for m in _messages(events))
        tracked = any(e.call is not None and any(t in e.call.name.lower() for t in _TRACKERS) for e in events)
        sections = (SECTIONS[0], TASK_TRACKING, *SECTIONS[1:]) if tracked else SECTIONS
        prompt = (
            Message("system", instructions(self.history, "openhands_sdk", sections, self.summary_tokens)),
            Message("user", f"{blocks}\nThese are all of the events. Write the summary."),
        )
        return SummaryRequest(prompt, span, sections, "", self.summary_tokens)

    def _written(self, event: Event) -> str:
        return event_text(event, whole=self.mode == "full_content")


def _next(legal: Sequence[int], threshold: int) -> int | None:
    """The first legal cut at or after a position."""
    place = bisect_left(legal, threshold)
    return legal[place] if place < len(legal) else None


def _messages(events: Sequence[Event]) -> list[Message]:
    """The messages of events; parallel actions are one message."""
    return [message for event in events if event.leads for message in event.messages]
