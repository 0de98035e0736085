"""``cache stats`` and ``cache prune``: what was paid for, and getting rid of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.support.plurals import quantity

if TYPE_CHECKING:
    from flows.llm.cache.call_cache import CacheStats, PruneResult
    from flows.llm.cache.spend import Uses
    from flows.store.store import Store

GROUP = """Look at the call cache, or remove answers from it.

The answers of models are kept in the store and paid for once.
"""
"""Help of the group."""


@command("cache stats", "cache stats --json --store /data/store", order=10)
def stats(store: o.StoreOption = None, as_json: o.AsJson = False) -> None:
    """Print what the call cache holds, what its calls have cost, and what it has saved.

    Every answer of a model is kept in STORE/cache and paid for once: the same call of another run, method or day is
    answered from there. Calls are counted since the cache was made, failed tries included.
    """
    from flows.store.call_cache_sync import has_cache, open_cache

    found = o.open_store(store)
    if not has_cache(found):
        _print_result(found, {"answers": 0}, "no call cache: no model was asked yet", as_json=as_json)
        return
    with open_cache(found) as cache:
        counted = cache.stats()
        path = cache.path
    _print_result(found, _as_json(counted), f"{path}: {_format_stats(counted)}", as_json=as_json)


@command(
    "cache prune --older-than 90 --dry-run",
    "cache prune --model openai:gpt-5.2 --store /data/store",
    "cache prune --all",
    order=20,
)
def prune(
    store: o.StoreOption = None,
    older_than: Annotated[
        float | None,
        typer.Option(
            "--older-than",
            metavar="DAYS",
            min=0,
            max=100_000,
            callback=o.finite,
            help="Answers made more than DAYS days ago.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="SPEC", help="Answers of one model only, such as openai:gpt-5.2.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All answers.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Remove answers from the call cache and give their disk space back.

    Scores and all other results stay: they are in the store's tables. A run that needs a removed answer again pays
    for it again. --older-than and --model together remove what both name. What the calls have cost is kept.
    """
    from flows.store.call_cache_sync import forget_pruned, has_cache, open_cache, ship_calls
    from flows.support.errors import UsageError

    if older_than is None and model is None and not everything:
        raise UsageError("cache prune: say what to remove: --older-than DAYS, --model SPEC or --all")
    if everything and (older_than is not None or model is not None):
        raise UsageError("cache prune: --all leaves nothing to choose; leave out --older-than and --model, or --all")
    found = o.open_store(store)
    if not has_cache(found):
        _print_result(found, {"answers": 0}, "no call cache: nothing to remove", as_json=as_json)
        return
    if dry_run:
        with open_cache(found) as cache:
            pruned = cache.prune(older_than, model, everything, dry_run=True)
    else:
        with found.locked("cache prune"), open_cache(found) as cache:
            ship_calls(found, cache)
            pruned = cache.prune(older_than, model, everything)
            forget_pruned(found)
    told = {**asdict(pruned), "dry_run": dry_run}
    _print_result(found, told, _format_pruned(pruned, dry_run), as_json=as_json)


def _print_result(store: Store, document: dict[str, Any], text: str, *, as_json: bool) -> None:
    if as_json:
        o.echo_json(document)
    else:
        o.echo(text)
        o.echo_store(store)


def _format_pruned(pruned: PruneResult, dry_run: bool) -> str:
    from rich.filesize import decimal

    removed = f"{quantity(pruned.answers, 'answer')} ({decimal(pruned.answer_bytes)})"
    if dry_run:
        return f"would remove {removed}, and leave {pruned.left:,}"
    return f"removed {removed}, left {pruned.left:,}; the file is {decimal(pruned.freed_bytes)} smaller"


def _as_json(counted: CacheStats) -> dict[str, Any]:
    return {
        **asdict(counted),
        "oldest": _format_day(counted.oldest, "seconds"),
        "newest": _format_day(counted.newest, "seconds"),
        "uses": [asdict(one) for one in counted.uses],
    }


def _format_stats(counted: CacheStats) -> str:
    from rich.filesize import decimal

    lines = [f"{quantity(counted.answers, 'answer')}, {decimal(counted.bytes)}"]
    if counted.answers:
        lines[0] += f", made {_format_day(counted.oldest)} to {_format_day(counted.newest)}"
        lines += [f"    {number:,} of {model}" for model, number in counted.answers_by_model.items()]
    if counted.uses:
        lines += ["", *_align_columns([_HEAD, *map(_format_uses, counted.uses)])]
    if any(one.unpriced or one.unpriced_saved for one in counted.uses):
        lines += [
            "",
            "unknown, +: the price of some calls is not known; set input_usd and output_usd of the model in the study",
        ]
    return "\n".join(lines)


_HEAD = ("stage", "model", "calls", "failed", "from cache", "tokens in", "tokens out", "USD spent", "USD saved")


def _format_uses(one: Uses) -> tuple[str, ...]:
    done = one.calls - one.failed
    counts = (one.calls, one.failed, one.cached, one.input_tokens, one.output_tokens)
    return (
        one.stage,
        one.model,
        *(f"{count:,}" for count in counts),
        _format_usd(one.cost_usd, one.unpriced, done),
        _format_usd(one.saved_usd, one.unpriced_saved, one.cached),
    )


def _format_usd(usd: float, unpriced: int, of: int) -> str:
    """An amount; with ``+`` where some prices are unknown, and never 0 for an unknown amount."""
    if unpriced and unpriced >= of and not usd:
        return "unknown"
    return f"{usd:,.4f}{'+' if unpriced else ''}"


def _align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as aligned lines: words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number < 2 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _format_day(seconds: float | None, precision: str = "day") -> str | None:
    if seconds is None:
        return None
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.date().isoformat() if precision == "day" else moment.isoformat(timespec="seconds")
