"""Mastra's Observational Memory: a log of dated observations in place of messages.

From the source at commit 1db43de of mastra-ai/mastra, which was read and not run. An Observer writes down what each
stretch of messages brings, a Reflector condenses the log where it has grown too long; what comes last stays as it was
said. Its recall tool, its archive and what it does in the background are no part of a context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compaction.markers import Marker, headings, wrapper
from compaction.model import Section
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.notes import shown_before
from compaction.strategies.shared.parts import (
    is_made,
    needs_from,
    read_time,
    stands_for,
    system_prompt,
    tail_start,
    whole_cuts,
)
from compaction.strategies.shared.requests import EMPTY_SECTION, summary_request, with_all_sections
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

OPENING = "The observations below are your memory of this conversation's earlier part.\n\n<observations>\n"
CLOSING = (
    "\n</observations>\n\nWhere observations contradict each other the newest holds. What follows is newer and comes "
    "first; go on with it, and do not speak of this memory."
)
DATE = "Date: {date}"

OBSERVATIONS = Section(
    "Observations",
    ("intent", "files", "decisions", "errors", "details"),
    "A line for each thing that was said or came out, in order: its rank (🔴 the user's facts, wishes and what was "
    "reached; 🟡 details of the project and results of tools; 🟢 what is small or uncertain), its time where there is "
    "one, and what it is.",
)
TASK = Section("Current task", ("state", "next_steps"), "What is being worked on now, and what was asked for besides.")
SECTIONS = (OBSERVATIONS, TASK)

MARKERS = (
    *wrapper(OPENING, CLOSING),
    *headings(SECTIONS),
    Marker(DATE, place="line", made=True),
    *(Marker(f"{rank} ", made=True) for rank in "🔴🟡🟢"),
)


@strategy(
    "mastra_observational",
    needs_model=True,
    peer="@mastra/memory",
    peer_version="1db43de",
    markers=MARKERS,
    by_default=False,
    bites={"message_tokens": 100, "observation_tokens": 1000},
)
def mastra_observational(
    history: History,
    *,
    message_tokens: Positive = 30_000,
    observation_tokens: Positive = 40_000,
    buffer_share: float = 0.2,
    kept_share: float = 0.2,
    observed_tokens: Positive = SUMMARY_TOKENS,
    forced: bool = True,
) -> Sequence[Message]:
    """Observations, dated and ranked, in place of all but the newest messages; condensed where they grow too long.

    The newest whole groups within ``kept_share`` of ``message_tokens`` stay. The others are observed in stretches of
    ``buffer_share`` of ``message_tokens``, each in at most ``observed_tokens``, and what was observed before is shown
    with it. Observations of more than ``observation_tokens`` are reflected: written anew in half of that. Without
    ``forced`` nothing is done up to ``message_tokens``, as in the original.
    """
    messages = history.messages
    system = system_prompt(messages)
    made = next((position for position, message in enumerate(messages) if is_made(message, OPENING.strip())), None)
    start = len(system) if made is None else made + 1
    apart = messages[len(system) : start - (made is not None)]
    pending = messages[start:]
    if not forced and history.count(pending) < message_tokens:
        return messages
    end = tail_start(history, needs_from(history), start, len(messages), int(kept_share * message_tokens))
    observed = (*apart, *messages[start:end])
    if not observed:
        return messages
    log, task = _read_log(messages[made].text) if made is not None else ("", "")
    for stretch in _stretches(history, observed, int(buffer_share * message_tokens)):
        lines, task = _observe(history, stretch, log, observed_tokens)
        log = f"{log}\n\n{lines}".strip()
        if history.counter.count(log) > observation_tokens:
            log, task = _reflect(history, log, observation_tokens // 2, stands_for(observed))
    covers = stands_for((*(() if made is None else (messages[made],)), *observed))
    text = f"{OPENING}{log}\n\n## {TASK.title}\n{task}{CLOSING}"
    return (*system, Message("user", text, covers=covers), *messages[end:])


def _stretches(history: History, messages: Sequence[Message], tokens: int) -> Iterator[tuple[Message, ...]]:
    """The messages in runs of at least so many tokens, which part no call from its result; the last may be shorter."""
    legal = whole_cuts(messages)
    begin, n_tokens = 0, 0
    for position, message in enumerate(messages, 1):
        n_tokens += history.count((message,))
        if position == len(messages) or (n_tokens >= tokens and position in legal):
            yield tuple(messages[begin:position])
            begin, n_tokens = position, 0


def _observe(history: History, stretch: Sequence[Message], log: str, max_tokens: int) -> tuple[str, str]:
    """Observe some messages: the lines, under the date of the first message, and the current task."""
    request = summary_request(history, "mastra_observer", stretch, sections=SECTIONS, max_tokens=max_tokens)
    if log:
        request = shown_before(request, f"<observations>\n{log}\n</observations>")
    lines, task = _parts(history.summarize(request))
    if lines == EMPTY_SECTION:
        return "", task
    dated = next((message for message in stretch if read_time(message) is not None), None)
    date = DATE.format(date=(dated.timestamp or "")[:10].partition("T")[0]) if dated else ""
    return (lines if log.startswith(date, log.rfind(DATE.format(date=""))) else f"{date}\n{lines}"), task


def _reflect(history: History, log: str, max_tokens: int, covers: tuple[int, ...]) -> tuple[str, str]:
    """The observations written anew."""
    shown = (Message("user", log, covers=covers),)
    request = summary_request(history, "mastra_reflector", shown, sections=SECTIONS, max_tokens=max_tokens)
    history.flag("reflected")
    return _parts(history.summarize(request))


def _parts(text: str) -> tuple[str, str]:
    """The observations of an answer, and its task."""
    said = with_all_sections(text, SECTIONS)
    lines, _, task = said.partition(f"## {TASK.title}\n")
    return lines.replace(f"## {OBSERVATIONS.title}\n", "").strip(), task.strip() or EMPTY_SECTION


def _read_log(text: str) -> tuple[str, str]:
    """The observations of an earlier context, and its task."""
    log, _, task = text.removeprefix(OPENING).removesuffix(CLOSING).rpartition(f"\n\n## {TASK.title}\n")
    return log, task
