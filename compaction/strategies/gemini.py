"""Gemini CLI's chat compression: a snapshot in XML, written and checked by the model, and the newest third.

Read from google-gemini/gemini-cli: ``chatCompressionService.ts`` at 02b2885, ``fileUtils.ts`` and
``tokenCalculation.ts`` as stored; they have everything that is known of the nightly build. Characters and tokens are
the original's: of JSON, and estimated.
"""

from __future__ import annotations

from collections.abc import Sequence

from compaction.markers import SHORTENED, Marker, headings, shortened, wrapper
from compaction.model import BlankSummaryError, Section, SummaryError, SummaryRequest
from compaction.parameters import InnerShare, Positive
from compaction.registry import strategy
from compaction.strategies.shared.originals import json_length, utf16_length
from compaction.strategies.shared.parts import make_once, stands_for, system_prompt, with_text, without_reasoning
from compaction.strategies.shared.requests import instructions, render, write_prompt
from compaction.strategies.summaries import SUMMARY_TOKENS
from compaction.strategy import History
from compaction.transcript import Message

PEER = "gemini-cli"
VERSION = "0.56.0-nightly.20260806"

PRESERVED_SHARE = 0.3
"""``COMPRESSION_PRESERVE_THRESHOLD``."""
OUTPUT_TOKENS = 50_000
"""``COMPRESSION_FUNCTION_RESPONSE_TOKEN_BUDGET``: tokens of tool outputs that stay whole, the newest first."""
OUTPUT_CHARS = 40_000
"""``DEFAULT_TRUNCATE_TOOL_OUTPUT_THRESHOLD``: characters that an older output may still have."""
WINDOW = 1_048_576
"""Tokens that the models take; less a reserve of 20,000, what the summariser is shown uncut must fit it."""
RESERVE = 20_000

OPEN = "<state_snapshot>"
CLOSE = "</state_snapshot>"
ACKNOWLEDGED = "Got it. Thanks for the additional context!"

SECTIONS = (
    Section("overall_goal", ("intent",), "What the user wants in the end, in one sentence."),
    Section("active_constraints", (), "Rules and wishes that hold: stated by the user, or found out on the way."),
    Section("key_knowledge", ("details", "errors"), "Facts and technical findings: commands, ports, conventions."),
    Section("artifact_trail", ("files", "decisions"), "What was changed in which file or symbol, and why."),
    Section("file_system_state", (), "Where the work happens, and which files were created, read or deleted."),
    Section("recent_actions", ("state",), "The latest tool calls and what came of them."),
    Section("task_state", ("next_steps",), "The plan, each step [DONE], [IN PROGRESS] or [TODO], and what is next."),
)

MARKERS = (
    *wrapper(OPEN, CLOSE, "<scratchpad>", "</scratchpad>"),
    Marker(ACKNOWLEDGED, place="whole", made=True),
    Marker("Output too large. Showing first {n} and last {m} characters. For full output see: {file}", SHORTENED),
    *shortened("... [{n} characters omitted] ..."),
    *(Marker(f"[{word}]", f"({word.lower()})", made=True) for word in ("DONE", "IN PROGRESS", "TODO")),
    *headings(SECTIONS, active_constraints="intent", file_system_state="files"),
)


@strategy("gemini_snapshot", needs_model=True, peer=PEER, peer_version=VERSION, markers=MARKERS)
def gemini_snapshot(
    history: History,
    *,
    preserved_share: InnerShare = PRESERVED_SHARE,
    output_tokens: int = OUTPUT_TOKENS,
    output_chars: Positive = OUTPUT_CHARS,
    window: Positive = WINDOW,
    summary_tokens: Positive = SUMMARY_TOKENS,
) -> Sequence[Message]:
    """A snapshot of what comes before the first user turn in the last ``preserved_share``, and the rest as it is.

    The share is of the characters of the messages as JSON. Where no user turn begins in it, everything is compressed
    if the last message is the model's and calls nothing, and else what comes before the last user turn: a session
    with a single turn is left alone, or goes as a whole. Tool outputs beyond the newest ``output_tokens`` are cut to
    ``output_chars``, in what stays, and in what the summariser is shown if it would not fit ``window`` otherwise. The
    model is asked twice, to write and to check what it wrote; it may answer with nothing once. A snapshot with which
    the context would grow is thrown away: the history stays, with the flag ``growth_rejected``.
    """
    system = system_prompt(history.messages)
    said = history.messages[len(system) :]
    cut = _outputs_cut(history, said, output_tokens, output_chars)
    split = find_split(cut, 1 - preserved_share)
    if split == 0:
        return history.messages
    fits = estimated_tokens(said[:split]) < window - RESERVE
    span = tuple(without_reasoning(history, m) for m in (said if fits else cut)[:split] if m.text or m.tool_calls)
    text = as_snapshot(_write_and_check(history, span, summary_tokens))
    covers = stands_for(said[:split])
    made = (Message("user", text, covers=covers), Message("assistant", ACKNOWLEDGED, covers=covers))
    left = (*system, *made, *cut[split:])
    if history.count(left) > history.count(history.messages):
        history.flag("growth_rejected")
        return history.messages
    return left


