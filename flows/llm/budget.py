"""A budget of dollars or tokens that is never passed, as long as providers charge no more than what was reserved.

Before each try the most that it can cost is reserved; after it, what was charged takes the reservation's place. A try
whose cost nobody knows (no answer came, or one without a count) is charged what was reserved for it. Near the
end, where the most of a single try does not fit any more, its tokens are counted, which takes longer and comes to less.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import lru_cache

import orjson
from tiktoken.model import encoding_name_for_model

from compaction.model import CallsStoppedError, ModelRequest, NativeRequest
from compaction.tokens import TiktokenCounter
from flows.llm.clients.requests import EMBEDDINGS, native_body, sent_turns, token_limit
from flows.llm.clients.transport import CallFault, FaultKind, TokenUse
from flows.llm.settings import ModelSettings
from flows.support.errors import UsageError

BYTES_A_TOKEN = 4
"""About, of English and code."""
PER_MESSAGE = 16
"""Tokens around a message's text at most. OpenAI counts 3 a message and one for a name; chat templates up to ten."""
PER_CALL = 512
"""Tokens around a call and its result. Anthropic adds some 350 to a request that names tools; a few for each tool."""
PER_REQUEST = 64
PER_SCHEMA = 1024
"""Tokens of a provider's own instructions on structured output, beside the schema (twice, as it may be laid out)."""
NATIVE_OUTPUT = 128_000
"""Tokens that a native compaction without a limit of its own can write: most of any model of OpenAI's (GPT-5)."""
UNCHARGED: frozenset[FaultKind] = frozenset(
    {"rate_limited", "overloaded", "server", "overflow", "rejected", "unusable"}
)
"""Faults that no provider charges for: there was no answer. Any other may have been charged."""

ENCODINGS = frozenset({"o200k_base", "cl100k_base"})
"""Those of tiktoken's that the installation has."""

_UNIT = 10**12  # dollars are held as whole picodollars: sums of floats drift

Price = Callable[[ModelSettings, TokenUse], float | None]
"""US dollars of a model's tokens; None where its price is not known."""


@dataclass(frozen=True, slots=True)
class Charge:
    """Cost of a try, or its upper limit."""

    tokens: int = 0
    usd: float | None = 0.0
    """None when the price is unknown."""


NOTHING = Charge()


def most_tokens(
    settings: ModelSettings, request: ModelRequest | NativeRequest, size: Callable[[str], int] | None = None
) -> TokenUse:
    """Tokens that a try can be charged for at most.

    Input: of texts as many as ``size`` says, by default one a byte of UTF-8, which no byte-level tokenizer exceeds;
    and a few for what stands around them.
    Output: the token limit and what the model may spend on reasoning. Anthropic's service reads and writes twice: for
    the compaction, and for the answer after it.
    """
    if isinstance(request, NativeRequest):
        sent = _json_bytes(native_body(request)) + PER_REQUEST
        if request.path == EMBEDDINGS:
            return TokenUse(sent, 0)
        limit = request.body.get("max_tokens") or request.body.get("max_output_tokens") or NATIVE_OUTPUT
        passes = 2 if request.provider == "anthropic" else 1
        return TokenUse(passes * sent, passes * int(limit))
    said = sent_turns(settings, request.messages)
    size = size or _bytes
    read = PER_REQUEST + sum(size(one.text) + _bytes(one.opaque) + PER_MESSAGE for one in said)
    # The text of a call's arguments is escaped, its id stands in it twice, and its tool is named once more.
    read += sum(
        2 * (_bytes(call.arguments) + _bytes(call.id) + _bytes(call.name)) + size(result.text) + PER_CALL
        for one in said
        for call, result in one.calls
    )
    if request.schema is not None:
        read += 2 * _json_bytes(request.schema) + PER_SCHEMA
    return TokenUse(read, token_limit(settings, request))


