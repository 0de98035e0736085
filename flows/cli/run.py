"""``run``: everything, from logs to the leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flows.cli.shared import options as o
from flows.cli.shared.commands import command

if TYPE_CHECKING:
    from flows.execution.run import Run


@command(
    "run",
    "run ~/.claude/projects ~/.codex/sessions",
    'run logs/ --points messages:40 --strategies "none,empty,head_tail(tail=20)"',
    order=20,
)
def run(
    sources: o.Sources = None,
    store: o.StoreOption = None,
    study: o.StudyOption = None,
    strategies: o.Strategies = None,
    points: o.Points = None,
    history: o.HistoryOption = None,
    model: o.Model = None,
    summarizer: o.Summarizer = None,
    responder: o.Responder = None,
    prober: o.Prober = None,
    judge: o.JudgeOption = None,
    rubric: o.RubricOption = None,
    protocol: o.Protocol = None,
    replicates: o.Replicates = None,
    judge_replicates: o.JudgeReplicates = None,
    anchors: o.Anchors = None,
    limit: o.Limit = None,
    concurrency: o.Concurrency = None,
    runner: o.RunnerOption = None,
    budget_usd: o.BudgetUsd = None,
    budget_tokens: o.BudgetTokens = None,
    tokenizer: o.Tokenizer = None,
    no_redact: o.NoRedact = False,
    task_types: o.TaskTypes = None,
    fail_if_worse: o.FailIfWorse = None,
    log: o.Log = None,
    log_items: o.LogItems = False,
    ephemeral: o.Ephemeral = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Do everything: ingest, compact, probe, measure, answer, score; then print the leaderboard.

    Without a SOURCE it runs on the sample sessions that come with the package. Run it again and it goes on where it
    was; nothing that is done is done twice.
    """
    from flows.cli.shared.flow_run import print_outcome, run_flow
    from flows.config.model_check import check_models
    from flows.config.study import make_study
    from flows.execution.run import load_database, running
    from flows.pipeline.anchors import is_due
    from flows.pipeline.load.tables import has_night, is_loaded
    from flows.pipeline.plan import check_sources
    from flows.pipeline.stages import is_complete
    from flows.store.store import Store
    from flows.support.progress import make_report

    effective = make_study(
        {
            "sources": tuple(sources or ()),
            "store": store,
            "strategies": strategies,
            "points": points,
            "history": history,
            "model": model,
            "summarizer": summarizer,
            "responder": responder,
            "prober": prober,
            "judge": judge,
            "rubric": rubric,
            "replicates": replicates,
            "judge_replicates": judge_replicates,
            "anchors": anchors,
            "limit": limit,
            "concurrency": concurrency,
            "runner": runner,
            "tokenizer": tokenizer,
            "task_types": task_types,
            "redact": False if no_redact else None,
            "protocol": protocol,
            "budget_usd": budget_usd,
            "budget_tokens": budget_tokens,
        },
        study,
    )
    check_sources(effective)
    check_models(effective)
    report = make_report(quiet or as_json)
    target = Store.create(effective.store, effective.tokenizer)
    with running(effective, report) as active, active.logged(log, items=log_items):
        nothing_to_do = is_complete(active.scope) and not is_due(active.scope)
        if not nothing_to_do:
            run_flow(active, _evaluation, ephemeral=ephemeral, verbose=verbose)
        elif not is_loaded(target, effective) or not has_night(target, effective):
            load_database(active)
    print_outcome(active, quiet=quiet, as_json=as_json, nothing_to_do=nothing_to_do, fail_if_worse=fail_if_worse)


async def _evaluation(active: Run) -> None:
    from flows.evaluate import evaluate  # Prefect reads its settings when it is imported

    await evaluate(active.study)
