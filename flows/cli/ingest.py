"""``ingest``: sessions into the store."""

from __future__ import annotations

from dataclasses import replace

from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.cli.shared.study_options import Given, takes_study


@command(
    "ingest ~/.claude/projects",
    'ingest "logs/**/*.jsonl.zst" --store /data/store',
    order=40,
)
@takes_study("sources", "store", "study", "concurrency", "runner", "tokenizer", "redact", "task_types")
def ingest(
    given: Given,
    log: o.Log = None,
    log_items: o.LogItems = False,
    ephemeral: o.Ephemeral = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Take sessions up into the store, and say for each file what came of it.

    Ingesting again changes nothing; a file that has changed is taken up anew, and a session that grew replaces the
    shorter one. What is stored stays when its file goes or reads worse than before; see store drop.
    """
    from flows.cli.shared.flow_run import import_flows
    from flows.cli.shared.ingest_report import print_files
    from flows.execution.prefect_server import prefect_api, prepare
    from flows.execution.run import running
    from flows.pipeline.load.provenance import Provenance, loaded_study
    from flows.pipeline.load.tables import is_loaded, rebuild_database
    from flows.pipeline.plan import check_sources
    from flows.store.store import Store
    from flows.support.progress import make_report

    effective = given.study()
    inputs = check_sources(effective)
    report = make_report(quiet or as_json)
    target = Store.create(effective.store, effective.tokenizer)
    with running(effective, report, what="ingest", inputs=inputs) as active, active.logged(log, items=log_items):
        if active.scope.unread():
            prepare(verbose)  # before the workers, which take it over
            _ = active.workers  # they start up while Prefect is imported
            with prefect_api(
                import_flows=import_flows, ephemeral=ephemeral, verbose=verbose, of_cluster=effective.on_cluster
            ) as run:
                from flows.ingest import ingest as flow  # Prefect reads its settings when it is imported

                run(flow(effective))
        else:
            report.say("nothing to do: every file is in the store as it is now")
        shown = loaded_study(target)
        shown = effective if shown is None else replace(shown, task_types=effective.task_types or shown.task_types)
        makers = Provenance.noted(target)
        if not is_loaded(target, shown, makers, is_whole_store=True):
            rebuild_database(target, shown, makers=makers, is_whole_store=True, report=report)
    print_files(active.scope, as_json)
