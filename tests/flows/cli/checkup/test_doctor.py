"""What a night would stumble over is found beforehand, and said with what to do."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from pathlib import Path

import pytest

from flows.cli.checkup.finding import Finding
from flows.cli.checkup.store import check_place, check_space, check_store
from flows.cli.checkup.tonight import check_study, check_tonight
from flows.execution.run import running
from flows.pipeline.load.tables import rebuild_database
from flows.store.shards import REARRANGING
from flows.support.resource_use import StageTime
from tests.flows.conftest import write_session
from tests.flows.small_store import SmallStore


@pytest.fixture
def small(tmp_path: Path) -> SmallStore:
    return SmallStore(tmp_path).fill()


def stage(**changes: object) -> dict[str, object]:
    done = StageTime("answer", "2026-01-01T00:00:00+00:00", "answers", sessions=2, settled=6, peak_memory_bytes=10**8)
    return {**done.as_dict(), **changes}


def found(small: SmallStore) -> dict[str, Finding]:
    return {finding.check: finding for finding in check_store(small.store)}


def test_a_sound_store_has_no_warnings(small: SmallStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.cli.checkup.store.is_gone", lambda path: False)  # its log never was
    small.run("r1", "2026-01-01T00:00:00+00:00", stages=[stage()])
    rebuild_database(small.store, small.study)
    findings = found(small)
    # Its rows are written by hand, and do not add up.
    assert {check for check, finding in findings.items() if finding.state != "ok"} == {"checks"}
    assert "passed over 75% of what was settled" in findings["runs"].says


def test_results_that_are_older_than_the_files_are_found(small: SmallStore) -> None:
    rebuild_database(small.store, small.study)
    small.write("answers", small.answer("none", "p1", answer_id="later"))
    assert found(small)["results"].state == "warning"
    assert "rebuild" in found(small)["results"].do


def test_a_damaged_file_is_named_once_and_the_other_checks_go_on(small: SmallStore) -> None:
    damaged = next((small.store.root / "transcripts").glob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:200])
    findings = check_store(small.store)
    [broken] = [finding for finding in findings if finding.state == "broken" and "is damaged" in finding.says]
    assert str(damaged) in broken.says
    assert {"runs", "files"} <= {finding.check for finding in findings}


def test_violated_checks_are_broken_and_lost_logs_are_a_warning(small: SmallStore) -> None:
    small.write("probes", small.probe("p1", probe_id="more", probe_type="decision"))
    small.write("answers", small.answer("none", "p1", answer_id="more", probe_id="more"))
    small.write("scores", small.score("none", "p1", answer_id="more"))
    rebuild_database(small.store, small.study)
    checks, logs = found(small)["checks"], found(small)["logs"]
    assert checks.state == "broken"
    assert "same_questions_scored 1" in checks.says
    assert checks.do.startswith('see: compaction-eval sql "FROM checks')
    assert (logs.state, "1 session of 1 have no log any more: /logs/s1" in logs.says) == ("warning", True)


def test_a_run_that_leaves_violated_checks_names_them_and_ends_with_3(small: SmallStore) -> None:
    small.write("probes", small.probe("p1", probe_id="more", probe_type="decision"))
    small.write("answers", small.answer("none", "p1", answer_id="more", probe_id="more"))
    rebuild_database(small.store, small.study)
    with running(small.study, is_whole_store=True) as run:
        said = "\n".join(run.summary().lines())
        assert run.summary().exit_code == 3
        assert "1 × same_questions_asked" in said
        assert "1 session whose log is gone stay in the results" in said
        note = small.store.root / "loaded.json"
        note.write_text(json.dumps({**json.loads(note.read_text()), "violations": []}))
        assert run.summary().exit_code == 0


def test_what_a_killed_run_left_is_found(small: SmallStore) -> None:
    (small.store.root / "answers" / REARRANGING).touch()
    (small.store.root / "answers" / "b-1.parquet.9.tmp").write_bytes(b"half")
    small.run("r1", "2026-01-01T00:00:00+00:00", status="killed", stages=[stage()])
    kept = [finding.says for finding in check_store(small.store) if finding.check == "leftovers"]
    assert kept == ["the tidying of answers was interrupted", "1 unfinished files of a killed run, 0.0 MB"]
    assert "the last one was killed in or after answer" in found(small)["runs"].says


def test_items_that_fail_every_night_are_found_with_their_reason(small: SmallStore) -> None:
    small.write("answers", small.answer("none", "p1", answer_id="x", status="failed", error="no such model"))
    rebuild_database(small.store, small.study)
    for night in range(3):
        assert "failures" not in found(small)
        small.run(f"r{night}", f"2026-01-0{night + 1}T00:00:00+00:00", stages=[stage(failed=1)])
    assert "failed in each of the last 3 runs; the commonest reason: 1 × no such model" in found(small)["failures"].says


def test_a_clock_that_went_back_is_found(small: SmallStore) -> None:
    (path, *_) = small.store.answers.files()
    ahead = time.time() + 86_400
    os.utime(path, (ahead, ahead))
    assert found(small)["clock"].says == "1 file and 0 runs of the store are from the future"


def test_a_store_that_is_written_to_names_who_does(small: SmallStore) -> None:
    with small.store.locked("run"):
        assert f"`compaction-eval run` (process {os.getpid()})" in found(small)["lock"].says


def test_a_call_cache_that_is_none_is_broken(small: SmallStore) -> None:
    cache = small.store.root / "cache"
    cache.mkdir()
    (cache / "calls.sqlite").write_bytes(b"no database at all" * 100)
    assert found(small)["call cache"].state == "broken"
    (cache / "calls.sqlite").unlink()
    with sqlite3.connect(cache / "calls.sqlite") as connection:
        connection.execute("CREATE TABLE answers (key)")
        connection.execute("CREATE TABLE journal (key)")
    connection.close()
    assert found(small)["call cache"].state == "ok"


def test_free_disk_is_held_against_what_runs_wrote(small: SmallStore, monkeypatch: pytest.MonkeyPatch) -> None:
    (path, *_) = small.store.answers.files()
    small.run("r1", "2026-01-01T00:00:00+00:00", ended_at="2026-01-01T01:00:00+00:00", stages=[])
    os.utime(path, (1767227400, 1767227400))  # within that hour
    assert "the largest of the last runs left 0.0 MB" in check_space(small.store.root, small.store).says
    monkeypatch.setattr("flows.cli.checkup.store.ENOUGH_RUNS", 10**12)
    assert check_space(small.store.root, small.store).state == "warning"


def test_no_store_and_a_place_for_one_is_sound(tmp_path: Path) -> None:
    finding, store = check_place(str(tmp_path / "store"))
    assert (finding.state, store) == ("ok", None)


def test_a_study_is_looked_at_with_its_sources_and_models(
    small: SmallStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    write_session(tmp_path / "logs" / "one.jsonl", "one", 3)
    path = tmp_path / "study.toml"
    lines = {"sources": [str(tmp_path / "logs")], "store": small.study.store, "judge": "openai:word-counter"}
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items()))
    findings, study = check_study(str(path), None)
    states = {finding.check: finding.state for finding in findings}
    assert states == {"study": "ok", "sources": "ok", "models": "warning"}
    assert study is not None
    assert check_tonight(study, small.store)[0].says == "1 input new or changed"
    path.write_text('sources = ["/nowhere/at/all"]\n')
    assert {finding.check: finding.state for finding in check_study(str(path), None)[0]}["sources"] == "broken"
    path.write_text("colour = 1\n")
    assert [finding.state for finding in check_study(str(path), None)[0]] == ["broken"]
