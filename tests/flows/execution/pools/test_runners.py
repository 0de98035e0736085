"""A cluster's workers make the tables that the processes of one machine make, and one that dies takes nothing along.

With a real Dask of two worker processes.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import stat
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from flows.cli.checkup.tonight import check_runner
from flows.config.runner_spec import Runner
from flows.config.study import Study
from flows.execution.pools.cluster_worker import (
    AGAIN,
    SourceUnseenError,
    Terms,
    carry_out,
    ingest_seen,
    misfit,
    packed,
    terms_of,
)
from flows.pipeline.tasks.task_context import Tally
from flows.sources import discover
from flows.store import parquet_schemas
from flows.store.shards import Shards
from flows.store.store import Store
from flows.store.write_permits import FOLDER, PermitError, end_permits, hold_permit, open_permits, withdraw_permits
from flows.support.atomic_files import write_atomically
from flows.support.errors import EvalError
from tests.flows.conftest import Command, write_session
from tests.flows.disturb import Forker, Rows, Started, lost_rows, query, tables

OPTIONS = ("--points", "messages:20", "--strategies", "none,empty,head_tail", "--concurrency", 2)
TIMES = ("runs", "store_info")
"""Tables that say when."""
needs_dask = pytest.mark.skipif(find_spec("prefect_dask") is None, reason="prefect-dask is not installed")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    for number in range(6):
        write_session(folder / f"{number}.jsonl", f"session-{number}", 24 + 4 * number, f"orchard{number}")
    return folder


@pytest.fixture(scope="module")
def by_processes(forker: Forker, logs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """Tables of a run on this machine's own processes."""
    store = tmp_path_factory.mktemp("local") / "store"
    done = forker.run("run", logs, "--store", store, *OPTIONS, cores=2)
    assert done.code == 0, done.err
    return tables(store)


def kill_a_worker(run: Started, store: Path, folder: str) -> None:
    """End a worker at a task, once there is a file in a folder of the store: the permit that it holds names it."""

    def killed() -> bool:
        if not any((store / folder).glob("*.parquet")):
            return False
        for permit in (store / FOLDER).glob("task-*"):
            with suppress(OSError, IndexError, psutil.NoSuchProcess):
                held = permit.read_text()
                worker = psutil.Process(int(held.rpartition(" ")[2].rstrip(")")))
                worker.suspend()
                if permit.read_text() == held:  # it is still at it
                    worker.kill()
                    return True
                worker.resume()
        return False

    run.until(killed, "a worker at work")


@pytest.mark.timeout(900)
@pytest.mark.slow
@needs_dask
def test_a_worker_killed_in_the_middle_changes_no_table(
    forker: Forker, logs: Path, by_processes: dict[str, Rows], tmp_path: Path
) -> None:
    begun_again = False
    for attempt in range(3):  # a worker may be killed when its result has been written: then nothing is begun again
        store = tmp_path / f"store{attempt}"
        run = forker.start("run", logs, "--store", store, *OPTIONS, "--runner", "dask")
        kill_a_worker(run, store, "points")
        assert run.wait() == 0, run.err
        assert "Dask" in run.err
        assert "2 workers on 1 machine" in run.err
        assert lost_rows(store, by_processes, without=TIMES) == {}
        assert query(store, "SELECT * FROM checks WHERE violations > 0") == []
        assert not (store / FOLDER).exists()
        begun_again = f'"{AGAIN}": 1' in next((store / "runs").glob("*.json")).read_text()
        if begun_again:
            break
    assert begun_again
    again = forker.run("run", logs, "--store", store, *OPTIONS, "--runner", "dask")
    assert "nothing to do" in again.err
    assert lost_rows(store, by_processes, without=TIMES) == {}


