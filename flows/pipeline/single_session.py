"""One session from its log, and what compactions leave of it at one point: without a store, a study or Prefect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compaction import NotApplicable, StrategyError, SummaryError, compact, make_method
from compaction.compact import history_before
from compaction.methods import parse_methods, split_specs
from compaction.points import DEFAULT_BUDGET, legal_cuts
from compaction.strategy import Method
from compaction.summarizers.extractive import EmbeddedSummarizer
from compaction.tokens import TokenCounter, total_tokens
from compaction.transcript import Message, Transcript
from flows.redaction import Redactor
from flows.sessions.preparation import prepared
from flows.sources import Input, SourceError, discover, read_input
from flows.support.errors import UsageError
from flows.support.plurals import quantity
from judge.outcomes import StatementOutcome, outcomes, recognised

RECORDED = "recorded"
"""What the session's own agent left."""


@dataclass(frozen=True, slots=True)
class ContextOutcomes:
    """The kept and lost statements of one compacted context."""

    name: str
    """``recorded``, the file's name, or the method's."""
    tokens: int
    statements: tuple[StatementOutcome, ...]


@dataclass(frozen=True, slots=True)
class SessionOutcomes:
    """The kept and lost statements of a session at one point."""

    path: str
    transcript: Transcript
    cut: int
    """Number of messages before the point."""
    tokens: int
    """Tokens of these."""
    contexts: tuple[ContextOutcomes, ...]


def session_outcomes(
    source: Input,
    counter: TokenCounter,
    redactor: Redactor,
    *,
    session_id: str = "",
    at: int | None = None,
    compacted: Path | None = None,
    methods: str = "",
) -> SessionOutcomes:
    """Measure the kept and lost statements of a session at one point.

    Args:
        source: The log.
        counter: What counts tokens.
        redactor: What masks secrets before anything is looked at.
        session_id: The session of a file that has several.
        at: Messages before the point, which is moved on to where no call waits for its result. Without it the last
            compaction that the log records; the end of the session where another tool's output is given, or where
            none is recorded.
        compacted: Another tool's output: messages in any known format, or a text, such as a summary.
        methods: Our methods, as in a list of strategies. Without these two: what the agent itself left.

    Raises:
        UsageError: Something of it cannot be used; says what to give instead.
    """
    transcript = read_one(source, session_id)
    left = () if compacted is None else read_context(compacted)
    # One session for the redactor: a secret that one of the two gives away is masked in the other.
    whole = prepared(replace(transcript, messages=(*transcript.messages, *left)), counter, redactor)
    size = len(transcript)
    transcript = replace(whole, messages=whole.messages[:size])
    cut = find_cut(transcript, at, is_recorded=compacted is None, is_asked=bool(methods) or compacted is not None)
    contexts: dict[str, Sequence[Message]] = {}
    if compacted is not None:
        foreign = [replace(message, seq=None) for message in whole.messages[size:]]
        contexts[compacted.name] = recognised(transcript.messages[:cut], foreign)
    wanted = _methods(methods, is_alone=compacted is None)
    for name, method in wanted.items():
        try:
            contexts[name] = _compacted(source, transcript, cut, method, counter)
        except NotApplicable as reason:
            if "@" not in methods or len(wanted) == 1:  # in a set, those that apply are meant
                raise _unusable(source, name, cut, reason) from None
    told = outcomes(transcript, cut, list(contexts.values()))
    return SessionOutcomes(
        source.label,
        transcript,
        cut,
        total_tokens(transcript.messages[:cut], counter),
        tuple(
            ContextOutcomes(name, total_tokens(context, counter), statements)
            for (name, context), statements in zip(contexts.items(), told, strict=True)
        ),
    )


def find_input(source: str) -> Input:
    """The one log behind a path. Raises UsageError where there is none, or several."""
    try:
        found = discover([source])
    except SourceError as error:
        raise UsageError(str(error)) from None
    if len(found) > 1:
        newest = max(found, key=lambda one: one.mtime_ns)
        raise UsageError(f"{source} has {len(found):,} logs: name one of them; the newest is {newest.label}")
    return found[0]


