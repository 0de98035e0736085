from __future__ import annotations

from pathlib import Path

import pytest

from compaction import CompactionPoint
from flows.config.study import Study
from flows.pipeline.plan import MOST_TASKS, PointInfo, expected_compactions, input_batches, inputs_of, method_rows
from flows.sources import Input
from flows.support.errors import UsageError


def points(session: str, *cuts: int) -> dict[str, list[PointInfo]]:
    return {
        session: [
            PointInfo(f"{session}-{cut}", CompactionPoint(session, i + 1, cut, 100 * cut, cuts[:i]))
            for i, cut in enumerate(cuts)
        ]
    }


def test_inputs_are_read_in_batches_of_about_equal_size_and_never_more_than_prefect_takes_well(tmp_path: Path) -> None:
    inputs = [Input(tmp_path / f"{n}.jsonl", "file", 1_000 * (n % 7), 0) for n in range(1_000)]
    groups = input_batches(inputs, 500)
    assert len(groups) == MOST_TASKS
    assert sorted(input.path for group in groups for input in group) == sorted(input.path for input in inputs)
    sizes = [sum(input.size + 10_000 for input in group) for group in groups]
    assert max(sizes) < 1.3 * min(sizes)


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
    with pytest.raises(UsageError, match="no such file or folder: nowhere"):
        inputs_of(Study(sources=("nowhere",)))
