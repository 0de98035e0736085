"""Statistics of the call cache: its content, costs and savings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SUMS = """
select
    model, stage, cached, count(*) as calls, sum(status <> 'done') as failed,
    coalesce(sum(input_tokens), 0) as input_tokens, coalesce(sum(output_tokens), 0) as output_tokens,
    coalesce(sum(cost_usd), 0.0) as cost_usd, sum(cost_usd is null and status = 'done') as unpriced,
    min(started_at) as first_at, max(started_at) as last_at
from journal
group by model, stage, cached
union all
select * from exported
"""
"""One row a model, stage and kind (paid for or cached), once for the journal and once for what was exported of it."""

EXPORT = """
insert into exported
select
    model, stage, cached, count(*), sum(status <> 'done'), coalesce(sum(input_tokens), 0),
    coalesce(sum(output_tokens), 0), coalesce(sum(cost_usd), 0.0), sum(cost_usd is null and status = 'done'),
    min(started_at), max(started_at)
from journal
where row_id <= ?
group by model, stage, cached
on conflict (model, stage, cached) do update set
    calls = calls + excluded.calls, failed = failed + excluded.failed,
    input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens,
    cost_usd = cost_usd + excluded.cost_usd, unpriced = unpriced + excluded.unpriced,
    first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)
"""
"""Adds the journal up to a row to what was exported before."""


@dataclass(frozen=True, slots=True)
class Uses:
    """Calls of one model in one stage, since the cache was made."""

    model: str
    stage: str
    calls: int
    """Tries that were sent, failed ones included."""
    failed: int
    cached: int
    """Uses of cached answers."""
    input_tokens: int
    output_tokens: int
    cost_usd: float
    """Spent, as far as prices were known."""
    unpriced: int
    """Answers whose price was not known: ``cost_usd`` is without them."""
    saved_usd: float
    """What the answers that were used again had cost, as far as prices were known."""
    unpriced_saved: int
    first_at: str
    last_at: str


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Content of a cache, and what its use saved."""

    answers: int
    bytes: int
    """Size of the file and its log."""
    oldest: float | None
    """When the oldest answer was made, in seconds since 1970; None when there is none."""
    newest: float | None
    answers_by_model: Mapping[str, int]
    uses: tuple[Uses, ...]


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The counts of removed answers, or of those that would be removed."""

    answers: int
    answer_bytes: int
    """Of the answers themselves."""
    left: int
    freed_bytes: int
    """Bytes by which the file shrank; 0 for a dry run."""


def sum_uses(rows: Iterable[tuple[Any, ...]]) -> tuple[Uses, ...]:
    """Rows of ``SUMS``, several of a model and stage, as one account of each."""
    paid: dict[tuple[str, str], list[Any]] = {}
    for model, stage, cached, calls, failed, tokens_in, tokens_out, cost, unpriced, first, last in rows:
        one = paid.setdefault((model, stage), [0, 0, 0, 0, 0, 0.0, 0, 0.0, 0, first, last])
        more = (
            [0, 0, calls, 0, 0, 0.0, 0, cost, unpriced]
            if cached
            else [calls, failed, 0, tokens_in, tokens_out, cost, unpriced, 0.0, 0]
        )
        one[:9] = [a + b for a, b in zip(one[:9], more, strict=True)]
        one[9:] = [min(one[9], first), max(one[10], last)]
    return tuple(Uses(*key, *one) for key, one in sorted(paid.items()))