@pytest.mark.slow
@needs_dask
def test_a_dask_that_is_started_for_a_run_does_nothing_for_others(tmp_path: Path) -> None:
    """Dask runs whatever is sent to it: the certificate of this start is needed to send anything."""
    import distributed

    from flows.execution.pools.dask_cluster import Dask

    def touch(name: str) -> None:
        Path(name).touch()

    dask = Dask("", 1)
    try:
        addresses = [dask._address, *dask._client.scheduler_info(n_workers=-1)["workers"]]
        assert [address.partition("://")[0] for address in addresses] == ["tls", "tls"]
        assert dask.on_each(touch, str(tmp_path / "ours")) == [None]
        plain = dask._address.replace("tls://", "tcp://")
        for address, security in ((plain, None), (dask._address, distributed.Security.temporary())):
            with pytest.raises(OSError), distributed.Client(address, security=security, timeout=2) as other:  # noqa: PT011
                other.run(touch, str(tmp_path / "theirs"))
        assert [path.name for path in tmp_path.iterdir()] == ["ours"]
        here = psutil.Process()
        ports = {
            one.laddr.port: one.laddr.ip
            for process in (here, *here.children(recursive=True))
            for one in process.net_connections("tcp")
            if one.status == psutil.CONN_LISTEN
        }
        assert set(ports.values()) == {"127.0.0.1"}
        assert [port for port in ports if b"workers" in _fetched(f"http://127.0.0.1:{port}/sitemap.json")] == []
    finally:
        dask.close()


def paths_below(folder: str) -> list[str]:
    """Where this process imports from, in a folder."""
    return [path for path in sys.path if path.startswith(folder)]


