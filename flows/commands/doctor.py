"""``doctor``: what is installed, configured, reachable."""

from __future__ import annotations

import functools
import json
import os
import shutil
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import typer

from compaction import TiktokenCounter
from flows.commands import options as o
from flows.models.settings import BASE_URL_VARIABLES, KEY_VARIABLES, PROVIDERS, Provider, make_settings
from flows.orchestrator import Server, answers, configured_url, prepare
from flows.problems import BROKEN, DONE, Problem
from flows.runtime import versions
from flows.store import Store, is_elsewhere, store_path
from flows.study import DEFAULT_STORE, TOKENIZERS

LITTLE_SPACE = 1_000_000_000
"""Bytes of free disk under which the check warns: a store takes about as much as the logs that it is made from."""


@dataclass(frozen=True)
class Finding:
    """One check."""

    check: str
    state: Literal["ok", "warning", "broken"]
    says: str


@o.reporting
def doctor(
    store: o.StoreOption = None,
    prefect: Annotated[
        bool, typer.Option("--prefect", help="Also start a Prefect server, which takes seconds.")
    ] = False,
    as_json: o.AsJson = False,
) -> None:
    """Check what is installed, configured, reachable; exit code 1 when one is broken."""
    location = store or DEFAULT_STORE
    of_store: list[Callable[[], Finding]] = [lambda: _elsewhere(location)]
    if not is_elsewhere(location):
        of_store = [lambda: _store(store_path(location)), lambda: _space(store_path(location))]
    checks: list[Callable[[], Finding]] = [
        _versions, _tokenizers, *of_store, lambda: _prefect(prefect),
        *(functools.partial(_provider, provider) for provider in PROVIDERS),
    ]  # fmt: skip
    findings = [check() for check in checks]
    if as_json:
        o.echo(json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
    else:
        for finding in findings:
            o.echo(f"{finding.state:<8} {finding.check}: {finding.says}")
    raise typer.Exit(BROKEN if any(finding.state == "broken" for finding in findings) else DONE)


def _versions() -> Finding:
    found = versions()
    missing = [name for name, version in found.items() if version == "not installed"]
    text = ", ".join(f"{name} {version}" for name, version in found.items())
    return Finding("versions", "broken" if missing else "ok", text)


def _tokenizers() -> Finding:
    try:
        counts = {name: TiktokenCounter(name).count("def main() -> None:") for name in TOKENIZERS}
    except Exception as error:  # whatever is wrong with it, the user must see what
        return Finding("tokenizers", "broken", f"{type(error).__name__}: {error}")
    return Finding("tokenizers", "ok", f"{', '.join(counts)} count without a network")


def _store(path: Path) -> Finding:
    if not path.exists():
        parent = next(folder for folder in path.absolute().parents if folder.exists())
        if os.access(parent, os.W_OK):
            return Finding("store", "ok", f"none yet at {path}; `compaction-eval run` makes it")
        return Finding("store", "broken", f"none at {path}, and {parent} cannot be written")
    try:
        store = Store.open(str(path))
        store.settings["tokenizer"]
    except Problem as problem:
        return Finding("store", "broken", str(problem))
    if not os.access(path, os.W_OK):
        return Finding("store", "broken", f"{path} can be read but not written")
    if store.is_locked():
        return Finding("store", "warning", f"{path} is being written by another process")
    files = sum(1 for _ in path.glob("**/*.parquet"))
    loaded = "" if store.database.is_file() else "; no scores.duckdb yet"
    return Finding("store", "ok", f"{path}: {files} Parquet files, tokens by {store.settings['tokenizer']}{loaded}")


def _elsewhere(location: str) -> Finding:
    """A store in an object store, and whether that answers."""
    try:
        store = Store.at(location)
        if not store.is_there:
            return Finding("store", "ok", f"none yet at {store.name}; `compaction-eval run` makes it")
        tokenizer = Store.open(location).settings["tokenizer"]
        if store.is_locked():
            return Finding("store", "warning", f"{store.name} is being written by another process")
        files = sum(len(folder.files()) for folder in store.folders)
    except Problem as problem:
        return Finding("store", "broken", str(problem))
    text = f"{store.name}: {files} Parquet files of results, tokens by {tokenizer}, working folder {store.root}"
    return Finding("store", "ok", text)


def _space(path: Path) -> Finding:
    place = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    return Finding("disk", "ok" if free > LITTLE_SPACE else "warning", f"{free / 1e9:,.1f} GB free at {place}")


def _provider(provider: Provider) -> Finding:
    """Whether its models could be called. No model is called: that may cost money."""
    name = f"{provider} models"
    if provider == "anthropic" and find_spec("anthropic") is None:
        return Finding(name, "ok", "the package is not installed; pip install 'compaction-eval[anthropic]' for them")
    try:
        settings = make_settings(f"{provider}:any", {}, BASE_URL_VARIABLES[provider])
    except Problem as problem:
        return Finding(name, "broken", str(problem))
    key = f"{KEY_VARIABLES[provider]} is {'set' if settings.api_key() else 'not set'}"
    if settings.is_official and not settings.api_key():
        return Finding(name, "ok", f"{key}, nor {BASE_URL_VARIABLES[provider]}: only the embedded engine can be used")
    address = urlsplit(settings.base_url)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), timeout=5.0).close()
    except OSError as error:
        return Finding(name, "warning", f"{key}; nothing answers at {settings.base_url}: {error}")
    return Finding(name, "ok", f"{key}; {settings.base_url} can be reached")


def _prefect(start: bool) -> Finding:
    prepare()
    url = configured_url()
    if url is not None:
        if answers(url):
            return Finding("prefect", "ok", f"uses the server at {url}")
        return Finding("prefect", "broken", f"configured to use {url}, which does not answer (or run with --ephemeral)")
    if not start:
        return Finding("prefect", "ok", "no server configured; each run starts its own (--prefect tries that)")
    server = Server()
    try:
        seconds = server.wait()
    except Problem as problem:
        return Finding("prefect", "broken", str(problem))
    finally:
        server.stop()
    return Finding("prefect", "ok", f"a server of its own starts in {seconds:.0f} s")
