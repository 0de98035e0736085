"""Every known format, and the one way to read an input. A new format is one module and one name in this list."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from compaction.transcript import Transcript
from flows.sources import (
    claude_code,
    codex_rollout,
    mini_swe_agent,
    openai_chat,
    openhands_v1_events,
    pi,
    swe_agent_traj,
)
from flows.sources.base import BAD_CONTENT, Head, Input, ReadResult, Source, SourceFormat, open_source

# Tried in this order: plain chat messages come last, since several agents wrap them.
_FORMATS: tuple[SourceFormat, ...] = (
    claude_code.FORMAT,
    codex_rollout.FORMAT,
    pi.FORMAT,
    openhands_v1_events.FORMAT,
    swe_agent_traj.FORMAT,
    mini_swe_agent.FORMAT,
    openai_chat.FORMAT,
)


def formats() -> tuple[SourceFormat, ...]:
    """The known formats in the order in which they are tried."""
    return _FORMATS


def is_member(name: str) -> bool:
    """Whether a file of this name (without ``.gz`` or ``.zst``) is one event of a session that is a folder."""
    return any(known.folder_member is not None and known.folder_member.match(name) for known in _FORMATS)


def read_input(input: Input) -> ReadResult:
    """Reads one input, whatever agent wrote it.

    Bad content never raises: what cannot be read is in ``set_aside`` with file, line and reason, and the rest goes in.

    Args:
        input: A file, or a folder of event files, as ``discover`` finds them.
    """
    source = open_source(input, is_member)
    head = source.head()
    known = next((known for known in _FORMATS if _detects(known, head)), None)
    if known is None:
        if not source.set_aside or head.records:
            _say_unknown(source, head)
        return ReadResult(None, (), tuple(source.set_aside))
    transcripts: list[Transcript] = []
    try:
        transcripts = _distinct(known.read(source))
    except BAD_CONTENT as error:
        source.aside(None, f"{known.name}: not the shape that this format has ({type(error).__name__}: {error})")
    if not transcripts and not source.set_aside:
        source.aside(None, f"{known.name}: no message in it")
    return ReadResult(known.name, tuple(transcripts), tuple(source.set_aside))


def _detects(known: SourceFormat, head: Head) -> bool:
    try:
        return known.detect(head)
    except BAD_CONTENT:  # a value of a kind that the format never has: then it is another format
        return False


def _say_unknown(source: Source, head: Head) -> None:
    shown = head.records[0] if head.records else head.document
    if shown is None and source.lines:
        shown = source.lines[0][:400].decode("utf-8", "replace")
    excerpt = f"keys: {', '.join(map(str, list(shown)[:20]))}" if isinstance(shown, dict) else shown
    names = ", ".join(known.name for known in _FORMATS)
    source.aside(
        None,
        f"no known format: not one of {names}",
        "" if excerpt is None else excerpt[:3] if isinstance(excerpt, list) else excerpt,
    )


def _distinct(transcripts: list[Transcript]) -> list[Transcript]:
    """The sessions of one input under ids of their own.

    A log that repeats the conversation so far holds one session several times: the longest stays. Two that differ
    after the same first messages are told apart by their order.
    """
    if len(transcripts) < 2:
        return transcripts
    kept: dict[str, list[Transcript]] = {}
    repeats: Counter[str] = Counter()
    for transcript in transcripts:
        group = kept.setdefault(transcript.session_id, [])
        for at, other in enumerate(group):
            short, long = sorted((other, transcript), key=len)
            if all(_same(a, b) for a, b in zip(short.messages, long.messages, strict=False)):
                group[at] = long
                repeats[transcript.session_id] += 1
                break
        else:
            group.append(transcript)
    out: list[Transcript] = []
    for own, group in kept.items():
        for number, transcript in enumerate(group, 1):
            named = transcript if number == 1 else replace(transcript, session_id=f"{own}-{number}")
            if number == 1 and repeats[own]:
                named = replace(named, set_aside={**named.set_aside, "shorter copy of this session": repeats[own]})
            out.append(named)
    return out


def _same(one: object, other: object) -> bool:
    return all(
        getattr(one, key) == getattr(other, key) for key in ("role", "text", "reasoning", "tool_calls", "tool_call_id")
    )
