"""Checks of Prefect: that it is there, has the same version, and has a night planned for a store."""

from __future__ import annotations

import asyncio
import base64
import json
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from flows.cli.checkup.finding import Finding, users_with_access
from flows.execution.prefect_server import answers, configured, configured_url, prefect_api, prefect_home, prepare
from flows.store.store import Store, is_object_store, store_path
from flows.support.errors import EvalError
from flows.support.plurals import quantity

ASK_TIMEOUT = 10.0
"""Seconds that the server has for one answer."""


def check_prefect(*, start: bool) -> list[Finding]:
    """Check a run's use of Prefect, and who else can use it; ``start`` tries that without a server."""
    prepare()
    url = configured_url()
    if url is None:
        return [_check_without_server(start), *_check_folder()]
    if not answers(url):
        said = f"configured to use {url}, which does not answer (or run with --ephemeral)"
        return [Finding("prefect", "broken", said, "start that server")]
    return [_check_server_version(url), *_check_access(url)]


def _check_access(url: str) -> list[Finding]:
    """Warn if the server lets everybody in: a deployment can run any command, as the user who serves it."""
    try:
        _ask_prefect(url, "/admin/version", authorization={})
    except (OSError, ValueError):
        return []
    said = f"the server at {url} answers without credentials: who reaches it can run commands as whoever serves nights"
    do = "start it with PREFECT_SERVER_API_AUTH_STRING, and set PREFECT_API_AUTH_STRING here (docs/nightly.md)"
    return [Finding("prefect access", "warning", said, do)]


def _check_folder() -> list[Finding]:
    """Warn if other users can read the database of the servers that are started here."""
    home = prefect_home()
    database = home / "prefect.db"
    if not database.exists() or not users_with_access(database) or not users_with_access(home):
        return []
    said = f"{home} (PREFECT_HOME), with Prefect's database, is open to {users_with_access(home)}"
    return [Finding("prefect access", "warning", said, f"chmod 700 {home}")]


def _check_server_version(url: str) -> Finding:
    try:
        theirs = str(_ask_prefect(url, "/admin/version"))
    except (OSError, ValueError) as error:
        do = "if it asks for credentials, set PREFECT_API_AUTH_STRING"
        return Finding("prefect", "warning", f"the server at {url} does not tell its version: {error}", do)
    ours = version("prefect")
    if theirs != ours:
        said = f"the server at {url} is Prefect {theirs}, this is {ours}"
        return Finding("prefect", "warning", said, "install the same version on both sides")
    return Finding("prefect", "ok", f"uses the server at {url}, version {theirs} as here")


def _check_without_server(start: bool) -> Finding:
    if not start:
        said = "no server configured; a run has Prefect's API in its own process (--prefect tries that)"
        return Finding("prefect", "ok", said)
    began = time.monotonic()
    try:
        with prefect_api(import_flows=lambda: None, ephemeral=True) as run:
            run(asyncio.sleep(0))
    except EvalError as problem:
        return Finding("prefect", "broken", str(problem))
    return Finding("prefect", "ok", f"Prefect's API is there after {time.monotonic() - began:.0f} s")


def check_nights(store: Store) -> list[Finding]:
    """Check whether a deployment on the configured server uses the store each night, and whether its runs start."""
    url = configured_url()
    if url is None or not answers(url):
        return []
    try:
        found = [one for one in _ask_prefect(url, "/deployments/filter", {"limit": 200}) if _is_about(one, store)]
        if not found:
            do = "`compaction-eval serve` makes one; a run from cron needs none"
            return [Finding("nights", "ok", f"no deployment of that server is about {store.name}", do)]
        return [finding for one in found for finding in _check_deployment(url, one)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [Finding("nights", "warning", f"the server at {url} does not tell its deployments: {error}")]


def _check_deployment(url: str, one: dict[str, Any]) -> list[Finding]:
    name = one["name"]
    active = [schedule["schedule"] for schedule in one.get("schedules", ()) if schedule.get("active")]
    its_late = {"deployments": {"id": {"any_": [one["id"]]}}, "flow_runs": {"state": {"name": {"any_": ["Late"]}}}}
    late = _ask_prefect(url, "/flow_runs/filter", {"limit": 200, **its_late})
    pool = one.get("work_pool_name")
    said = f"deployment {name}: " + (", ".join(str(s.get("cron") or s) for s in active) or "no schedule is active")
    if late:
        do = "start `compaction-eval serve`" if pool is None else f"start a worker: prefect worker start --pool {pool}"
        return [
            Finding("nights", "warning", f"{said}; late, as nobody takes them up: {quantity(len(late), 'run')}", do)
        ]
    if one.get("paused") or not active:
        return [Finding("nights", "warning", f"{said}, or it is paused", f"prefect deployment schedule resume {name}")]
    if pool is not None:
        status = _ask_prefect(url, f"/work_pools/{pool}").get("status")
        if status != "READY":
            do = f"prefect worker start --pool {pool}"
            return [Finding("nights", "warning", f"{said}; its work pool {pool} is {status}", do)]
    return [Finding("nights", "ok", said)]


def _is_about(deployment: dict[str, Any], store: Store) -> bool:
    """Whether a deployment's parameters name the store, or a study file that names it."""
    parameters = deployment.get("parameters") or {}
    study = parameters.get("study")
    named = study.get("store") if isinstance(study, dict) else None
    if named is None and isinstance(file := parameters.get("study_file"), str) and Path(file).is_file():
        try:
            named = tomllib.loads(Path(file).read_text(encoding="utf-8")).get("store")
        except ValueError:
            named = None
    if not isinstance(named, str):
        return False
    full_name = named.rstrip("/") if is_object_store(named) else str(store_path(named).absolute())
    return full_name == store.full_name


def _authorization_header() -> dict[str, str]:
    """The header that authorizes the user on the configured server, if any, made as Prefect's client makes it."""
    if auth := configured("PREFECT_API_AUTH_STRING"):
        return {"Authorization": f"Basic {base64.b64encode(auth.encode()).decode()}"}
    key = configured("PREFECT_API_KEY")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _csrf_headers(url: str, authorization: Mapping[str, str]) -> dict[str, str]:
    """The headers that a server with CSRF protection needs for a POST; empty for other servers."""
    client = str(uuid4())
    try:
        token = _ask_prefect(url, f"/csrf-token?client={client}", authorization=authorization)["token"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {"Prefect-Csrf-Token": token, "Prefect-Csrf-Client": client}


def _ask_prefect(url: str, path: str, body: Any = None, *, authorization: Mapping[str, str] | None = None) -> Any:
    """The answer of Prefect's API, asked with the user's authorization or with another one."""
    headers = {
        "Content-Type": "application/json",
        **(_authorization_header() if authorization is None else authorization),
    }
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        headers |= _csrf_headers(url, headers)
    request = urllib.request.Request(  # noqa: S310 (``answers`` has looked at the scheme)
        url.rstrip("/") + path, data=data, headers=headers
    )
    try:
        with urllib.request.urlopen(request, timeout=ASK_TIMEOUT) as response:  # noqa: S310
            return json.loads(response.read())
    except urllib.error.HTTPError as error:
        raise OSError(f"{path}: {error.code} {error.reason}") from None
