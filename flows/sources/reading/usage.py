"""Token usage as providers report it, in one form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from compaction.transcript import Usage
from flows.sources.reading.values import as_dict, nested

Figure = TypeVar("Figure", int, float)


def from_anthropic(usage: Any) -> Usage | None:
    """Usage of an Anthropic response, whose ``input_tokens`` exclude the cached part."""
    usage = as_dict(usage)
    own, read, written = (usage.get(f"{kind}input_tokens") for kind in ("", "cache_read_", "cache_creation_"))
    return from_parts(own, read, written, usage.get("output_tokens"))


def from_parts(input: Any, cache_read: Any, cache_written: Any, output: Any, cost: Any = None) -> Usage | None:
    """Usage from figures whose input excludes the cached part."""
    parts = [count_or_none(part) for part in (input, cache_read, cache_written)]
    return _usage(sum_counts(parts), count_or_none(output), parts[1], _cost(cost))


def from_openai(usage: Any) -> Usage | None:
    """Usage of a chat completion or a Responses item, whose input counts hold the cached part."""
    usage = as_dict(usage)
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    cached = count_or_none(nested(details, "cached_tokens"))
    return _usage(
        _first(usage, "prompt_tokens", "input_tokens"),
        _first(usage, "completion_tokens", "output_tokens"),
        _first(usage, "cached_input_tokens", "cached_tokens") if cached is None else cached,
        _cost(usage.get("cost")),
    )


def from_openhands(metrics: Any) -> Usage | None:
    """Usage out of OpenHands' accumulated metrics."""
    tokens = as_dict(nested(metrics, "accumulated_token_usage"))
    prompt, completion, cached = (tokens.get(f"{kind}_tokens") for kind in ("prompt", "completion", "cache_read"))
    return make_usage(prompt, completion, cached, nested(metrics, "accumulated_cost"))


def make_usage(input: Any = None, output: Any = None, cached: Any = None, cost: Any = None) -> Usage | None:
    """Usage from single figures of any kind; None when none of them is a number."""
    return _usage(count_or_none(input), count_or_none(output), count_or_none(cached), _cost(cost))


def sum_usages(usages: Iterable[Usage]) -> Usage:
    """The sum; a field is None where no part has a value for it."""
    found = list(usages)
    return Usage(
        sum_counts(u.input_tokens for u in found),
        sum_counts(u.output_tokens for u in found),
        sum_counts(u.cached_tokens for u in found),
        sum_counts(u.cost_usd for u in found),
    )


def less(usage: Usage, other: Usage) -> Usage:
    """What is left when the tokens of the other are taken off, never less than none; a cost is not split."""
    return Usage(
        _rest(usage.input_tokens, other.input_tokens),
        _rest(usage.output_tokens, other.output_tokens),
        _rest(usage.cached_tokens, other.cached_tokens),
        usage.cost_usd,
    )


def _rest(count: int | None, taken: int | None) -> int | None:
    return count if count is None or taken is None else max(count - taken, 0)


def sum_counts(counts: Iterable[Figure | None]) -> Figure | None:
    """The sum of the counts that are there; None when none is."""
    known = [count for count in counts if count is not None]
    return sum(known[1:], known[0]) if known else None


def _usage(input: int | None, output: int | None, cached: int | None, cost: float | None = None) -> Usage | None:
    if input is None and output is None and cost is None:
        return None
    return Usage(input, output, cached, cost)


def _first(usage: dict[str, Any], *keys: str) -> int | None:
    return next((count for key in keys if (count := count_or_none(usage.get(key))) is not None), None)


def count_or_none(value: Any) -> int | None:
    """A plausible count; a log can hold anything, and the store has 64 bits."""
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def _cost(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and 0 <= value < 1e9 else None
