"""deepagents 0.7.32: large results in files, large arguments cut, and a summary that names the history's file.

``FilesystemMiddleware`` takes the results out and ``SummarizationMiddleware`` does the rest, with the summary of
LangChain. Tokens are the project's exact ones. The files are named as there and nobody writes them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compaction.markers import SHORTENED, Marker, headings, shortened, wrapper
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.langchain import SECTIONS, safe_cut, summary_request
from compaction.strategies.shared.parts import (
    make_once,
    stands_for,
    system_prompt,
    with_calls,
    with_text,
    without_reasoning,
)
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message, ToolCall

SUMMARY = (
    "You are in the middle of a conversation that has been summarized.\n\n"
    "The full conversation history has been saved to {path} should you need to refer back to it for details.\n\n"
    "A condensed summary follows:\n\n<summary>\n"
)
SUMMARY_END = "\n</summary>"
HISTORY_FILE = "/conversation_history/session.md"
"""The original's has a random number in its name."""
TOO_LARGE = (
    "Tool result too large, the result of this tool call {id} was saved in the filesystem at this path: {path}\n\n"
    "You can read the result from the filesystem by using the read_file tool, but make sure to only read part of the "
    "result at a time.\n\nYou can do this by specifying an offset and limit in the read_file tool call. For example, "
    "to read the first 100 lines, you can use the read_file tool with offset=0 and limit=100.\n\n"
)
RESULTS = "/large_tool_results"
PREVIEW = "Here is a preview of the result"
HEAD_AND_TAIL = "Here is a preview showing the head and tail of the result"
OMITTED = "... [{n} lines truncated] ..."
OMITTED_NOTE = "lines of the form `... [N lines truncated] ...` indicate omitted lines in the middle of the content"
CLIPPED_NOTE = (
    "the output contains lines longer than 1000 characters; this preview shows only their first 1000 characters"
)
ARGUMENT_CUT = "...(argument truncated)"

CHARS_PER_TOKEN = 4
LINE_CHARS = 1000
SHOWN_LINES = 5
"""At each end of a preview."""
SHOWN_ARGUMENT = 20
"""Characters that stay of a cut argument."""
RECENT = 20
"""Messages whose arguments stay where ``keep_messages`` is given."""
MAX_ID_CHARS = 32
MAX_FILE_BYTES = 128

WHOLE_TOOLS = frozenset({"ls", "glob", "grep", "read_file", "edit_file", "write_file", "delete"})
"""Tools whose results are never taken out."""
CUT_TOOLS = frozenset({"write_file", "edit_file"})
"""Tools whose arguments are cut."""


def _show_preview(holes: Mapping[str, str]) -> str:
    """The lines of a preview without its title and their numbers."""
    title, colon, lines = holes["lines"].partition(":\n\n")
    return re.sub(r"^ *\d+  ", "", lines if colon else title, flags=re.MULTILINE) + "\n" + SHORTENED


MARKERS = (
    *wrapper(SUMMARY, SUMMARY_END),
    Marker(TOO_LARGE + "{lines}", _show_preview, "whole"),
    *shortened(OMITTED, ARGUMENT_CUT),
    *headings(SECTIONS),
)


@strategy(
    "deepagents",
    needs_model=True,
    peer="deepagents",
    peer_version="0.7.32",
    variants=({"keep_messages": 6},),
    by_default=False,
    markers=MARKERS,
    bites={"keep_messages": 3, "tool_token_limit": 40},
)
def deepagents(
    history: History,
    *,
    keep_share: float = 0.10,
    keep_messages: Positive | None = None,
    tool_token_limit: Positive = 20_000,
    max_argument_chars: Positive = 2000,
    summary_tokens: Positive = SUMMARY_TOKENS,
) -> Sequence[Message]:
    """Large results go to files, and all but the newest messages become a summary that names the history's file.

    A result of more than ``tool_token_limit`` tokens (at four characters) becomes a pointer to its file with its first
    and last five lines; those of the file tools stay. Of arguments of ``write_file`` and ``edit_file`` that are longer
    than ``max_argument_chars`` 20 characters stay, except in the newest messages. The newest messages are those within
    ``keep_share`` of the budget, at least one; or, as with a model whose window is not known, ``keep_messages``, and
    for arguments 20. A cut among results moves back to their call. What stays loses its reasoning. The summary is that
    of ``langchain_summary`` with the system prompt kept apart, and is shown all.
    """
    apart = system_prompt(history.messages)
    state = _with_files(history, history.messages[len(apart) :], tool_token_limit)
    limit = max(1, int(history.budget * keep_share))
    recent = _tail_start(history, state, limit) if keep_messages is None else len(state) - RECENT
    state = _with_cut_arguments(history, state, recent, max_argument_chars)
    cut = _tail_start(history, state, limit) if keep_messages is None else len(state) - keep_messages
    cut = safe_cut(state, min(cut, len(state) - 1)) if cut > 0 and len(state) > 1 else 0
    if cut <= 0:
        return (*apart, *state)
    shown = tuple(without_reasoning(history, message) for message in state[:cut])
    text = history.summarize(summary_request(history, shown, summary_tokens))
    summary = SUMMARY.format(path=HISTORY_FILE) + text + SUMMARY_END
    left = (without_reasoning(history, message) for message in state[cut:])
    return (*apart, Message("user", summary, covers=stands_for(shown)), *left)


