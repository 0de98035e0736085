"""The one seam to a summarising model: a request in, text and usage out.

A request carries the exact prompt that a language model is sent, and the same material in parts, so that a summariser
that is no language model (``compaction.embedded``) works from what the prompt shows and from nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from compaction.transcript import Message

SectionKind = Literal["intent", "files", "decisions", "next_steps", "errors", "state", "details", "free"]


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
    """What a strategy asks of a summariser."""

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
    """What a model answered, and what it cost."""

    text: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    """None when the price is unknown."""


class Summarizer(Protocol):
    """Anything that turns a request into a summary."""

    name: str

    def summarize(self, request: SummaryRequest) -> Completion:
        """Raises SummaryError when there is no usable text."""
        ...


@dataclass(frozen=True, slots=True)
class NativeRequest:
    """A request for a compaction on the provider's side, as it goes over the wire."""

    provider: Literal["openai", "anthropic"]
    path: str
    """Below the provider's base address, for example ``/v1/responses/compact``."""
    body: Mapping[str, Any]
    """The request's JSON without ``model``, which the client adds."""
    betas: tuple[str, ...] = ()
    """Values of the header ``anthropic-beta``."""


class NativeCompactor(Protocol):
    """A provider's client, with its key."""

    name: str
    """Provider and model: an item that it made can be read by the same provider only."""

    def compact(self, request: NativeRequest) -> tuple[Mapping[str, Any], Completion]:
        """The response's JSON, and what the call cost (a text is not needed). Raises SummaryError when it fails."""
        ...
