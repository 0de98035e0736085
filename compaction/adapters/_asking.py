"""The run's summariser as a peer's own client asks it, and coroutines run to their end."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from compaction.model import BlankSummaryError, Section, SummaryError, SummaryRequest
from compaction.strategy import History
from compaction.transcript import Message

SURE = 40
"""Characters of a message's written form that are not taken for another's."""


class Asking:
    """What a client that is put into a peer's class calls; it remembers how that went.

    The summariser fails as the peer's client would: with an exception, or with an empty text where it is blank. What
    the peer makes of that is the peer's; ``failed`` lets the caller tell.
    """

    def __init__(self, history: History, sections: tuple[Section, ...], max_tokens: int) -> None:
        self.history = history
        self.failed: SummaryError | None = None
        self.answered = False
        self.shown: set[int] = set()
        """Positions of the messages that answered requests showed."""
        self._sections = sections
        self._max_tokens = max_tokens

    def __call__(self, prompt: Sequence[Message], span: Sequence[Message], positions: Iterable[int] = ()) -> str:
        """The summary that a prompt asks for; ``span`` is what it shows, in our messages.

        Raises SummaryError when the summariser fails.
        """
        request = SummaryRequest(tuple(prompt), tuple(span), self._sections, "", self._max_tokens)
        try:
            text = self.history.summarize(request)
        except BlankSummaryError as error:
            self.failed = error
            return ""
        except SummaryError as error:
            self.failed = error
            raise
        self.answered = True
        self.shown.update(positions)
        return text

    def about(self, prompt: Sequence[Message], written: Sequence[tuple[str, int, Message]]) -> str:
        """The summary that a prompt of text asks for.

        ``written`` has, for each message, how the peer writes it, its position, and the message as that shows it. The
        summariser is told of those that stand in the prompt, one that is cut there as far as it goes.
        """
        text = "\n".join(message.text for message in prompt)
        found = list(_standing_in(text, written))
        if not found:
            last = prompt[-1].text if prompt else ""
            return self(prompt, [Message("user", last, seq=0)])
        return self(prompt, [message for _, message in found], [position for position, _ in found])


def _standing_in(text: str, written: Sequence[tuple[str, int, Message]]) -> Iterable[tuple[int, Message]]:
    cursor = 0
    for form, position, message in written:
        if not form:
            continue
        place = text.find(form, cursor)
        if place >= 0:
            cursor = place + len(form)
            yield position, message
        elif len(form) > SURE and (place := text.find(form[:SURE], cursor)) >= 0:
            # The form may be longer than the text in it (a label, calls), so this is how much of it is gone at least.
            lost = len(form) - _common(form, text, place)
            cursor = place + SURE
            yield position, message.with_text(message.text[: max(0, len(message.text) - lost)])


def _common(form: str, text: str, place: int) -> int:
    """How many characters of a form stand at a place of a text."""
    low, high = SURE, min(len(form), len(text) - place)
    while low < high:
        middle = (low + high + 1) // 2
        if text.startswith(form[:middle], place):
            low = middle
        else:
            high = middle - 1
    return low


def awaited(value: Any) -> Any:
    """A value, or what a coroutine comes to; in a thread of its own where this one is in an event loop already."""
    if not inspect.isawaitable(value):
        return value

    async def wait() -> Any:
        return await value

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, wait()).result()
