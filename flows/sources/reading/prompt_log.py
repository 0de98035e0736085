"""Logs of requests that repeat the conversation so far → the conversations, each message once.

Several conversations may be interleaved: a request continues the one whose messages it begins with. Messages of that
conversation that it lacks were either taken back (an answer that the harness refused and asked for again) or compacted:
then later messages are still there, or a summary replaces them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.base import BAD_CONTENT, Source
from flows.sources.reading.conversation import Conversation
from flows.sources.reading.exchanges import LoggedExchange, digest, role_of
from flows.sources.reading.session import BOOKKEEPING

_MOST_OPEN = 64
"""Conversations that are open at a time; beyond that, the one without a request for the longest time is finished."""


def conversations(
    source: Source,
    format: str,
    exchange_of: Callable[[Any], LoggedExchange | None],
    records: Iterable[tuple[int | None, str, Any]] | None = None,
) -> Iterator[Transcript]:
    """The conversations of a log of requests.

    Args:
        source: The log.
        format: Name of the format.
        exchange_of: The exchange that a record tells of; None where it tells of none.
        records: Line, place and record in the order of the requests; those of the source where nothing is said.
    """
    log = _PromptLog(source, format)
    for where, ref, record in source.values(1) if records is None else records:
        try:
            exchange = exchange_of(record)
        except BAD_CONTENT as error:
            source.quarantine(where, str(error), record)
            continue
        if exchange is None:
            source.account.leave_out(BOOKKEEPING)
        else:
            yield from log.take(exchange, ref, where)
    yield from log.close()


class _PromptLog:
    """Gives every request and response to the conversation that it belongs to."""

    def __init__(self, source: Source, format: str) -> None:
        self.source = source
        self.format = format
        self.open: OrderedDict[int, Conversation] = OrderedDict()
        self.last: Conversation | None = None
        self.number = 0
        self.named: set[str] = set()
        """Ids that the log gives its conversations."""

    def take(self, exchange: LoggedExchange, ref: str, where: int | None) -> Iterator[Transcript]:
        """Takes a request, a response, or both; yields the sessions that had to be finished to make room."""
        if exchange.prompt is not None:
            self.last = self._find(exchange, ref, where)
        elif exchange.pair is not None:
            named = (one for one in reversed(self.open.values()) if one.pair == exchange.pair)
            self.last = next(named, self.last)
        if self.last is None:
            self.last = self._new()
        self.last.answer(exchange, ref, where)
        self.last.usage.append((exchange.key, exchange.usage))
        about = self.last.about
        about.time = about.time or exchange.time
        if about.native_id is None and exchange.native_id is not None:
            self.last.is_another = exchange.native_id in self.named
            self.named.add(exchange.native_id)
        for name in ("native_id", "tools"):
            setattr(about, name, getattr(about, name) or getattr(exchange, name))
        # The response names the model that answered, a request may name an alias.
        about.model = exchange.model if exchange.answers and exchange.model else about.model or exchange.model
        if len(self.open) > _MOST_OPEN:
            yield from self._finish(next(iter(self.open)))

    def _find(self, exchange: LoggedExchange, ref: str, where: int | None) -> Conversation:
        prompt = exchange.prompt or []
        digests = [digest(message) for message in prompt]
        best, chosen = 0, None
        found = None
        for number, conversation in reversed(self.open.items()):
            if not _may_be_of(exchange, conversation):
                continue
            same = conversation.shared(digests, prompt)
            if same > best:
                best, chosen = same, number
                if same == len(conversation.view):
                    break
        if chosen is None or not any(role_of(message) == "user" for message in prompt[:best]):
            chosen, best = self._find_replaced(exchange, digests)
        if chosen is not None and self.open[chosen].continue_with(prompt, digests, best, ref, where):
            found = self.open[chosen]
            self.open.move_to_end(chosen)
        if found is None:
            found = self._new()
            for index, message in enumerate(prompt):
                found.add(message, f"{ref}#{index}", where, None, digests[index])
        found.requests += 1
        found.where, found.pair = where, exchange.pair
        return found

    def _find_replaced(self, exchange: LoggedExchange, digests: Sequence[bytes]) -> tuple[int | None, int]:
        """The conversation of which a prompt replaced the beginning, and how many messages they share before that."""
        prompt = exchange.prompt or []
        for number, conversation in reversed(self.open.items()):
            same = conversation.shared(digests, prompt)
            if _may_be_of(exchange, conversation) and conversation.is_replaced_in(digests, prompt, same):
                return number, same
        return None, 0

    def _new(self) -> Conversation:
        self.number += 1
        self.open[self.number] = Conversation()
        return self.open[self.number]

    def _finish(self, number: int) -> Iterator[Transcript]:
        yield from self.open.pop(number).build(self.source, self.format)

    def close(self) -> Iterator[Transcript]:
        """The conversations that are still open."""
        for number in list(self.open):
            yield from self._finish(number)


def _may_be_of(exchange: LoggedExchange, conversation: Conversation) -> bool:
    """Whether the log does not give them different ids."""
    ids = {conversation.about.native_id, exchange.native_id} - {None}
    return len(ids) < 2
