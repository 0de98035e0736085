"""The originals as methods: a peer's own class, where its package is installed, and any callable of one's own.

``peer:agent_framework.SlidingWindowStrategy(keep_last_groups=20)`` converts the messages to the peer's, runs its class,
and converts back. Read ``message_mapping`` (what became of each message), then ``callables``, the smallest adapter. The
modules named after a peer import it; nothing imports them before they are asked for.

An adapter is a module with ``run`` (what the class leaves of a history), ``fill`` (what the class is given besides the
user's parameters), ``prepared`` (a parameter as the peer takes it), and ``sections`` and ``TOKENS`` of its summaries.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.metadata import packages_distributions, version
from types import ModuleType
from typing import Any

from compaction.adapters.known_peers import CALLABLE, KNOWN, OLDEST, KnownPeer
from compaction.adapters.summarizer_bridge import Asking, free_form
from compaction.closest import did_you_mean
from compaction.code_version import LENGTH
from compaction.model import BlankSummaryError, SummaryError
from compaction.strategy import History, Method, Strategy, StrategyError, join_versions
from compaction.tokens import LengthCounter
from compaction.transcript import Message

PEER = "peer:"
"""What the ids of these methods begin with; they are not registered."""
VERSION = 1
"""Raise it when an adapter hands messages over, or takes them back, otherwise."""
FIGURES = (bool, int, float, str, type(None))
LONGEST_DEFAULT = 100
"""Characters of a default that is shown: a peer's prompts are not."""


@dataclass(frozen=True)
class Original(Strategy):
    """A strategy that is somebody else's class or callable. It is no part of the registry."""

    build: Callable[[Asking], Any] = field(kw_only=True)
    target: Any = field(kw_only=True)

    @cached_property
    def version(self) -> str:
        """The adapters' version, and the hash of the module that defines the class or callable."""
        return join_versions(f"{VERSION}+{self.code_sha256[:LENGTH]}", self.parts)

    @cached_property
    def code_sha256(self) -> str:
        """SHA-256 of the module that defines the class or callable."""
        module = inspect.getmodule(self.target if inspect.isroutine(self.target) else _class_of(self.target))
        try:
            source = inspect.getsource(module) if module is not None else ""
        except (OSError, TypeError):  # a built-in or compiled module: its package's version says what it is
            source = module.__name__ if module is not None else ""
        return hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()


