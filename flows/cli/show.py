"""``leaderboard``, ``sql`` and ``list``: the commands that only look."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from flows.cli.query import Force, Output
from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.support.choices import Split
from flows.support.plurals import quantity

MOST_SHOWN = 1_000
"""Rows of a query that a terminal shows."""


@command(
    "leaderboard",
    "leaderboard --format markdown > leaderboard.md",
    "leaderboard --baseline codex_local",
    "leaderboard --sort cut --columns overall,kept,cut --top 10",
    "leaderboard --judge embedded --fail-below mask_sweagent=3.5",
    order=100,
)
def leaderboard(
    store: o.StoreOption = None,
    judge: o.JudgeOfStore = None,
    by: Annotated[Split | None, typer.Option("--by", help="Overall in the parts of a split instead.")] = None,
    baseline: o.Baseline = None,
    versions: o.Versions = "current",
    fail_below: o.FailBelow = None,
    sort: Annotated[
        str, typer.Option(metavar="COLUMN", help="Sort by a column of the table, or of the view `leaderboard`.")
    ] = "",
    columns: Annotated[str, typer.Option(metavar="A,B", help="Show only these columns.")] = "",
    top: Annotated[int | None, typer.Option(metavar="N", min=1, max=10**6, help="Show the first N methods.")] = None,
    wide: o.Wide = False,
    format: o.FormatOption = "table",
    as_json: o.AsJson = False,
) -> None:
    """Print the leaderboard of a store.

    Methods are those that the newest run of the study asks for. --versions all has earlier versions of them, and
    methods that were dropped, too; they have no rank. --baseline says of every method whether it is better than the
    one in use, worse, or as good.
    """
    from flows.database.scores_db import connect
    from flows.reporting.leaderboard import render, render_by
    from flows.reporting.leaderboard_rows import Selection, ranked_rows
    from flows.reporting.thresholds import check_thresholds, format_missed, read_thresholds
    from flows.support.errors import WORSE, UsageError

    if by and baseline is not None:
        raise UsageError("--baseline is not split; without --by, or: compaction-eval compare A B --by …")
    if by and (sort or columns or top):
        raise UsageError("--sort, --columns and --top are of the table without --by")
    thresholds = read_thresholds(fail_below or ())
    found = o.open_store(store)
    layout = o.layout(format, as_json, wide=wide, most=top or o.MOST_METHODS, more="--wide", colours=not by)
    selection = Selection(tuple(filter(None, columns.split(","))), sort, top)
    board = (
        render_by(found.database, by, judge, layout, versions)
        if by
        else render(found.database, judge, layout, versions, baseline, selection)
    )
    o.echo_of(found, board, layout, paged=True)
    if not thresholds:
        return
    with connect(found.database) as connection:
        missed = format_missed(check_thresholds(ranked_rows(connection, judge).dicts(), thresholds))
    if missed:
        print(f"not reached: {missed}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(WORSE)


@command(
    'sql "SELECT method, overall, tokens_removed FROM leaderboard ORDER BY place"',
    'sql "SELECT table_name, comment FROM duckdb_tables()" --format markdown',
    "sql",
    order=120,
)
def sql(
    query: Annotated[
        str | None, typer.Argument(help="One SELECT over the tables and views of the store; without one, a shell.")
    ] = None,
    store: o.StoreOption = None,
    wide: o.Wide = False,
    format: o.FormatOption = "table",
    output: Output = None,
    force: Force = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0.001, max=86_400, callback=o.finite, help="Stop the query after this time."
        ),
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Query the store, read-only.

    Without a query it opens a shell: statements end with ;, Tab completes names, .help lists its commands. What is
    piped into it is read as statements, up to the first that fails. A terminal shows the first 1,000 rows of a table.
    Memory is limited: COMPACTION_EVAL_MEMORY (default: 1GB).
    """
    from flows.cli.shared.query_files import print_exported, write_query
    from flows.cli.shared.sql_shell import run_shell
    from flows.reporting.query_result import render_query
    from flows.support.errors import UsageError

    if query is None and output is not None:
        raise UsageError("--output is for the answer of one query: compaction-eval sql QUERY --output FILE")
    found = o.open_store(store)
    if query is not None and output is not None:
        print_exported(found, [write_query(found, query, output, force, timeout)], as_json=as_json)
        return
    most = MOST_SHOWN if sys.stdout.isatty() else None
    layout = o.layout(format, as_json, wide=wide, most=most, more="--wide")
    if query is None:
        run_shell(found, layout, timeout)
        return
    o.echo_of(found, render_query(found.database, query, layout, store=found, seconds=timeout), layout, paged=True)


class Grain(StrEnum):
    """The grain of the account."""

    FORMAT = "format"
    KIND = "kind"
    INPUT = "input"
    REASON = "reason"


_ACCOUNTS = {
    Grain.FORMAT: "FROM intake_by_format",
    Grain.KIND: "FROM accounting_by_format",
    Grain.INPUT: "FROM accounting",
    Grain.REASON: "FROM set_aside_by_reason",
}
_FAMILIES = """
SELECT repeat('· ', depth) || CASE WHEN starts_with(session_id, parent_session_id || '-')
    THEN '…' || substr(session_id, length(parent_session_id) + 1) ELSE session_id END AS session,
    kind, n_own AS own, n_inherited AS inherited
FROM families
"""
"""A sub-agent's id that begins with its parent's is told by its end."""


