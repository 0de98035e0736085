"""kimi-cli 1.52.0: ``SimpleCompaction``.

Its context has no system messages: the system prompt stands apart. A message is shown to the summariser as its text
alone, without reasoning and without calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from compaction.markers import headings, wrapper
from compaction.model import Section, SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import make_once, stands_for, system_prompt, with_calls, without_reasoning
from compaction.strategies.shared.requests import instructions
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

PREFIX = "<system>Previous context has been compacted. Here is the compaction output:</system>\n"

SECTIONS = (
    Section("current_focus", ("state", "intent"), "What is being worked on now."),
    Section("environment", ("details",), "The main points of set-up and configuration."),
    Section("completed_tasks", ("decisions",), "Each task that is done, with what came of it in short."),
    Section("active_issues", ("errors", "next_steps"), "Each open issue, with its status or the next steps."),
    Section("code_state", ("files",), "The files of this work, an element <file> each."),
    Section("important_context", ("free",), "Whatever else is essential and stands in none of the above."),
)


@strategy(
    "kimi_compact",
    needs_model=True,
    peer="kimi-cli",
    peer_version="1.52.0",
    by_default=False,
    # A title has one kind for all methods that have it.
    markers=(*wrapper(PREFIX), *headings(SECTIONS, code_state="details")),
)
def kimi_compact(
    history: History, *, max_preserved_messages: int = 2, summary_tokens: Positive = SUMMARY_TOKENS
) -> Sequence[Message]:
    """A summary of six elements by the user, and the newest messages from the last ``max_preserved_messages`` on.

    Messages of user and assistant count, results do not: the newest are as a rule a call, its results, and what
    follows. The task goes, and so does an earlier summary, which is summarised with the rest. Where fewer messages are
    there, or none before them, nothing is done.
    """
    apart = system_prompt(history.messages)
    messages = history.messages[len(apart) :]
    counted = [position for position, message in enumerate(messages) if message.role in ("user", "assistant")]
    if not max_preserved_messages or len(counted) < max_preserved_messages:
        return history.messages
    start = counted[-max_preserved_messages]
    if start == 0:
        return history.messages
    span = tuple(_with_text_alone(history, message) for message in messages[:start])
    elements = "\n\n".join(f"<{s.title}>\n{s.ask}\n</{s.title}>" for s in SECTIONS)
    prompt = (
        Message("system", instructions(history, "kimi_compact", (), summary_tokens, elements=elements)),
        Message("user", write_messages(span)),
    )
    text = history.summarize(SummaryRequest(prompt, span, SECTIONS, max_tokens=summary_tokens))
    return (*apart, Message("user", PREFIX + text, covers=stands_for(span)), *messages[start:])


def _with_text_alone(history: History, message: Message) -> Message:
    said = without_reasoning(history, message)
    return make_once(history.counter, with_calls, said, ()) if said.tool_calls else said


def write_messages(messages: Sequence[Message]) -> str:
    """Messages as the original shows them, each under its number and role."""
    return "\n".join(
        f"## Message {number}\nRole: {message.role}\nContent:\n{message.text}"
        for number, message in enumerate(messages, 1)
    )
