"""goose at commit 331a842 of block/goose: ``maybe_summarize_tool_pairs`` and ``compact_messages``.

What it takes out stays in the session for the user and is not shown to the agent; a context here is what the agent
sees. Its summaries are for the agent alone. Its system prompt is no message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from compaction.groups import declarations
from compaction.markers import CALL, Marker, headings, wrapper
from compaction.model import ContextOverflowError, Section, SummaryRequest
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.notes import read_sections
from compaction.strategies.shared.parts import make_once, stands_for, system_prompt, with_calls
from compaction.strategies.shared.requests import instructions
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message, ToolCall

PAIR = "[Historical tool call summary] "
GO_ON = (
    "Your context was compacted: the message before this one sums up the conversation. Do not say so, and do not say "
    "that you read a summary. "
)
TALK_ON = GO_ON + "Go on with the conversation as if nothing had happened."
WORK_ON = GO_ON + "Go on calling the tools that the task needs."

LEAVE_OUT = (0, 10, 20, 50, 100)
"""Percent of the results that are not shown, one after the other, while the request is too long."""

SECTIONS = (
    Section("Goal", ("intent",), "What the user wants; every item, where the session has more than one task."),
    Section("Constraints & Preferences", (), "Limits, wishes and requirements that the user stated."),
    Section(
        "Progress",
        ("state",),
        "Under `### Done` with `- [x]` what is finished, with its paths, under `### In Progress` with `- [ ]` what is "
        "being worked on, under `### Blocked` what stands in the way.",
    ),
    Section("Key Decisions", ("decisions",), "Each decision in bold, with its reason in a few words."),
    Section("Next Steps", ("next_steps",), "What comes next, numbered."),
    Section("Critical Context", ("details", "errors"), "Data, examples, error messages and references needed later."),
)

IN_SHORT = Section("In short", ("files", "errors", "details"), "What was asked for, and what came of it.")
"""Tells a summariser that is no language model what a line holds; the original asks for no heading."""


@strategy(
    "goose_summarize",
    version=1,
    needs_model=True,
    peer="goose",
    peer_version="331a842",
    variants=({"tool_pairs": False},),
    by_default=False,
    markers=(
        Marker(PAIR + "{name} was called", CALL + "{name}", "whole", made=True),
        *wrapper(PAIR, TALK_ON, WORK_ON),
        *headings((*SECTIONS, IN_SHORT), Constraints_Preferences="intent"),
    ),
)
def goose_summarize(
    history: History,
    *,
    tool_pairs: bool = True,
    cutoff: Positive = 10,
    threshold: float = 0.8,
    pair_tokens: Positive = 200,
    summary_tokens: Positive = SUMMARY_TOKENS,
) -> Sequence[Message]:
    """A line for each old call and its result, and a summary of all that is left over ``threshold`` of the budget.

    All calls but the newest ``cutoff`` and those since the last user message are summed up one by one (``tool_pairs``),
    in at most ``pair_tokens``. The summary of six sections is the user's; a line of the agent's and the user's last
    message follow it, and nothing else stays but the system prompt. Where the summariser refuses the request as too
    long, a tenth, a fifth, half and in the end all of the results are left out of it, from the middle outwards. With a
    ``threshold`` of 0 or 1 there is no summary.
    """
    apart = system_prompt(history.messages)
    messages = history.messages[len(apart) :]
    if tool_pairs:
        messages = tuple(_with_pairs_summed_up(history, messages, cutoff, pair_tokens))
    left = (*apart, *messages)
    last = next((message for message in reversed(messages) if message.role == "user" and message.seq is not None), None)
    is_over = 0 < threshold < 1 and history.count(left) > threshold * history.budget
    if not is_over or all(message is last or message.seq is None for message in messages):
        return left
    text, said = _sum_up(history, messages, summary_tokens)
    covers = stands_for(message for message in said if message is not last)
    go_on = TALK_ON if last is not None and messages[-1] is last else WORK_ON
    made = (Message("user", text, covers=covers), Message("assistant", go_on, covers=covers))
    return (*apart, *made, *([last] if last is not None else []))


def _with_pairs_summed_up(
    history: History, messages: Sequence[Message], cutoff: int, max_tokens: int
) -> Iterator[Message]:
    """The messages with a line of the user's in the place of each old result, and without its call."""
    old = _old_pairs(messages, cutoff)
    gone: dict[int, set[str]] = {}
    for call_at, id in old.values():
        gone.setdefault(call_at, set()).add(id)
    for position, message in enumerate(messages):
        if position in old:
            call_at, id = old[position]
            asked = messages[call_at]
            call = next(call for call in asked.tool_calls if call.id == id)
            text = history.summarize(_ask_for_pair(history, asked, call, message, max_tokens))
            text = "\n".join(read_sections(text, (IN_SHORT,))[IN_SHORT.title]) or f"{call.name} was called"
            is_bare = not asked.text and len(gone[call_at]) == len(asked.tool_calls)
            covers = stands_for([message, *([asked] if is_bare else [])])
            yield Message("user", text if text.startswith(PAIR.strip()) else PAIR + text, covers=covers)
        elif position in gone:
            calls = tuple(call for call in message.tool_calls if call.id not in gone[position])
            if calls or message.text:
                yield make_once(history.counter, with_calls, message, calls)
        else:
            yield message


