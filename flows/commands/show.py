"""``leaderboard``, ``sql`` and ``list``: the commands that only look."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from compaction import load_registry
from compaction.adapters import listed
from flows.commands import options as o
from flows.commands.query import Force, Output, report_written, write_query
from flows.database import connect
from flows.leaderboard import Split, render, render_by, render_query, standing
from flows.models.settings import BASE_URL_VARIABLES, KEY_VARIABLES
from flows.printing import Format
from flows.problems import WORSE, Problem
from flows.sources import formats
from flows.store import Store
from flows.study import DEFAULT_STORE
from flows.thresholds import below, held_against, read_thresholds
from judge.rubric import list_rubrics, load_rubric


@o.reporting
def leaderboard(
    store: o.StoreOption = None,
    judge: o.JudgeOfStore = None,
    by: Annotated[
        Split | None, typer.Option("--by", help="Overall in the parts of a split instead.", show_default=False)
    ] = None,
    versions: o.Versions = "current",
    fail_below: o.FailBelow = None,
    format: o.FormatOption = "table",
    as_json: o.AsJson = False,
) -> None:
    """Print the leaderboard of a store.

    Methods are those that the newest run of the study asks for. --versions all has earlier versions of them, and
    methods that were dropped, too; they have no rank.
    """
    thresholds = read_thresholds(fail_below or ())
    found = Store.open(store or DEFAULT_STORE)
    shown: Format = "json" if as_json else format
    o.echo(
        render_by(found.database, by, judge, shown, versions) if by else render(found.database, judge, shown, versions)
    )
    if not thresholds:
        return
    with connect(found.database) as connection:
        missed = below(held_against(standing(connection, judge).dicts(), thresholds))
    if missed:
        print(f"not reached: {missed}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(WORSE)


@o.reporting
def sql(
    query: Annotated[str, typer.Argument(help="One SELECT over the tables and views of the store.")],
    store: o.StoreOption = None,
    format: o.FormatOption = "table",
    output: Output = None,
    force: Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Query the store, read-only."""
    found = Store.open(store or DEFAULT_STORE)
    if output is not None:
        report_written([write_query(found, query, output, force)], as_json=as_json)
        return
    o.echo(render_query(found.database, query, "json" if as_json else format, store=found))


class Grain(StrEnum):
    """How fine the account is."""

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


@o.reporting
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
    format: o.FormatOption = "table",
    as_json: o.AsJson = False,
) -> None:
    """Print what became of every message: messages in the files = stored + set aside + folded.

    Ends with exit code 1 when a message is unaccounted for.
    """
    found = Store.open(store or DEFAULT_STORE)
    o.echo(render_query(found.database, _ACCOUNTS[by], "json" if as_json else format))
    lost = json.loads(render_query(found.database, "FROM check_messages_met_are_stored_or_set_aside", "json"))
    if lost:
        raise Problem(
            f"{len(lost):,} kinds of message in the inputs do not add up; see "
            'compaction-eval sql "FROM check_messages_met_are_stored_or_set_aside"'
        )


class Kind(StrEnum):
    """What can be listed."""

    STRATEGIES = "strategies"
    FORMATS = "formats"
    JUDGES = "judges"
    RUBRICS = "rubrics"


@o.reporting
def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    as_json: o.AsJson = False,
) -> None:
    """List what exists, with parameters and what each needs."""
    found = {
        Kind.STRATEGIES: _strategies, Kind.FORMATS: _formats, Kind.JUDGES: _judges, Kind.RUBRICS: _rubrics
    }[kind]()  # fmt: skip
    if as_json:
        o.echo_json(found)
        return
    for item in found:
        o.echo(item["name"])
        for key, value in item.items():
            if key != "name" and value not in (None, "", {}, []):
                shown = ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else value
                o.echo(f"    {key + ':':<13}{', '.join(map(str, shown)) if isinstance(shown, list) else shown}")


_NEEDS = {"nothing": "nothing", "model": "a summariser", "key": "a key"}


def _strategies() -> list[dict[str, Any]]:
    return [
        {
            "name": strategy.id,
            "what": strategy.summary,
            "parameters": dict(strategy.params),
            "needs": _NEEDS[strategy.needs],
            "peer": f"{strategy.peer} {strategy.peer_version}".strip(),
        }
        for _, strategy in sorted(load_registry().items())
    ] + [{**item, "parameters": {}} for item in listed()]


def _formats() -> list[dict[str, Any]]:
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
    ]


def _rubrics() -> list[dict[str, Any]]:
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
