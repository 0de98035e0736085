"""The one seam to models: a request in, text and usage out.

``Model`` is any language model, behind whatever client. ``Summarizer`` is what strategies ask: its request carries the
exact prompt that a language model is sent, and the same material in parts, so that a summariser that is no language
model (``compaction.summarizers.extractive``) works from what the prompt shows and from nothing else. What goes wrong::

    ModelError                  no usable answer; ``kind`` says why
    SummaryError                the same for a strategy: the history stays as it was
    ├── ContextOverflowError    the request is longer than the model takes
    └── BlankSummaryError       the answer was blank
    CallsStoppedError           no further call may be made (budget); the item is not done, and did not fail
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from compaction.transcript import Message

SectionKind = Literal["intent", "files", "decisions", "next_steps", "errors", "state", "details", "free"]

ErrorKind = Literal["overflow", "blank", "truncated", "refused", "invalid", "rejected", "unavailable", "unusable"]
"""Why there is no usable answer.

``overflow``: the request is longer than the model's window. ``blank``, ``truncated`` (the token limit was reached),
``refused``, ``invalid`` (not of the form that was asked for): the model answered, but not with anything to go on with.
``rejected``: the provider does not take the request. ``unavailable``: faults until the last try. ``unusable``: no call
to this model can succeed (key, model name, quota).
"""


class ModelError(Exception):
    """A model gave no usable answer; the text is the reason, without any key in it."""

    def __init__(self, reason: str, kind: ErrorKind) -> None:
        super().__init__(reason)
        self.kind = kind


class CallsStoppedError(Exception):
    """No further call may be made; the work left is for another run. Nobody may take it for a failure."""


class ReplyError(ValueError):
    """Raised by a request's ``check``: the reply is not of the form that was asked for; says what is wrong with it."""


class SummaryError(Exception):
    """The summariser failed or gave nothing; the history stays as it was."""


class ContextOverflowError(SummaryError):
    """The request is longer than the summariser's model takes; a strategy may ask again with less."""


class BlankSummaryError(SummaryError):
    """The summariser answered with nothing; some originals put that in the place of the history."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part that a summary must have."""

    title: str
    kinds: tuple[SectionKind, ...]
    """What it holds, for a summariser that is no language model."""
    ask: str
    """What belongs in it, one sentence; it is part of the prompt."""


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A strategy's request to a summariser."""

    prompt: tuple[Message, ...]
    """The messages that a language model is sent."""
    span: tuple[Message, ...]
    """The messages to be summarised, as the prompt shows them (shortened where it shortens them)."""
    sections: tuple[Section, ...]
    """Empty for a free-form summary."""
    previous: str = ""
    """The summary to merge into; empty when there is none or the strategy regenerates."""
    max_tokens: int = 2000
    """Upper limit of the summary, in tokens."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer, and its cost."""

    text: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    """None when the price is unknown. What the call cost when it was made, also where it was served from a cache."""
    cached: bool = False
    """Whether nothing was paid this time."""
    seconds: float = 0.0
    """Wall time of the call when it was made, its retries included."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a language model. Everything in it but ``check`` and ``shared`` can change the answer."""

    messages: tuple[Message, ...]
    """Of any role. Of each role and text are sent, an assistant's calls with their results, or its opaque item to the
    provider of it (docs/models.md, "What is sent")."""
    max_tokens: int
    """Most tokens of the answer, a model's reasoning not counted."""
    schema: Mapping[str, Any] | None = None
    """JSON schema of the answer; None for free text."""
    replicate: int = 0
    """Number of the repetition: the same request is answered anew for every replicate."""
    check: Callable[[str], object] | None = field(default=None, compare=False)
    """Raises ReplyError for a text that is not usable, which is then not kept; the result is not looked at."""
    shared: int | None = field(default=None, compare=False, metadata={"hint": True})
    """Characters of the last message with which other requests begin too, all messages before it being the same; None
    where none is expected to. Providers keep such beginnings for some minutes and charge less for them."""


class Model(Protocol):
    """A language model behind a client that caches, retries and keeps to limits."""

    name: str
    """Its spec, for people: ``openai:gpt-5.2``."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """The settings of the model that can change its output (provider, base URL, sampling …), as JSON values."""

    def complete(self, request: ModelRequest) -> Completion:
        """The answer, never blank. Blocks; safe to call from many threads.

        Raises ModelError when there is no usable answer, CallsStoppedError when no call may be made any more.
        """


class Summarizer(Protocol):
    """A summariser: turns a request into a summary."""

    name: str

    def summarize(self, request: SummaryRequest) -> Completion:
        """Raises SummaryError when there is no usable text."""


@dataclass(frozen=True, slots=True)
class NativeRequest:
    """A request for a compaction on the provider's side, or for embeddings, as it is sent."""

    provider: Literal["openai", "anthropic"]
    path: str
    """Below the provider's base address, for example ``/v1/responses/compact``."""
    body: Mapping[str, Any]
    """The request's JSON without ``model``, which the client adds."""
    betas: tuple[str, ...] = ()
    """Values of the header ``anthropic-beta``."""
    model: str = field(default="", metadata={"added": "later"})
    """Spec of the model that is asked (``openai:text-embedding-3-small``); empty for the one that summarises."""


class NativeCompactor(Protocol):
    """A provider's client, with its key."""

    name: str
    """Provider and model: an item that it made can be read by the same provider only."""

    def compact(self, request: NativeRequest) -> tuple[Mapping[str, Any], Completion]:
        """The response's JSON, and what the call cost (a text is not needed). Raises SummaryError when it fails."""
