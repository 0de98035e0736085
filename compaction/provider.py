"""Compaction in an agent of one's own: of any list of messages by one call, and before and after every run.

Semantics of agent-framework-core 1.23.0's ``CompactionProvider`` and of Agent Framework .NET's ``CompactAsync``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from compaction.compact import compact
from compaction.methods import parse_method
from compaction.model import Summarizer, SummaryError
from compaction.points import DEFAULT_BUDGET
from compaction.strategy import CompactedContext, History, Method, NotApplicable
from compaction.tokens import TiktokenCounter, TokenCounter, counted
from compaction.transcript import Message


def compact_messages(
    messages: Sequence[Message],
    method: Method | str,
    *,
    counter: TokenCounter | None = None,
    budget: int = DEFAULT_BUDGET,
    summarizer: Summarizer | None = None,
    session: Sequence[Message] = (),
) -> CompactedContext:
    """Compact a list of messages; the outcome's ``messages`` are the ones to send.

    ``method`` is a method or its text, such as ``head_tail(tail=20)``. ``budget`` (tokens) is what strategies with
    shares of a budget take shares of. Messages that have no ``seq`` and stand for nothing get the next numbers.
    ``session`` is all that was said, where the messages are what an earlier compaction left of it.
    Raises StrategyError, SummaryError and NotApplicable; the messages are as they were.
    """
    chosen = parse_method(method) if isinstance(method, str) else method
    ready = counter or TiktokenCounter()
    given = tuple(counted(message, ready) for message in number_messages(messages))
    history = History(given, ready, budget, summarizer=summarizer, session=tuple(session))
    return compact(history, chosen)


def number_messages(messages: Sequence[Message], start: int = 0) -> tuple[Message, ...]:
    """The messages, those that were said and have no ``seq`` with the number after the highest before them.

    Raises ValueError where that number is taken by a message that follows.
    """
    following = start
    found = []
    for message in messages:
        if message.seq is None and not message.covers:
            message = replace(message, seq=following)  # noqa: PLW2901 (the same message with its number)
        elif message.seq is not None and message.seq < following:
            raise ValueError(f"message with seq {message.seq} stands behind one with seq {following - 1}")
        highest = message.seq if message.seq is not None else max(message.covers)
        following = max(following, highest + 1)
        found.append(message)
    return tuple(found)


@dataclass
class CompactionProvider:
    """Compacts an agent's memory before it reaches the model, and its store after each user turn.

    ``before`` rewrites the context of the coming call and nothing else; what was said before this turn is compacted,
    the new input is not. ``after`` compacts what is stored, once a user turn, when the turn has ended. The store keeps
    every message in either case; ``skip_excluded`` says whether the next turn sees what the compaction left of it or
    all of it (the original's default, with which ``after`` has no effect). A summary that fails leaves things as they
    are and says so in ``failures``.
    """

    before: Method | str | None = None
    after: Method | str | None = None
    counter: TokenCounter = field(default_factory=TiktokenCounter)
    budget: int = DEFAULT_BUDGET
    """Tokens that the context may hold."""
    summarizer: Summarizer | None = None
    skip_excluded: bool = True
    stored: tuple[Message, ...] = ()
    """All that was said."""
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stored = number_messages(self.stored)
        self._left = self.stored

    def before_run(self, incoming: Sequence[Message] = ()) -> tuple[Message, ...]:
        """The model's context: the memory, compacted, and the new input unchanged."""
        remembered = self._left if self.skip_excluded else self.stored
        return (*self._compacted(remembered, self.before), *number_messages(incoming, len(self.stored)))

    def after_run(self, said: Sequence[Message], *, turn_ended: bool = True) -> None:
        """Store a turn's input and answer; at the end of the user's turn compact the store."""
        new = number_messages(said, len(self.stored))
        self.stored += new
        self._left += new
        if turn_ended:
            self._left = self._compacted(self._left, self.after)

    def _compacted(self, messages: tuple[Message, ...], method: Method | str | None) -> tuple[Message, ...]:
        if method is None or not messages:
            return messages
        try:
            return compact_messages(
                messages,
                method,
                counter=self.counter,
                budget=self.budget,
                summarizer=self.summarizer,
                session=self.stored,
            ).messages
        except (SummaryError, NotApplicable) as reason:
            self.failures.append(str(reason))
            return messages
