from __future__ import annotations

from pathlib import Path

import pytest

from compaction import CompactionPoint, PointsSpec
from flows.plan import MOST_TASKS, PointInfo, batched, batches, expected_compactions, in_scope, inputs_of, method_rows
from flows.problems import UsageProblem
from flows.sources import discover
from flows.store import Store
from flows.study import Study
from flows.transcripts import SessionInfo, read_parts
from flows.work.ingest import ingest_batch

from .conftest import write_session


@pytest.fixture
def infos(tmp_path: Path) -> list[SessionInfo]:
    store = Store.create(str(tmp_path / "store"), "o200k_base")
    for number, turns in enumerate((40, 3, 20, 9, 5)):
        write_session(tmp_path / "logs" / f"{number}.jsonl", f"s{number}", turns, f"word{number}")
    inputs = discover([str(tmp_path / "logs")])
    ingest_batch(str(store.root), Study(), inputs, 1)
    return in_scope(read_parts(store), inputs, None)


def points(session: str, *cuts: int) -> dict[str, list[PointInfo]]:
    return {
        session: [
            PointInfo(f"{session}-{cut}", CompactionPoint(session, i + 1, cut, 100 * cut, cuts[:i]))
            for i, cut in enumerate(cuts)
        ]
    }


def test_batches_hold_every_session_once_and_are_the_same_every_time(infos: list[SessionInfo]) -> None:
    groups = batches(infos, PointsSpec(), 2)
    assert sorted(info.session_id for group in groups for info in group) == sorted(info.session_id for info in infos)
    assert groups == batches(list(infos), PointsSpec(), 2)
    assert len(groups) == 4


def test_the_heaviest_session_has_a_batch_of_its_own(infos: list[SessionInfo]) -> None:
    groups = batches(infos, PointsSpec("messages", 10), 1)
    assert [len(group) for group in groups] == [1, 4]
    assert groups[0][0].n_messages == 81


def test_there_are_never_more_tasks_than_prefect_takes_well(infos: list[SessionInfo]) -> None:
    assert len(batches(infos * 200, PointsSpec(), 500)) == MOST_TASKS


def test_a_batch_with_nothing_to_do_is_no_task(infos: list[SessionInfo]) -> None:
    groups = batches(infos, PointsSpec(), 2)
    work = batched(groups, {infos[0].session_id: ("job", "job"), infos[1].session_id: ()})
    assert [(len(one.items), one.n_jobs) for one in work] == [(1, 2)]


def test_compaction_ids_differ_by_all_that_changes_the_outcome_and_by_nothing_else() -> None:
    def ids(study: Study, *cuts: int) -> list[str]:
        jobs = expected_compactions(study, points("s", *cuts))["s"]
        return [job.compaction_id for job in jobs]

    plain = Study(strategies=("empty",), points="messages:20")
    changed = [
        Study(strategies=("none",), points="messages:20"),
        Study(strategies=("empty",), points="messages:40"),  # another budget, other earlier cuts
        Study(strategies=("empty",), points="messages:20", history="chain"),
    ]
    assert len({ids(study, 21)[0] for study in [plain, *changed]}) == 4
    assert ids(plain, 21) == ids(Study(strategies=("empty", "none"), points="messages:20", judge_replicates=2), 21)[:1]
    assert ids(plain, 11, 21)[1] == ids(plain, 21)[0]
    chain = changed[2]
    assert ids(chain, 11, 21)[1] != ids(chain, 21)[0]
    assert len(set(ids(Study(strategies=("empty",), replicates=3), 21))) == 3


def test_a_method_without_a_summariser_has_none_in_its_identity() -> None:
    rows = {row["method"]: row for row in method_rows(Study(strategies=("none", "factory_style_anchored")))}
    assert rows["none"]["summarizer"] is None
    assert rows["factory_style_anchored"]["summarizer"].startswith("embedded")


def test_without_a_source_the_samples_of_the_package_are_taken() -> None:
    assert len(inputs_of(Study())) >= 1
    with pytest.raises(UsageProblem, match="no such file or folder: nowhere"):
        inputs_of(Study(sources=("nowhere",)))
