from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from flows.execution import prefect_server
from flows.execution.prefect_server import Server, answers, configured_url, prepare
from flows.support.errors import EvalError
from tests.flows.conftest import ROOT, PrefectHome


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("PREFECT_API_URL", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    return tmp_path / "profiles.toml"


def test_no_configuration_means_no_server(profiles: Path) -> None:
    assert configured_url() is None
    profiles.write_text("not = [toml")
    assert configured_url() is None
    profiles.write_text('active = "ephemeral"\n[profiles.ephemeral]\nPREFECT_SERVER_ALLOW_EPHEMERAL_MODE = "true"\n')
    assert configured_url() is None


def test_the_environment_comes_before_the_active_profile(profiles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profiles.write_text(
        'active = "team"\n[profiles.team]\nPREFECT_API_URL = "http://team/api"\n'
        '[profiles.own]\nPREFECT_API_URL = "http://own/api"\n'
    )
    assert configured_url() == "http://team/api"
    monkeypatch.setenv("PREFECT_PROFILE", "own")
    assert configured_url() == "http://own/api"
    monkeypatch.setenv("PREFECT_API_URL", "http://here/api")
    assert configured_url() == "http://here/api"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/api", "ftp://127.0.0.1/api", "nonsense", "http://[bad/api"])
def test_what_is_no_server_does_not_answer(url: str) -> None:
    assert not answers(url, timeout=2)


def test_telemetry_is_off_and_what_the_user_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DO_NOT_TRACK", "PREFECT_SERVER_ANALYTICS_ENABLED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_LOGGING_LEVEL", "DEBUG")
    prepare()
    names = ("DO_NOT_TRACK", "PREFECT_SERVER_ANALYTICS_ENABLED", "PREFECT_LOGGING_LEVEL")
    assert [os.environ[name] for name in names] == ["1", "false", "DEBUG"]


@pytest.mark.slow
def test_the_shared_server_answers(prefect_server: str) -> None:
    assert answers(prefect_server)


@pytest.mark.slow
def test_a_server_ends_when_its_parent_is_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = subprocess.Popen(
            [sys.executable, "-m", "flows.execution.prefect_server_process", str(taken.fileno())],
            cwd=ROOT,
            pass_fds=[taken.fileno()],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    assert process.stdin is not None
    time.sleep(0.5)
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(timeout=30) == 0


def test_two_servers_that_start_at_the_same_time_want_the_usual_port_and_only_one_has_it() -> None:
    """Neither may take the other's answer for its own, as long as it is not up itself."""
    with contextlib.ExitStack() as stack:
        found = [Server(lasting=True) for _ in range(2)]
        for server in found:
            stack.callback(server.stop)
        assert found[0].port != found[1].port


def test_prefects_folder_is_made_and_one_that_cannot_be_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "not" / "there" / "yet"
    monkeypatch.setenv("PREFECT_HOME", str(home))
    before = os.umask(0)
    Server().stop()
    os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (home, *home.parents[:2])} == {0o700}
    (tmp_path / "file").touch()
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "file"))
    with pytest.raises(EvalError, match=r"file \(PREFECT_HOME\) cannot be made: File exists"):
        Server()


@pytest.mark.slow
def test_why_a_server_does_not_start_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    (tmp_path / "prefect.db").write_bytes(b"no database at all" * 100)
    prepare()
    server = Server()
    with pytest.raises(
        EvalError, match=r"did not start: exit code \d+, its last words: .*file is not a database.*its folder is"
    ):
        server.wait()
    server.stop()


@pytest.mark.slow
def test_a_server_that_says_much_is_listened_to(
    tmp_path: Path, prefect_home: PrefectHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    tale = "import os\nfor _ in range(5_000): os.write(2, b'a long tale ' * 20)\n"  # 1.2 MB; a pipe takes 64 kB
    (tmp_path / "sitecustomize.py").write_text(tale)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PREFECT_HOME", str(prefect_home()))
    prepare()
    server = Server()
    try:
        assert server.wait() > 0
    finally:
        server.stop()


@pytest.mark.slow
def test_a_server_that_hangs_is_started_anew_one_that_is_slow_or_was_to_end_is_not(
    prefect_home: PrefectHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(prefect_home()))
    prepare()
    server = Server()
    try:
        server.wait()
        assert server.revive() is None
        os.kill(server._process.pid, signal.SIGSTOP)
        assert server.revive() is None
        monkeypatch.setattr(prefect_server, "HANGS_AFTER", 1.0)
        assert re.fullmatch(r"no answer for \d+ s", server.revive() or "")
        assert server.wait() > 0
    finally:
        server.stop()
    assert server.revive() is None


@pytest.mark.skipif(find_spec("prefect_dask") is None, reason="prefect-dask is not installed")
@pytest.mark.slow
def test_a_run_on_a_cluster_has_a_server_where_none_is_configured(prefect_home: PrefectHome, tmp_path: Path) -> None:
    """Its tasks report to Prefect from processes of their own."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    environment["PREFECT_HOME"] = str(prefect_home())
    sample = ROOT / "flows" / "samples" / "logquery.jsonl"
    options = [
        "--strategies",
        "none,empty",
        "--runner",
        "dask",
        "--concurrency",
        "1",
        "--store",
        str(tmp_path / "store"),
    ]
    ended = subprocess.run(
        [sys.executable, "-m", "flows", "run", str(sample), *options],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "none" in ended.stdout
