"""pi's compaction: a persistent summary, file lists computed from the tool calls, and the newest messages.

0.58.3 itself is not in the stores that were read: ``compaction.ts`` of badlogic/pi-mono at 0430917, before it, has the
cut and the merging; the serialised turn prefix and the cut tool results are of the versions around 0.58.3. Tokens are
pi's estimate, a quarter of a message's characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import basename, dirname
from typing import Literal

from compaction.markers import Heading, Marker, headings, shortened, wrapper
from compaction.model import Section, SummaryRequest
from compaction.parameters import Positive
from compaction.reading.file_effects import Ledger, file_ops, same_file
from compaction.reading.file_paths import Roots
from compaction.registry import strategy
from compaction.strategies.shared.originals import cut_head, quarter_tokens, utf16_length
from compaction.strategies.shared.parts import compaction_cuts, make_once, stands_for, system_prompt, with_text
from compaction.strategies.shared.requests import instructions, summary_or_empty, write_prompt
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

PEER = "pi"
VERSION = "0.58.3"

KEEP_RECENT_TOKENS = 20_000
"""``keepRecentTokens``."""
RESULT_CHARS = 2_000
"""``TOOL_RESULT_MAX_CHARS``: characters of a tool result that the summariser is shown."""
RESULT_CUT = "\n\n[... {} more characters truncated]"

OPEN = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
CLOSE = "\n</summary>"
NO_HISTORY = "No prior history."
SPLIT_TURN = "\n\n---\n\n**Turn Context (split turn):**\n\n"

PREFIX_SHARE = 5 / 8
"""Room of a turn prefix's summary beside a history's: 0.5 and 0.8 of the reserve of 16,384 tokens."""

SECTIONS = (
    Section("Goal", ("intent",), "What the user wants; every item, where the session has more than one task."),
    Section("Constraints & Preferences", (), "Requirements, limits and wishes that the user stated."),
    Section(
        "Progress",
        ("state",),
        "Under `### Done` with `- [x]` what is finished, under `### In Progress` with `- [ ]` what is being worked on, "
        "under `### Blocked` what stands in the way.",
    ),
    Section("Key Decisions", ("decisions",), "Each decision in bold, with its reason in a few words."),
    Section("Next Steps", ("next_steps",), "What comes next, in order."),
    Section("Critical Context", ("details", "errors"), "Data, examples and references needed to continue."),
)
PREFIX_SECTIONS = (
    Section("Original Request", ("intent",), "What the user asked for in this turn."),
    Section("Early Progress", ("state", "decisions"), "What was done and decided in this first part."),
    Section("Context for Suffix", ("details", "errors"), "What one must know to understand the part that stays."),
)


def _file_list(holes: Mapping[str, str]) -> str:
    """A list of files in the form that other summaries have."""
    verb = {"read": "examined"}.get(holes["what"], holes["what"])
    return "\nfiles:\n" + "\n".join(f"- {path} ({verb})" for path in holes["lines"].split("\n"))


MARKERS = (
    *wrapper(OPEN, OPEN.partition("\n")[0], "<summary>", "</summary>", SPLIT_TURN, SPLIT_TURN.strip("\n-"), NO_HISTORY),
    *shortened(RESULT_CUT.strip().replace("{}", "{n}")),
    Marker("<{what}-files>\n{lines}\n</{what}-files>", _file_list),
    Marker("- [x] ", "- (done) ", made=True),
    Marker("- [ ] ", "- (open) ", made=True),
    *headings((*SECTIONS, *PREFIX_SECTIONS), Constraints_Preferences="intent"),
    Heading("Done", "decisions"),
    Heading("In Progress", "state"),
    Heading("Blocked", "errors"),
)

_LISTS = re.compile(r"<(read|modified)-files>\n(.*?)\n</\1-files>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _State:
    """The result of the compactions so far."""

    start: int
    """Position of the first message that the next compaction looks at."""
    kept: int
    """Position of the first message that stays beside the summary."""
    summary: str = ""
    covered: tuple[Message, ...] = ()
    left_over: tuple[Message, ...] = ()
    """Messages before the summary that no compaction has taken; only another strategy leaves such."""


@strategy(
    "pi_anchored_files",
    needs_model=True,
    peer=PEER,
    peer_version=VERSION,
    variants=({"mode": "faithful"},),
    markers=MARKERS,
    bites={"keep_recent_tokens": 5},
)
def pi_anchored_files(
    history: History,
    *,
    keep_recent_tokens: Positive = KEEP_RECENT_TOKENS,
    summary_tokens: Positive = SUMMARY_TOKENS,
    mode: Literal["faithful", "fixed"] = "fixed",
) -> Sequence[Message]:
    """A persistent summary with lists of read and modified files, and about the last ``keep_recent_tokens``.

    The cut is where the newest messages reach that many tokens, or at the next message after it that is no tool
    result. What newly falls before it is merged into the summary; where it splits a turn, the turn's first part gets
    a summary of its own. The file lists are added to, never summarised. A point at which nothing falls before the cut
    changes nothing. Over a whole session the strategy does what it would have done at each earlier point.

    ``faithful`` is 0.58.3: a second compaction looks only at what came after the first (issue 2608), so messages that
    the first one kept vanish from the context unsummarised; a turn that is split twice loses the summary of what was
    before it; and a blank summary is taken. ``fixed`` does none of the three; upstream has mended the first.
    """
    messages = history.messages
    system = system_prompt(messages)
    state = _last_state(history, len(system), mode == "faithful")
    before = state
    for end in compaction_cuts(history, state.start) if state.start < len(history.messages) else ():
        state = _compact(history, state, end, keep_recent_tokens, summary_tokens, mode)
    if state is before:
        return messages
    summary = Message("user", f"{OPEN}{state.summary}{CLOSE}", covers=stands_for(state.covered))
    return (*system, summary, *messages[state.kept :])


def find_cut(messages: Sequence[Message], start: int, end: int, keep_tokens: int) -> tuple[int, int]:
    """Find the first message that stays of ``messages[start:end]``, and the start of its turn.

    The second is -1 when the cut splits no turn. Everything stays when it is less than ``keep_tokens``.
    """
    cuts = [i for i in range(start, end) if messages[i].role != "tool"]
    if not cuts:
        return start, -1
    cut, tokens = cuts[0], 0
    for position in range(end - 1, start - 1, -1):
        tokens += estimated_tokens(messages[position])
        if tokens >= keep_tokens:
            cut = next((i for i in range(position, end) if messages[i].role != "tool"), cut)
            break
    turn = next((i for i in range(cut, start - 1, -1) if messages[i].role in ("user", "system")), -1)
    return cut, -1 if turn == cut else turn


def estimated_tokens(message: Message) -> int:
    """The original's estimate of a message."""
    length = utf16_length(message.text) + utf16_length(message.reasoning)
    for call in message.tool_calls:
        length += utf16_length(call.name) + utf16_length(_json(call.parsed()))
    return quarter_tokens(length)


