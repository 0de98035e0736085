"""``run``: everything, from logs to the leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.cli.shared.study_options import ALL, Given, takes_study

if TYPE_CHECKING:
    from flows.execution.run import Run


@command(
    "run",
    "run ~/.claude/projects ~/.codex/sessions",
    'run logs/ --points messages:40 --strategies "none,empty,head_tail(tail=20)"',
    "run logs/ --model openai:gpt-5.2 --judge openai:gpt-5.2 --batch",
    order=20,
)
@takes_study(*ALL)
def run(
    given: Given,
    fail_if_worse: o.FailIfWorse = None,
    batch: o.Batch = False,
    no_wait: o.NoWait = False,
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
    from flows.execution.batch_rounds import Batching
    from flows.execution.run import load_database, running
    from flows.pipeline.anchors import is_due
    from flows.pipeline.engine import engine_for
    from flows.pipeline.load.tables import has_night, is_loaded
    from flows.pipeline.plan import check_sources
    from flows.pipeline.stages import is_complete
    from flows.store.store import Store
    from flows.support.errors import UsageError
    from flows.support.progress import make_report

    effective = given.study()
    inputs = check_sources(effective)
    check_models(effective)
    if batch and not engine_for(effective).remote:
        raise UsageError("--batch: no part of this study asks a model; name one with --model or --judge")
    report = make_report(quiet or as_json)
    target = Store.create(effective.store, effective.tokenizer)
    batching = Batching(submit=batch, wait=not no_wait)
    with running(effective, report, inputs=inputs, batching=batching) as active, active.logged(log, items=log_items):
        nothing_to_do = is_complete(active.scope) and not is_due(active.scope)
        if not nothing_to_do:
            run_flow(active, _evaluation, ephemeral=ephemeral, verbose=verbose)
        elif not is_loaded(target, effective) or not has_night(target, effective):
            load_database(active)
    print_outcome(active, quiet=quiet, as_json=as_json, nothing_to_do=nothing_to_do, fail_if_worse=fail_if_worse)


async def _evaluation(active: Run) -> None:
    from flows.evaluate import evaluate  # Prefect reads its settings when it is imported

    await evaluate(active.study)