def read_one(source: Input, session_id: str = "") -> Transcript:
    """The session of a log; of several that of the id, else the only one that is no sub-agent's of another.

    Of a file with all sessions of an agent it is the newest.

    Raises:
        UsageError: There is none, or several.
    """
    read = read_input(replace(source, only=session_id))
    found = [one for one in read.transcripts if one.messages]
    if not found:
        why = read.set_aside[0].reason if read.set_aside else "no message in it"
        raise UsageError(f"{source.label}: no session can be read: {why}")
    ids = {one.session_id for one in found}
    known = ", ".join(sorted(ids)[:5]) + (" …" if len(ids) > 5 else "")
    if session_id:
        chosen = [one for one in found if session_id in (one.session_id, one.session_id.partition("-")[2])]
        if not chosen:
            raise UsageError(f"{source.label} has no session {session_id!r}; it has {known}")
        return chosen[-1]
    own = [one for one in found if one.parent_session_id not in ids] or found
    if len(own) > 1:
        raise UsageError(f"{source.label} has {len(own):,} sessions: name one with --session ID; it has {known}")
    return own[0]


def read_context(path: Path) -> tuple[Message, ...]:
    """Another tool's output: the messages of a file in a known format, else its text as one message.

    Raises:
        UsageError: It cannot be read, or is empty.
    """
    source = find_input(str(path))
    if source.kind == "file":
        try:
            text = source.path.read_bytes().decode("utf-8", "replace")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or error}") from None
        if not text.strip():
            raise UsageError(f"{path} is empty")
        is_packed = source.path.name.endswith((".gz", ".zst"))
        if text.lstrip()[0] not in "{[" and "\0" not in text and not is_packed:
            return (Message("user", text),)
    return read_one(source).messages


def find_cut(transcript: Transcript, at: int | None, *, is_recorded: bool, is_asked: bool) -> int:
    """Number of messages before the point.

    Args:
        transcript: The session.
        at: What was asked for; None where nothing was.
        is_recorded: Whether the last compaction that the log records is the point where nothing was asked for.
        is_asked: Whether there is something to look at without one.

    Raises:
        UsageError: It is not in the session, or nothing is recorded.
    """
    messages = transcript.messages
    wanted = at
    if wanted is None and is_recorded:
        wanted = max((one.at_seq for one in transcript.compactions if one.at_seq > 0), default=None)
    if wanted is None and is_asked:
        wanted = len(messages)
    if wanted is None:
        raise UsageError(
            f"the session has {quantity(len(messages), 'message')} and no recorded compaction: give --method NAME for "
            "one of ours at its end (or --at N), or --compacted FILE with another tool's output"
        )
    if not 0 < wanted <= len(messages):
        raise UsageError(
            f"--at {wanted}: the session has {quantity(len(messages), 'message')}, so give 1 to {len(messages)}"
        )
    legal = legal_cuts(messages)
    return next((cut for cut in range(wanted, len(messages)) if legal[cut]), len(messages))


def _methods(text: str, *, is_alone: bool) -> Mapping[str, Method]:
    if not text:
        return {RECORDED: make_method(RECORDED)} if is_alone else {}
    try:
        return {method.name: method for spec in split_specs(text) for method in parse_methods(spec)}
    except StrategyError as error:
        raise UsageError(f"--method: {error}") from None


def _compacted(
    source: Input, transcript: Transcript, cut: int, method: Method, counter: TokenCounter
) -> tuple[Message, ...]:
    history = history_before(transcript, cut, (), counter, DEFAULT_BUDGET, summarizer=EmbeddedSummarizer(counter))
    try:
        return compact(history, method).messages
    except SummaryError as reason:
        raise _unusable(source, method.name, cut, reason) from None


def _unusable(source: Input, method: str, cut: int, reason: Exception) -> UsageError:
    return UsageError(
        f"{source.label}: {method} at message {cut}: {reason}; give another --method, --at N, or --compacted "
        "FILE with what was left"
    )
