"""What is shown on Prefect's page, and which stage is gone through once more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from flows.problems import Problem
from flows.progress import Silent
from flows.study import Study

pytestmark = pytest.mark.slow


def test_a_stage_that_broke_is_tried_once_more_and_a_problem_is_not(prefect_server: str, tmp_path: Path) -> None:
    from prefect import flow
    from prefect.runtime import flow_run

    from flows import page

    names: list[str] = []

    @flow(name="shaky", flow_run_name=page.name_of_run, persist_result=False)
    async def shaky(study: Study) -> None:
        names.append(flow_run.name)
        if len(names) == 1:
            raise ConnectionResetError("by chance")

    @flow(name="hopeless", flow_run_name=page.name_of_run, persist_result=False)
    async def hopeless(study: Study) -> None:
        names.append(flow_run.name)
        raise Problem("the disk is full")

    study = Study(store=str(tmp_path / "team-store"))
    asyncio.run(page.twice(shaky, study, Silent()))
    assert names[0].startswith("shaky team-store 20")
    assert names[1:] == ["shaky again"]
    with pytest.raises(Problem):
        asyncio.run(page.twice(hopeless, study, Silent()))
    assert len(names) == 3


def test_a_long_stage_has_a_progress_bar(prefect_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from prefect import flow
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId
    from prefect.runtime import flow_run

    from flows import page

    monkeypatch.setattr(page, "SHOWN_EVERY", 0.05)
    ids: list[str] = []

    @flow(name="long", persist_result=False)
    async def long() -> None:
        ids.append(flow_run.id)
        async with page.on_page("answer", 8, "answers") as shown:
            for _ in range(8):
                shown.advance(1)
                await asyncio.sleep(0.05)

    async def look() -> list[tuple[object, str | None]]:
        await long()
        async with get_client() as client:
            wanted = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=ids))
            return [(one.data, one.description) for one in await client.read_artifacts(artifact_filter=wanted)]

    assert asyncio.run(look()) == [(100.0, "answer: 8 of 8 answers")]
