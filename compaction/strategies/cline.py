"""Cline 3.89.2: ``summarize_task`` with its ``ContextManager``, which clears and truncates.

A message of the original's is a turn here: all that one side says at a stretch, results of tools on the user's side.
The system prompt is no message there, and later system messages count as the user's. The first two always stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from compaction.markers import REMOVED, Marker, headings, removed, wrapper
from compaction.model import ContextOverflowError, Section
from compaction.parameters import Positive
from compaction.reading.todos import latest_todos
from compaction.reading.tool_calls import call_effects, shell_command
from compaction.registry import strategy
from compaction.strategies.shared.originals import utf16_length
from compaction.strategies.shared.parts import make_once, stands_for, system_prompt, with_text
from compaction.strategies.shared.requests import summary_request
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message, ToolCall

READ_AGAIN = "[[NOTE] This file was read again later and its text here is gone; see the latest read.]"
TRUNCATED = (
    "[NOTE] Messages between the user's task and the latest ones are gone, to save room in the context. Keep that in "
    "mind, and go by what the user said last."
)
CONTINUE = "[Continue assisting the user!]"
MISSING = "result missing"
SUMMARY = "[summarize_task] Result:\n\nThis session goes on from a conversation that ran out of context. Its summary:\n"
GO_ON = (
    "\n\nGo on from there with the task that was given last, and do not ask the user anything more. The user's latest "
    "message counts for more than the first task."
)
PROGRESS = "\n\n# task_progress List\n**Current Progress: {done}/{all} items completed ({percent}%)**\n"

ENOUGH = 0.3
"""Share of the characters that cleared reads must save where nothing more is to be done."""

SECTIONS = (
    Section("Primary Request and Intent", ("intent",), "Every explicit request and intent of the user's, in detail."),
    Section("Key Technical Concepts", ("details",), "All important technical concepts, technologies and frameworks."),
    Section(
        "Files and Code Sections",
        ("files",),
        "Each file that was examined, modified or created, with why that matters and whole snippets where they help, "
        "the newest messages above all.",
    ),
    Section("Problem Solving", ("decisions",), "Problems that were solved, and troubleshooting that goes on."),
    Section("Pending Tasks", ("next_steps",), "Tasks that were explicitly asked for and are pending."),
    Section(
        "Task Evolution",
        ("intent",),
        "Where the user changed or added to the task: the original task, its later changes in order, the task of now, "
        "and why it changed, with the user's own words.",
    ),
    Section("Current Work", ("state",), "Precisely what was worked on right before this, with file names and code."),
    Section(
        "Next Step",
        ("next_steps",),
        "The next step, in line with the user's explicit requests and the work right before this, with word for word "
        "quotations of where it stands; no side tracks without asking the user.",
    ),
    Section("Required Files", ("files",), "The fewest files that the next step needs, the most important first."),
)

MARKERS = (
    *wrapper(SUMMARY, GO_ON, PROGRESS),
    *removed(READ_AGAIN, TRUNCATED),
    *(Marker(text, REMOVED, "whole") for text in (CONTINUE, MISSING)),
    *headings(SECTIONS),
)

_HEADER = re.compile(r"\[([^\s]+) for '([^']+)'\] Result:")
_FINAL = re.compile(r'(<final_file_content path="[^"]*">)[\s\S]*?(</final_file_content>)')
_MENTION = re.compile(r'<file_content path="([^"]*)">([\s\S]*?)</file_content>')
_PART = re.compile(r'"(?:offset|limit|\w*line\w*|\w*range|start|end)"')

Turn = list[Message]


@strategy(
    "cline_auto_compact",
    version=1,
    needs_model=True,
    peer="Cline",
    peer_version="3.89.2",
    by_default=False,
    markers=MARKERS,
)
def cline_auto_compact(
    history: History,
    *,
    condense: bool = True,
    keep: Literal["auto", "half", "quarter"] = "auto",
    focus_chain: bool = True,
    summary_tokens: Positive = SUMMARY_TOKENS,
) -> Sequence[Message]:
    """A summary of nine sections by the user, and the first two turns with their texts replaced by notices.

    First every read of a file that is read again later is cleared; where that saves three tenths of the characters,
    nothing else is done. The agent's latest check list follows the summary (``focus_chain``). Where the summariser
    refuses the request as too long, a quarter of the turns stay and it is asked once more. With ``condense`` off there
    is no summary: of the turns after the first two the older half goes, or three quarters of them (``keep``; ``auto``:
    where the history has more than twice the budget).
    """
    apart = system_prompt(history.messages)
    turns = _turns(history.messages[len(apart) :])
    if len(turns) < 2 or (condense and _is_summed_up(turns)):
        return history.messages
    # A summary is asked for before the user's side has spoken.
    end = len(turns) - (condense and not _is_agents(turns[-1]) and not _is_summary(turns[-1][0]))
    cleared, saved = _clear_repeated_reads(history, turns[:end])
    turns = [*cleared, *turns[end:]]
    if saved < ENOUGH and condense:
        turns = _sum_up(history, turns, focus_chain, summary_tokens)
    elif saved < ENOUGH:
        is_far_over = history.count(history.messages) / 2 > history.budget
        turns = _truncate(history, turns, "quarter" if keep == "auto" and is_far_over else keep)
    return (*apart, *_with_missing_results(turns))


def _turns(messages: Sequence[Message]) -> list[Turn]:
    """The messages by turn, the two sides one after the other, without results that this strategy made.

    A summary is a turn of its own, and so is what stands behind a gap. Where a turn of the user's lost all that it had,
    an empty one stands.
    """
    turns: list[Turn] = []
    for message in messages:
        if _is_made(message, MISSING):
            continue
        last = turns[-1][-1] if turns else None
        is_agent = message.role == "assistant"
        if last is None or is_agent != (last.role == "assistant") or _is_summary(message) or _is_summary(last):
            turns.append([message])
        elif None not in (last.seq, message.seq) and message.seq != (last.seq or 0) + 1:
            turns += [[], [message]] if is_agent else [[message]]
        else:
            turns[-1].append(message)
    return turns


def _is_made(message: Message, text: str) -> bool:
    return message.seq is None and message.text == text


def _is_summary(message: Message) -> bool:
    return message.seq is None and message.text.startswith(SUMMARY)


def _is_summed_up(turns: Sequence[Turn]) -> bool:
    """Whether there is a summary, and no more than an answer to it since."""
    rest = turns[2:]
    if not (rest and rest[0] and _is_summary(rest[0][0])):
        return False
    return len(rest) - (len(rest) > 1 and not _is_agents(rest[-1])) <= 2


def _is_agents(turn: Turn) -> bool:
    return bool(turn) and turn[0].role == "assistant"


def _sum_up(history: History, turns: list[Turn], focus_chain: bool, max_tokens: int) -> list[Turn]:
    try:
        text, said = _ask(history, turns, max_tokens)
    except ContextOverflowError:
        turns = _truncate(history, turns, "quarter")
        text, said = _ask(history, turns, max_tokens)
    progress = _write_progress(history.session) if focus_chain else ""
    summary = Message("user", SUMMARY + text + GO_ON + progress, covers=stands_for(said))
    return [*_with_notices(history, turns, CONTINUE), [summary]]


def _ask(history: History, turns: Sequence[Turn], max_tokens: int) -> tuple[str, Sequence[Message]]:
    said = _with_missing_results(turns)
    request = summary_request(history, "cline_auto_compact", said, sections=SECTIONS, max_tokens=max_tokens)
    return history.summarize(request), said


def _truncate(history: History, turns: list[Turn], keep: str) -> list[Turn]:
    """The turns without the oldest behind the first two, up to one of the agent's, and without orphan results."""
    n_rest = len(turns) - 2
    n_gone = n_rest * 3 // 4 // 2 * 2 if keep == "quarter" else n_rest // 4 * 2
    end = 1 + n_gone
    if end > 1 and not _is_agents(turns[end]):
        end -= 1
    stays = turns[end + 1 :]
    if end > 1 and stays and not _is_agents(stays[0]):
        stays = [[message for message in stays[0] if message.role != "tool"], *stays[1:]]
    return [*_with_notices(history, turns), *stays]


