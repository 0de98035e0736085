"""The model of strategies: a function of a history, a method with parameters, and the compacted context.

A strategy is a function of a :class:`History` to the messages that stay::

    @strategy("last_messages", needs_model=False)
    def last_messages(history: History, *, keep: int = 10) -> Sequence[Message]:
        \"\"\"The last ``keep`` messages.\"\"\"
        return history.messages[-keep:]

It returns messages of the history (kept), changed copies of them that still have their ``seq`` (edited), and new
messages whose ``covers`` names what they stand for (summaries). What was dropped is derived, never flagged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from compaction.code_version import function_version, source_sha256
from compaction.groups import Group, group_messages
from compaction.instructions import NONE, Instructions
from compaction.markers import Declared
from compaction.model import (
    BlankSummaryError,
    Completion,
    NativeCompactor,
    NativeRequest,
    Summarizer,
    SummaryError,
    SummaryRequest,
)
from compaction.spec_text import write_value
from compaction.tokens import TokenCounter, total_tokens
from compaction.transcript import Message, RecordedCompaction

StrategyFunction = Callable[..., Sequence[Message]]

RecallFunction = Callable[..., Sequence[Message]]
"""``(context, question, session, **params)`` → the context in which the question is answered."""

LimitFunction = Callable[..., int | None]
"""``(history, **params)`` → tokens that the context has at most, as the parameters say it; None where they do not."""

Needs = Literal["nothing", "model", "key"]
"""What a strategy cannot do without: a summariser, or a provider's own compaction, which takes a key."""


class StrategyError(ValueError):
    """An unknown strategy, or parameters that it does not take."""


class NotApplicable(Exception):  # noqa: N818 (no error: the third outcome beside done and failed)
    """Raised by a strategy that has nothing to say at this point; the text is the reason, the same for like cases.

    It is no failure: nothing is asked about the point under this method, and in a chain the history stays as it was.
    """


@dataclass(eq=False)
class History:
    """The input of a strategy: the messages before the point, and its tools.

    With ``--history prefix`` the messages are the whole session up to the point. With ``--history chain`` they are
    what the same method left at the last point, followed by what has been said since.
    """

    messages: tuple[Message, ...]
    counter: TokenCounter
    budget: int
    """Tokens that the context may hold at this point."""
    earlier_cuts: tuple[int, ...] = ()
    """``seq`` at which the session's earlier compactions were (prefix histories only)."""
    summarizer: Summarizer | None = None
    previous: tuple[Message, ...] = ()
    """In a chain: what the method left at the last point."""
    session: tuple[Message, ...] = ()
    """All that was said before the point, whatever the method left of it; outside of a chain the messages."""
    recorded: tuple[RecordedCompaction, ...] = ()
    """The agent's own compactions that had fired by then, in order."""
    natives: Mapping[str, NativeCompactor] = field(default_factory=dict)
    """Providers that compact on their side, by name, and models for embeddings, by their spec."""
    calls: list[Completion] = field(default_factory=list)
    """Every model call that was made, in order."""
    flags: list[str] = field(default_factory=list)
    """What the strategy noted about this compaction, each once."""
    instructions: Instructions = NONE
    """The words of the method's user to the summariser."""

    def __post_init__(self) -> None:
        self.session = self.session or self.messages

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The messages as atomic groups (``compaction.groups``)."""
        return group_messages(self.messages)

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of some messages."""
        return total_tokens(messages, self.counter)

    def flag(self, name: str) -> None:
        """Note something that an analyst should know of this compaction (``floor_reached``, ``blank_summary``…)."""
        if name not in self.flags:
            self.flags.append(name)

    def summarize(self, request: SummaryRequest) -> str:
        """Ask the summariser; the text, stripped.

        Raises SummaryError when there is no summariser and when it fails, BlankSummaryError when its text is blank: a
        strategy lets that pass through, and the compaction is recorded as failed with the history unchanged. Only one
        that follows an original which goes on without a summary catches it, in its mode ``faithful``, and flags it.
        """
        if self.summarizer is None:
            raise SummaryError("this strategy needs a summariser and none is configured")
        completion = self.summarizer.summarize(request)
        self.calls.append(completion)
        text = completion.text.strip()
        if not text:
            raise BlankSummaryError(f"{completion.model} returned a blank summary")
        return text

    def ask_provider(self, request: NativeRequest) -> Mapping[str, Any]:
        """Have a provider compact; its response. Raises SummaryError when there is no client or it fails."""
        client = self.natives.get(request.model or request.provider)
        if client is None:
            raise SummaryError(f"this strategy needs a key for {request.provider} and none is configured")
        response, completion = client.compact(request)
        self.calls.append(completion)
        return response


