"""Letta 0.16.8: ``summarize_via_sliding_window``, with its fall back to a summary of everything."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.markers import headings, shortened, wrapper
from compaction.model import ContextOverflowError, Section, SummaryError, SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.originals import cut_head
from compaction.strategies.shared.parts import make_once, stands_for, system_prompt, with_text, without_reasoning
from compaction.strategies.shared.requests import instructions
from compaction.strategy import History
from compaction.transcript import Message

STEP = 0.10
"""By how much the evicted share grows until what is left fits."""
CUT_MARK = "... [summary truncated to fit]"
RESULT_CHARS = 5000
"""Of each result, when the summariser's model could not take them whole."""
TOKENS_A_WORD = 4 / 3
"""Usual figure for English; the original limits words."""

WINDOW_NOTE = (
    "Note: prior messages from the beginning of the conversation have been hidden from view due to conversation memory "
    "constraints.\nThe following is a summary of the previous messages:\n "
)
ALL_NOTE = (
    "Note: prior messages have been hidden from view due to conversation memory constraints.\n"
    "The following is a summary of the previous messages:\n "
)

_GOALS = Section(
    "High level goals",
    ("intent",),
    "The goal and the task under way, with what the user explicitly asked for. Goals of an earlier summary stay.",
)
_HAPPENED = Section(
    "What happened",
    ("decisions",),
    "What was asked, what was done about it and how it went, with the important points of an earlier summary.",
)
_DETAILS = Section(
    "Important details",
    ("files", "details"),
    "Files that were examined, modified or created, each with why it matters, and plans, links, issues and tickets; "
    "identifiers letter by letter.",
)
_ERRORS = Section("Errors and fixes", ("errors",), "Errors, how they were fixed, and what the user said about them.")
_STATE = Section("Current state", ("state",), "What exactly is being worked on, with files and code.")
_NEXT = Section("Optional next step", ("next_steps",), "The next step in line with the latest request, quoting it.")
_HINTS = Section("Lookup hints", (), "Topics and words by which what did not fit here could be searched for.")

WINDOW_SECTIONS = (_GOALS, _HAPPENED, _DETAILS, _ERRORS, _HINTS)
ALL_SECTIONS = (_GOALS, _HAPPENED, _DETAILS, _ERRORS, _STATE, _NEXT, _HINTS)

MARKERS = (*wrapper(WINDOW_NOTE, ALL_NOTE), *shortened(CUT_MARK), *headings(ALL_SECTIONS))


@strategy(
    "letta_sliding",
    version=2,
    needs_model=True,
    peer="letta",
    peer_version="0.16.8",
    markers=MARKERS,
    limit=lambda history, **_: history.budget,
)
def letta_sliding(
    history: History,
    *,
    sliding_window_percentage: float = 0.30,
    max_words: Positive = 300,
    max_words_all: Positive = 500,
    clip_chars: Positive = 50_000,
) -> Sequence[Message]:
    """The oldest messages up to an assistant message become a summary; what stays takes under 70 % of the budget.

    The share of messages that goes begins at ``sliding_window_percentage`` and a tenth, and grows by a tenth; the cut
    is at the last assistant message up to there. Where no such cut leaves less than the budget times one minus the
    percentage, where it would be at the last message, and where the summariser fails, everything is summarised instead
    and nothing but the system prompt stays. The limits are ``max_words`` and ``max_words_all``, and ``clip_chars`` for
    what the model returns. Later system messages and further results with an id that has one are not shown
    to the summariser, and are lost.
    """
    system = system_prompt(history.messages)
    rest = history.messages[len(system) :]
    cut = _cut(history, system, rest, sliding_window_percentage)
    if not _shown_messages(history, rest[:cut]):
        return history.messages
    if cut is not None:
        try:
            text, covers = _summary(history, rest[:cut], "letta_sliding", WINDOW_SECTIONS, max_words, clip_chars)
            return (*system, Message("user", WINDOW_NOTE + text, covers=covers), *rest[cut:])
        except ContextOverflowError:
            raise
        except SummaryError:
            history.flag("fell_back")
    text, covers = _summary(history, rest, "letta_all", ALL_SECTIONS, max_words_all, clip_chars)
    return (*system, Message("user", ALL_NOTE + text, covers=covers))


