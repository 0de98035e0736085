"""Versions of components, for telling which one made a figure.

Every component (a strategy, the summariser, prober, responder, judge, the measures, the readers, the redaction)
declares a whole number and raises it when it puts out something else. Ids and names are made of name, parameters and
this number, so that a comment, a move or a renamed local changes none. ``tests/golden/behaviour.json`` holds digests of
what the components put out; a test compares them and names the one whose version is due.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

LENGTH = 8
"""Hex digits of a version that is a hash."""

CODE = (".py", ".md", ".toml", ".sql")
"""Endings of the files that ``code_sha256`` is made of."""


@cache
def code_sha256(*packages: str) -> str:
    """SHA-256 of the source files and texts of some packages. It is provenance and part of no id."""
    digest = hashlib.sha256()

    def add(place: Traversable, name: str) -> None:
        if place.is_dir():
            for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
                add(entry, f"{name}/{entry.name}")
        elif name.endswith(CODE):
            digest.update(f"{name}\0".encode() + place.read_bytes() + b"\0")

    for package in packages:
        add(files(package), package)
    return digest.hexdigest()


def identity_version(identity: Mapping[str, Any]) -> str:
    """Hash a model's ``identity``, for use in names."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:LENGTH]


def function_version(function: Callable[..., object], declared: int | None = None) -> str:
    """The declared version; without one, 1 for the project's own and the hash of its source for a plug-in."""
    if declared is not None:
        return str(declared)
    return "1" if _is_own(function) else source_sha256(function)[:LENGTH]


def source_sha256(function: Callable[..., object]) -> str:
    """SHA-256 of the source that a function rests on: ``compaction``, or the module of a plug-in."""
    if _is_own(function):
        return code_sha256("compaction")
    module = inspect.getmodule(function)
    try:
        source = inspect.getsource(module if module is not None else function)
    except OSError:  # made by exec or typed in
        source = f"{function.__code__.co_code.hex()}\0{function.__code__.co_consts!r}"
    return hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()


def _is_own(function: Callable[..., object]) -> bool:
    return function.__module__.startswith("compaction.")