@pytest.mark.slow
@needs_dask
def test_a_dask_that_is_started_for_a_run_imports_nothing_from_a_folder_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask takes a scratch folder of the usual name whoever made it, and imports from it first."""
    import distributed

    from flows.execution.pools.dask_cluster import Dask

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    planted = tmp_path / "dask-scratch-space"
    planted.mkdir()
    with distributed.LocalCluster(n_workers=1, dashboard_address=None):  # Dask as it comes
        assert paths_below(str(tmp_path))[0] == str(planted)
    dask = Dask("", 1)
    try:
        [scratch] = tmp_path.glob("compaction-eval-dask-*")
        assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
        for found in (paths_below(str(tmp_path)), *dask.on_each(paths_below, str(tmp_path))):
            assert found
            assert all(Path(path).is_relative_to(scratch) for path in found), found
        assert list(planted.glob("*worker*")) == []
    finally:
        dask.close()
    assert (scratch.exists(), paths_below(str(tmp_path))) == (False, [])


def _fetched(url: str) -> bytes:
    """What is told over HTTP; nothing where there is no HTTP."""
    with suppress(OSError, http.client.HTTPException), urllib.request.urlopen(url, timeout=2) as answer:
        return bytes(answer.read())
    return b""


@pytest.mark.parametrize(
    ("runner", "do"),
    [
        ("dask:tcp://scheduler:8786", "have it use TLS"),
        ("dask:tls://scheduler:8786", None),
        ("dask", None),
        ("local", None),
    ],
)
def test_doctor_warns_of_a_cluster_that_anybody_can_have_run_commands(runner: str, do: str | None) -> None:
    found = check_runner(Study(runner=runner))
    assert [(finding.state, finding.do.startswith(do or "")) for finding in found] == [("warning", True)] * bool(do)


@pytest.mark.slow
@needs_dask
def test_an_address_where_nobody_answers_is_one_sentence(command: Command, logs: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        said = command("run", logs, "--store", tmp_path / "store", "--runner", f"dask:{address}", *OPTIONS)
    assert said.exit_code == 1
    assert f"error: --runner dask:{address}: nobody answers at 127.0.0.1" in said.stderr
    assert len([line for line in said.stderr.splitlines() if line]) == 1


@pytest.mark.parametrize("text", ["", "spark", "dask:", "local:here", "Dask", "ray", "dask: ", "dask:host:port"])
def test_what_is_no_runner_is_bad_usage(text: str, command: Command, tmp_path: Path) -> None:
    said = command("run", "--store", tmp_path / "store", "--runner", text)
    assert said.exit_code == 2
    assert "--runner: expected" in said.stderr


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("local", None),
        ("dask", None),
        ("dask:scheduler", ("scheduler", 8786)),
        ("dask:tls://10.0.0.7:9000", ("10.0.0.7", 9000)),
        ("dask:[::1]:7", ("::1", 7)),
    ],
)
def test_a_runner_says_who_must_answer(text: str, endpoint: tuple[str, int] | None) -> None:
    assert Runner.parse(text).endpoint == endpoint


@contextmanager
def terms(tmp_path: Path) -> Iterator[Terms]:
    study = Study(store=str(tmp_path / "store"), strategies=("none",))
    root = Store.create(study.store, study.tokenizer).root
    yield terms_of(study, str(root), open_permits(root))
    end_permits(root)


def test_a_worker_that_is_not_fit_for_the_run_says_why(tmp_path: Path) -> None:
    with terms(tmp_path) as fit:
        assert misfit(fit) == ""
        other = tmp_path / "other"
        cases = {
            "does not see the store": replace(fit, root=str(tmp_path / "nowhere"), token="a"),
            "sees another folder": replace(fit, root=str(Store.create(str(other), "o200k_base").root), token="b"),
            "duckdb": replace(fit, versions=(("duckdb", "0.1"),)),
            "has other code": replace(fit, made_by="0"),
        }
        for why, one in cases.items():
            found = misfit_anew(one, fit)
            assert why in found
            with pytest.raises(EvalError, match=why):
                carry_out(packed(one, "task", len, ()))  # type: ignore[arg-type]


def misfit_anew(one: Terms, fit: Terms) -> str:
    from flows.execution.pools import cluster_worker

    cluster_worker._looked.clear()
    found = misfit(one)
    cluster_worker._looked[fit.token] = found
    return found


def test_a_source_that_a_worker_does_not_see_is_not_set_aside(logs: Path, tmp_path: Path) -> None:
    with terms(tmp_path) as fit:
        seen = discover([str(logs)])[0]
        unseen = replace(seen, path=tmp_path / "elsewhere.jsonl")
        with pytest.raises(SourceUnseenError, match=r"does not see the source .*elsewhere\.jsonl"):
            ingest_seen(fit.root, fit.study, [seen, unseen], 1)
        assert not (Path(fit.root) / "transcripts").exists()
        assert not (Path(fit.root) / "quarantine").exists()


def test_a_try_that_was_given_up_can_add_nothing(tmp_path: Path) -> None:
    root, target = tmp_path, tmp_path / "made"
    run = open_permits(root)
    with hold_permit(root, run, "t") as is_repetition:
        assert not is_repetition
        with hold_permit(root, run, "t") as second:
            assert second
    for end in (withdraw_permits, end_permits):
        run = open_permits(root)
        with hold_permit(root, run, "t"):
            write_atomically(target, b"before")
            end(root)
            with pytest.raises(PermitError, match="run is over"):
                write_atomically(target, b"after")
        assert target.read_bytes() == b"before"
    with pytest.raises(PermitError, match="is over"), hold_permit(root, run, "t"):
        pass


def test_a_try_does_not_give_back_the_permit_of_a_later_one(tmp_path: Path) -> None:
    run = open_permits(tmp_path)
    first = hold_permit(tmp_path, run, "t")
    first.__enter__()
    with hold_permit(tmp_path, run, "t") as is_repetition:
        assert is_repetition
        first.__exit__(None, None, None)
        assert (tmp_path / FOLDER / "task-t").exists()


def test_two_writers_of_one_shard_do_not_meet(tmp_path: Path) -> None:
    """Two tries of a task write the same shard: under names of their own, and one whole file comes of it."""
    shards = Shards(tmp_path, parquet_schemas.PROBES, ("probe_id",))
    row = {"probe_id": "p", "session_id": "s", "status": "done"}
    table = pa.Table.from_pylist([row], schema=parquet_schemas.PROBES)
    assert shards.write(table) == shards.write(table)
    assert [path.name for path in tmp_path.iterdir()] == [path.name for path in shards.files()]


def _told(root: str, study: Study) -> Tally:
    return Tally(done=1, counts={"pid": os.getpid(), "signals": int(signal.SIGKILL)})


def test_a_task_travels_as_bytes(tmp_path: Path) -> None:
    with terms(tmp_path) as fit:
        tally = carry_out(packed(fit, "task", _told, (fit.root, fit.study)))
    assert tally.counts["pid"] == os.getpid()