def render_messages(messages: Sequence[Message]) -> str:
    """Messages as the summariser is shown them: a line each, without reasoning, ids, or names of results."""
    lines = []
    for message in messages:
        calls = ", ".join(f"{call.name}({call.arguments})" for call in message.tool_calls)
        text = f"{message.text} " if message.text and calls else message.text
        text += f"-> {calls}" if calls else ""
        lines += [f"[{message.role}] {text}"] if text else []
    return "\n".join(lines)


def _cut(history: History, system: Sequence[Message], rest: Sequence[Message], share: float) -> int | None:
    """Count the messages to drop; None if all have to go.

    The system prompt is the first of the original's messages, and counts for the shares.
    """
    left = [history.count(system)]
    for message in reversed(rest):
        left.append(left[-1] + history.count((message,)))
    latest = _latest_assistants(rest)
    goal = (1 - share) * history.budget
    tokens: float = history.budget
    cut: int | None = None
    while tokens >= goal and share < 1.0:
        share += STEP
        cut = latest[min(round(share * (len(rest) + 1)), len(rest))]
        if cut is not None:
            tokens = left[len(rest) - cut]
    return None if cut is None or share >= 1.0 or cut + 1 >= len(rest) else cut


def _latest_assistants(rest: Sequence[Message]) -> list[int | None]:
    """Find the last assistant message among each number of messages (the system prompt is the first)."""
    found: list[int | None] = [None]
    for position, message in enumerate(rest):
        found.append(position if message.role == "assistant" else found[-1])
    return found


def _summary(
    history: History, span: Sequence[Message], prompt: str, sections: tuple[Section, ...], words: int, clip: int
) -> tuple[str, tuple[int, ...]]:
    """The summary's text, and the messages that it covers: those that the summariser saw at least in part."""
    shown, limit = _shown_messages(history, span), int(words * TOKENS_A_WORD)
    try:
        text = history.summarize(_request(history, shown, prompt, sections, words, limit))
    except ContextOverflowError:
        shown = tuple(_clamp(history, message) for message in shown)
        text = history.summarize(_request(history, shown, prompt, sections, words, limit))
    return text if len(text) <= clip else text[:clip] + CUT_MARK, stands_for(shown)


def _request(
    history: History, shown: tuple[Message, ...], prompt: str, sections: tuple[Section, ...], words: int, limit: int
) -> SummaryRequest:
    asked = (
        Message("system", instructions(history, prompt, sections, limit, words=str(words))),
        Message("user", f"<start_transcript>\n{render_messages(shown)}\n<end_transcript>"),
    )
    return SummaryRequest(asked, shown, sections, max_tokens=limit)


def _shown_messages(history: History, span: Sequence[Message]) -> tuple[Message, ...]:
    """Select the messages for the summariser; of several results with one id only the first."""
    found: list[Message] = []
    answered: set[str] = set()
    for message in span:
        if message.role == "tool" and message.tool_call_id:
            if message.tool_call_id in answered:
                continue
            answered.add(message.tool_call_id)
        if message.role != "system" and (message.text or message.tool_calls):
            found.append(without_reasoning(history, message))
    return tuple(found)


def _clamp(history: History, message: Message) -> Message:
    """The message as it is shown when the whole was too much: of a long result only the beginning."""
    if message.role != "tool" or len(message.text) <= RESULT_CHARS:
        return message
    text = cut_head(message.text, RESULT_CHARS, "... [truncated {} chars]")
    return make_once(history.counter, with_text, message, text)