def _old_pairs(messages: Sequence[Message], cutoff: int) -> dict[int, tuple[int, str]]:
    """Position of a result → position and id of its call, for the old ones; ids used twice are left alone."""
    last = max(
        (n for n, message in enumerate(messages) if message.role == "user" and message.seq is not None), default=-1
    )
    calls = [(n, call.id) for n, message in enumerate(messages[: last + 1]) for call in message.tool_calls]
    old = set(calls[: max(0, len(calls) - cutoff)])
    asked_for = Counter(call.id for message in messages for call in message.tool_calls)
    answered = Counter(message.tool_call_id for message in messages if message.role == "tool")
    return {
        position: (asked, message.tool_call_id)
        for position, (message, asked) in enumerate(zip(messages, declarations(messages), strict=True))
        if asked is not None
        and message.tool_call_id is not None
        and (asked, message.tool_call_id) in old
        and asked_for[message.tool_call_id] == answered[message.tool_call_id] == 1
    }


def _ask_for_pair(history: History, asked: Message, call: ToolCall, result: Message, max_tokens: int) -> SummaryRequest:
    span = (make_once(history.counter, _with_call_alone, asked, call), result)
    prompt = (
        Message("system", instructions(history, "goose_tool_pair", (), max_tokens)),
        Message("user", write_messages(span)),
    )
    return SummaryRequest(prompt, span, (IN_SHORT,), max_tokens=max_tokens)


def _with_call_alone(message: Message, call: ToolCall) -> Message:
    return Message("assistant", tool_calls=(call,), seq=message.seq)


def _sum_up(history: History, messages: Sequence[Message], max_tokens: int) -> tuple[str, Sequence[Message]]:
    """Write the summary; return it with the messages that it covers."""
    for percent in LEAVE_OUT:
        said = leave_out_results(messages, percent)
        prompt = (
            Message("system", instructions(history, "goose_summarize", SECTIONS, max_tokens)),
            Message("user", f"<messages>\n{write_messages(said)}\n</messages>\n\nWrite the checkpoint now."),
        )
        try:
            return history.summarize(SummaryRequest(prompt, tuple(said), SECTIONS, max_tokens=max_tokens)), said
        except ContextOverflowError:
            if percent == LEAVE_OUT[-1]:
                raise
    raise AssertionError("the last request is answered or refused")


def leave_out_results(messages: Sequence[Message], percent: int) -> Sequence[Message]:
    """The messages without so many of their results, at least one, in turns before and behind the middle one."""
    results = [position for position, message in enumerate(messages) if message.role == "tool"]
    if not percent or not results:
        return messages
    middle = len(results) // 2
    gone = set()
    for number in range(max(1, len(results) * percent // 100)):
        place = middle - number // 2 - 1 if number % 2 == 0 else middle + number // 2
        if 0 <= place < len(results):
            gone.add(results[place])
    return [message for position, message in enumerate(messages) if position not in gone]


def write_messages(messages: Sequence[Message]) -> str:
    """Messages as the original shows them: a result is the user's, and what was thought is left out."""
    return "\n".join(map(_write_message, messages))


def _write_message(message: Message) -> str:
    if message.role == "tool":
        return f"[user]: tool_response: {message.text or '[non-text content]'}"
    calls = (f"tool_request({call.name}): {call.arguments}" for call in message.tool_calls)
    parts = [part for part in (message.text, *calls) if part]
    role = "assistant" if message.role == "assistant" else "user"
    return f"[{role}]: " + ("\n".join(parts) or "<empty message>")
