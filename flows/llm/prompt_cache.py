"""What requests begin with in common, and who sends it first.

Providers keep the beginning of a request for some minutes and charge a fraction for it when the next request begins
alike. It is there once the first request has been answered, so others that begin like it wait for that one.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import orjson

from compaction.model import ModelRequest, NativeRequest
from flows.llm.settings import ModelSettings

LIFE = 300.0
"""Seconds for which a provider keeps a beginning after its last use: Anthropic five minutes, OpenAI five to ten."""
REMEMBERED = 4_096
"""Beginnings that are remembered; beyond, the least recently used are forgotten."""


class Beginning(NamedTuple):
    """What a request begins with, as others do."""

    name: str
    """A hash of it, and of the model."""
    characters: int


def beginnings_of(settings: ModelSettings, request: ModelRequest | NativeRequest) -> list[Beginning]:
    """A request's beginnings that others have too, the shortest first; none where it says of none.

    The first ends with the messages before the last, the second with what is shared of the last. A schema goes before
    all messages.
    """
    if isinstance(request, NativeRequest) or request.shared is None or not request.messages:
        return []
    digest = hashlib.sha256(orjson.dumps([settings.base_url, settings.spec, request.schema], default=dict))
    characters = 0
    for message in request.messages[:-1]:
        digest.update(f"{message.role} {len(message.text)} {message.opaque} ".encode("utf-8", "replace"))
        digest.update(message.text.encode("utf-8", "surrogatepass"))
        characters += len(message.text)
    found = [Beginning(digest.hexdigest(), characters)]
    if request.shared:
        digest.update(request.messages[-1].text[: request.shared].encode("utf-8", "surrogatepass"))
        found.append(Beginning(digest.hexdigest(), characters + request.shared))
    return found


class Beginnings:
    """Lets the first request of a beginning go ahead, and the others once it has been answered. For one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[str, float | asyncio.Event] = OrderedDict()
        """Beginning → when it was last used, or the end of the call that is the first to use it."""

    @asynccontextmanager
    async def in_turn(self, beginnings: Sequence[Beginning]) -> AsyncIterator[None]:
        """Wait while another call is the first to send one of these beginnings; be the first for those that are cold.

        They are in the order of ``beginnings_of``, so that nobody waits in a circle. Whether the first call
        succeeds does not matter: those that wait are let go when it is over.
        """
        names, first = [one.name for one in beginnings], set[str]()
        try:
            for name in names:
                while isinstance(state := self._known.get(name), asyncio.Event):
                    await state.wait()
                if state is None or self._clock() > state + LIFE:
                    self._known[name] = asyncio.Event()
                    first.add(name)
            yield
        finally:
            self._end(first, names)

    def _end(self, first: Collection[str], names: Sequence[str]) -> None:
        for name in names:
            state = self._known.get(name)
            if isinstance(state, asyncio.Event):
                if name not in first:
                    continue
                state.set()
            self._known[name] = self._clock()
            self._known.move_to_end(name)
        while len(self._known) > REMEMBERED:
            oldest = next(iter(self._known))
            if isinstance(self._known[oldest], asyncio.Event):
                break
            del self._known[oldest]
