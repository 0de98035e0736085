"""What a strategy is, the registry of strategies, and what is worked out about every compacted context.

A strategy is a function of a :class:`History` to the messages that stay::

    @strategy("last_messages", needs_model=False)
    def last_messages(history: History, *, keep: int = 10) -> Sequence[Message]:
        \"\"\"The last ``keep`` messages.\"\"\"
        return history.messages[-keep:]

It returns messages of the history (kept), changed copies of them that still have their ``seq`` (edited), and new
messages whose ``covers`` names what they stand for (summaries). What was dropped is derived, never flagged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import entry_points
from typing import Any, Literal

from compaction.closest import closest, closest_or_all
from compaction.groups import Group, group, without_other_half
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
from compaction.parameters import typed
from compaction.specs import write_value
from compaction.tokens import CharacterCounter, TokenCounter, counted, total_tokens
from compaction.transcript import Message, RecordedCompaction
from compaction.version import function_version

ENTRY_POINT_GROUP = "compaction_eval.strategies"
NAME = r"\w[\w .+-]*?"
"""What a user may call a method."""
PIPELINE = "pipeline"
"""Not registered: a pipeline is made of strategies (``compaction.pipeline``)."""
PEER = "peer:"
"""What the id of somebody else's own class begins with (``compaction.adapters``); not registered either."""

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
    """What a strategy works on: the messages before the point and what it may ask of its surroundings.

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
    """Providers that compact on their side, by name."""
    calls: list[Completion] = field(default_factory=list)
    """Every model call that was made, in order."""
    flags: list[str] = field(default_factory=list)
    """What the strategy noted about this compaction, each once."""

    def __post_init__(self) -> None:
        self.session = self.session or self.messages

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The messages as atomic groups (``compaction.groups``)."""
        return group(self.messages)

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
        client = self.natives.get(request.provider)
        if client is None:
            raise SummaryError(f"this strategy needs a key for {request.provider} and none is configured")
        response, completion = client.compact(request)
        self.calls.append(completion)
        return response