@dataclass(frozen=True, slots=True)
class CompactedContext:
    """The messages after a compaction, and the fate of every message of the session before the point.

    Each has one of the four fates, in a chain too: there they say what the session has lost at this point and before.
    """

    messages: tuple[Message, ...]
    kept: frozenset[int]
    """``seq`` of messages that stay as they were said."""
    edited: frozenset[int]
    """… that stay with another content (masked, shortened)."""
    covered: frozenset[int]
    """… that are gone, but that a summary stands for."""
    dropped: frozenset[int]
    """… that are gone."""
    flags: tuple[str, ...]
    """``grew``: more tokens than before. ``invalid_context``: a tool result without its call, or a call without its
    result, that the session has: providers refuse it. ``over_budget``: more tokens than the method's parameters allow.
    And what the strategy noted with ``History.flag``."""
    tokens: int
    calls: tuple[Completion, ...] = ()
    tokens_by_kind: Mapping[str, int] = field(default_factory=dict)
    """Role (or ``made`` for messages that a strategy made) → tokens that stay."""


@dataclass(frozen=True)
class Strategy:
    """A registered strategy."""

    id: str
    function: StrategyFunction
    needs_model: bool
    peer: str
    """The system whose behaviour it has, or ``own``."""
    peer_version: str
    params: Mapping[str, Any]
    """Parameters with their defaults."""
    types: Mapping[str, Any]
    doc: str
    variants: tuple[Mapping[str, Any], ...] = field(default=(), kw_only=True)
    """Parameters other than the defaults with which sets but ``@defaults`` hold it as well."""
    wraps: str = field(default="", kw_only=True)
    """Name of the parameter that holds another method, which this strategy adds something to."""
    limit: LimitFunction | None = field(default=None, kw_only=True)
    """The tokens that its parameters promise; a context with more is flagged ``over_budget``."""
    recall: RecallFunction | None = field(default=None, kw_only=True)
    """Fetches what a question needs of the dropped messages, just before it is answered."""
    markers: tuple[Declared, ...] = field(default=(), kw_only=True)
    """The fixed texts that it writes, and the headings that its prompts prescribe (``compaction.markers``)."""
    needs_key: str = field(default="", kw_only=True)
    """Provider whose own compaction it asks for (``openai``, ``anthropic``); empty for none."""
    embeds: str = field(default="", kw_only=True)
    """Name of the parameter that holds the model whose embeddings it asks for; empty for none."""
    is_opaque: bool = field(default=False, kw_only=True)
    """Whether it leaves what nobody but that provider can read."""
    mode: str = field(default="", kw_only=True)
    """Its mode where that is no parameter."""
    parts: tuple[Method, ...] = field(default=(), kw_only=True)
    """The methods that it is made of, where it is made of some."""
    every_turn: bool = field(default=False, kw_only=True)
    """Whether its original shows the model a view of the history at every call, in place of compacting at times."""
    by_default: bool = field(default=True, kw_only=True)
    """Whether ``@defaults`` holds it, which runs where no strategies are named."""
    bites: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    """Parameters with which it changes a short history, for tests."""
    declared_version: int | None = field(default=None, kw_only=True)

    @property
    def needs(self) -> Needs:
        """The key, model or nothing that the strategy requires."""
        return "key" if self.needs_key or self.embeds else "model" if self.needs_model else "nothing"

    @cached_property
    def version(self) -> str:
        """The strategy's version, which is part of a method's id; by default a hash of a plug-in's source."""
        return function_version(self.function, self.declared_version)

    @cached_property
    def code_sha256(self) -> str:
        """SHA-256 of the source that it runs, for the record: it decides nothing."""
        return source_sha256(self.function)

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.partition("\n")[0]