@command(
    "accounting",
    "accounting --by reason",
    "accounting --by input --format csv",
    "accounting --family",
    order=70,
)
def accounting(
    store: o.StoreOption = None,
    by: Annotated[
        Grain,
        typer.Option(
            "--by",
            help="format: a line a log format. kind: by role, and calls, too. input: of every file. "
            "reason: why messages were set aside.",
        ),
    ] = Grain.FORMAT,
    family: Annotated[
        bool,
        typer.Option(
            "--family",
            help="Instead, the tree of each family: sub-agents, forks and copies below the session that they come "
            "from, with their own messages and those that stand with another one, too.",
        ),
    ] = False,
    format: o.FormatOption = "table",
    as_json: o.AsJson = False,
) -> None:
    """Print what became of every message: messages in the files = stored + set aside + in copies.

    Ends with exit code 1 when a message is unaccounted for.
    """
    from flows.reporting.query_result import render_query
    from flows.support.errors import EvalError

    found = o.open_store(store)
    layout = o.layout(format, as_json)
    query = _ACCOUNTS[by]
    if family:
        query = "FROM families" if layout.is_data else _FAMILIES
    o.echo_of(found, render_query(found.database, query, layout), layout)
    check = "FROM check_messages_met_are_stored_or_set_aside"
    lost = json.loads(render_query(found.database, check, o.layout("json")))
    if lost:
        raise EvalError(
            f"messages in the inputs do not add up, of {quantity(len(lost), 'kind')}; see "
            'compaction-eval sql "FROM check_messages_met_are_stored_or_set_aside"'
        )


class Kind(StrEnum):
    """The kinds of things that can be listed."""

    STRATEGIES = "strategies"
    FORMATS = "formats"
    JUDGES = "judges"
    RUBRICS = "rubrics"


@command("list strategies", "list formats --json", order=190)
def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")], as_json: o.AsJson = False) -> None:
    """List what exists, with parameters and what each needs."""
    found = {Kind.STRATEGIES: _strategies, Kind.FORMATS: _formats, Kind.JUDGES: _judges, Kind.RUBRICS: _rubrics}[kind]()
    if as_json:
        o.echo_json(found)
        return
    for item in found:
        o.echo(item["name"])
        for key, value in item.items():
            if key != "name" and value not in (None, "", {}, []):
                shown = ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else value
                text = ", ".join(map(str, shown)) if isinstance(shown, list) else str(shown)
                o.echo_wrapped(f"    {key + ':':<13}", text)


_NEEDS = {"nothing": "nothing", "model": "a summariser", "key": "a key"}


def _strategies() -> list[dict[str, Any]]:
    from compaction import load_registry
    from compaction.adapters.known_peers import list_peers
    from compaction.instructions import PARAMETERS
    from compaction.sets import sets_of

    return [
        {
            "name": strategy.id,
            "what": strategy.summary,
            "sets": sets_of(strategy),
            "parameters": {**strategy.params, **(dict.fromkeys(PARAMETERS, "") if strategy.needs_model else {})},
            "needs": _NEEDS[strategy.needs],
            "peer": f"{strategy.peer} {strategy.peer_version}".strip(),
        }
        for _, strategy in sorted(load_registry().items())
    ] + [{**item, "parameters": {}} for item in list_peers()]


def _formats() -> list[dict[str, Any]]:
    from flows.sources import formats

    return [
        {
            "name": known.name,
            "what": known.description,
            "recognised": known.recognised,
            "files": list(known.suffixes),
            "needs": "nothing",
        }
        for known in formats()
    ]


def _judges() -> list[dict[str, Any]]:
    from flows.llm.settings import BASE_URL_VARIABLES, KEY_VARIABLES

    return [
        {
            "name": "embedded",
            "what": "Scores from the facts that an answer has, lacks or makes up; no language model is asked.",
            "needs": "nothing",
        },
        *(
            {
                "name": f"{provider}:MODEL",
                "what": f"{what}; under the protocol study it is shown the compacted context, under closed it is not.",
                "parameters": {"temperature": 0.0, "judge_replicates": 1, "protocol": "auto"},
                "needs": f"{KEY_VARIABLES[provider]}, or {BASE_URL_VARIABLES[provider]}" + needs,
            }
            for provider, what, needs in (
                ("openai", "Any model behind OpenAI's interface", ""),
                ("anthropic", "Any model behind Anthropic's interface", "; the extra anthropic"),
            )
        ),
        {
            "name": "file",
            "what": "Whoever answers the questions that are written into a file; file:NAME says who that is.",
            "needs": "nothing",
        },
    ]


def _rubrics() -> list[dict[str, Any]]:
    from judge.rubric import list_rubrics, load_rubric

    rubrics = map(load_rubric, list_rubrics())
    return [
        {
            "name": rubric.id,
            "version": rubric.version,
            "dimensions": list(rubric.dimensions),
            "criteria": list(rubric.criteria),
            "asked": {probe_type: len(ids) for probe_type, ids in rubric.asked.items()},
        }
        for rubric in rubrics
    ]