def make_peer(id: str, params: Mapping[str, Any], parse_method: Callable[[str], Method]) -> Method:
    """The method of an id that begins with ``peer:``; ``parse_method`` reads those that its parameters name.

    Raises StrategyError where the package is not installed, where it has nothing of that name, and for parameters
    that it does not take.
    """
    target, place = _find(id)
    known = _adapter_of(target)
    given = dict(params)
    signature = _signature(target, known)
    options = {k: v for k, v in known.options.items() if k not in signature.parameters}
    for name in given:
        _check_name(id, name, signature, known, options)
    try:
        json.dumps(given, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise StrategyError(f"strategy {id!r}: parameters are figures, texts and lists of these: {error}") from None
    defaults = {
        name: p.default
        for name, p in signature.parameters.items()
        if isinstance(p.default, FIGURES) and name not in known.models and len(str(p.default)) <= LONGEST_DEFAULT
    }
    defaults |= options
    nested = _Nested(known, parse_method)
    parts = tuple(nested.methods(given))
    needs_model = _asks(signature, known) or any(method.needs_model for method in parts)
    chosen = {name: given.get(name, default) for name, default in options.items()}

    def build(asking: Asking) -> Any:
        own = {name: value for name, value in given.items() if name not in options}
        return _build(target, known, signature, chosen, {k: nested.read(v, asking) for k, v in own.items()}, asking)

    def run(history: History, **_: Any) -> Sequence[Message]:
        free = any(name in given for name in known.prompts)
        try:
            return _run(known, build, history, chosen, free=free, asks=needs_model)
        except ImportError as error:  # some peers import what they need when they are run
            raise _not_usable(id, known.name, None if known is CALLABLE else known, error) from error

    strategy = Original(
        id,
        run,
        needs_model,
        place[0],
        place[1],
        {**dict.fromkeys(given), **defaults},
        {},
        inspect.getdoc(target) or known.runs,
        mode="faithful",
        build=build,
        target=target,
        parts=parts,
    )
    _check(id, strategy, signature, known, given)
    return Method(strategy, {**defaults, **given})


class _Nested:
    """Strategies in parameters: texts that begin with ``peer:``, alone or in lists."""

    def __init__(self, known: KnownPeer, parse_method: Callable[[str], Method]) -> None:
        self._known = known
        self._parse_method = parse_method

    def methods(self, value: Any) -> Iterator[Method]:
        """All methods that a value names."""
        if isinstance(value, str) and value.startswith(PEER) and self._known is not CALLABLE:
            yield self._parse_method(value)
        elif isinstance(value, list | tuple):
            for item in value:
                yield from self.methods(item)
        elif isinstance(value, dict):
            yield from self.methods(list(value.values()))

    def read(self, value: Any, asking: Asking) -> Any:
        """The value with the objects in the places of their texts."""
        if isinstance(value, list | tuple):
            return type(value)(self.read(item, asking) for item in value)
        for method in self.methods(value) if isinstance(value, str) else ():
            if isinstance(method.strategy, Original):
                return method.strategy.build(asking)
        return value


def _run(
    known: KnownPeer,
    build: Callable[[Asking], Any],
    history: History,
    options: Mapping[str, Any],
    *,
    free: bool,
    asks: bool,
) -> Sequence[Message]:
    adapter = _adapter(known)
    asking = Asking(history, free_form if free else adapter.sections, adapter.TOKENS, is_summarised=asks)
    try:
        left: Sequence[Message] = adapter.run(build(asking), history, asking, **options)
    except Exception as error:
        if asking.failed is None or isinstance(error, SummaryError):
            raise
        raise asking.failed from error
    unchanged = len(left) == len(history.messages) and all(
        one is other for one, other in zip(left, history.messages, strict=True)
    )
    if asking.failed is not None:
        if unchanged:  # the peer goes on without a summary; that it has none is a failure all the same
            raise asking.failed
        history.flag("blank_summary" if isinstance(asking.failed, BlankSummaryError) else "summary_failed")
    return history.messages if unchanged else left


def _find(id: str) -> tuple[Any, tuple[str, str]]:
    """Import the object that an id names, with its distribution and version."""
    text = id.removeprefix(PEER)
    module, colon, name = text.partition(":")
    if not colon:
        module, _, name = text.rpartition(".")
    known = next((k for k in KNOWN if module == k.name or module.startswith(f"{k.name}.")), None)
    if not name or not module or (known is None and not colon):
        names = ", ".join(k.name for k in KNOWN)
        raise StrategyError(
            f"strategy {id!r}: expected peer:PEER.CLASS with one of the peers {names}, or peer:MODULE:FUNCTION"
        )
    places = known.places if known is not None and module == known.name else (module,)
    for place in places:
        found: Any = _import_peer(id, place, known)
        try:
            for part in name.split("."):
                found = getattr(found, part, None)
        except ImportError as error:  # of a module that imports its parts when they are asked for
            raise _not_usable(id, place, known, error) from None
        if found is not None:
            if not callable(found) and not hasattr(found, "compact") and not hasattr(found, "condense"):
                raise StrategyError(f"strategy {id!r}: {name} in {place} is neither a class nor a function")
            return found, _distribution(_adapter_of(found), place)
    there = _distribution(known or CALLABLE, places[0])
    raise StrategyError(f"strategy {id!r}: {' '.join(filter(None, there))} has no {name!r} in {' or '.join(places)}")


def _import_peer(id: str, place: str, known: KnownPeer | None) -> ModuleType:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        found = import_module(place)
        if known is not None:
            _adapter(known)
        return found
    except Exception as error:
        raise _not_usable(id, place, known, error) from None
    finally:  # some peers set up the logging of the whole process when they are imported
        root.setLevel(level)
        root.handlers[:] = handlers


def _not_usable(id: str, place: str, known: KnownPeer | None, error: Exception) -> StrategyError:
    """Make the error of a module that cannot be imported, with installation advice."""
    missing = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
    if known is None:
        return StrategyError(
            f"strategy {id!r}: cannot import {place} ({_error_text(error)}); its package must be installed where this "
            "runs, or its folder be on PYTHONPATH"
        )
    python = f" on Python {known.python} or later" if known.python > OLDEST else ""
    install = f"pip install '{known.package}=={known.tried}'{python}"
    if missing and (place == missing or place.startswith(f"{missing}.")):
        return StrategyError(f"strategy {id!r} needs the package {known.package}, tested with {known.tried}: {install}")
    if missing and not missing.startswith(f"{known.name}."):
        return StrategyError(
            f"strategy {id!r}: {known.package} {known.installed or 'here'} is installed only in part: the module "
            f"{missing} is missing; install it with all that it needs: {install}"
        )
    return StrategyError(
        f"strategy {id!r}: {known.package} {known.installed} lacks what version {known.tried} has, with which "
        f"this was tested: {_error_text(error)}"
    )


def _error_text(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _adapter(known: KnownPeer) -> ModuleType:
    """The module that runs a peer's classes. It is imported late, because it imports the peer, an optional package."""
    return import_module(f"compaction.adapters.{known.adapter}")


def _class_of(target: Any) -> type:
    return target if inspect.isclass(target) else type(target)


def _adapter_of(target: Any) -> KnownPeer:
    """The peer that a class derives from, or that a function is part of; else it is a callable on chat messages."""
    if inspect.isroutine(target):
        modules = [target.__module__ or ""]
    else:
        modules = [base.__module__ for base in _class_of(target).__mro__]
    for known in KNOWN:
        if any(module == known.name or module.startswith(f"{known.name}.") for module in modules):
            return known
    return CALLABLE


def _distribution(known: KnownPeer, place: str) -> tuple[str, str]:
    """Name and version of the package: the peer's, or the one that a module is part of, if it is part of one."""
    if known is not CALLABLE:
        return known.package, known.installed
    top = place.partition(".")[0]
    names = packages_distributions().get(top)
    return (names[0], version(names[0])) if names else (top, "")


def _signature(target: Any, known: KnownPeer) -> inspect.Signature:
    """Return the signature of a class without positional-only parameters, of a function also without its first one."""
    if not inspect.isclass(target) and not inspect.isroutine(target):
        return inspect.Signature()
    found = inspect.signature(target)
    parameters = [p for p in found.parameters.values() if p.kind is not p.VAR_POSITIONAL]
    if known is CALLABLE and not inspect.isclass(target):
        parameters = parameters[1:]
    return found.replace(parameters=[p for p in parameters if p.kind is not p.POSITIONAL_ONLY])


def _asks(signature: inspect.Signature, known: KnownPeer) -> bool:
    required = [n for n, p in signature.parameters.items() if p.default is p.empty]
    return any(name in required for name in known.models) or any(n in signature.parameters for n in known.may_ask)


def _check_name(id: str, name: str, signature: inspect.Signature, known: KnownPeer, options: Mapping[str, Any]) -> None:
    if name in known.models:
        raise StrategyError(f"strategy {id!r}: {name} is the run's summariser; leave it out")
    named = [n for n, p in signature.parameters.items() if p.kind is not p.VAR_KEYWORD and n not in known.models]
    takes_any = known is CALLABLE and len(named) < len([n for n in signature.parameters if n not in known.models])
    if name not in named and name not in options and not takes_any:
        has = ", ".join([*named, *options]) or "none"
        raise StrategyError(
            f"strategy {id!r} has no parameter {name!r}; it has: {has}{did_you_mean(name, [*named, *options])}"
        )


def _build(
    target: Any,
    known: KnownPeer,
    signature: inspect.Signature,
    options: Mapping[str, Any],
    given: Mapping[str, Any],
    asking: Asking,
) -> Any:
    """The peer's object, or the callable with its parameters."""
    adapter = _adapter(known)
    if not inspect.isclass(target) and not inspect.isroutine(target):
        return target
    filled = {k: v for k, v in adapter.fill(asking, signature, options).items() if k in signature.parameters}
    own = {name: adapter.prepared(name, value, asking) for name, value in given.items()}
    if known is CALLABLE:
        return adapter.made(target, {**filled, **own})
    return target(**{**filled, **own})


def _check(
    id: str, strategy: Original, signature: inspect.Signature, known: KnownPeer, given: Mapping[str, Any]
) -> None:
    """Refuse parameters that the peer refuses; a callable's own class is not made before it is needed."""
    asking = Asking(History((), LengthCounter(), 1))
    if known is CALLABLE:
        filled = _adapter(known).fill(asking, signature, {})
        missing = [
            name
            for name, p in signature.parameters.items()
            if p.default is p.empty and p.kind is not p.VAR_KEYWORD and name not in given and name not in filled
        ]
        if missing:
            raise StrategyError(f"strategy {id!r} needs the parameters {', '.join(missing)}")
        return
    try:
        strategy.build(asking)
    except StrategyError as error:
        raise StrategyError(f"strategy {id!r}: {error}") from None
    except ImportError as error:
        raise _not_usable(id, known.name, known, error) from None
    except Exception as error:
        raise StrategyError(f"strategy {id!r}: {' '.join(str(error).split())}") from error
