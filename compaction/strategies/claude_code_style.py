"""A summary of nine sections, as Claude Code is known to write it: inspect_ai 0.3.285's ``CompactionSummary``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from compaction.markers import headings, wrapper
from compaction.model import Section, SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.inspect_ai import PEER, SUMMARY_MARK, VERSION, is_summary, partition
from compaction.strategies.shared.parts import stands_for
from compaction.strategies.shared.requests import instructions, render
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

OPENING = (
    f"{SUMMARY_MARK}\n\nWhat follows was written when the context was compacted. It sums up the work on this task so "
    "far in place of the earlier conversation, and is no message of the user:\n\n"
)
CLOSING = "\n\nGo on with the task from there."

SECTIONS = (
    Section(
        "Primary Request and Intent",
        ("intent",),
        "Everything that the user explicitly asked for, in detail, with the intent behind it.",
    ),
    Section("Key Technical Concepts", ("details",), "The technologies, frameworks, versions and ideas that mattered."),
    Section(
        "Files and Code Sections",
        ("files",),
        "Every file that was examined, modified or created, with why it matters, what changed, and the code that is "
        "needed to go on, the newest above all.",
    ),
    Section("Errors and Fixes", ("errors",), "Every error, how it was fixed, and what the user said about it."),
    Section("Problem Solving", ("decisions",), "Problems that were solved, with the decisions, and those still open."),
    Section(
        "All User Messages",
        ("intent",),
        "Every message of the user that is no tool result, and word for word each rule that the user set about safety "
        "or secrets. What a framework put in the user's place (prompts to go on, earlier summaries) is not the user's.",
    ),
    Section("Pending Tasks", ("next_steps",), "What was explicitly asked for and is not done."),
    Section("Current Work", ("state",), "What was being done right before this summary, with files and code."),
    Section(
        "Optional Next Step",
        ("next_steps",),
        "The next action in line with the latest request and the work under way, with a quotation that shows where it "
        "stands. None where the last task was finished.",
    ),
)

MARKERS = (*wrapper(OPENING, CLOSING, SUMMARY_MARK), *headings(SECTIONS))

_ANALYSIS = re.compile(r"<analysis>(?:(?!<summary>).)*?</analysis>\s*(?=<summary>)", re.DOTALL)


@strategy("claude_code_style_regen", version=2, needs_model=True, peer=PEER, peer_version=VERSION, markers=MARKERS)
def claude_code_style_regen(history: History, *, summary_tokens: Positive = SUMMARY_TOKENS) -> Sequence[Message]:
    """A summary of nine sections in place of all but system messages and the input, written anew each time.

    The input is all up to the first user message; the summary, a user message with a fixed first line, comes behind
    it. The summariser is shown everything that stays as well, and of the conversation what follows the latest summary,
    that included. A scratchpad before the summary is cut off. No recent message stays.
    """
    parts = partition(history.messages)
    if not parts.conversation:
        return history.messages
    latest = max((i for i, message in enumerate(parts.conversation) if is_summary(message)), default=0)
    span = (*parts.input, *parts.conversation[latest:])
    request = _request(history, parts.system, span, summary_tokens)
    text = without_analysis(history.summarize(request))
    summary = Message("user", f"{OPENING}{text}{CLOSING}", covers=stands_for(parts.conversation))
    return (*parts.system, *parts.input, summary)


def without_analysis(text: str) -> str:
    """The text without the model's ``<analysis>`` before ``<summary>``; as it is where the two do not follow so."""
    found = _ANALYSIS.search(text)
    begins = text.find("<summary>")
    if found is None or found.start() != text.find("<analysis>") or found.start() > begins:
        return text
    return (text[: found.start()] + text[found.end() :]).strip() or text


def _request(
    history: History, system: tuple[Message, ...], span: tuple[Message, ...], max_tokens: int
) -> SummaryRequest:
    asked = (
        Message("system", instructions(history, "claude_code_style_regen", SECTIONS, max_tokens)),
        Message("user", f"<messages>\n{render((*system, *span))}\n</messages>\n\nWrite the summary now."),
    )
    return SummaryRequest(asked, span, SECTIONS, max_tokens=max_tokens)
