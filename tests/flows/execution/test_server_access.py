"""Who may use the Prefect servers that are started here: the user who started them, and nobody else.

Whoever may send requests to a Prefect server can add a shell command to a deployment and have its runner carry it out.
The tests do that as another user of the machine, from a web page of another origin, and from one whose name has been
pointed at this machine.
"""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from flows.cli.checkup.orchestration import _ask_prefect, check_prefect
from flows.execution.prefect_server import Server
from tests.flows.conftest import ROOT, PrefectHome, write_session
from tests.flows.reporting.html.report_browser import CHROMIUM, DRIVER, WHY_NOT, Browser, open_browser
from tests.flows.serving.test_serve import until

pytestmark = pytest.mark.slow

NOBODY = 65534
ATTACK = """
import json, os, sys, urllib.error, urllib.request
url, name, ran, user = sys.argv[1:]
urllib.request.urlopen(url + "/health").read()  # imports all, which the other user may not be able to read
if int(user):
    os.setgroups([]), os.setgid(int(user)), os.setuid(int(user))

def send(path, body):
    data = json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, {}

step = {"prefect.deployments.steps.run_shell_script": {"script": f"touch {ran}"}}
flow = send("/flows/", {"name": "nightly"})
wanted = {"name": name, "flow_id": flow[1].get("id"), "entrypoint": "flows.nightly.nightly", "pull_steps": [step]}
deployment = send("/deployments/", wanted)
path = "/deployments/" + str(deployment[1].get("id")) + "/create_flow_run"
run = send(path, {"state": {"type": "SCHEDULED"}})
print(json.dumps([flow[0], deployment[0], run[0]]))
"""
"""A shell command added to a deployment, and a run of it, as a user; prints the status of each answer."""
IN_PAGE = """
const [url, name, ran, done] = arguments;
const send = async (path, body) => {
  try {
    const sent = { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    const answer = await fetch(url + path, sent);
    return [answer.status, answer.ok ? await answer.json() : {}];
  } catch { return ['refused', {}]; }
};
const listen = () => new Promise((resolve) => {
  const socket = new WebSocket(url.replace('http', 'ws') + '/logs/out', ['prefect']);
  socket.onopen = () => socket.send(JSON.stringify({ type: 'auth', token: null }));
  socket.onmessage = () => resolve('answered');
  socket.onclose = () => resolve('refused');
});
(async () => {
  const step = { 'prefect.deployments.steps.run_shell_script': { script: `touch ${ran}` } };
  const flow = await send('/flows/', { name: 'nightly' });
  const wanted = { name, flow_id: flow[1].id, entrypoint: 'flows.nightly.nightly', pull_steps: [step] };
  const deployment = await send('/deployments/', wanted);
  const run = await send(`/deployments/${deployment[1].id}/create_flow_run`, { state: { type: 'SCHEDULED' } });
  done([flow[0], deployment[0], run[0], await listen()]);
})();
"""
"""The same from a web page, and a websocket."""


@dataclass(frozen=True)
class Served:
    """A ``serve`` under way."""

    url: str
    """Of its server's API."""
    name: str
    """Of its deployment."""
    ran: Path
    """A file that the attacks make where they succeed."""
    secret_file: Path
    process: psutil.Process

    @property
    def page(self) -> str:
        return self.url.removesuffix("/api")

    @property
    def secret(self) -> str:
        return self.secret_file.read_text().strip()

    def asked(self, path: str, body: Any) -> Any:
        """What its server answers to the user."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PREFECT_API_AUTH_STRING", self.secret)
            return _ask_prefect(self.url, path, body)

    def is_untouched(self) -> bool:
        """Whether it has its own deployment, no run that was asked for, and has run nothing."""
        [deployment] = self.asked("/deployments/filter", {})
        asked_for = {"flow_runs": {"state": {"type": {"not_any_": ["SCHEDULED"]}}}}
        late = {"flow_runs": {"tags": {"operator": "and_", "is_null_": True}}}
        runs = [*self.asked("/flow_runs/filter", asked_for), *self.asked("/flow_runs/filter", late)]
        return not deployment["pull_steps"] and not runs and not self.ran.exists()


@pytest.fixture(scope="module")
def served(prefect_home: PrefectHome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One ``serve`` for all attacks; started with the umask that gives most away."""
    place = tmp_path_factory.mktemp("served")
    write_session(place / "logs" / "one.jsonl", "session-1", 4)
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    environment |= {"PREFECT_HOME": str(prefect_home()), "PREFECT_RUNNER_POLL_FREQUENCY": "2"}
    ran = tmp_path_factory.mktemp("open")
    ran.chmod(0o777)
    log = place / "log"
    command = ["serve", "logs", "--store", "store", "--strategies", "none", "--cron", "0 2 1 1 *", "--name", "ours"]
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [sys.executable, "-m", "flows", *command],
            cwd=place,
            env=environment | {"PYTHONPATH": str(ROOT)},
            stdout=out,
            stderr=out,
            umask=0,
        ) as process,
    ):
        try:
            page = until(log, r"http://127\.0\.0\.1:\d+(?=/deployments/)")
            secret_file = Path(until(log, r"(?<=asks for the line that is in ).*(?=, which)"))
            yield Served(f"{page}/api", "ours", ran / "ran", secret_file, psutil.Process(process.pid))
        finally:
            process.send_signal(signal.SIGTERM)
    assert not secret_file.exists(), "the secret's file ends with the server"


def attack(url: str, ran: Path, user: int, name: str = "ours") -> Any:
    """Carry out the attack as a user; the status of each answer."""
    done = subprocess.run(
        [sys.executable, "-c", ATTACK, url, name, str(ran), str(user)], check=True, capture_output=True
    )
    return json.loads(done.stdout)


