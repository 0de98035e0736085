"""What others find: detect-secrets' plug-ins and the rules of gitleaks as data, to be held against ours.

Neither is a dependency: detect-secrets is asked where it is installed, and gitleaks' rules are read from the file
``config/gitleaks.toml`` of a checkout that the caller names.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import redact_secret

from flows.redaction import Redactor
from flows.redaction.values import entropy


def maskers(rules: list[str]) -> dict[str, Callable[[str], str]]:
    """Name of a source → what it makes of a text. ``rules`` may hold the path of a file of gitleaks' rules."""
    found: dict[str, Callable[[str], str]] = {"ours": Redactor(key="").redact, "redact-secret": _redact_secret}
    if rules:
        found["gitleaks"] = _gitleaks(Path(rules[0]))
    try:
        from detect_secrets.core.scan import scan_line
        from detect_secrets.settings import default_settings
    except ImportError:
        return found

    def detect(text: str) -> str:
        with default_settings():
            values = [one.secret_value for line in text.split("\n") for one in scan_line(line)]
        return _without(text, values)

    return {**found, "detect-secrets": detect}


def _without(text: str, values: Iterable[str | None]) -> str:
    for value in values:
        text = text.replace(value, "*") if value else text
    return text


def _redact_secret(text: str) -> str:
    return _without(text, [text[one.start : one.end] for one in redact_secret.scan(text)])


def _gitleaks(path: Path) -> Callable[[str], str]:
    rules = []
    for rule in tomllib.loads(path.read_text())["rules"]:
        if pattern := rule.get("regex"):
            flags = re.IGNORECASE if "(?i)" in pattern else 0
            plain = pattern.replace("(?i)", "").replace(r"\z", r"\Z")
            rules.append((rule, re.compile(re.sub(r"\[\[:(\w+):\]", r"[\\w", plain), flags)))

    def hide(text: str) -> str:
        lower, values = text.lower(), []
        for rule, pattern in rules:
            if any(word.lower() in lower for word in rule.get("keywords", [""])):
                for found in pattern.finditer(text):
                    group = rule.get("secretGroup", 1 if pattern.groups else 0)
                    value = found[group] or found[0]
                    if entropy(value) >= rule.get("entropy", 0):
                        values.append(value)
        return _without(text, values)

    return hide
