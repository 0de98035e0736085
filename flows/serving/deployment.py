"""The deployment of ``nightly`` on a Prefect server, and the outcome of its runs.

Imports Prefect: only after ``flows.serving.serve.open_server`` has set it up.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy, FlowRun, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.runner import Runner
from prefect.schedules import Cron
from prefect.settings import get_current_settings
from prefect.states import Crashed
from prefect.types.entrypoint import EntrypointType

from flows.execution.prefect_server import prefect_home
from flows.nightly import nightly
from flows.serving.plan import ServePlan

ENDED = [StateType.COMPLETED, StateType.FAILED, StateType.CRASHED, StateType.CANCELLED]
UNDER_WAY = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]
MOST = 200
"""Runs of one answer; more cannot end between two looks."""


class _NightRunner(Runner):
    """Prefect's runner, with our own handling of SIGTERM."""

    def __init__(self, name: str, end: Callable[[], object]) -> None:
        # No limit of its own: a night that is due while another runs is to be refused by the server, visibly.
        super().__init__(name=name, pause_on_shutdown=False, limit=None)
        # Not in a folder of /tmp with a fixed name, which is whose was first.
        self._tmp_dir = prefect_home().absolute() / "runner_storage" / self._tmp_dir.name
        self._end = end

    def handle_sigterm(self, *_: Any, **__: Any) -> None:
        """Call ``end`` on SIGTERM; the caller then stops the runner in good order."""
        self._end()


class NightRuns:
    """The nightly deployment of one store."""

    def __init__(self, plan: ServePlan) -> None:
        self._plan = plan
        self._since = datetime.now(UTC)
        self._told: set[UUID] = set()
        self._id: UUID | None = None

    @property
    def id(self) -> UUID:
        """The deployment's id on the server."""
        assert self._id is not None
        return self._id

    async def deploy(self) -> None:
        """Register the deployment, or bring the one of its name up to date."""
        self._deployment = await nightly.ato_deployment(
            self._plan.name,
            schedule=Cron(self._plan.cron, timezone=self._plan.timezone),
            parameters=self._plan.parameters,
            concurrency_limit=ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW),
            entrypoint_type=EntrypointType.MODULE_PATH,
            description=f"Every night: what is new in the sources of {self._plan.store.name}, then what moved.",
            tags=["compaction-eval"],
        )
        self._deployment.entrypoint = "compaction_eval_command.nightly"  # which says why
        self._id = await self._deployment.aapply()

    def runner(self, end: Callable[[], object]) -> Runner:
        """A runner of nights; ``end`` is called when SIGTERM comes."""
        return _NightRunner(self._plan.name, end)

    async def serve_with(self, runner: Runner) -> None:
        """Let a runner execute this deployment's nights, each in its own process."""
        await runner.aadd_deployment(self._deployment)

    def page(self) -> str:
        """The address of the deployment's page in Prefect."""
        return f"{get_current_settings().ui_url}/deployments/deployment/{self.id}"

    async def begin(self) -> None:
        """Start a night at once."""
        async with get_client() as client:
            await client.create_flow_run_from_deployment(self.id)

    async def mark_crashed(self) -> None:
        """Mark nights as crashed whose state says that they run although they cannot; this lets the next one start.

        A killed process could not change the state itself. A night that holds the store's lock runs in another process.
        """
        if self._plan.store.is_locked():
            return
        async with get_client() as client:
            for run in await self._runs(UNDER_WAY):
                message = "it was ended from outside, by kill or with its machine; the next night goes on from there"
                await client.set_flow_run_state(run.id, Crashed(message=message), force=True)

    async def ended(self) -> list[str]:
        """A line for each night that has ended since the last call."""
        found = [
            run
            for run in await self._runs(ENDED, FlowRunSort.END_TIME_DESC)
            if run.id not in self._told and run.state is not None and run.state.timestamp >= self._since
        ]
        self._told |= {run.id for run in found}
        return [
            _format_run(run) for run in sorted(found, key=lambda run: run.state.timestamp if run.state else self._since)
        ]

    async def next_start(self) -> datetime | None:
        """The start of the next night; None while Prefect has not planned it yet."""
        planned = await self._runs([StateType.SCHEDULED], FlowRunSort.NEXT_SCHEDULED_START_TIME_ASC)
        times = [
            run.next_scheduled_start_time for run in planned if run.auto_scheduled and run.next_scheduled_start_time
        ]
        return next((time for time in times if time > datetime.now(UTC)), None)

    async def _runs(self, types: list[StateType], sort: FlowRunSort | None = None) -> list[FlowRun]:
        wanted = FlowRunFilter.model_validate(
            {"deployment_id": {"any_": [self.id]}, "state": {"type": {"any_": types}}}
        )
        async with get_client() as client:
            return await client.read_flow_runs(flow_run_filter=wanted, sort=sort, limit=MOST)


def _format_run(run: FlowRun) -> str:
    assert run.state is not None
    message = " ".join((run.state.message or "").split())
    seconds = run.total_run_time.total_seconds()
    return f"{run.state.name} ({run.name}, {seconds:,.0f} s){': ' + message if message else ''}"
