"""The command ``compaction-eval`` (``python -m flows``)."""

from __future__ import annotations

import os
from collections.abc import Callable

import typer

from flows import __version__
from flows.commands import audit, cache
from flows.commands import store as store_
from flows.commands.backfill import backfill
from flows.commands.calibrate import calibrate
from flows.commands.compare import compare
from flows.commands.doctor import doctor
from flows.commands.drift import drift
from flows.commands.init import init
from flows.commands.moved import moved
from flows.commands.plan import plan
from flows.commands.query import export, query
from flows.commands.rebuild import rebuild
from flows.commands.report import report
from flows.commands.run import ingest, run
from flows.commands.scorecard import scorecard
from flows.commands.serve import serve
from flows.commands.show import accounting, leaderboard, list_, sql
from flows.commands.synth import synth
from flows.files import OWNERS_UMASK

app = typer.Typer(
    name="compaction-eval",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="""Says which context-compaction method keeps what matters, on stored sessions of coding agents.

    Start with `compaction-eval run`: it compares all methods on the sample sessions of the package, without a key and
    without a network, and prints the leaderboard. Then give it a folder of your own sessions.

    Exit codes: 0 done; 1 broken; 2 bad usage or bad study; 3 done, but some items failed or were set aside;
    4 stopped at the budget; 5 a method got worse than the threshold that was asked for.
    """,
)

EXAMPLES: dict[Callable[..., None], tuple[str, ...]] = {
    init: ("init", "init studies/nightly.toml"),
    run: (
        "run",
        "run ~/.claude/projects ~/.codex/sessions",
        'run logs/ --points messages:40 --strategies "none,empty,head_tail(tail=20)"',
    ),
    plan: (
        "plan ~/.claude/projects --model openai:gpt-5.2-mini --judge openai:gpt-5.2",
        "plan --study study.toml --json",
    ),
    ingest: ("ingest ~/.claude/projects", 'ingest "logs/**/*.jsonl.zst" --store /data/store'),
    backfill: (
        "backfill --judge openai:gpt-5.2 --plan",
        "backfill --judge anthropic:claude-sonnet-5 --method none --method empty --budget-usd 5",
        "backfill --judge openai:gpt-5.2 --since 2026-11-01 --batch",
    ),
    rebuild: ("rebuild", "rebuild --store /data/store --study study.toml"),
    accounting: ("accounting", "accounting --by reason", "accounting --by input --format csv"),
    compare: (
        "compare mask_sweagent head_tail",
        'compare "openhands_sdk(mode=full_content)" gemini_snapshot --by probe_type',
        "compare none empty --judge embedded --format csv",
    ),
    report: (
        "report report.html",
        "report report.html --store /data/store --judge openai:gpt-5.2",
        "report baogao.html --lang zh --no-texts",
    ),
    leaderboard: (
        "leaderboard",
        "leaderboard --format markdown > leaderboard.md",
        "leaderboard --judge embedded --fail-below mask_sweagent=3.5",
    ),
    scorecard: (
        "scorecard > scorecard.md",
        "scorecard --store head-store --base base-store --fail-if-worse 0.2",
        "scorecard --judge embedded --method none --method mask_sweagent --fail-below mask_sweagent=3.5",
    ),
    sql: (
        'sql "SELECT method, overall, tokens_removed FROM leaderboard ORDER BY rank"',
        'sql "SELECT table_name, comment FROM duckdb_tables()" --format markdown',
    ),
    query: (
        "query",
        "query weakest_dimension",
        "query worst_answers --judge embedded --set rows=3 --set method=head_tail",
        "query sure_differences --output pairs.parquet",
    ),
    export: (
        "export leaderboard paired_differences --output results/",
        "export answers --output answers.csv --spreadsheet-safe",
        "export --query leaderboard --query gaps --format markdown --output paper/",
        "export --all --output parquet/",
    ),
    calibrate: (
        "calibrate --sample 100 --output labels.csv",
        "calibrate labels.csv --rater ada",
        "calibrate --judge embedded --format markdown",
    ),
    moved: (
        "moved",
        "moved --since 2026-11-01 --format markdown",
        "moved --judge embedded --worse-than 0.2",
    ),
    serve: (
        'serve ~/.claude/projects --cron "0 2 * * *"',
        'serve --study study.toml --cron "30 1 * * 1-5" --timezone Europe/Berlin --fail-if-worse 0.2',
        'serve --study study.toml --cron "0 2 * * *" --now',
    ),
    drift: ("drift", "drift --now --anchors 50", "drift --format csv > drift.csv"),
    synth: (
        "synth corpus/ --scale 10",
        "synth --profile-of /data/store --output ours.json",
        "synth corpus/ --from ours.json --messages 5000 --seed 7 --compress zst",
    ),
    list_: ("list strategies", "list formats --json"),
    doctor: ("doctor", "doctor --prefect --store /data/store"),
}
CACHE_EXAMPLES: dict[Callable[..., None], tuple[str, ...]] = {
    cache.stats: ("cache stats", "cache stats --json --store /data/store"),
    cache.prune: (
        "cache prune --older-than 90 --dry-run",
        "cache prune --model openai:gpt-5.2 --store /data/store",
        "cache prune --all",
    ),
}
STORE_EXAMPLES: dict[Callable[..., None], tuple[str, ...]] = {
    store_.drop: ("store drop --gone", "store drop --gone --yes", 'store drop "~/.claude/projects/secret" 0b1e* --yes'),
}
AUDIT_EXAMPLES: dict[Callable[..., None], tuple[str, ...]] = {
    audit.blinding: ("audit blinding", "audit blinding --limit 20 --json"),
    audit.attacks: ("audit attacks --judge openai:gpt-5.2 --budget-usd 2",),
    audit.gradings: ("audit gradings --judge openai:gpt-5.2",),
}
audit_app = typer.Typer(
    no_args_is_help=True,
    help="""Measure whether a judge can be trusted: blindness to methods, hostile texts, plain cases.

    See `compaction-eval audit blinding --help`, and docs/judge.md.
    """,
)
cache_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Look at the call cache, or remove answers from it.

    The answers of models are kept in the store and paid for once. See `compaction-eval cache stats --help`.
    """,
)
store_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Take sessions out of a store.

    See `compaction-eval store drop --help`.
    """,
)
for parent, commands in (
    (app, EXAMPLES), (cache_app, CACHE_EXAMPLES), (store_app, STORE_EXAMPLES), (audit_app, AUDIT_EXAMPLES),
):  # fmt: skip
    for function, examples in commands.items():
        lines = "\n".join(f"  compaction-eval {example}" for example in examples)
        # \b keeps the lines of a paragraph as they are.
        parent.command(function.__name__.rstrip("_"), epilog=f"\b\nExamples:\n{lines}")(function)
app.add_typer(audit_app, name="audit")
app.add_typer(cache_app, name="cache")
app.add_typer(store_app, name="store")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"compaction-eval {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Options of the command itself."""


def main() -> None:
    """Run the command. What it writes is for its owner alone, but for a store that is shared (``flows.files``)."""
    os.umask(OWNERS_UMASK)
    app()


if __name__ == "__main__":
    main()
