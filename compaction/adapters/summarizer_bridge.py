"""The run's summariser as a peer's own client asks it, and coroutines run to their end."""

from __future__ import annotations

import asyncio
import inspect
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from compaction.model import BlankSummaryError, Section, SummaryError, SummaryRequest
from compaction.strategy import History
from compaction.transcript import Message

SURE = 100
"""Characters of a message's written form that are not taken for another's."""


Form = tuple[str, int, Message]
"""How a peer writes a message into a prompt, its position, and the message as that shows it."""


def free_form(span: Sequence[Message]) -> tuple[Section, ...]:
    """The sections of a summary that has none."""
    return ()


class Asking:
    """The summariser that a client inside a peer's class calls; it remembers failures.

    The summariser fails as the peer's client would: with an exception, or with an empty text where it is blank. What
    the peer makes of that is the peer's; ``failed`` lets the caller tell.
    """

    def __init__(
        self,
        history: History,
        sections: Callable[[Sequence[Message]], tuple[Section, ...]] = free_form,
        max_tokens: int = 1,
        *,
        is_summarised: bool = False,
    ) -> None:
        self.history = history
        self.failed: SummaryError | None = None
        self.answered = False
        self.forms: Callable[[], Sequence[Form]] = tuple
        """How the peer writes each message into a prompt."""
        self._shown: set[int] = set()
        self._is_summarised = is_summarised
        self._sections = sections
        self._max_tokens = max_tokens

    @property
    def shown(self) -> set[int] | None:
        """Positions of the messages that answered requests showed: a new message can stand for no others.

        None where that is not known, or no summary is asked for in the first place.
        """
        return self._shown if self._is_summarised and (self._shown or not self.answered) else None

    def __call__(self, prompt: Sequence[Message], span: Sequence[Message], positions: Iterable[int] = ()) -> str:
        """The summary that a prompt asks for; ``span`` is what it shows, in our messages.

        Raises SummaryError when the summariser fails.
        """
        request = SummaryRequest(tuple(prompt), tuple(span), self._sections(span), "", self._max_tokens)
        try:
            text = self.history.summarize(request)
        except BlankSummaryError as error:
            self.failed = error
            return ""
        except SummaryError as error:
            self.failed = error
            raise
        self.answered = True
        self._shown.update(positions)
        return text

    def about(self, prompt: Sequence[Message]) -> str:
        """Have the summariser answer a prompt of plain text.

        The summariser is told of the messages whose forms stand in the prompt; of one that is cut there, as far as it
        goes.
        """
        text = "\n".join(message.text for message in prompt)
        forms = self.forms()
        found = _standing_in(text, forms)
        if not found:
            last = prompt[-1].text if prompt else ""
            return self(prompt, [Message("user", last, seq=0)])
        # Of messages that are written alike a text does not tell which are shown; what is gone in the end does.
        chosen = {position for position, _ in found}
        alike = {form for form, position, _ in forms if position in chosen}
        return self(prompt, [message for _, message in found], [p for form, p, _ in forms if form in alike])


def _standing_in(text: str, forms: Sequence[Form]) -> list[tuple[int, Message]]:
    """Position and message of each form that stands in a text, in order; parallel calls are one message."""
    places: dict[str, list[int]] = {form: [] for form, _, _ in forms}
    for form, found in places.items():
        place = text.find(form) if form else -1
        while place >= 0:
            found.append(place)
            place = text.find(form, place + len(form))
    at = _longest_run([places[form] for form, _, _ in forms])
    ahead = [len(text)] * (len(forms) + 1)
    for index in range(len(forms) - 1, -1, -1):
        ahead[index] = at.get(index, ahead[index + 1])
    standing: dict[int, Message] = {}
    behind = 0
    for index, (form, position, message) in enumerate(forms):
        if index in at:
            behind = at[index] + len(form)
            standing.setdefault(position, message)
        elif len(form) > SURE and (place := text.find(form[:SURE], behind, ahead[index])) >= 0:
            # The form may be longer than the text in it (a label, calls), so this is how much of it is gone at least.
            lost = len(form) - _common_length(form, text, place)
            standing.setdefault(position, message.with_text(message.text[: max(0, len(message.text) - lost)]))
    return list(standing.items())


def _longest_run(places: Sequence[Sequence[int]]) -> dict[int, int]:
    """Number of a form → its place, for as many forms as can stand one behind the other in their order."""
    ends: list[int] = []
    runs: list[tuple[int, int, Any]] = []
    for index, found in enumerate(places):
        for place in reversed(found):
            length = bisect_left(ends, place)
            run = (index, place, runs[length - 1] if length else None)
            ends[length : length + 1] = [place]
            runs[length : length + 1] = [run]
    chosen: dict[int, int] = {}
    step: Any = runs[-1] if runs else None
    while step is not None:
        index, place, step = step
        chosen[index] = place
    return chosen


def _common_length(form: str, text: str, place: int) -> int:
    """Count the characters of a form that stand at a place of a text."""
    low, high = SURE, min(len(form), len(text) - place)
    while low < high:
        middle = (low + high + 1) // 2
        if text.startswith(form[:middle], place):
            low = middle
        else:
            high = middle - 1
    return low


def run_awaitable(value: Any) -> Any:
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