@pytest.fixture
def another_user() -> int:
    """The id of another user of this machine."""
    if os.getuid() != 0:
        pytest.skip("only root can act as another user")
    return NOBODY


def test_another_user_can_have_nothing_run_by_serve(served: Served, another_user: int) -> None:
    assert attack(served.url, served.ran, another_user) == [403, 403, 403]  # without a token against CSRF
    assert served.is_untouched()


def test_another_user_gets_no_token_no_answer_and_not_the_secret(served: Served, another_user: int) -> None:
    for path in ("/csrf-token?client=00000000-0000-0000-0000-000000000000", "/admin/version", "/admin/settings"):
        with pytest.raises(OSError, match="401 Unauthorized"):
            _ask_prefect(served.url, path, authorization={})
    mode = served.secret_file.stat()
    assert (stat.S_IMODE(mode.st_mode), mode.st_uid) == (0o600, os.getuid())
    words = served.secret.partition(":")[2]
    processes = [served.process, *served.process.children(recursive=True)]
    assert len(words) > 40
    assert [process.pid for process in processes if words in " ".join(process.cmdline())] == []


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4200", "localhost.evil.example", "localhost", ""])
def test_a_request_for_another_host_is_refused_even_with_the_secret(served: Served, host: str) -> None:
    authorization = _basic(served.secret)
    for path in ("/", "/runs", "/api/health", "/api/admin/version", "/ui-settings", "/docs"):
        assert _first_line(served.url, path, host, authorization) == "HTTP/1.1 400 Bad Request"
    websocket = (
        *authorization,
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Protocol: prefect",
    )
    assert _first_line(served.url, "/api/events/in", host, websocket) == "HTTP/1.1 400 Bad Request"
    own = f"127.0.0.1:{urlsplit(served.url).port}"
    assert _first_line(served.url, "/api/events/in", own, websocket) == "HTTP/1.1 101 Switching Protocols"


def _basic(secret: str) -> tuple[str]:
    return (f"Authorization: Basic {base64.b64encode(secret.encode()).decode()}",)


def _first_line(url: str, path: str, host: str, headers: tuple[str, ...] = ()) -> str:
    """The status that a request with a Host header of ours gets."""
    address = urlsplit(url)
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", *(headers or ("Connection: close",)), "", ""]
    with socket.create_connection((address.hostname, address.port), timeout=20) as there:
        there.sendall("\r\n".join(lines).encode())
        return there.makefile("rb").readline().decode().strip()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for which the name evil.example has been pointed at this machine."""
    if not CHROMIUM or not DRIVER:
        pytest.skip(WHY_NOT)
    with open_browser(tmp_path_factory.mktemp("profile"), "--host-resolver-rules=MAP evil.example 127.0.0.1") as found:
        yield found


@contextlib.contextmanager
def page_elsewhere(folder: Path) -> Iterator[str]:
    """The address of a web page of another origin."""
    (folder / "index.html").write_text("<!doctype html><title>harmless</title>")
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_page_of_another_origin_can_have_nothing_run(served: Served, browser: Browser, tmp_path: Path) -> None:
    with page_elsewhere(tmp_path) as address:
        browser.driver.get(address)
        found = browser.driver.execute_async_script(IN_PAGE, served.url, served.name, str(served.ran))
    assert found == ["refused"] * 4
    assert served.is_untouched()


def test_a_page_whose_name_is_pointed_at_this_machine_can_have_nothing_run(served: Served, browser: Browser) -> None:
    there = served.page.replace("127.0.0.1", "evil.example")
    browser.driver.get(f"{there}/dashboard")
    assert browser.run("return document.body.innerText") == "Invalid host header"
    found = browser.driver.execute_async_script(IN_PAGE, f"{there}/api", served.name, str(served.ran))
    assert found == [400, 400, 400, "refused"]
    assert served.is_untouched()


def test_the_page_opens_with_the_line_of_the_file(served: Served, browser: Browser) -> None:
    browser.driver.get(f"{served.page}/deployments")
    browser.until("document.querySelector('input[type=password]')")
    browser.driver.find_element("css selector", "input[type=password]").send_keys(served.secret + "\n")
    browser.until("document.body.innerText.includes('ours')")
    assert browser.run("return location.pathname") == "/deployments"


def test_a_server_that_lets_everybody_in_is_said_by_doctor(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    class Open(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'"3.8.8"')

        def log_message(self, *_: object) -> None:
            """Nothing."""

    monkeypatch.setenv("PREFECT_API_AUTH_STRING", served.secret)
    monkeypatch.setenv("PREFECT_API_URL", served.url)
    assert [finding.check for finding in check_prefect(start=False)] == ["prefect"]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Open) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{server.server_port}/api")
        found = check_prefect(start=False)[1:]
        server.shutdown()
    assert [(finding.check, finding.state) for finding in found] == [("prefect access", "warning")]
    assert "answers without credentials" in found[0].says


def test_each_start_has_a_secret_of_its_own_and_prefects_client_is_as_before_afterwards(
    prefect_home: PrefectHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(prefect_home()))
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "the:users")
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    servers = [Server(), Server()]
    try:
        with servers[0].in_use():
            assert os.environ["PREFECT_API_AUTH_STRING"] == servers[0].secret != servers[1].secret
            assert os.environ["PREFECT_API_URL"] == servers[0].url
    finally:
        for server in servers:
            server.stop()
    assert (os.environ["PREFECT_API_AUTH_STRING"], os.environ.get("PREFECT_API_URL")) == ("the:users", None)
