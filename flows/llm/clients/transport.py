"""Between the gateway and a provider's client: one try of one request, and what can become of it.

A client (``Transport``) makes exactly one try, without retries of its own, and says what happened in these terms.
Everything else (cache, waiting, trying again, budget, journal) is the gateway's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from compaction.model import ModelRequest, NativeRequest
from flows.llm.settings import ModelSettings

FaultKind = Literal[
    "rate_limited",
    "overloaded",
    "server",
    "connection",
    "timeout",
    "malformed",  # another try may succeed
    "blank",
    "truncated",
    "refused",
    "wrong_model",
    "overflow",
    "rejected",  # it will not
    "unusable",  # and no other call to this model will either: key, model name, quota
]

RETRIED: frozenset[FaultKind] = frozenset(
    {"rate_limited", "overloaded", "server", "connection", "timeout", "malformed", "blank"}
)
"""Faults after which the same request is sent again. A blank answer is one: servers under load give them."""


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Tokens that a provider charges for, as it counts them."""

    input_tokens: int = 0
    output_tokens: int = 0
    """Reasoning included."""
    cached_input_tokens: int = 0
    """Of the input, what the provider served from its own prompt cache."""
    cache_write_tokens: int = 0
    """Of the input, what the provider wrote into its prompt cache; newer models charge more for that."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A usable answer, or a response of a native compaction."""

    text: str
    model: str
    """As the provider names it."""
    use: TokenUse
    body: Mapping[str, Any] = field(default_factory=dict)
    """The whole response; of native requests only."""
    pause: float = 0.0
    """Seconds that the provider's headers ask to wait before the next request (nothing left of a limit); 0 for none."""


class CallFault(Exception):  # noqa: N818 (one try's outcome; the gateway makes the error)
    """A try that gave nothing usable. The text never holds a key or a header."""

    def __init__(
        self,
        kind: FaultKind,
        reason: str,
        *,
        wait: float | None = None,
        use: TokenUse | None = None,
        reasoning: int = 0,
    ) -> None:
        super().__init__(reason)
        self.kind: FaultKind = kind
        self.wait = wait
        """Seconds that the provider asks to wait (Retry-After and its like); None when it says nothing."""
        self.reasoning = reasoning
        """Of a truncated answer, the tokens that went into reasoning."""
        self.use = use
        """Tokens that were charged all the same (a refusal, a truncated answer); None when nothing is known."""


class Transport(Protocol):
    """One provider's client, for all models at one base URL. Used from one event loop."""

    async def send(self, settings: ModelSettings, request: ModelRequest) -> Reply:
        """Try a call once. Raises CallFault."""

    async def send_native(self, settings: ModelSettings, request: NativeRequest) -> Reply:
        """One try of a native compaction; the response as ``body``. Raises CallFault."""

    async def close(self) -> None:
        """Give the connections back."""