@dataclass(frozen=True, slots=True)
class CompactedContext:
    """What stays in the context after a compaction, and what became of every message of the session before the point.

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


def tokens_by_kind(messages: Sequence[Message], counter: TokenCounter) -> dict[str, int]:
    """Tokens by role, those of messages that a strategy made under ``made``."""
    found: dict[str, int] = {}
    for message in messages:
        kind = message.role if message.seq is not None else "made"
        found[kind] = found.get(kind, 0) + total_tokens((message,), counter)
    return found


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
    """Parameters other than the defaults with which it is run as well where no strategies are named."""
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
    is_opaque: bool = field(default=False, kw_only=True)
    """Whether it leaves what nobody but that provider can read."""
    mode: str = field(default="", kw_only=True)
    """Its mode where that is no parameter."""
    parts: tuple[Method, ...] = field(default=(), kw_only=True)
    """The methods that it is made of, where it is made of some."""
    by_default: bool = field(default=True, kw_only=True)
    """Whether it is run where no strategies are named."""

    @property
    def needs(self) -> Needs:
        """What it cannot do without."""
        return "key" if self.needs_key else "model" if self.needs_model else "nothing"

    @cached_property
    def code(self) -> str:
        """Version of the code: a strategy that is changed is another method."""
        return function_version(self.function)

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

    @property
    def name(self) -> str:
        """Its label; without one ``head_tail`` with defaults, ``head_tail(tail=20)`` otherwise."""
        return self.label or self.spec

    @property
    def spec(self) -> str:
        """The text that ``parse_method`` makes it of, without its label."""
        changed = {k: v for k, v in self.params.items() if v != self.strategy.params[k]}
        inside = ",".join(f"{k}={write_value(v)}" for k, v in changed.items())
        return f"{self.strategy.id}({inside})" if inside else self.strategy.id

    @property
    def mode(self) -> str:
        """``faithful`` (as the original, even where a provider would refuse the result) or ``valid``."""
        inner = self.inner
        return inner.mode if inner is not None else self.strategy.mode or str(self.params.get("mode", "valid"))

    @property
    def inner(self) -> Method | None:
        """The method that this one adds something to, if it does."""
        from compaction.method_specs import parse_method  # noqa: PLC0415 (it makes methods)

        return parse_method(self.params[self.strategy.wraps]) if self.strategy.wraps else None

    @property
    def needs(self) -> Needs:
        """What it cannot do without, the inner method included."""
        inner, own = self.inner, self.strategy.needs
        return inner.needs if inner is not None and own == "nothing" else own

    @property
    def needs_model(self) -> bool:
        """Whether it calls a summariser."""
        return self.needs == "model"

    @property
    def is_opaque(self) -> bool:
        """Whether it leaves what nobody but its provider can read."""
        inner = self.inner
        return self.strategy.is_opaque or (inner is not None and inner.is_opaque)

    @property
    def provider(self) -> str:
        """Provider whose own compaction it asks for; empty for none."""
        inner = self.inner
        return self.strategy.needs_key or (inner.provider if inner is not None else "")

    @property
    def code(self) -> str:
        """Version of the code that makes its contexts."""
        own, inner = self.strategy.code, self.inner
        return own if inner is None or inner.code == own else f"{own}+{inner.code}"

    @property
    def recalls(self) -> bool:
        """Whether it fetches anything for a question."""
        inner = self.inner
        return self.strategy.recall is not None or (inner is not None and inner.recalls)

    def try_parameters(self, budget: int) -> None:
        """Compact an empty history, to see whether the parameters go together, which only the strategy knows.

        Raises StrategyError where they do not.
        """
        if self.strategy.id in _registry:
            with suppress(SummaryError, NotApplicable):
                self.strategy.function(History((), CharacterCounter(), budget), **self.params)
        inner = self.inner
        for part in (*self.strategy.parts, *([inner] if inner is not None else [])):
            part.try_parameters(budget)

    def limit(self, history: History) -> int | None:
        """Tokens that its context has at most; None where its parameters say nothing of it."""
        if self.strategy.limit is not None:
            return self.strategy.limit(history, **self.params)
        return None if self.inner is None else self.inner.limit(history)

    def recall(self, context: Sequence[Message], question: str, session: Sequence[Message]) -> tuple[Message, ...]:
        """The context in which a question is answered; ``session`` is all that was said before the point."""
        inner = self.inner
        if inner is not None:
            context = inner.recall(context, question, session)
        if self.strategy.recall is not None:
            context = self.strategy.recall(context, question, session, **self.params)
        return tuple(context)


_registry: dict[str, Strategy] = {}


def strategy(
    id: str,
    *,
    needs_model: bool = False,
    needs_key: str = "",
    is_opaque: bool = False,
    peer: str = "own",
    peer_version: str = "",
    variants: Sequence[Mapping[str, Any]] = (),
    wraps: str = "",
    limit: LimitFunction | None = None,
    recall: RecallFunction | None = None,
    markers: Sequence[Declared] = (),
    by_default: bool = True,
) -> Callable[[StrategyFunction], StrategyFunction]:
    """Register a strategy. Its keyword-only arguments are its parameters and must have defaults and annotations.

    A whole number is 0 or more, a float is a share from 0 to 1; ``Annotated[float, Range(0, 10)]`` says otherwise
    (``compaction.parameters``). ``limit`` says how many tokens its contexts have at most, where its parameters promise
    that; one with more is flagged. ``markers`` are the texts by which its contexts could be told from those of others;
    a judge is not shown them.
    """

    def register(function: StrategyFunction) -> StrategyFunction:
        if id in _registry and _registry[id].function is not function:
            raise StrategyError(f"strategy {id!r} is registered twice")
        signature = inspect.signature(function, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
        for parameter in own:
            if parameter.default is parameter.empty or parameter.annotation is parameter.empty:
                raise StrategyError(f"strategy {id!r}: parameter {parameter.name} needs a default and a type")
            checked(id, parameter.name, parameter.default, parameter.annotation)
        _registry[id] = Strategy(
            id, function, needs_model, peer, peer_version,
            {p.name: p.default for p in own}, {p.name: p.annotation for p in own}, inspect.getdoc(function) or "",
            variants=tuple(variants), wraps=wraps, limit=limit, recall=recall, needs_key=needs_key, is_opaque=is_opaque,
            markers=tuple(markers), by_default=by_default,
        )  # fmt: skip
        return function

    return register


def load_registry() -> Mapping[str, Strategy]:
    """All strategies: the project's own and those that installed packages bring (entry points)."""
    import compaction.strategies  # noqa: F401, PLC0415 (registers the project's own, which import this module)

    _load_entry_points()
    return dict(_registry)


