"""Roo Code 3.52.1: ``summarizeConversation``, and ``truncateConversation`` where that fails.

The summary is a fresh start: nothing else stays. A message of the original's is a turn here: results that follow each
other are one. The system prompt is no message there, and later system messages count as the user's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from compaction.markers import headings, removed, wrapper
from compaction.model import Section, SummaryError, SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import stands_for, system_prompt, turns_of, without_reasoning
from compaction.strategies.shared.requests import instructions
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message, ToolCall

SUMMARY = "## Conversation Summary\n"
WORKFLOWS = (
    "\n<system-reminder>\n## Active Workflows\n"
    "The following directives must be maintained across all future condensings:\n"
)
WORKFLOWS_END = "\n</system-reminder>"
TRUNCATED = "[Sliding window truncation: {n} messages hidden to reduce context]"
DEFERRED = "Context condensation triggered. Tool execution deferred."

SECTIONS = (
    Section("Primary Request and Intent", ("intent",), "Every explicit request and intent of the user's, in detail."),
    Section("Key Technical Concepts", ("details",), "All technical concepts, technologies and frameworks."),
    Section(
        "Files and Code Sections",
        ("files",),
        "Each file that was examined, modified or created, with why that matters and whole snippets where they help, "
        "the newest messages above all.",
    ),
    Section(
        "Errors and fixes",
        ("errors",),
        "Each error with how it was fixed, and what the user said to that, above all to do something differently.",
    ),
    Section("Problem Solving", ("decisions",), "Problems that were solved, and troubleshooting that goes on."),
    Section("All user messages", ("intent",), "Each message of the user's that is no result of a tool."),
    Section("Pending Tasks", ("next_steps",), "Tasks that were explicitly asked for and are pending."),
    Section("Current Work", ("state",), "Precisely what was worked on right before this request, with files and code."),
    Section(
        "Optional Next Step",
        ("next_steps",),
        "The next step, in line with the user's latest explicit request and the work right before this one, with word "
        "for word quotations of where it stands; none on other or old requests without asking the user.",
    ),
)

_COMMAND = re.compile(r"<command[^>]*>[\s\S]*?</command>")

Turn = list[Message]


@strategy(
    "roo_condense",
    needs_model=True,
    peer="Roo Code",
    peer_version="3.52.1",
    by_default=False,
    markers=(*wrapper(SUMMARY, WORKFLOWS, WORKFLOWS_END.strip()), *removed(TRUNCATED), *headings(SECTIONS)),
)
def roo_condense(
    history: History,
    *,
    condense: bool = True,
    summary_tokens: Positive = SUMMARY_TOKENS,
    mode: Literal["faithful", "valid"] = "faithful",
) -> Sequence[Message]:
    """A summary of nine sections as the user's message, and nothing else but the system prompt.

    The summariser is shown what was said since the last summary, that included, with calls and results as text, and
    writes an analysis in front, which stays. Blocks in ``<command>`` elements of the session's first message follow
    the summary. With fewer than two messages since the last summary nothing is done. In the mode ``faithful``, where
    the summariser fails, and everywhere with ``condense`` off, half of the messages go, an even number from the second
    on, and a line says how many; under ``valid`` the failure is one.
    """
    apart = system_prompt(history.messages)
    turns = turns_of(history.messages[len(apart) :])
    if not condense:
        return _truncate(history, apart, turns)
    since = _effective(turns[max((n for n, turn in enumerate(turns) if _is_summary(turn[0])), default=0) :])
    said = [message for turn in since for message in turn]
    if len(since) <= 1 or (_is_summary(said[0]) and len(since) <= 2):
        return (*apart, *said)
    span = tuple(without_reasoning(history, message) for message in said)
    try:
        text = history.summarize(_request(history, span, summary_tokens))
    except SummaryError:
        if mode == "valid" or history.summarizer is None:
            raise
        history.flag("summary_failed")
        return _truncate(history, apart, turns)
    blocks = _COMMAND.findall(history.session[len(system_prompt(history.session))].text)
    workflows = WORKFLOWS + "\n".join(blocks) + WORKFLOWS_END if blocks else ""
    return (*apart, Message("user", SUMMARY + text + workflows, covers=stands_for(span)))


def _effective(since: Sequence[Turn]) -> Sequence[Turn]:
    """These turns; behind a summary without results of calls that it has taken the place of."""
    if not since or not _is_summary(since[0][0]):
        return since
    messages = [message for turn in since for message in turn]
    asked = {call.id for message in messages for call in message.tool_calls}
    return turns_of([message for message in messages if message.role != "tool" or message.tool_call_id in asked])


def _is_summary(message: Message) -> bool:
    return message.seq is None and message.text.startswith(SUMMARY)


def _truncate(history: History, apart: Sequence[Message], turns: Sequence[Turn]) -> Sequence[Message]:
    """Half of the messages gone, from the second on, with a line in their place."""
    prefix = TRUNCATED.partition("{")[0]
    visible = [n for n, turn in enumerate(turns) if not (turn[0].seq is None and turn[0].text.startswith(prefix))]
    n_gone = (len(visible) - 1) // 2 // 2 * 2
    if n_gone <= 0:
        return history.messages
    gone = set(visible[1 : n_gone + 1])
    left: list[Message] = list(apart)
    for n, turn in enumerate(turns):
        if n == visible[n_gone + 1]:
            left.append(Message("user", TRUNCATED.format(n=n_gone)))
        left += [] if n in gone else turn
    return left


def _request(history: History, span: Sequence[Message], max_tokens: int) -> SummaryRequest:
    asked = (
        Message("system", instructions(history, "roo_condense", SECTIONS, max_tokens)),
        Message("user", f"<events>\n{write_turns(span)}\n</events>\n\nWrite the analysis and the summary now."),
    )
    return SummaryRequest(asked, tuple(span), SECTIONS, max_tokens=max_tokens)


def write_turns(messages: Sequence[Message]) -> str:
    """Messages as the original shows them, calls and results as text; each unanswered call has a result at the end."""
    answered = {message.tool_call_id for message in messages if message.role == "tool"}
    ids = dict.fromkeys(call.id for message in messages for call in message.tool_calls)
    written = [
        f"# {'assistant' if turn[0].role == 'assistant' else 'user'}\n" + "\n".join(map(_turn_text, turn))
        for turn in turns_of(messages)
    ]
    deferred = [f"[Tool Result]\n{DEFERRED}" for id in ids if id not in answered]
    return "\n\n".join([*written, *(["# user\n" + "\n".join(deferred)] if deferred else [])])


def _turn_text(message: Message) -> str:
    if message.role == "tool":
        return f"[Tool Result{' (Error)' if message.is_error else ''}]\n{message.text}"
    return "\n".join(part for part in (message.text, *map(_call_text, message.tool_calls)) if part)


def _call_text(call: ToolCall) -> str:
    lines = (f"{key}: {_script_text(value)}" for key, value in call.parsed().items())
    return f"[Tool Use: {call.name}]\n" + "\n".join(lines)


def _script_text(value: Any) -> str:
    """A value as JavaScript writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, indent=2)