def serialize(messages: Sequence[Message]) -> str:
    """Messages as the text that pi's summariser is shown; empty ones leave nothing."""
    parts: list[str] = []
    for message in messages:
        if message.role == "tool":
            if message.text:
                parts.append(f"[Tool result]: {cut_head(message.text, RESULT_CHARS, RESULT_CUT)}")
        elif message.role == "assistant":
            if message.reasoning:
                parts.append(f"[Assistant thinking]: {message.reasoning}")
            if message.text:
                parts.append(f"[Assistant]: {message.text}")
            calls = [
                f"{call.name}({', '.join(f'{key}={_json(value)}' for key, value in call.parsed().items())})"
                for call in message.tool_calls
            ]
            if calls:
                parts.append(f"[Assistant tool calls]: {'; '.join(calls)}")
        elif message.text:
            parts.append(f"[User]: {message.text}")
    return "\n\n".join(parts)


def with_file_lists(summary: str, previous: str, ledger: Ledger) -> str:
    """A summary with the files that the ledger has, and those that a previous summary listed, under their old names."""
    listed = {name: [path for path in paths.split("\n") if path] for name, paths in _LISTS.findall(previous)}
    known: dict[str, list[str]] = {}
    for path in (path for paths in listed.values() for path in paths):
        known.setdefault(basename(path), []).append(path)

    def named(paths: Iterable[str]) -> set[str]:
        return {next((old for old in known.get(basename(p), ()) if same_file(old, p)), p) for p in paths}

    modified = {*listed.get("modified", ()), *named([*ledger.created, *ledger.modified])}
    read = {*listed.get("read", ()), *named(ledger.examined)} - modified
    read -= {directory for path in (*read, *modified) for directory in _directories(path)}
    blocks = [("read", read), ("modified", modified)]
    return summary + "".join(
        f"\n\n<{name}-files>\n" + "\n".join(sorted(paths)) + f"\n</{name}-files>" for name, paths in blocks if paths
    )


