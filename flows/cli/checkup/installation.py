"""Checks of the installation: packages, configuration, servers."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from urllib.parse import urlsplit

from compaction import TiktokenCounter
from compaction.adapters.known_peers import KNOWN
from flows.cli.checkup.finding import Finding
from flows.llm.settings import BASE_URL_VARIABLES, KEY_VARIABLES, ModelSettings, Provider, make_settings
from flows.support.choices import TOKENIZERS
from flows.support.errors import EvalError, install_extra
from flows.support.versions import versions

CONNECT_TIMEOUT = 5.0
"""Seconds that a server has to take a connection."""


def check_versions() -> Finding:
    """Check the packages that everything else needs."""
    found = versions()
    missing = [name for name, version in found.items() if version == "not installed"]
    text = ", ".join(f"{name} {version}" for name, version in found.items())
    return Finding("versions", "broken" if missing else "ok", text)


def check_peers() -> list[Finding]:
    """Check the peers' own packages, if they are installed."""
    there = [known for known in KNOWN if known.installed]
    other = [known for known in there if known.installed != known.tried]
    if not there:
        return []
    text = ", ".join(f"{known.package} {known.installed}" for known in there)
    if not other:
        return [Finding("peers", "ok", text)]
    tried = ", ".join(f"{known.package}=={known.tried}" for known in other)
    return [Finding("peers", "warning", text, f"the adapters were tested with {tried}; results may differ")]


def check_tokenizers() -> Finding:
    """Check whether tokens can be counted without a network."""
    try:
        counts = {name: TiktokenCounter(name).count("def main() -> None:") for name in TOKENIZERS}
    except Exception as error:  # whatever is wrong with it, the user must see what
        return Finding("tokenizers", "broken", f"{type(error).__name__}: {error}")
    return Finding("tokenizers", "ok", f"{', '.join(counts)} count without a network")


def check_provider(provider: Provider) -> Finding:
    """Check whether a provider's models could be called. No model is called, since that may cost money."""
    name = f"{provider} models"
    if provider == "anthropic" and find_spec("anthropic") is None:
        return Finding(name, "ok", f"the package is not installed; for them: {install_extra('anthropic')}")
    try:
        settings = make_settings(f"{provider}:any", {}, BASE_URL_VARIABLES[provider])
    except EvalError as problem:
        return Finding(name, "broken", str(problem))
    key = f"{KEY_VARIABLES[provider]} is {'set' if settings.api_key() else 'not set'}"
    if settings.is_official and not settings.api_key():
        return Finding(name, "ok", f"{key}, nor {BASE_URL_VARIABLES[provider]}: only the embedded engine can be used")
    trouble = why_unreachable(settings)
    if trouble:
        return Finding(name, "warning", f"{key}; {trouble}")
    return Finding(name, "ok", f"{key}; {settings.base_url} can be reached")


def why_unreachable(settings: ModelSettings) -> str:
    """Return the reason why a model's server accepts no connection; empty if it does."""
    address = urlsplit(settings.base_url)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), timeout=CONNECT_TIMEOUT).close()
    except OSError as error:
        return f"nothing answers at {settings.base_url}: {error}"
    return ""
