"""What the session's own agent left in its context: its recorded compactions, replayed from the log."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.markers import Marker, removed
from compaction.registry import strategy
from compaction.strategies.shared.parts import make_once, system_prompt, with_text
from compaction.strategy import History, NotApplicable
from compaction.transcript import Message, RecordedCompaction

MARKERS = (
    *removed("[Old tool result content cleared]"),
    *(
        Marker(f"{{start}}{begins}{{more}}", place="line", made=True)
        for begins in (
            "session is being continued from a previous conversation",
            "continue the conversation from where we left off",
            "read the full transcript at",
        )
    ),
    Marker("Analysis:", place="line", made=True),
    Marker("Summary:", place="line", made=True),
    Marker("Recent messages are preserved verbatim.", place="line", made=True),
)
"""What the agents put around their own summaries of which logs are read; their headings are those of the strategies
that follow them."""


@strategy("recorded", peer="the session's agent", markers=MARKERS)
def recorded(history: History) -> Sequence[Message]:
    """The context as the session's own agent had compacted it by then: a replay of its recorded compactions.

    What no compaction before the point dropped stays, tool results that a pruning agent cleared stay with what stood
    in their place, and the latest summary stands where it stood, in the words of the log; it covers what it and the
    summaries before it took the place of. A result whose call was dropped stays too: so the agent had it. In a chain
    it is the same replay of the whole session, and never built on an earlier one.

    Raises NotApplicable where there is nothing to replay: no compaction before the point, a summary that the log
    holds encrypted or not at all, or a compaction of which the log does not say what it dropped.
    """
    session = [message for message in history.session if message.seq is not None]
    if not history.recorded:
        raise NotApplicable("the session has no recorded compaction before this point")
    gone = _find_dropped(session, history.recorded)
    summary, before = _summary(session, history.recorded)
    texts = {seq: compaction.cleared_text for compaction in history.recorded for seq in compaction.cleared}
    held = {_seq_of(message): message for message in history.messages if message.seq is not None}
    left: list[Message] = []
    for message in session:
        if message.seq in gone:
            continue
        if summary is not None and _seq_of(message) >= before:
            left.append(summary)
            summary = None
        left.append(_clear(history, message, texts, held))
    return left if summary is None else [*left, summary]


def _find_dropped(session: Sequence[Message], compactions: Sequence[RecordedCompaction]) -> set[int]:
    """``seq`` of all that was dropped.

    A compaction that does not say what it dropped does no harm where the others dropped all that it can have.
    """
    gone = {seq for compaction in compactions for seq in compaction.dropped or ()}
    certain = gone | {_seq_of(message) for message in system_prompt(session)}
    unknown = max((compaction.at_seq for compaction in compactions if compaction.dropped is None), default=0)
    if any(_seq_of(message) < unknown and message.seq not in certain for message in session):
        raise NotApplicable("the log does not say what a recorded compaction before this point dropped")
    return gone


def _summary(session: Sequence[Message], compactions: Sequence[RecordedCompaction]) -> tuple[Message | None, int]:
    """The latest summary, and the ``seq`` that it stands before; each summary has taken up the one before it."""
    wrote = [i for i, found in enumerate(compactions) if found.summary is not None or found.has_opaque_summary]
    if not wrote:
        return None, 0
    latest = compactions[wrote[-1]]
    if latest.summary is None or latest.has_opaque_summary:
        raise NotApplicable("the log holds the summary of the last recorded compaction encrypted or not at all")
    gone = {seq for found in compactions[: wrote[-1] + 1] for seq in found.dropped or ()}
    standing = [message for message in session if _seq_of(message) < latest.at_seq and message.seq not in gone]
    place = len(system_prompt(standing)) if latest.summary_at is None else latest.summary_at
    before = _seq_of(standing[place]) if place < len(standing) else latest.at_seq
    covered = {seq for i in wrote for seq in compactions[i].dropped or ()}
    return Message("user", latest.summary, covers=tuple(sorted(covered.intersection(map(_seq_of, session))))), before


def _clear(history: History, message: Message, texts: dict[int, str], held: dict[int, Message]) -> Message:
    """The message, or if it was cleared its copy with the other text: in a chain the copy that is there."""
    text = texts.get(_seq_of(message), message.text)
    if text == message.text:
        return message
    earlier = held.get(_seq_of(message))
    if earlier is not None and earlier.text == text:
        return earlier
    return make_once(history.counter, with_text, message, text)


def _seq_of(message: Message) -> int:
    """The message's ``seq``: messages of the session have one."""
    assert message.seq is not None  # `recorded` leaves out what has none
    return message.seq
