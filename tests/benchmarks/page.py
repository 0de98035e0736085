"""The page of figures, docs/performance.md, made of what ``python -m tests.benchmarks`` measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HEAD = """# Performance

Figures of speed are ratios of what was measured side by side on one machine. They say which part costs what;
another machine has other seconds, and about the same ratios. The page is made by

<!-- not run: it takes minutes -->
```sh
python -m tests.benchmarks    # from a checkout, with the dev extra; takes minutes, and nothing else should run
```

The originals are those that are installed beside it; of others nothing is said.
"""

EMBEDDED = """## The embedded study

{sessions:,} sessions ({messages:,} messages, {tokens:,} tokens: the samples, each copy with words of its own),
{methods} methods, {compactions:,} compactions, {answers:,} answers. The unit is a pass of tiktoken in one thread
over the text of all messages.
"""

ORIGINALS = """## Beside the originals

CPU of one compaction of each sample session whole, with a summariser that answers at once, over that of the
original's own part. Ours is measured whole, with the checks of what a context has to keep; the original also with
the conversion of messages that `peer:` does around it.
"""

CALLS = """## A call of a model

CPU of one call with a JSON schema, 64 in flight, to a server that answers at once, over that of `AsyncOpenAI` as it
comes.
"""

JUDGING = """## Judging

{calls:,} answers on contexts of {kilobytes} KB, 64 in flight, to a server that answers after {delay:g} s: from the
answer to the verdict, with prompt, cache, journal and checks. The unit of CPU is a bare call of `AsyncOpenAI` with
aiohttp and the same request.
"""


def render(figures: Mapping[str, Any]) -> str:
    """The page as Markdown."""
    machine = figures["machine"]
    versions = f"tiktoken {machine['tiktoken']}, openai {machine['openai']}"
    parts = (
        HEAD,
        f"Measured with Python {machine['python']} on {machine['cores']} cores; {versions}.\n",
        _embedded(figures["embedded"]),
        _originals(figures["originals"]),
        _calls(figures["calls"]),
        _judging(figures["judging"]),
    )
    return "\n".join(part for part in parts if part)


def _embedded(found: Mapping[str, Any]) -> str:
    rows = [(f"`{name}`", f"{passes:.1f}") for name, passes in found["stages"].items()]
    rows += [
        ("all stages", f"{sum(found['stages'].values()):.1f}"),
        ("the whole run, with its start and Prefect", f"{found['whole']:.1f}"),
        ("the same command again, nothing new", f"{found['again']:.1f}"),
    ]
    return EMBEDDED.format(**found) + "\n" + _table(("CPU of", "passes"), rows)


def _originals(found: Sequence[Mapping[str, Any]]) -> str:
    if not found:
        return ""
    rows = [
        (
            f"`{one['original'].partition('(')[0]}`",
            f"{one['package']} {one['version']}",
            f"`{one['method'].partition('(')[0]}`",
            f"× {one['ours'] / one['alone']:.2f}",
            f"× {one['adapted'] / one['alone']:.2f}",
        )
        for one in found
    ]
    head = ("original", "package", "method", "ours", "the original by `peer:`")
    return ORIGINALS + "\n" + _table(head, rows)


def _calls(found: Mapping[str, Mapping[str, float]]) -> str:
    rows = [
        (f"{size} KB", "1", f"{one['aiohttp'] / one['bare']:.2f}", f"{one['ours'] / one['bare']:.2f}")
        for size, one in found.items()
    ]
    return CALLS + "\n" + _table(("prompt", "`openai`", "`openai` with aiohttp", "our client, on aiohttp"), rows)


def _judging(found: Mapping[str, Any]) -> str:
    rows = [
        ("wall time over calls × delay / 64", f"{found['wall']:.2f}"),
        ("the bare client's, over the same", f"{found['wall_bare']:.2f}"),
        ("CPU of a verdict", f"{found['cpu']:.2f}"),
        ("CPU of a cached verdict", f"{found['cached']:.3f}"),
    ]
    if "inspect" in found:
        name = f"inspect_ai {found['inspect_version']}"
        rows += [
            (f"{name}: CPU of a graded answer", f"{found['inspect']:.2f}"),
            (f"{name}: CPU of one from its cache", f"{found['inspect_cached']:.3f}"),
        ]
    return JUDGING.format(**found) + "\n" + _table(("judging", "ratio"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
