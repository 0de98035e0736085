"""Claude Code's layers, from public descriptions of its package 2.1.88; the program itself is not open.

Old results are cleared after a pause, then the history becomes a summary (or the notes that it takes of the session),
and the files read last are shown again. Its boundaries, hooks, plans and skills are no part of a stored session.
"""

from __future__ import annotations

from collections.abc import Sequence

from compaction.markers import RESULT, Marker, headings, removed, wrapper
from compaction.model import Section
from compaction.parameters import Positive
from compaction.reading.call_outcomes import ToolResults
from compaction.registry import strategy
from compaction.strategies.claude_code_style import CLOSING, OPENING, SECTIONS, without_analysis
from compaction.strategies.file_index import read_files
from compaction.strategies.provider_native import CLEARED
from compaction.strategies.shared.parts import make_once, read_time, stands_for, system_prompt, whole_cuts, with_text
from compaction.strategies.shared.requests import summary_request
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

FILE_MARK = "[File as it was shown last: {path}]"
CHARS_A_TOKEN = 4
"""The original's estimate, by which it cuts a file."""

MEMORY_SECTIONS = (
    Section("Session Title", (), "What the session is about, in a few words that tell it from others."),
    Section("Current State", ("state", "next_steps"), "What is being worked on now, and what comes next."),
    Section("Task Specification", ("intent",), "What the user asked for, with decisions on the design."),
    Section("Files and Functions", ("files",), "The files that matter, what is in them and why they matter."),
    Section("Workflow", (), "Commands that are run again and again, their order, and how their output is read."),
    Section("Errors and Corrections", ("errors",), "Errors with their fixes, what the user corrected, what failed."),
    Section("System Documentation", ("details",), "The parts of the system and how they work together."),
    Section("Learnings", ("decisions",), "What went well, what did not, and what to avoid."),
    Section("Key Results", (), "What the user asked to be given, such as an answer or a table, as it is."),
    Section("Worklog", (), "What was tried and done, step by step, each in a few words."),
)

MARKERS = (
    *wrapper(OPENING, CLOSING),
    *headings((*SECTIONS, *MEMORY_SECTIONS)),
    *removed(CLEARED),
    Marker(FILE_MARK, RESULT + "{path}", "start", made=True),
)


@strategy(
    "claude_code",
    needs_model=True,
    peer="Claude Code",
    peer_version="2.1.88",
    variants=({"memory": True},),
    markers=MARKERS,
    by_default=False,
    bites={"kept_tokens": 20, "kept_texts": 1, "most_kept_tokens": 40},
)
def claude_code(
    history: History,
    *,
    memory: bool = False,
    summary_tokens: Positive = SUMMARY_TOKENS,
    idle_minutes: Positive = 60,
    keep_results: int = 5,
    files: int = 5,
    file_tokens: int = 5_000,
    all_file_tokens: int = 50_000,
    kept_tokens: int = 10_000,
    kept_texts: int = 5,
    most_kept_tokens: int = 40_000,
) -> Sequence[Message]:
    """A summary of nine sections in place of all messages, and behind it the last ``files`` that were read.

    After a pause of ``idle_minutes`` the results before it are cleared, but for the last ``keep_results``; so are they
    shown to the summariser. A file is shown as its last result has it, up to ``file_tokens``, all of them up to
    ``all_file_tokens``; the original reads it anew. With ``memory``, which it has behind a switch, the notes of the
    session, of ten sections, take the summary's place, and the newest messages stay: as many as have ``kept_tokens``
    and ``kept_texts`` messages with text, or ``most_kept_tokens``. The notes are written at the point, where the
    original writes them all along. The prompts are ours.
    """
    system = system_prompt(history.messages)
    rest = _clear_idle(history, history.messages[len(system) :], 60 * idle_minutes, keep_results)
    start = _kept_start(history, rest, kept_tokens, kept_texts, most_kept_tokens) if memory else len(rest)
    gone, kept = rest[:start], rest[start:]
    if all(message.seq is None for message in gone):
        return history.messages
    prompt, sections = ("claude_code_memory", MEMORY_SECTIONS) if memory else ("claude_code_style_regen", SECTIONS)
    request = summary_request(history, prompt, gone, sections=sections, max_tokens=summary_tokens)
    text = without_analysis(history.summarize(request))
    summary = Message("user", f"{OPENING}{text}{CLOSING}", covers=stands_for(gone))
    shown = _files_read_last(history, kept, files, file_tokens, all_file_tokens)
    return (*system, summary, *kept, *shown)


def _clear_idle(history: History, messages: Sequence[Message], pause: int, keep: int) -> tuple[Message, ...]:
    """The messages without the results before the last long pause, but for the last ``keep`` of these."""
    end, before = 0, None
    for position, message in enumerate(messages):
        time = read_time(message)
        if before is not None and time is not None and time - before >= pause:
            end = position
        before = time if message.role == "assistant" else None
    results = [p for p, message in enumerate(messages[:end]) if message.role == "tool" and message.seq is not None]
    old = set(results[: max(0, len(results) - keep)])
    return tuple(
        make_once(history.counter, with_text, message, CLEARED) if position in old else message
        for position, message in enumerate(messages)
    )


def _kept_start(history: History, messages: Sequence[Message], tokens: int, texts: int, most: int) -> int:
    """Find the start of the newest messages that stay beside the notes; those of the last compaction end it."""
    start, n_tokens, n_texts = len(messages), 0, 0
    while start and messages[start - 1].seq is not None and n_tokens < most:
        if n_tokens >= tokens and n_texts >= texts:
            break
        start -= 1
        n_tokens += history.count(messages[start : start + 1])
        n_texts += messages[start].role in ("user", "assistant") and bool(messages[start].text)
    legal = whole_cuts(messages)
    return max(position for position in legal if position <= start)


def _files_read_last(
    history: History, kept: Sequence[Message], most: int, tokens: int, all_tokens: int
) -> tuple[Message, ...]:
    """The files that were read last and are not among the messages that stay, the newest first."""
    session = tuple(message for message in history.session if message.seq is not None)
    results = ToolResults(session)
    ops, calls = read_files(session, results)
    found: dict[str, Message] = {}
    for op in sorted(ops, key=lambda op: op.seq, reverse=True):
        result = results.get(calls.get((op.path, op.seq), "")) if op.verb == "examined" else None
        if result is not None and result.text.strip() and op.path not in found:
            found[op.path] = result
    seen = {message.seq for message in kept}
    unseen = [(path, result) for path, result in found.items() if result.seq not in seen]
    shown: list[Message] = []
    for path, result in unseen[:most]:
        text = f"{FILE_MARK.format(path=path)}\n{result.text[: tokens * CHARS_A_TOKEN]}"
        all_tokens -= len(text) // CHARS_A_TOKEN
        if all_tokens < 0:
            break
        shown.append(Message("user", text, covers=stands_for((result,))))
    return tuple(shown)
