"""Names for Prefect's page of a run, with the store and the progress of each stage."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from uuid import UUID

from prefect import Flow
from prefect.artifacts import acreate_progress_artifact, aupdate_progress_artifact
from prefect.runtime import flow_run

from compaction import CallsStoppedError
from flows.config.study import Study
from flows.execution.prefect_server import is_of_network
from flows.support import event_log
from flows.support.errors import EvalError
from flows.support.progress import Report

SHOWN_EVERY = 5.0
"""Seconds between two words to Prefect about a stage; one that is shorter is shown by its tasks alone."""


def name_of_run() -> str:
    """A flow run's name: the flow, the store, and the minute it was begun."""
    study = flow_run.parameters["study"]
    store = study["store"] if isinstance(study, dict) else study.store
    begun = flow_run.scheduled_start_time
    return f"{flow_run.flow_name} {PurePath(store).name} {begun:%Y-%m-%d %H:%M}"


@dataclass
class Shown:
    """The progress of a stage."""

    stage: str
    total: int
    unit: str
    done: int = 0

    @property
    def words(self) -> str:
        """The progress as one line for the page."""
        return f"{self.stage}: {self.done:,} of {self.total:,} {self.unit}"

    @property
    def percent(self) -> float:
        """0 to 100."""
        return min(100.0, 100.0 * self.done / max(self.total, 1))

    def advance(self, number: int) -> None:
        """So many more items are done."""
        self.done += number


@asynccontextmanager
async def on_page(stage: str, total: int, unit: str) -> AsyncIterator[Callable[[int], None]]:
    """Keep a progress bar on the page of the flow run while a stage lasts; gives what is told of items that are done.

    What Prefect says to it does no harm.
    """
    shown = Shown(stage, total, unit)
    artifact: list[UUID] = []

    async def keep() -> None:
        said = -1
        while True:
            await asyncio.sleep(SHOWN_EVERY)
            if shown.done != said:
                said = shown.done
                await _tell(shown, artifact)

    keeping = asyncio.create_task(keep())
    try:
        yield shown.advance
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        if artifact:
            await _tell(shown, artifact)


async def _tell(shown: Shown, artifact: list[UUID]) -> None:
    try:
        if artifact:
            await aupdate_progress_artifact(artifact[0], shown.percent, shown.words)
        else:
            artifact.append(await acreate_progress_artifact(shown.percent, description=shown.words))
    except Exception:  # noqa: S110 (a page that cannot be told is no reason to stop working)
        pass


async def twice(stage: Flow[[Study], Coroutine[Any, Any, None]], study: Study, report: Report) -> None:
    """Go through a stage, and once more where something unforeseen broke it: what was finished is not done again.

    Prefect's own retries of a flow take no condition; what the user has to mend, or a budget, would be met again.
    """
    try:
        await stage(study)
    except (EvalError, CallsStoppedError):
        raise
    except Exception as error:
        if is_of_network(error):
            raise
        report.say(f"{stage.name} broke off ({type(error).__name__}: {' '.join(str(error).split())}); once more …")
        event_log.event(
            "stage_broke",
            level=logging.WARNING,
            stage=stage.name,
            error=event_log.unquoted_reason(f"{type(error).__name__}: {error}"),
        )
        await stage.with_options(flow_run_name=f"{stage.name} again")(study)