def _directories(path: str) -> Iterator[str]:
    """The directories that a path lies in: what lists or searches one has read no file."""
    while (path := dirname(path)) not in ("", "/"):
        yield path


def _last_state(history: History, first: int, faithful: bool) -> _State:
    """Find the last compaction's result in the messages by its mark."""
    messages = history.messages
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if message.seq is None and message.covers and message.text.startswith(OPEN):
            text = message.text.removeprefix(OPEN).removesuffix(CLOSE)
            start = max(len(history.previous), position + 1) if faithful else position + 1
            return _State(start, position + 1, text, (message,), messages[first:position])
    return _State(first, first)


def _compact(history: History, state: _State, end: int, keep_tokens: int, summary_tokens: int, mode: str) -> _State:
    """The state after one more compaction, the same object if there is nothing to do."""
    messages, faithful = history.messages, mode == "faithful"
    cut, turn = find_cut(messages, state.start, end, keep_tokens)
    old = (*state.left_over, *messages[state.start : cut if turn < 0 else turn])
    prefix = messages[turn:cut] if turn >= 0 else ()
    compacted_before = bool(state.summary) and bool(history.previous or history.earlier_cuts)
    if not old and not prefix and not (faithful and compacted_before):
        return state
    covered = (*state.covered, *old, *prefix)
    if prefix and not old:
        if faithful or not state.summary:
            text, covered = NO_HISTORY, tuple(prefix)
        else:
            text = _LISTS.sub("", state.summary).rstrip()
    else:
        prompt = "pi_anchored_files_update" if state.summary else "pi_anchored_files"
        text = summary_or_empty(history, _request(history, prompt, old, SECTIONS, summary_tokens, state.summary), mode)
    if prefix:
        room = int(summary_tokens * PREFIX_SHARE)
        request = _request(history, "pi_anchored_files_prefix", prefix, PREFIX_SECTIONS, room)
        text += SPLIT_TURN + summary_or_empty(history, request, mode)
    # Paths as the calls have them: where the project lies is only found out as the session goes on.
    ledger = Ledger().extend(file_ops((*old, *prefix), roots=Roots()))
    return _State(end if faithful else cut, cut, with_file_lists(text, state.summary, ledger), covered)


def _request(
    history: History,
    prompt: str,
    span: Sequence[Message],
    sections: tuple[Section, ...],
    max_tokens: int,
    previous: str = "",
) -> SummaryRequest:
    parts = [f"<conversation>\n{serialize(span)}\n</conversation>"]
    if previous:
        parts.append(f"<previous-summary>\n{previous}\n</previous-summary>")
    parts.append(instructions(history, prompt, sections, max_tokens))
    asked = (Message("system", write_prompt("pi_anchored_files_role", (), 0)), Message("user", "\n\n".join(parts)))
    shown = tuple(_shown(history, message) for message in span)
    return SummaryRequest(asked, shown, sections, previous, max_tokens)


def _shown(history: History, message: Message) -> Message:
    if message.role != "tool" or len(message.text) <= RESULT_CHARS:
        return message

    return make_once(history.counter, with_text, message, cut_head(message.text, RESULT_CHARS, RESULT_CUT))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
