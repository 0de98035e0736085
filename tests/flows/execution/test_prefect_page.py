"""What is shown on Prefect's page, and which stage is gone through once more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from flows.config.study import Study
from flows.support.errors import EvalError
from flows.support.progress import Silent

pytestmark = pytest.mark.slow


def test_a_stage_that_broke_is_tried_once_more_and_a_problem_is_not(prefect_server: str, tmp_path: Path) -> None:
    from prefect import flow
    from prefect.runtime import flow_run

    from flows.execution import prefect_page

    names: list[str] = []

    @flow(name="shaky", flow_run_name=prefect_page.name_of_run, persist_result=False)
    async def shaky(study: Study) -> None:
        names.append(flow_run.name)
        if len(names) == 1:
            raise ConnectionResetError("by chance")

    @flow(name="hopeless", flow_run_name=prefect_page.name_of_run, persist_result=False)
    async def hopeless(study: Study) -> None:
        names.append(flow_run.name)
        raise EvalError("the disk is full")

    study = Study(store=str(tmp_path / "team-store"))
    asyncio.run(prefect_page.twice(shaky, study, Silent()))
    assert names[0].startswith("shaky team-store 20")
    assert names[1:] == ["shaky again"]
    with pytest.raises(EvalError):
        asyncio.run(prefect_page.twice(hopeless, study, Silent()))
    assert len(names) == 3


def test_a_long_stage_has_a_progress_bar(prefect_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from prefect import flow
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId
    from prefect.runtime import flow_run

    from flows.execution import prefect_page

    monkeypatch.setattr(prefect_page, "SHOWN_EVERY", 0.05)
    ids: list[str] = []

    @flow(name="long", persist_result=False)
    async def long() -> None:
        ids.append(flow_run.id)
        async with prefect_page.on_page("answer", 8, "answers") as advance:
            for _ in range(8):
                advance(1)
                await asyncio.sleep(0.05)

    async def look() -> list[tuple[object, str | None]]:
        await long()
        async with get_client() as client:
            wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=ids))
            return [(one.data, one.description) for one in await client.read_artifacts(artifact_filter=wanted)]

    assert asyncio.run(look()) == [(100.0, "answer: 8 of 8 answers")]