def _with_notices(history: History, turns: Sequence[Turn], task: str = "") -> list[Turn]:
    """The first two turns with a notice in the place of the agent's first text, and ``task`` in that of the user's."""
    first, second = list(turns[0]), list(turns[1])
    if task and first and first[0].role != "tool" and first[0].text not in ("", task):
        first[0] = make_once(history.counter, with_text, first[0], task)
    if second and second[0].text not in ("", TRUNCATED):
        second[0] = make_once(history.counter, with_text, second[0], TRUNCATED)
    return [first, second]


def _with_missing_results(turns: Sequence[Turn]) -> list[Message]:
    """The messages of all turns; calls of the first two without a result in the next one get one that says so."""
    messages: list[Message] = []
    for number, turn in enumerate(turns):
        before = turns[number - 1] if 0 < number < 3 else []
        if _is_agents(before) and not _is_agents(turn):
            owners = {call.id: (call, message) for message in before for call in message.tool_calls}
            for result in turn:
                owners.pop(result.tool_call_id or "", None)
            messages += [
                Message("tool", MISSING, tool_call_id=call.id, tool_name=call.name, covers=stands_for([message]))
                for call, message in owners.values()
            ]
        messages += turn
    return messages


def _clear_repeated_reads(history: History, turns: Sequence[Turn]) -> tuple[list[Turn], float]:
    """The turns with each file's text at its latest read only, and the share of characters that this saved."""
    calls = {call.id: call for turn in turns for message in turn for call in message.tool_calls}
    reads: dict[str, list[tuple[int, int, str, str]]] = {}
    for number, turn in enumerate(turns[2:], 2):
        for place, path, old, new in _read_files(turn, calls):
            reads.setdefault(path, []).append((number, place, old, new))
    cleared = [list(turn) for turn in turns]
    for found in reads.values():
        for number, place, old, new in found[:-1]:
            message = cleared[number][place]
            cleared[number][place] = make_once(history.counter, with_text, message, message.text.replace(old, new, 1))
    before, after = _length(turns), _length(cleared)
    return cleared, (before - after) / before if before else 0.0


