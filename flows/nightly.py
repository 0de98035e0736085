"""The night: everything that is new, then what moved, shown on Prefect's page; for ``serve`` and ``prefect deploy``.

The state says how it went, by name, so that Prefect's automations can tell somebody (docs/nightly.md).
"""

from __future__ import annotations

import asyncio
import atexit
import os
from typing import Any, NamedTuple

from prefect import flow, get_run_logger
from prefect.artifacts import acreate_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from compaction import CallsStoppedError
from flows.config.model_check import check_models
from flows.config.study import make_study
from flows.evaluate import evaluate
from flows.execution.run import Run, load_database, running
from flows.execution.webhook import NOTIFY_VARIABLE, send_message
from flows.pipeline.anchors import is_due
from flows.pipeline.load.nights import note_reported
from flows.pipeline.load.tables import has_night, is_loaded
from flows.pipeline.plan import inputs_of
from flows.pipeline.stages import is_complete
from flows.reporting.night_report import Night, make_night, render_pages, store_slug
from flows.support.errors import EvalError
from flows.support.progress import Lines


class LogTo(NamedTuple):
    """The file for a night's events, and whether it also gets a line for each item."""

    path: str | None
    items: bool


@flow(name="nightly", persist_result=False)
async def nightly(
    study: dict[str, Any] | None = None,
    study_file: str | None = None,
    fail_if_worse: float | None = None,
    log: str | None = None,
    log_items: bool = False,
) -> State[Any]:
    """Take in what is new, score it, and say what moved.

    Args:
        study: Keys of a study (``sources``, ``store``, ``points``, ``judge`` …), as in a study file.
        study_file: A study file, read anew each night; keys in ``study`` override it.
        fail_if_worse: The state is ``MethodWorse`` when a method's overall fell by more than this, beyond noise.
        log: A file to which the night's events are appended, as lines of JSON.
        log_items: Also a line for each compaction, probe, answer and verdict.
    """
    _end_quietly()
    state: State[Any]
    try:
        found = await _night(study or {}, study_file, fail_if_worse, LogTo(log, log_items))
    except CallsStoppedError as stop:
        state = Completed(name="StoppedAtBudget", message=f"stopped: {stop}")
        await _notify(f"{state.name}: {state.message}")
    except EvalError as problem:
        state = Failed(message=str(problem))
        await _notify(f"{state.name}: {state.message}")
    except Exception as error:
        await _notify(f"Failed: {type(error).__name__}; the night's log has more")
        raise
    else:
        state = Completed(name=found.state, message=found.sentence)
        await _notify(found.notice)
    return state


async def _notify(notice: str) -> None:
    """Tell whom ``--notify`` names. Where that fails, the log of the night says so, and the night is as it was."""
    url = os.environ.get(NOTIFY_VARIABLE)
    if not url or not notice:
        return
    problem = await asyncio.to_thread(send_message, url, f"compaction-eval, {notice}")
    if problem:
        get_run_logger().warning("--notify: the message was not sent: %s", problem)


async def _night(keys: dict[str, Any], study_file: str | None, threshold: float | None, log: LogTo) -> Night:
    effective = make_study(keys, study_file)
    inputs_of(effective)
    check_models(effective)
    with running(effective, FlowRunProgress(), what="nightly") as run, run.logged(log.path, items=log.items):
        idle = is_complete(run.scope) and not is_due(run.scope)
        if not idle:
            await evaluate(effective)
        elif not is_loaded(run.store, effective) or not has_night(run.store, effective):
            load_database(run)
        return await _publish(run, idle, threshold)


async def _publish(run: Run, idle: bool, threshold: float | None) -> Night:
    """Publish the outcome on Prefect's page, and mark it as reported."""
    found = make_night(run, idle, threshold)
    slug = store_slug(run.store.full_name)
    for name, page in render_pages(run, found).items():
        await acreate_markdown_artifact(page, key=f"{name}-{slug}", description=f"{name} of {run.store.name}")
    note_reported(run.store, run.study.study_key, found.moved.told(threshold))
    return found


def _end_quietly() -> None:
    """Keep the messages of DuckDB about leaks, printed when a night's process ends, out of the log of ``serve``."""
    if "PREFECT__FLOW_RUN_ID" in os.environ:  # this process is the night's alone
        atexit.register(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 2))


class FlowRunProgress(Lines):
    """Progress in the log of the flow run, which Prefect's page shows."""

    def say(self, text: str) -> None:
        """Log one line."""
        get_run_logger().info(text)