def likely_tokens(settings: ModelSettings, request: ModelRequest | NativeRequest) -> TokenUse:
    """Estimate the tokens of a try: four bytes a token of input, half of the most of output."""
    most = most_tokens(settings, request)
    return TokenUse(most.input_tokens // BYTES_A_TOKEN, most.output_tokens // 2)


def highest_charge(settings: ModelSettings, request: ModelRequest | NativeRequest, price: Price) -> Charge:
    """Highest cost of a try; dollars are None if the model's price is unknown."""
    return _dearest(settings, most_tokens(settings, request), price)


def _dearest(settings: ModelSettings, use: TokenUse, price: Price) -> Charge:
    written = replace(use, cache_write_tokens=use.input_tokens)  # dearer than plain input at some providers
    dollars = [price(settings, each) for each in (use, written)]
    known = [each for each in dollars if each is not None]
    return Charge(use.input_tokens + use.output_tokens, max(known) if len(known) == len(dollars) else None)


def counted_charge(settings: ModelSettings, request: ModelRequest | NativeRequest, price: Price) -> Charge | None:
    """Highest cost of a try by counted tokens; None where the model's tokenizer is not known to be tiktoken's."""
    if isinstance(request, NativeRequest) or not (settings.provider == "openai" and settings.is_official):
        return None
    try:
        encoding = encoding_name_for_model(settings.model)
    except KeyError:
        return None
    if encoding not in ENCODINGS:
        return None
    return _dearest(settings, most_tokens(settings, request, _counter(encoding).count), price)


@lru_cache(maxsize=4)
def _counter(encoding: str) -> TiktokenCounter:
    return TiktokenCounter(encoding)


def charge_for(use: TokenUse, usd: float | None) -> Charge:
    """The charge for these tokens."""
    return Charge(use.input_tokens + use.output_tokens, usd)


def count_use(settings: ModelSettings, use: TokenUse, price: Price) -> tuple[TokenUse | None, float | None]:
    """Tokens and dollars of an answer. A server that counts no tokens has told nothing: both are unknown then.

    A model that is free by its settings costs nothing all the same.
    """
    if use.input_tokens or use.output_tokens:
        return use, price(settings, use)
    return None, 0.0 if price(settings, TokenUse(1_000_000, 1_000_000)) == 0 else None


def cost_of_fault(settings: ModelSettings, fault: CallFault, price: Price) -> float | None:
    """Dollars of a try that failed; None where they are not known."""
    if fault.use is not None:
        return price(settings, fault.use)
    return 0.0 if fault.kind in UNCHARGED else None


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _json_bytes(value: object) -> int:
    try:
        return len(orjson.dumps(value, default=dict))
    except TypeError:  # half a surrogate pair, or a huge number
        return 4 * len(str(value))


class Budget:
    """The budget of a run. Safe from any thread; waiting is done on an event loop."""

    def __init__(self, usd: float | None = None, tokens: int | None = None) -> None:
        for name, limit in (("usd", usd), ("tokens", tokens)):
            if limit is not None and not (limit >= 0 and math.isfinite(limit)):
                raise UsageError(f"budget: {name}: expected a number of at least 0, found {limit!r}")
        self.usd = usd
        self.tokens = tokens
        self._limits = (None if usd is None else math.floor(usd * _UNIT), tokens)
        self._spent = (0, 0)
        self._reserved = (0, 0)
        self._open = 0
        self._stopped = False
        self._waiting: deque[tuple[Charge, Callable[[], Charge | None], Future[Charge]]] = deque()
        self._lock = threading.Lock()

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit. Without one, nothing is reserved or counted."""
        return self._limits != (None, None)

    @property
    def stopped(self) -> bool:
        """Whether a call did not fit into the budget. After that no call is made."""
        return self._stopped

    @property
    def spent_usd(self) -> float:
        """US dollars charged so far, tries of unknown cost at the most that they can have cost."""
        return self._spent[0] / _UNIT

    @property
    def spent_tokens(self) -> int:
        """Tokens charged so far, counted in the same way."""
        return self._spent[1]

    def check_price(self, settings: ModelSettings, most: Charge) -> None:
        """Raises UsageError when a budget of dollars cannot be kept to because the price is unknown."""
        if self.usd is not None and most.usd is None:
            raise UsageError(
                f"model {settings.spec!r}: its price is unknown, so a budget in dollars cannot be kept to; give "
                f'input_usd and output_usd (dollars a million tokens) in [models."{settings.spec}"], or leave the '
                f"budget out"
            )

    async def reserve(self, most: Charge, counted: Callable[[], Charge | None] = lambda: None) -> Charge:
        """Reserve for a try and return what is reserved; waits for others to settle while it does not fit.

        First come, first served: a small call does not pass a big one that waits. Where it does not fit and nothing is
        left to settle, what ``counted`` gives is reserved instead of ``most``. Raises CallsStoppedError when that does
        not fit either, and from then on always.
        """
        waits: Future[Charge] = Future()
        with self._lock:
            if self._stopped:
                raise self._stop()
            self._waiting.append((most, counted, waits))
            self._grant()
        if waits.done():
            return waits.result()
        try:
            return await asyncio.wrap_future(waits)
        except asyncio.CancelledError:
            if waits.done() and not waits.cancelled() and waits.exception() is None:
                self.settle(waits.result(), NOTHING)  # it was granted just before the wait was given up
            elif waits.cancelled():
                with self._lock:
                    self._grant()  # those behind it may go on
            raise

    def try_reserve(self, most: Charge) -> bool:
        """Reserve if the charge fits now; return whether it did. Stops nothing if not."""
        with self._lock:
            if self._stopped or self._waiting or not self._fits(most):
                return False
            self._reserved = (self._reserved[0] + _picodollars(most.usd), self._reserved[1] + most.tokens)
            self._open += 1
            return True

    def settle(self, most: Charge, paid: Charge) -> None:
        """Replace a reservation by the actual charge. Unknown dollars count as the whole reservation."""
        dollars = paid.usd if paid.usd is not None else most.usd
        spent = (_picodollars(dollars), paid.tokens)
        reserved = (_picodollars(most.usd), most.tokens)
        with self._lock:
            self._spent = (self._spent[0] + spent[0], self._spent[1] + spent[1])
            self._reserved = (self._reserved[0] - reserved[0], self._reserved[1] - reserved[1])
            self._open -= 1
            self._grant()

    def _fits(self, most: Charge) -> bool:
        wanted = (_picodollars(most.usd), most.tokens)
        return all(
            limit is None or spent + reserved + more <= limit
            for limit, spent, reserved, more in zip(self._limits, self._spent, self._reserved, wanted, strict=True)
        )

    def _grant(self) -> None:
        """Wake waiting calls in order, as far as they fit. Stop the budget if the first can never fit."""
        while self._waiting:
            most, counted, waits = self._waiting[0]
            if not waits.cancelled() and not self._stopped and not self._fits(most):
                if self._open:
                    return
                less = counted()
                self._stopped = less is None or not self._fits(less)
                most = less or most
            self._waiting.popleft()
            if not waits.set_running_or_notify_cancel():
                continue
            if self._stopped:
                waits.set_exception(self._stop())
            else:
                self._reserved = (self._reserved[0] + _picodollars(most.usd), self._reserved[1] + most.tokens)
                self._open += 1
                waits.set_result(most)

    def _stop(self) -> CallsStoppedError:
        limits = [f"{self.usd:g} US dollars"] if self.usd is not None else []
        limits += [f"{self.tokens:,} tokens"] if self.tokens is not None else []
        return CallsStoppedError(
            f"the budget of {' and '.join(limits)} has no room for the next call ({self.spent_usd:.4f} US dollars and "
            f"{self.spent_tokens:,} tokens are spent); run again with more to go on where it stopped"
        )


def _picodollars(usd: float | None) -> int:
    """Picodollars, rounded up."""
    return math.ceil((usd or 0.0) * _UNIT)
