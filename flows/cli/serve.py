"""``serve``: the nightly deployment, in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.cli.shared.study_options import ALL, Given, takes_study

Cron = Annotated[
    str, typer.Option(metavar="'M H D M W'", help="When: minute, hour, day, month, weekday; '0 2 * * *' is 2 a.m.")
]
Timezone = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of the schedule, such as Europe/Berlin (default: the machine's)")
]
Name = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of the deployment (default: the store's folder and six digits)")
]
Notify = Annotated[
    str | None,
    typer.Option(
        envvar="COMPACTION_EVAL_NOTIFY",
        metavar="URL",
        help="Incoming webhook, as Slack's, that is told what a night found. A secret: better in "
        "$COMPACTION_EVAL_NOTIFY than on the command line",
    ),
]


@command(
    'serve ~/.claude/projects --cron "0 2 * * *"',
    'serve --study study.toml --cron "30 1 * * 1-5" --timezone Europe/Berlin --fail-if-worse 0.2',
    'serve --study study.toml --cron "0 2 * * *" --now',
    order=170,
)
@takes_study(*ALL)
def serve(
    given: Given,
    cron: Cron,
    timezone: Timezone = None,
    name: Name = None,
    now: Annotated[bool, typer.Option("--now", help="Begin with a night at once.")] = False,
    fail_if_worse: o.FailIfWorse = None,
    notify: Notify = None,
    log: o.Log = None,
    log_items: o.LogItems = False,
    verbose: o.Verbose = False,
) -> None:
    """Run every night, until it is stopped: the nightly deployment on Prefect, served by this process.

    Takes the options of `run`. A study file is read anew each night. Each night is a process of its own; one that fails
    is told of, and the next one goes on from there. Without a configured Prefect server this process keeps one.
    """
    import os

    from flows.config.model_check import check_models
    from flows.execution.webhook import NOTIFY_VARIABLE, is_webhook
    from flows.pipeline.plan import inputs_of
    from flows.reporting.night_report import store_slug
    from flows.serving.plan import ServePlan
    from flows.serving.serve import local_timezone, open_server
    from flows.serving.serve import serve as keep_serving
    from flows.store.store import Store
    from flows.support.errors import UsageError

    keys = dict(given.flags)
    if "sources" in keys:
        keys["sources"] = [_absolute_source(source) for source in keys["sources"]]
    effective = Given(keys, given.path).study()
    inputs_of(effective)
    check_models(effective)
    target = Store.create(effective.store, effective.tokenizer)
    called = name or store_slug(target.full_name)
    if not called.strip() or set(called) & set("/%&><"):
        raise UsageError(f"--name: expected a name without / % & > <, found {name!r}")
    if notify:
        if not is_webhook(notify):
            raise UsageError("--notify: expected an http(s) address")
        os.environ[NOTIFY_VARIABLE] = notify  # never a parameter of the night: Prefect shows and stores those
    plan = ServePlan(
        name=called,
        cron=cron,
        timezone=timezone or local_timezone(),
        parameters={
            "study": {**keys, "store": target.full_name},
            "study_file": str(Path(given.path).absolute()) if given.path else None,
            "fail_if_worse": fail_if_worse,
            "log": str(Path(log).absolute()) if log and log != "-" else log,
            "log_items": log_items,
        },
        store=target,
        now=now,
    )
    with open_server() as server:
        number = keep_serving(plan, server)
    raise typer.Exit(128 + number)


def _absolute_source(source: str) -> str:
    """A source as an absolute path, which a night finds from any folder; a glob stays a glob."""
    return source if source.startswith("~") else str(Path.cwd() / source)
