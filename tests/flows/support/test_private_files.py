"""What is written is for its owner alone, whatever the umask; a store's folder that is shared is for its group too."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.cli.checkup.store import check_store
from flows.llm.cache.call_cache import CallCache
from flows.results import open_results
from flows.store.store import Store
from flows.support.atomic_files import make_folder, write_output
from tests.flows.conftest import ROOT, Command, write_session
from tests.flows.disturb import Forker

OPTIONS = ("--points", "messages:20", "--strategies", "none,empty", "--concurrency", "1")


@pytest.fixture
def careless() -> Iterator[None]:
    """The umask that gives everything to everybody."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A session, and a file of which something goes to quarantine."""
    write_session(tmp_path / "logs" / "one.jsonl", "session-1", 20)
    (tmp_path / "logs" / "broken.jsonl").write_text('{"type": "user", "sessionId": "x", "message"\n')
    return tmp_path / "logs"


def modes(*places: Path) -> dict[str, str]:
    """Every file and folder, with its mode."""
    found = [inner for place in places for inner in (place, *place.rglob("*"))]
    return {str(path): f"{stat.S_IMODE(path.stat().st_mode):04o}" for path in found}


def open_to_others(*places: Path) -> dict[str, str]:
    """Those that others than their owner may use."""
    return {path: mode for path, mode in modes(*places).items() if int(mode, 8) & 0o077}


@pytest.mark.slow
def test_whatever_the_command_writes_is_for_its_owner_alone(
    prefect_server: str, forker: Forker, logs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "made" / "out"
    done = subprocess.run(
        [sys.executable, "-m", "flows", "run", logs, "--store", out / "store", *OPTIONS, "--log", tmp_path / "log"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        umask=0,
    )
    assert done.returncode == 3, done.stderr  # the broken file
    assert {path.name for path in (out / "store").iterdir()} >= {"transcripts", "quarantine", "runs", "scores.duckdb"}
    store = ("--store", out / "store")
    for command in (
        ("report", out / "page.html", *store),
        ("export", "answers", "--output", out / "tables", *store),
        ("init", out / "study.toml"),
        ("calibrate", "--sample", 3, "--output", out / "sheet" / "labels.csv", *store),
    ):
        forker.run(*command)
    assert {path.name for path in out.iterdir()} == {"store", "page.html", "tables", "study.toml", "sheet"}
    assert open_to_others(tmp_path / "made", tmp_path / "log") == {}


@pytest.mark.slow
def test_a_store_that_is_written_from_python_is_for_its_owner_alone(
    working_command: Command, careless: None, logs: Path, tmp_path: Path
) -> None:
    """The process is not the command's, and keeps its umask."""
    store = tmp_path / "store"
    assert working_command("run", logs, "--store", store, *OPTIONS).exit_code == 3
    with open_results(store) as results:
        assert len(results.leaderboard()) == 2
    assert open_to_others(store) == {}
    assert os.umask(0) == 0


@pytest.mark.slow
def test_a_folder_that_is_shared_with_a_group_has_what_the_group_may_use(
    prefect_server: str, forker: Forker, logs: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    store.chmod(0o2770)
    run = forker.start("run", logs, "--store", store, *OPTIONS, "--fail-if-worse", 1)
    assert run.wait() == 3, run.err
    assert (store / "nights" / "told.json").exists()
    assert {mode for path, mode in modes(store).items() if Path(path).is_dir()} == {"2770"}
    assert {mode for path, mode in modes(store).items() if Path(path).is_file()} == {"0660"}
    [finding] = [one for one in check_store(Store.open(str(store))) if one.check == "access"]
    assert (finding.state, "its group (mode 2770)" in finding.says) == ("ok", True)


def test_a_folder_that_was_there_keeps_its_mode_and_doctor_says_so(tmp_path: Path, careless: None) -> None:
    for mode, state, do in ((0o755, "warning", "chmod 700 "), (0o2775, "warning", "chmod o-rwx "), (0o700, None, "")):
        folder = tmp_path / f"{mode:o}"
        folder.mkdir()
        folder.chmod(mode)
        store = Store.create(str(folder), "o200k_base")
        with store.locked("run"):
            store.record("runs", "one", {"started_at": "2026-01-01T00:00:00+00:00", "ended_at": None, "status": "done"})
        assert modes(folder)[str(folder)] == f"{mode:04o}"
        shared = mode == 0o2775
        assert modes(folder / "store.json", folder / "runs") == {
            str(folder / "store.json"): "0660" if shared else "0600",
            str(folder / "runs"): "2770" if shared else "0700",
            str(folder / "runs" / "one.json"): "0660" if shared else "0600",
        }
        found = [(one.state, one.do.startswith(do)) for one in check_store(store) if one.check == "access"]
        assert found == ([(state, True)] if state else [])


def test_the_call_cache_and_what_sqlite_puts_beside_it_are_for_their_owner_alone(
    tmp_path: Path, careless: None
) -> None:
    cache = CallCache(tmp_path / "store" / "cache")
    cache.flush()
    assert {Path(path).name for path in modes(tmp_path / "store")} >= {"calls.sqlite", "calls.sqlite-wal"}
    assert open_to_others(tmp_path / "store") == {}
    cache.close()


def test_folders_above_are_made_for_their_owner_too_and_a_file_that_was_opened_stays_open(
    tmp_path: Path, careless: None
) -> None:
    make_folder(tmp_path / "a" / "b")
    assert open_to_others(tmp_path / "a") == {}
    os.umask(0o077)
    page = tmp_path / "page.html"
    write_output(page, b"first")
    assert modes(page) == {str(page): "0600"}
    page.chmod(0o644)
    write_output(page, b"second")
    assert (modes(page), page.read_bytes()) == ({str(page): "0644"}, b"second")