def _length(turns: Iterable[Turn]) -> int:
    return sum(utf16_length(message.text) for turn in turns for message in turn)


def _read_files(turn: Turn, calls: Mapping[str, ToolCall]) -> list[tuple[int, str, str, str]]:
    """The files that a turn of the user's shows: position, path, what shows it, and what would take its place.

    As in the original only the turn's first message counts as a result, and one of its first three for mentions.
    """
    if not turn or _is_agents(turn):
        return []
    text = turn[0].text
    if match := _HEADER.match(text):
        tool, path = match[1], match[2]
        if tool == "read_file":
            return [] if READ_AGAIN in text else [(0, path, text, f"{match[0]}\n{READ_AGAIN}")]
        if tool in ("replace_in_file", "write_to_file"):
            final = _FINAL.search(text)
            is_new = final is not None and READ_AGAIN not in final[0]
            return [(0, path, final[0], f"{final[1]} {READ_AGAIN} {final[2]}")] if final and is_new else []
    elif (whole := _whole_read(turn[0], calls)) and text != READ_AGAIN:
        return [(0, whole, text, READ_AGAIN)]
    for place, message in enumerate(turn[:3]):
        if found := list(_MENTION.finditer(message.text)):
            return [
                (place, m[1], m[0], f'<file_content path="{m[1]}">{READ_AGAIN}</file_content>')
                for m in found
                if m[2] != READ_AGAIN
            ]
    return []


def _whole_read(message: Message, calls: Mapping[str, ToolCall]) -> str:
    """The path of the file that a result shows whole; empty for any other message. Commands of a shell are none."""
    call = calls.get(message.tool_call_id or "") if message.role == "tool" and message.text else None
    if call is None or shell_command(call) is not None or _PART.search(call.arguments):
        return ""
    effects = call_effects(call)
    return effects[0].path if len(effects) == 1 and effects[0].verb == "read" else ""


def _write_progress(session: Sequence[Message]) -> str:
    """The agent's latest check list as Cline shows it: the argument of a call, or what the agent's own tool keeps."""
    lines: list[str] = []
    for message in reversed(session):
        texts = [call.parsed().get("task_progress") for call in message.tool_calls if "task_progress" in call.arguments]
        if given := [text for text in texts if isinstance(text, str) and text.strip()]:
            lines = given[-1].strip().splitlines()
            break
    else:
        todos = latest_todos(session)
        lines = [f"- [{'x' if item.status == 'done' else ' '}] {item.text}" for item in (todos.items if todos else ())]
    boxes = [line.strip()[:5].lower() for line in lines if line.strip()[:5].lower() in ("- [x]", "- [ ]")]
    if not boxes:
        return ""
    done = boxes.count("- [x]")
    head = PROGRESS.format(done=done, all=len(boxes), percent=round(100 * done / len(boxes)))
    return head + "\n".join(lines)