def find_split(messages: Sequence[Message], fraction: float) -> int:
    """Number of messages to compress: up to the first user turn after ``fraction`` of all JSON characters."""
    lengths = content_lengths(messages)
    target = sum(lengths) * fraction
    last = seen = 0
    for position, message in enumerate(messages):
        if message.role in ("user", "system"):
            if seen >= target:
                return position
            last = position
        seen += lengths[position]
    final = next((m for m, length in zip(reversed(messages), reversed(lengths), strict=True) if length), None)
    return len(messages) if final is not None and final.role == "assistant" and not final.tool_calls else last


def content_lengths(messages: Sequence[Message]) -> list[int]:
    """Characters of each message as a Gemini content in JSON; the results of parallel calls share one content.

    Thoughts are not in Gemini's history, so a message of nothing else has no length.
    """
    lengths: list[int] = []
    for position, message in enumerate(messages):
        parts = _parts(message)
        if not parts:
            lengths.append(0)
        elif message.role == "tool" and position and messages[position - 1].role == "tool":
            lengths.append(1 + json_length(parts[0]))
        else:
            role = "model" if message.role == "assistant" else "user"
            lengths.append(json_length({"role": role, "parts": parts}))
    return lengths


def estimated_tokens(messages: Sequence[Message]) -> int:
    """The original's estimate: a quarter of a token for an ASCII character, 1.3 for any other; JSON by length."""
    total = 0.0
    for message in messages:
        if message.role == "tool":
            total += len(message.tool_name or "") / 4 + json_length(_response(message)) / 4
            continue
        total += _text_tokens(message.text)
        total += sum(json_length(part) / 4 for part in _parts(message) if "functionCall" in part)
    return int(total)


def cut_output(text: str, max_chars: int, file: str) -> str:
    """A longer output with the first fifth and the last four fifths of ``max_chars``, and where it is in full."""
    if len(text) <= max_chars:
        return text
    head = max_chars // 5
    tail = max_chars - head
    return (
        f"Output too large. Showing first {head:,} and last {tail:,} characters. For full output see: {file}\n"
        f"{text[:head]}\n\n... [{len(text) - max_chars:,} characters omitted] ...\n\n{text[-tail:]}"
    )


def as_snapshot(text: str) -> str:
    """The answer as it is, scratchpad included; sections under headings become the snapshot's elements."""
    titles = {f"## {section.title}": section.title for section in SECTIONS}
    if OPEN in text or not any(line.strip() in titles for line in text.splitlines()):
        return text
    blocks: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        title = titles.get(line.strip())
        if title is None:
            current.append(line)
        else:
            current = blocks.setdefault(title, [])
    elements = [f"<{title}>\n" + "\n".join(lines).strip() + f"\n</{title}>" for title, lines in blocks.items()]
    return "\n".join([OPEN, *elements, CLOSE])


def _text_tokens(text: str) -> float:
    length = utf16_length(text)
    if length > 100_000 or text.isascii():
        return length / 4
    ascii_only = len(text.encode("ascii", "ignore"))
    return ascii_only / 4 + (length - ascii_only) * 1.3


def _parts(message: Message) -> list[dict[str, object]]:
    if message.role == "tool":
        name = message.tool_name or "unknown_tool"
        answer = {"id": message.tool_call_id, "name": name, "response": _response(message)}
        return [{"functionResponse": answer}]
    parts: list[dict[str, object]] = [{"text": message.text}] if message.text else []
    return parts + [{"functionCall": {"name": call.name, "args": call.parsed()}} for call in message.tool_calls]


def _response(message: Message) -> dict[str, str]:
    return {"error" if message.is_error else "output": message.text}


def _outputs_cut(history: History, messages: Sequence[Message], room: int, max_chars: int) -> tuple[Message, ...]:
    """The messages with tool outputs cut, from the newest on, once those so far take up the room."""
    tokens = 0
    left: list[Message] = []
    for message in reversed(messages):
        shown = message
        if message.role == "tool":
            if tokens + int(_text_tokens(message.text)) > room:
                shown = _output_cut(history, message, max_chars)
            tokens += int(_text_tokens(shown.text))
        left.append(shown)
    return tuple(reversed(left))


def _output_cut(history: History, message: Message, max_chars: int) -> Message:
    if len(message.text) <= max_chars:
        return message
    file = f"tool-outputs/{message.tool_name or 'unknown_tool'}_{message.seq}.txt"

    return make_once(history.counter, with_text, message, cut_output(message.text, max_chars, file))


def _write_and_check(history: History, span: tuple[Message, ...], max_tokens: int) -> str:
    elements = "\n\n".join(f"<{s.title}>\n{s.ask}\n</{s.title}>" for s in SECTIONS)
    system = Message("system", instructions(history, "gemini_snapshot", (), max_tokens, elements=elements))
    shown = f"<history>\n{render(span)}\n</history>"
    merges = any(OPEN in message.text for message in span)
    task = write_prompt("gemini_snapshot_merge" if merges else "gemini_snapshot_new", (), max_tokens)
    written = (system, Message("user", f"{shown}\n\n{task}"))
    draft = _answer(history, SummaryRequest(written, span, SECTIONS, max_tokens=max_tokens))
    check = Message("user", write_prompt("gemini_snapshot_check", (), max_tokens))
    checked = (system, Message("user", shown), Message("assistant", draft), check)
    final = _answer(history, SummaryRequest(checked, span, SECTIONS, draft, max_tokens)) or draft
    if not final:
        raise SummaryError("the summariser returned a blank snapshot, and a blank one when asked to check it")
    return final


def _answer(history: History, request: SummaryRequest) -> str:
    try:
        return history.summarize(request)
    except BlankSummaryError:
        return ""