def _tail_start(history: History, messages: Sequence[Message], limit: int) -> int:
    """Position of the first of the newest messages within a limit in tokens; the end where not even one fits."""
    start, tokens = len(messages), 0
    while start > 0 and (tokens := tokens + history.count((messages[start - 1],))) <= limit:
        start -= 1
    return start


def _with_files(history: History, messages: Sequence[Message], limit: int) -> list[Message]:
    found: list[Message] = []
    names: dict[str, str] = {}
    for message in messages:
        names.update((call.id, call.name) for call in message.tool_calls)
        is_large = message.role == "tool" and len(message.text) > CHARS_PER_TOKEN * limit
        tool = names.get(message.tool_call_id or "", message.tool_name)
        if is_large and tool not in WHOLE_TOOLS and not message.text.startswith(TOO_LARGE.partition("{")[0]):
            found.append(make_once(history.counter, with_text, message, _pointer(message)))
        else:
            found.append(message)
    return found


def _pointer(message: Message) -> str:
    """The text in the place of a large result."""
    id = message.tool_call_id or "unknown"
    name = id.replace(".", "_").replace("/", "_").replace("\\", "_")
    if len(name.encode()) > MAX_FILE_BYTES:
        name = f"call-{hashlib.sha256(id.encode()).hexdigest()}"
    shown = id if len(id) <= MAX_ID_CHARS else f"{id[:MAX_ID_CHARS]}..."
    return TOO_LARGE.format(id=shown, path=f"{RESULTS}/{name}") + _preview(message.text) + "\n"


def _preview(text: str) -> str:
    lines = text.splitlines()
    n_omitted = len(lines) - 2 * SHOWN_LINES
    parts = [(1, lines)] if n_omitted <= 0 else [(1, lines[:SHOWN_LINES]), (len(lines) - 4, lines[-SHOWN_LINES:])]
    is_clipped = any(len(line) > LINE_CHARS for _, part in parts for line in part)
    notes = [note for note, holds in ((OMITTED_NOTE, n_omitted > 0), (CLIPPED_NOTE, is_clipped)) if holds]
    title = (HEAD_AND_TAIL if n_omitted > 0 else PREVIEW) + (f" ({'; '.join(notes)})" if notes else "")
    samples = [_number_lines(part, start) for start, part in parts]
    return f"{title}:\n\n" + f"\n{OMITTED.format(n=n_omitted)}\n".join(samples)


def _number_lines(lines: Sequence[str], start: int) -> str:
    width = len(str(start + len(lines) - 1))
    return "\n".join(f"{number:>{width}}  {line[:LINE_CHARS]}" for number, line in enumerate(lines, start))


def _with_cut_arguments(history: History, messages: Sequence[Message], end: int, most: int) -> list[Message]:
    """The messages with cut arguments before ``end``; none are cut where that is the end of all."""
    found = list(messages)
    for position, message in enumerate(messages[: end if 0 < end < len(messages) else 0]):
        calls = tuple(_cut_arguments(call, most) for call in message.tool_calls)
        if calls != message.tool_calls:
            found[position] = make_once(history.counter, with_calls, message, calls)
    return found


def _cut_arguments(call: ToolCall, most: int) -> ToolCall:
    arguments = call.parsed() if call.name in CUT_TOOLS else {}
    cut = {
        key: value[:SHOWN_ARGUMENT] + ARGUMENT_CUT if isinstance(value, str) and len(value) > most else value
        for key, value in arguments.items()
    }
    return call if cut == arguments else replace(call, arguments=json.dumps(cut, ensure_ascii=False))