@dataclass(frozen=True, slots=True)
class Method:
    """A strategy with parameters: a row of the leaderboard."""

    strategy: Strategy
    params: Mapping[str, Any]
    """All parameters, defaults filled in."""
    label: str = ""
    """What the user calls it; empty for the name that follows from the parameters."""
    inner: Method | None = None
    """The method that this one adds something to, if it does: the one that ``params[strategy.wraps]`` names."""
    instructions: Instructions = NONE
    """The user's own words to its summariser."""

    @property
    def name(self) -> str:
        """The method's label, else its spec: ``head_tail`` with defaults, ``head_tail(tail=20)`` otherwise."""
        return self.label or self.spec

    @property
    def spec(self) -> str:
        """The text that ``parse_method`` makes it of, without its label."""
        changed = {k: v for k, v in self.params.items() if v != self.strategy.params[k]}
        inside = ",".join(f"{k}={write_value(v)}" for k, v in {**changed, **self.instructions.params}.items())
        return f"{self.strategy.id}({inside})" if inside else self.strategy.id

    @property
    def mode(self) -> str:
        """``faithful`` (as the original, even where a provider would refuse the result) or ``valid``."""
        if self.inner is not None:
            return self.inner.mode
        return self.strategy.mode or str(self.params.get("mode", "valid"))

    @property
    def needs(self) -> Needs:
        """The key, model or nothing that the method requires, the inner method included."""
        own = self.strategy.needs
        return self.inner.needs if self.inner is not None and own == "nothing" else own

    @property
    def needs_model(self) -> bool:
        """Whether the method calls a summariser."""
        return self.needs == "model"

    @property
    def is_opaque(self) -> bool:
        """Whether the method leaves items that only their provider can read."""
        return self.strategy.is_opaque or (self.inner is not None and self.inner.is_opaque)

    @property
    def provider(self) -> str:
        """Provider whose own compaction it asks for; empty for none."""
        return self.strategy.needs_key or (self.inner.provider if self.inner is not None else "")

    @property
    def embedder(self) -> str:
        """Spec of the model whose embeddings it asks for, or the inner method does; empty for none."""
        if self.strategy.embeds:
            return str(self.params[self.strategy.embeds])
        return self.inner.embedder if self.inner is not None else ""

    @property
    def version(self) -> str:
        """Versions of the strategy, its user's prompt and the inner one: ``1``, ``1+prompt@1f3a``, ``1+recency@2``."""
        own = self.strategy.version + self.instructions.version
        return own if self.inner is None else join_versions(own, [self.inner])

    @property
    def recalls(self) -> bool:
        """Whether the method fetches anything for a question."""
        return self.strategy.recall is not None or (self.inner is not None and self.inner.recalls)

    def run(self, history: History) -> Sequence[Message]:
        """Run the strategy's function on a history; a strategy that wraps another is given the inner method."""
        params = self.params if self.inner is None else {**self.params, self.strategy.wraps: self.inner}
        if history.instructions != self.instructions:
            history = replace(history, instructions=self.instructions)
        return self.strategy.function(history, **params)

    def limit(self, history: History) -> int | None:
        """Tokens that its context has at most; None where its parameters say nothing of it."""
        if self.strategy.limit is not None:
            return self.strategy.limit(history, **self.params)
        return None if self.inner is None else self.inner.limit(history)

    def recall(self, context: Sequence[Message], question: str, session: Sequence[Message]) -> tuple[Message, ...]:
        """Fetch messages for a question, and return its context; ``session`` is the history before the point."""
        if self.inner is not None:
            context = self.inner.recall(context, question, session)
        if self.strategy.recall is not None:
            context = self.strategy.recall(context, question, session, **self.params)
        return tuple(context)


def join_versions(own: str, parts: Iterable[Method]) -> str:
    """Join the version of a combined method: its own, then those of its parts."""
    return "+".join([own, *sorted({f"{part.strategy.id}@{part.version}" for part in parts})])
