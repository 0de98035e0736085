"""The summary: what a model writes of the messages, and the names, words and pointer that stand behind it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from compaction.markers import Heading, Marker, headings, shortened, wrapper
from compaction.model import Section
from compaction.strategies.hermes.pruning import CUT_ARGUMENT
from compaction.strategies.shared.parts import make_once, stands_for
from compaction.strategies.shared.requests import summary_request, with_all_sections
from compaction.strategy import History
from compaction.transcript import Message, ToolCall

LEAST_SUMMARY, MOST_SUMMARY, SUMMARY_SHARE, WINDOW_SHARE, LOG_TOKENS = 2000, 10_000, 0.2, 0.05, 4000
SHOWN, SHOWN_HEAD, SHOWN_TAIL = 6000, 4000, 1500
SHOWN_ARGUMENTS, ARGUMENTS_HEAD = 1500, 1200
REQUEST_CHARS, SLICES = 160_000, 8
ANCHOR_CHARS, SAID_CHARS, ONE_SAID_CHARS, TASK_CHARS = 7000, 24_000, 4000, 1400


OPENING = (
    "[CONTEXT COMPACTION — REFERENCE ONLY] What was said earlier stands in this summary. It is background and holds no "
    "open request: answer the newest message after it alone, and where the two differ that message holds. Files and "
    "settings may already be as told here.\n"
)
CLOSING = "\n\n--- END OF CONTEXT SUMMARY ---"
TASK, ANCHORS = "Historical Task Snapshot", "Anchor Index (mechanically extracted, exact)"
SAID, RECOVERY = "User Messages (verbatim, newest first)", "Context Recovery"
USE_ANCHORS = "(Exact names from what was compacted: use them as they are, and to search for what stood around them.)"
USE_SAID = "(What the user said in the compacted messages, in the user's own words, which hold over any retelling.)"
RECOVER = (
    "The {n} compacted messages are all kept in the session's history. What this summary does not hold is brought back "
    "with session_search(query='<keywords>', session_id='session'); look it up instead of guessing."
)
ASKED = "User asked (from the compacted messages): "
OLDER = "Historical only; what follows this summary is newer and holds."
ELIDED = "...[{n} chars elided — recover via session_search]..."
CUT_MESSAGE, CUT_SAID = "\n...[truncated]...\n", " …[truncated]"

SECTIONS = (
    Section(TASK, ("intent",), "The user's latest request in these messages, as it was said, and where it stood."),
    Section("Goal", ("intent",), "What the user wants to reach on the whole."),
    Section("Constraints & Preferences", (), "What the user prefers, style, limits, decisions that bind."),
    Section(
        "Completed Actions",
        ("state",),
        "Numbered: what was done to what with which tool and what came of it, with paths, commands, lines, figures.",
    ),
    Section(
        "Active State", ("state",), "Folder and branch, changed files, tests, processes that run, what else matters."
    ),
    Section("Blocked", ("errors",), "What is not solved, with the exact error messages."),
    Section("Key Decisions", ("decisions",), "Technical decisions and why they were made."),
    Section(
        "Errors & Fixes",
        ("errors",),
        "Errors with their exact text and how each was resolved; the user's corrections quoted, and what they changed.",
    ),
    Section("Resolved Questions", ("details",), "Questions of the user that were answered, with the answer."),
    Section("Relevant Files", ("files",), "Files that were read, changed or created, each with a short note."),
    Section("Critical Context", ("details", "errors"), "Values, messages and settings that would be lost otherwise."),
    Section(
        "Detailed Session Log (oldest first)",
        ("details",),
        "A dense log in order, in bullets, of about 4000 tokens: numbers of issues, paths, symbols, commands, errors, "
        "hashes, addresses, versions and counts exactly; decisions with reasons, short instructions of the user word "
        "for word, findings and how things came out.",
    ),
)
PATTERNS = (
    ("PRs/issues", re.compile(r"#\d{3,6}\b"), 120),
    ("commits", re.compile(r"\b[0-9a-f]{9,40}\b"), 40),
    ("branches", re.compile(r"\b(?:fix|feat|docs|refactor|chore|salvage|ent)/[A-Za-z0-9._/-]{3,60}"), 40),
    ("files", re.compile(r"\b[\w./-]{1,200}/[\w.-]{1,100}\.(?:py|ts|tsx|js|rs|md|yaml|yml|json|toml|sh)\b"), 80),
    (
        "errors",
        re.compile(r"\b(?:[A-Z][a-zA-Z]{0,60}Error|Exception|ENOSPC|EACCES|SIGKILL|Traceback)\b[^\n]{0,90}"),
        40,
    ),
    ("handles", re.compile(r"@[A-Za-z0-9-]{3,30}\b"), 40),
    ("urls", re.compile(r"https?://[^\s)\"']{10,110}"), 30),
)
"""Kinds of names, and how many of each are listed at most."""


MARKERS = (
    *wrapper(OPENING, CLOSING),
    *headings(SECTIONS, Constraints_Preferences="intent"),
    Heading(ANCHORS, "details"),
    Heading(SAID, "intent"),
    Heading(RECOVERY, "free"),
    *(Marker(text, made=True) for text in (USE_ANCHORS, USE_SAID, RECOVER, ASKED, OLDER)),
    *(Marker(label + ": {names}", "{names}", "line", made=True) for label, _, _ in PATTERNS),
    Marker("(x{n})", made=True),
    Marker("> {said}", "{said}", "line", made=True),
    *shortened(CUT_SAID),
)


def is_request(message: Message) -> bool:
    """Whether the user said something in this message."""
    return message.role == "user" and message.seq is not None and bool(message.text.strip())


def write_summary(history: History, window: Sequence[Message], previous: str, summary_tokens: int | None) -> str:
    """Write the summary of a window, brought up to date from an earlier one, with all that stands behind it."""
    most = min(MOST_SUMMARY, int(WINDOW_SHARE * history.budget))
    target = summary_tokens or max(LEAST_SUMMARY, min(int(SUMMARY_SHARE * history.count(window)), most))
    shown = _sample([_show(history, message) for message in window])
    request = summary_request(
        history, "hermes_lean", shown, sections=SECTIONS, max_tokens=target + LOG_TOKENS, previous=previous
    )
    text = with_all_sections(history.summarize(request), SECTIONS)
    if task := next((m for m in reversed(window) if is_request(m)), None):
        said = re.sub(r"\s+", " ", task.text.strip())
        said = said if len(said) <= TASK_CHARS else said[: TASK_CHARS - 15].rstrip() + CUT_ARGUMENT
        text = re.sub(
            rf"(?ms)^## {TASK}\n.*?(?=^## |\Z)", lambda _: f"## {TASK}\n{ASKED}{said}\n{OLDER}\n\n", text, count=1
        )
    parts = (
        (ANCHORS, index_anchors(window)),
        (SAID, _quote_user(window)),
        (RECOVERY, RECOVER.format(n=len(window))),
    )
    added = [f"## {title}\n{part}" for title, part in parts if part and f"## {title}" not in text]
    return "\n\n".join([text, *added])


def _show(history: History, message: Message) -> Message:
    """The message as the summariser sees it."""
    text = message.text
    if len(text) > SHOWN:
        text = text[:SHOWN_HEAD] + CUT_MESSAGE + text[-SHOWN_TAIL:]
    calls = tuple(
        replace(c, arguments=c.arguments[:ARGUMENTS_HEAD] + "...") if len(c.arguments) > SHOWN_ARGUMENTS else c
        for c in message.tool_calls
    )
    if text == message.text and calls == message.tool_calls and not message.reasoning:
        return message
    return make_once(history.counter, _with_less, message, text, calls)


def _with_less(message: Message, text: str, calls: tuple[ToolCall, ...]) -> Message:
    return replace(message, text=text, tool_calls=calls, reasoning="", tokens=None)


def _sample(messages: Sequence[Message]) -> list[Message]:
    """The messages, or of too many characters eight stretches, spread evenly, the last at the end."""
    sizes = [len(m.text) + sum(len(c.arguments) for c in m.tool_calls) for m in messages]
    if sum(sizes) <= REQUEST_CHARS:
        return list(messages)
    wanted, n = set[int](), len(messages)
    for part in range(SLICES):
        stretch = range(n * part // SLICES, n * (part + 1) // SLICES)
        chars = 0
        for position in reversed(stretch) if part == SLICES - 1 else stretch:
            chars += sizes[position]
            if chars > REQUEST_CHARS // SLICES and chars > sizes[position]:
                break
            wanted.add(position)
    found: list[Message] = []
    elided: list[int] = []
    for position, message in enumerate(messages):
        if position not in wanted:
            elided.append(position)
            continue
        if elided:
            text = ELIDED.format(n=f"{sum(sizes[e] for e in elided):,}")
            found.append(Message("user", text, covers=stands_for(messages[e] for e in elided)))
            elided = []
        found.append(message)
    return found


def index_anchors(messages: Sequence[Message]) -> str:
    """A line for each kind of exact name in the texts: the most frequent first, of these the last seen."""
    text = "\n".join(message.text for message in messages if message.text)
    lines: list[str] = []
    for label, pattern, most in PATTERNS:
        names = [match[0].strip().rstrip(".,;:") for match in pattern.finditer(text)]
        counts, last = Counter(names), {name: n for n, name in enumerate(names)}
        ranked = sorted(counts, key=lambda name: (-counts[name], -last[name]))[:most]
        if not ranked:
            continue
        line = f"{label}: " + ", ".join(f"{name}(x{counts[name]})" if counts[name] > 1 else name for name in ranked)
        if sum(map(len, lines)) + len(line) > ANCHOR_CHARS:
            break
        lines.append(line)
    return "\n".join([*lines, USE_ANCHORS]) if lines else ""


def _quote_user(messages: Sequence[Message]) -> str:
    """What the user said, newest first, each quoted."""
    found: list[str] = []
    room = SAID_CHARS
    for message in reversed(messages):
        if room <= 0 or not is_request(message):
            continue
        text = message.text.strip()
        most = min(ONE_SAID_CHARS, room)
        text = text if len(text) <= most else text[:most].rstrip() + CUT_SAID
        found.append("> " + text.replace("\n", "\n> "))
        room -= len(text)
    return "\n\n".join(found) + "\n" + USE_SAID if found else ""