@cache
def _load_entry_points() -> None:
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        entry.load()


def make_method(id: str, params: Mapping[str, Any] | None = None) -> Method:
    """A method from a strategy's id and parameters that differ from the defaults."""
    if id == PIPELINE:
        from compaction.pipeline import make_pipeline  # noqa: PLC0415 (a pipeline is made of methods)

        return make_pipeline(params or {})
    if id.startswith(PEER):
        from compaction.adapters import make_peer  # noqa: PLC0415 (imports what it runs, and this module)

        return make_peer(id, params or {})
    registry = load_registry()
    if id not in registry:
        raise StrategyError(f"unknown strategy {id!r}{closest_or_all(id, registry)}")
    found = registry[id]
    given = dict(params or {})
    for name, value in given.items():
        if name not in found.params:
            known = ", ".join(found.params) or "none"
            meant = closest(name, found.params)
            raise StrategyError(f"strategy {id!r} has no parameter {name!r}; it has: {known}{meant}")
        given[name] = checked(id, name, value, found.types[name])
    method = Method(found, {**found.params, **given})
    if found.wraps:
        _check_inner(method)
    return method


def _check_inner(method: Method) -> None:
    """Refuse an inner method that does not exist, and a strategy around itself."""
    inner = method.inner
    while inner is not None:
        if inner.strategy is method.strategy:
            raise StrategyError(f"strategy {method.strategy.id!r}: {method.strategy.wraps} cannot be itself")
        inner = inner.inner


def checked(id: str, name: str, value: Any, expected: Any) -> Any:
    """A parameter's value in its type: a whole number for a float, the text of a type that is made of text.

    Raises StrategyError for a value that the parameter does not take.
    """
    try:
        return typed(name, value, expected)
    except ValueError as error:
        raise StrategyError(f"strategy {id!r}: {error}") from None


def compact(history: History, method: Method) -> CompactedContext:
    """Run a method and say what became of every message.

    Raises SummaryError when the summariser failed, NotApplicable when the strategy has nothing to say at this point;
    the history is as it was.
    """
    before = history.messages
    left = tuple(method.strategy.function(history, **method.params))
    originals = {m.seq: m for m in history.session if m.seq is not None}
    kept = frozenset(m.seq for m in left if m.seq is not None and _is_same(m, originals.get(m.seq)))
    after = tuple(counted(m, history.counter) for m in left)
    tokens = total_tokens(after, history.counter)
    edited = frozenset(m.seq for m in after if m.seq is not None) - kept
    earlier = {seq for m in before for seq in m.covers}
    covered = frozenset(seq for m in after for seq in m.covers) - kept - edited
    dropped = (frozenset(originals) | earlier) - kept - edited - covered
    flags = list(history.flags)
    if tokens > total_tokens(before, history.counter):
        flags.append("grew")
    if without_other_half(after) - without_other_half(history.session):
        flags.append("invalid_context")
    limit = method.limit(history)
    if limit is not None and tokens > limit:
        flags.append("over_budget")
    by_kind = tokens_by_kind(after, history.counter)
    return CompactedContext(after, kept, edited, covered, dropped, tuple(flags), tokens, tuple(history.calls), by_kind)


def _is_same(message: Message, said: Message | None) -> bool:
    """Whether a message is as it was said; in a chain it can be another object of the same content."""
    return message is said or (said is not None and replace(message, tokens=said.tokens) == said)
